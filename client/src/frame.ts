// What the stream sends beside events (records.md 3.8): proofs, previews, notices, farewells.

import type { Event } from "./event.js";

/** Everything up to `watermark` has been sent: the only two frames that prove a position. */
export interface Proof {
  /** From here a later stream goes on. One opaque value. */
  readonly cursor: string;
  readonly watermark: number;
}

/** The replay is done, what follows is live. */
export interface Ready extends Proof {
  readonly history_complete: boolean;
  readonly incomplete_reasons: readonly string[];
}

/** A piece of a text that is being written: never stored, never numbered. */
export interface PreviewFrame {
  readonly version: number;
  readonly kind: "frame";
  readonly execution_id: string | null;
  readonly entity_id: string;
  /** From 0, one more with every frame of its entity on this stream. */
  readonly frame_index: number;
  /** Where the text begins in the entity's whole text, counted as JavaScript counts; 0 begins it anew. */
  readonly offset?: number;
  readonly type: string;
  readonly payload: { readonly text: string };
}

/** The server dropped pieces of this preview. */
export interface PreviewReset {
  readonly execution_id: string | null;
  /** Null: every preview of the execution. */
  readonly entity_id: string | null;
}

/** Something that a person should know. */
export interface NoticeFrame {
  readonly code: string;
  readonly incomplete_reasons?: readonly string[];
}

/** The position was refused: only a new snapshot helps. */
export interface Reset {
  /** `cursor_ahead`, `cursor_mismatch` or `cursor_expired`. */
  readonly reason: string;
  readonly latest_sequence?: number;
}

/** The server ends the stream on purpose. */
export interface Close {
  readonly reason: string;
  readonly retry_after_ms?: number;
}

/** A frame of the stream, read. */
export type Frame =
  | { readonly frame: "event"; readonly event: Event; readonly id: string | null }
  | { readonly frame: "ready"; readonly ready: Ready }
  | { readonly frame: "checkpoint"; readonly checkpoint: Proof }
  | { readonly frame: "preview"; readonly preview: PreviewFrame }
  | { readonly frame: "preview_reset"; readonly reset: PreviewReset }
  | { readonly frame: "notice"; readonly notice: NoticeFrame }
  | { readonly frame: "reset"; readonly reset: Reset }
  | { readonly frame: "close"; readonly close: Close };

/**
 * Reads one block of the stream. Null for a frame of a name that this version does not know.
 *
 * @throws SyntaxError when the data is not JSON: what it said is lost then, and only a new stream brings it back.
 */
export function readFrame(name: string, data: string, id: string | undefined): Frame | null {
  switch (name) {
    case "message":
      return { frame: "event", event: JSON.parse(data), id: id || null };
    case "ready":
      return { frame: "ready", ready: JSON.parse(data) };
    case "checkpoint":
      return { frame: "checkpoint", checkpoint: JSON.parse(data) };
    case "preview":
      return { frame: "preview", preview: JSON.parse(data) };
    case "preview_reset":
      return { frame: "preview_reset", reset: JSON.parse(data) };
    case "notice":
      return { frame: "notice", notice: JSON.parse(data) };
    case "reset":
      return { frame: "reset", reset: JSON.parse(data) };
    case "close":
      return { frame: "close", close: JSON.parse(data) };
    default:
      return null;
  }
}
