// Texts that are being written: whole from their first letter, or absent (records.md decision 6 and 3.11, 7).

import { VERSION } from "./event.js";
import { isOver } from "./fold.js";
import type { PreviewFrame, PreviewReset } from "./frame.js";
import type { Folded } from "./thread.js";

/** The text of one entity so far. */
export interface Preview {
  readonly run: string | null;
  readonly entity: string;
  readonly text: string;
  /** The index of the last frame. */
  readonly index: number;
}

/** The previews of a thread by entity. */
export type Previews = ReadonlyMap<string, Preview>;

/** None: before a stream, and after every lost line. */
export const NO_PREVIEWS: Previews = new Map();

/**
 * Shows one more piece. It begins a text (offset 0), or goes on where the last one ended. Anything else has a hole
 * before it: that entity has no preview then until one begins anew. What is complete, or whose run has ended, is not
 * shown again: previews travel beside the events and may come after them.
 */
export function show(previews: Previews, folded: Folded, frame: PreviewFrame): Previews {
  const { entity_id: entity, execution_id: run, frame_index: index, offset, payload } = frame;
  if (frame.version !== VERSION || frame.type !== "token" || isOver(folded, entity, run)) {
    return without(previews, entity);
  }
  const known = previews.get(entity);
  // A server without offsets begins at index 0.
  const begins = offset === undefined ? index === 0 : offset === 0;
  const follows = known !== undefined && index === known.index + 1;
  const text = begins ? payload.text : follows ? joined(known.text, payload.text, offset) : null;
  if (text === null) return without(previews, entity);
  return new Map(previews).set(entity, { run, entity, text, index });
}

/** The text with one more piece, which may repeat its end: what was asked for as a whole overlaps what came meanwhile. */
function joined(known: string, text: string, offset = known.length): string | null {
  if (offset > known.length) return null;
  const repeated = known.slice(offset);
  if (text.startsWith(repeated)) return known + text.slice(repeated.length);
  return repeated.startsWith(text) ? known : null;
}

/** Takes away what the server dropped pieces of. */
export function reset(previews: Previews, { entity_id: entity, execution_id: run }: PreviewReset): Previews {
  if (entity !== null) return without(previews, entity);
  return where(previews, (preview) => preview.run !== run);
}

/** Takes away what is complete or whose run has ended. */
export function retire(previews: Previews, folded: Folded): Previews {
  return where(previews, (preview) => !isOver(folded, preview.entity, preview.run));
}

function without(previews: Previews, entity: string): Previews {
  return where(previews, (preview) => preview.entity !== entity);
}

function where(previews: Previews, keep: (preview: Preview) => boolean): Previews {
  const kept = [...previews].filter(([, preview]) => keep(preview));
  return kept.length === previews.size ? previews : new Map(kept);
}
