// Texts that are being written: whole from their first letter, or absent (records.md decision 6 and 3.11, 7).

import { type Folded, isOver } from "./fold.js";
import { VERSION } from "./event.js";
import type { PreviewFrame, PreviewReset } from "./frame.js";

/** The text of one entity so far. */
export interface Preview {
  readonly run: string | null;
  readonly entity: string;
  readonly text: string;
  /** The index of the last frame. */
  readonly index: number;
  /** Where the next piece begins. */
  readonly end: number;
}

/** The previews of a thread by entity. */
export type Previews = ReadonlyMap<string, Preview>;

/** None: before a stream, and after every lost line. */
export const NO_PREVIEWS: Previews = new Map();

/**
 * Shows one more piece. It begins a text (offset 0), or goes on exactly where the last one ended. Anything else has a
 * hole before it: that entity has no preview then until one begins anew. What is complete, or whose run has ended,
 * is not shown again: previews travel beside the events and may come after them.
 */
export function show(previews: Previews, folded: Folded, frame: PreviewFrame): Previews {
  const { entity_id: entity, execution_id: run, frame_index: index, payload } = frame;
  if (frame.version !== VERSION || frame.type !== "token" || isOver(folded, entity, run)) {
    return without(previews, entity);
  }
  const known = previews.get(entity);
  // A server without offsets begins at index 0.
  const begins = payload.offset === undefined ? index === 0 : payload.offset === 0;
  const goesOn =
    known !== undefined &&
    index === known.index + 1 &&
    (payload.offset === undefined || payload.offset === known.end);
  if (!begins && !goesOn) return without(previews, entity);
  const before = begins || !known ? { text: "", end: 0 } : known;
  const text = before.text + payload.text;
  return new Map(previews).set(entity, { run, entity, text, index, end: before.end + lengthOf(payload.text) });
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

/** Offsets count Unicode code points, which every language counts alike. */
function lengthOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function without(previews: Previews, entity: string): Previews {
  return where(previews, (preview) => preview.entity !== entity);
}

function where(previews: Previews, keep: (preview: Preview) => boolean): Previews {
  const kept = [...previews].filter(([, preview]) => keep(preview));
  return kept.length === previews.size ? previews : new Map(kept);
}
