// A thread as a server keeps it, without a server: records, and what its three routes say of them (records.md 3.7, 3.8).
// It folds nothing: what it knows of the thread's row and the runs it keeps on its own.

import { createHash } from "node:crypto";

let epochs = 0;

export class World {
  records = [];
  previews = [];
  incompleteReasons = [];
  legacy = [];

  constructor(thread = "t1") {
    this.thread = thread;
    this.begin();
  }

  /** Another life of the numbering; the records stay. */
  begin() {
    epochs += 1;
    this.epoch = createHash("sha256").update(`epoch ${epochs}`).digest("hex").slice(0, 16);
  }

  get latest() {
    return this.records.length;
  }

  cursor(sequence) {
    const id = this.records[sequence - 1]?.record_id;
    const mark = id ? createHash("sha256").update(id).digest("hex").slice(0, 8) : "0";
    return `${this.epoch}.${sequence}.${mark}`;
  }

  /** Stores a record; one of type null has no public form. */
  append(type, payload = {}, { run = null, entity = null, version = 1 } = {}) {
    const sequence = this.latest + 1;
    const record = this.#record(sequence, `r${sequence}`, type, payload, run, entity, version);
    this.records.push(record);
    return sequence;
  }

  /** A record of before there were numbers. */
  appendLegacy(type, payload, entity) {
    this.legacy.push(this.#record(null, `l${this.legacy.length}`, type, payload, null, entity, 1));
  }

  #record(sequence, id, type, said, run, entity, version) {
    const payload = JSON.parse(JSON.stringify(said));
    const created_at = new Date(Date.UTC(2026, 10, 30, 12, 0, sequence ?? 0)).toISOString();
    return {
      record_id: `${this.thread}-${id}`,
      sequence,
      record_type: type ?? "usage",
      record_source: "app",
      execution_id: run,
      entity_id: entity,
      attributes: payload,
      created_at,
      produced_at: created_at,
      erased: false,
      event: type && {
        version,
        kind: "event",
        session_id: this.thread,
        execution_id: run,
        event_id: `${this.thread}-${id}`,
        entity_id: entity,
        sequence,
        type,
        payload,
        created_at,
      },
    };
  }

  /** GET /sessions/{id}, as it was when `through` was the last record. */
  snapshot(through = this.latest) {
    const metadata = {};
    let name = null;
    const executions = new Map();
    for (const { event } of this.records.slice(0, through)) {
      const { type, payload, execution_id: run } = event ?? {};
      if (type === "thread.updated") {
        name = payload.name ?? name;
        for (const [key, value] of Object.entries(payload.metadata ?? {})) {
          if (value === null) delete metadata[key];
          else metadata[key] = value;
        }
      }
      if (type === "settings.updated") metadata.chat_settings = payload.values;
      if (type === "execution.started") {
        executions.set(run, { execution_id: run, state: "running", started_at: payload.started_at });
      } else if (type?.startsWith("execution.")) executions.delete(run);
    }
    const unsettled = [...executions.values()];
    return {
      session: { session_id: this.thread, thread_id: this.thread, name, metadata, created_at: null, updated_at: null },
      execution: unsettled.at(-1) ?? null,
      executions: unsettled,
      execution_state: { id: unsettled.at(-1)?.execution_id ?? null, state: unsettled.length ? "running" : "idle" },
      pending: { inputs: [], interactions: [] },
      read: { ...this.read(through), epoch: this.epoch, oldest_sequence: 1, legacy_records: this.legacy.length, pending: 0 },
      capabilities: { events: true, previews: true, cancel: false, ingest: false },
    };
  }

  read(through = this.latest) {
    return {
      cursor: this.cursor(through),
      latest_sequence: through,
      history_complete: this.incompleteReasons.length === 0,
      incomplete_reasons: this.incompleteReasons,
    };
  }

  /** GET /sessions/{id}/records. `after` counts over old and numbered records together, which clients cannot see. */
  page({ after = null, limit = 100, through = this.latest } = {}) {
    const all = [...this.legacy, ...this.records.slice(0, through)];
    const start = after === null ? 0 : Number(after);
    const end = Math.min(start + limit, all.length);
    return {
      records: all.slice(start, end).map((record) => ({ ...record, event: this.event(record) })),
      page: { next_after: String(end), has_more: end < all.length, through_sequence: through },
      read: this.read(),
    };
  }

  event(record) {
    return record.event && { ...record.event, watermark: this.latest };
  }

  /** The events after a sequence as the stream frames them. */
  frames(after, through = this.latest) {
    return this.records
      .slice(after, through)
      .filter(({ event }) => event)
      .map((record) => ({ frame: "event", event: this.event(record), id: this.cursor(record.sequence) }));
  }

  ready() {
    const { cursor, history_complete, incomplete_reasons } = this.read();
    return { cursor, watermark: this.latest, history_complete, incomplete_reasons };
  }

  /** Why a position is refused; null when it is not. */
  refusal(cursor) {
    const [epoch, sequence] = cursor.split(".");
    if (epoch === "none") return null;
    if (epoch !== this.epoch) return "cursor_mismatch";
    if (Number(sequence) > this.latest) return "cursor_ahead";
    return this.cursor(Number(sequence)) === cursor ? null : "cursor_mismatch";
  }
}
