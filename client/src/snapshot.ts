// The thread at one moment (records.md 3.7).

import type { Json } from "./event.js";
import { type Server, ask, address } from "./server.js";

/** A run as the server knows it. */
export interface Execution {
  readonly execution_id: string;
  /** `running`, `stopping`, `stopped`, `failed` or `lost`. */
  readonly state: string;
  readonly started_at: string | null;
  readonly settled_at: string | null;
  readonly settled_by: string | null;
  readonly reason: string | null;
}

/** How far reading goes, and whether that is all. */
export interface Read {
  /** From here a stream goes on. One opaque value. */
  readonly cursor: string;
  readonly latest_sequence: number;
  readonly history_complete: boolean;
  readonly incomplete_reasons: readonly string[];
}

/** The thread at one moment: records 1 to `read.latest_sequence` can be read when it says so. */
export interface Snapshot {
  readonly session: {
    readonly session_id: string;
    readonly name: string | null;
    readonly metadata: Json;
    readonly created_at: string | null;
    readonly updated_at: string | null;
  };
  /** The newest run. */
  readonly execution: Execution | null;
  /** Every run that has not ended, oldest first. */
  readonly executions: readonly Execution[];
  /** `idle`, `running` or `stopping`. */
  readonly execution_state: { readonly id: string | null; readonly state: string };
  readonly pending: {
    readonly inputs: readonly unknown[];
    readonly interactions: readonly {
      readonly interaction_id: string;
      readonly kind: string;
      readonly requested_sequence: number | null;
      readonly timeout_at: string | null;
    }[];
  };
  readonly read: Read & {
    /** The life of the numbering; `none` before its first record. */
    readonly epoch: string;
    readonly oldest_sequence: number;
    readonly legacy_records: number;
    /** Records that the server holds and has not stored yet. */
    readonly pending: number;
  };
  readonly capabilities: {
    readonly events: boolean;
    readonly previews: boolean;
    readonly cancel: boolean;
    readonly ingest: boolean;
  };
}

/**
 * Reads where a thread stands.
 *
 * @throws RequestError when the server refuses; TypeError when it is out of reach.
 */
export function snapshot(server: Server, thread: string, signal?: AbortSignal): Promise<Snapshot> {
  return ask<Snapshot>(server, address(thread), signal);
}
