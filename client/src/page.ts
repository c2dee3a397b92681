// The history in pages, up to one place, so that what is stored meanwhile moves nothing (records.md 3.7).

import type { Event, Json } from "./event.js";
import { type Server, address, ask } from "./server.js";
import type { Read } from "./snapshot.js";

/** One stored fact. */
export interface StoredRecord {
  readonly record_id: string;
  /** Null for what was written before there were numbers. */
  readonly sequence: number | null;
  readonly record_type: string;
  readonly record_source: string;
  readonly execution_id: string | null;
  readonly entity_id: string | null;
  readonly attributes: Json;
  readonly created_at: string;
  readonly produced_at: string | null;
  /** Its content was removed on purpose. */
  readonly erased: boolean;
  /** Its public form; null when it has none. */
  readonly event: Event | null;
}

/** Some records in a row. */
export interface Page {
  readonly records: readonly StoredRecord[];
  readonly page: {
    readonly next_after: string | null;
    readonly has_more: boolean;
    readonly through_sequence: number;
  };
  readonly read: Read;
}

/** Which records. */
export interface Range {
  /** The last one: the snapshot's `latest_sequence`. The first page fixes it when absent. */
  readonly through?: number;
  /** After which one: a page's `next_after`. From the beginning when absent. */
  readonly after?: string;
  /** How many a page, 200 at most and by default. */
  readonly limit?: number;
}

/**
 * Reads the records of a thread oldest first, a page at a time: what was written before there were numbers, then
 * 1 to `through`, each once.
 *
 * @throws RequestError when the server refuses; TypeError when it is out of reach.
 */
export async function* pages(
  server: Server,
  thread: string,
  { through, after, limit = 200 }: Range = {},
  signal?: AbortSignal,
): AsyncGenerator<Page, void> {
  for (;;) {
    const query = new URLSearchParams({ limit: String(limit) });
    if (after !== undefined) query.set("after", after);
    if (through !== undefined) query.set("through_sequence", String(through));
    const page = await ask<Page>(server, address(thread, `/records?${query}`), signal);
    yield page;
    const { has_more: more, next_after: next, through_sequence: fixed } = page.page;
    if (!more || next === null || next === after) return;
    after = next;
    through ??= fixed;
  }
}
