// What a reader knows, and how each thing it hears changes that: a pure function (records.md 3.11).
//
// There are two positions. `applied` is the last event that was folded in, `cursor` is up to where the server proved
// that nothing is missing; only an event's own id, `ready` and `checkpoint` move the second one.

import { type Event, VERSION } from "./event.js";
import { fold, settingsIn } from "./fold.js";
import type { Frame } from "./frame.js";
import type { Page } from "./page.js";
import { NO_PREVIEWS, type Previews, reset, retire, show } from "./preview.js";
import type { Snapshot } from "./snapshot.js";
import { type Folded, NOTHING } from "./thread.js";

/** How the reader stands with the server. */
export type Status = "connecting" | "live" | "reconnecting" | "stopped";

/** How many events are kept as they came. */
export const RECENT = 200;

/** Whether the history is whole, and if not, why. */
export interface History {
  readonly complete: boolean;
  /** Codes, sorted, without doubles. */
  readonly reasons: readonly string[];
}

/** All that a reader knows. Nothing in it is ever changed: a new one takes its place. */
export interface ReaderState {
  readonly thread: string;
  readonly status: Status;
  /** Why it stopped for good. */
  readonly stopped: string | null;
  /** The last event that was folded in. Never compare it with a number of things. */
  readonly applied: number;
  /** From here the stream goes on; null before the first snapshot. */
  readonly cursor: string | null;
  /** The life of the numbering; null when the server does not tell. */
  readonly epoch: string | null;
  /** The server's last number as far as it was heard. Information only. */
  readonly watermark: number;
  /** The thread as it is. */
  readonly folded: Folded;
  /** What is being written. */
  readonly previews: Previews;
  /** The last {@link RECENT} events as they came, unknown ones too. The thread itself is in `folded`. */
  readonly recent: readonly Event[];
  readonly history: History;
  /** Why it is not live, when it was before; for a log, not for a person. */
  readonly trouble: string | null;
  /** Why the history was loaded anew, when it was: `cursor_mismatch`, `another epoch`, … */
  readonly reset: string | null;
  /** It has not been live for two seconds. */
  readonly overdue: boolean;
  /** The server speaks a later version: some of what it says is not shown. */
  readonly outdated: boolean;
}

/** What a reader hears. */
export type Input =
  | { readonly heard: "loaded"; readonly loaded: Loaded }
  | { readonly heard: "frame"; readonly frame: Frame }
  | { readonly heard: "disconnected"; readonly next: Next }
  | { readonly heard: "overdue" }
  | { readonly heard: "stopped"; readonly reason: string };

/** What is to be done about it. */
export type Next =
  /** Take a new snapshot: what is here cannot be carried on. */
  | { readonly do: "load"; readonly why: string }
  /** The server ends the stream; `atOnce` when it did nothing wrong and asks to be called again. */
  | { readonly do: "reconnect"; readonly why: string; readonly atOnce: boolean; readonly after: number }
  | { readonly do: "stop"; readonly why: string };

/** A reader that has heard nothing. */
export function begin(thread: string): ReaderState {
  return {
    thread,
    status: "connecting",
    stopped: null,
    applied: 0,
    cursor: null,
    epoch: null,
    watermark: 0,
    folded: NOTHING,
    previews: NO_PREVIEWS,
    recent: [],
    history: { complete: true, reasons: [] },
    trouble: null,
    reset: null,
    overdue: false,
    outdated: false,
  };
}

/** What changes, and what is to be done, if anything. */
export function reduce(state: ReaderState, input: Input): { readonly state: ReaderState; readonly next: Next | null } {
  switch (input.heard) {
    case "loaded":
      return goOn({ ...state, ...input.loaded, outdated: state.outdated || input.loaded.outdated, previews: NO_PREVIEWS });
    case "disconnected":
      return goOn({
        ...state,
        status: state.status === "live" ? "reconnecting" : state.status,
        trouble: input.next.why,
        reset: input.next.do === "load" ? input.next.why : state.reset,
        previews: NO_PREVIEWS,
      });
    case "overdue":
      return goOn(state.status === "live" ? state : { ...state, overdue: true });
    case "stopped":
      return goOn({ ...state, status: "stopped", stopped: input.reason, overdue: false, previews: NO_PREVIEWS });
    case "frame":
      return onFrame(state, input.frame);
  }
}

function onFrame(state: ReaderState, frame: Frame): { readonly state: ReaderState; readonly next: Next | null } {
  switch (frame.frame) {
    case "event":
      return onEvent(state, frame.event, frame.id);
    case "ready":
    case "checkpoint": {
      const proof = frame.frame === "ready" ? frame.ready : frame.checkpoint;
      if (isOtherLife(state, proof.cursor)) return { state, next: { do: "load", why: "another epoch" } };
      const proven = {
        ...state,
        applied: Math.max(state.applied, proof.watermark),
        watermark: Math.max(state.watermark, proof.watermark),
        cursor: proof.cursor,
        epoch: epochOf(proof.cursor),
      };
      if (frame.frame === "checkpoint") return goOn(proven);
      const { history_complete: complete, incomplete_reasons: reasons } = frame.ready;
      return goOn({ ...proven, ...LIVE, history: worse(state.history, complete, reasons) });
    }
    case "preview":
      return goOn(withPreviews(state, show(state.previews, state.folded, frame.preview)));
    case "preview_reset":
      return goOn(withPreviews(state, reset(state.previews, frame.reset)));
    case "notice": {
      const { code, incomplete_reasons: reasons = [] } = frame.notice;
      if (code !== "history_incomplete") return goOn(state);
      return goOn({ ...state, history: worse(state.history, false, reasons) });
    }
    case "reset":
      return { state, next: { do: "load", why: frame.reset.reason } };
    case "close": {
      const { reason, retry_after_ms: after = 0 } = frame.close;
      if (reason === "authorization_revoked" || reason === "session_deleted") {
        return { state, next: { do: "stop", why: reason } };
      }
      return { state, next: { do: "reconnect", why: reason, atOnce: reason === "reauth", after } };
    }
  }
}

function onEvent(
  state: ReaderState,
  event: Event,
  id: string | null,
): { readonly state: ReaderState; readonly next: Next | null } {
  if (id !== null && isOtherLife(state, id)) return { state, next: { do: "load", why: "another epoch" } };
  // Only the number in the event tells a duplicate. What has none was read with the history.
  if (event.sequence === null || event.sequence <= state.applied) return goOn(state);
  const isForeign = event.version !== VERSION;
  if (isForeign && !state.outdated) {
    return { state: { ...state, outdated: true }, next: { do: "load", why: "another version" } };
  }
  const { folded, missing } = fold(state.folded, [event]);
  const moved = withPreviews(
    {
      ...state,
      folded,
      recent: [...state.recent, event].slice(-RECENT),
      applied: event.sequence,
      cursor: id ?? state.cursor,
      watermark: Math.max(state.watermark, event.watermark),
      history: event.type === "execution.lost" ? worse(state.history, false, ["execution_lost"]) : state.history,
    },
    retire(state.previews, folded),
  );
  return { state: moved, next: missing ? { do: "load", why: "something is missing" } : null };
}

/** What loading gives. */
export type Loaded = Pick<
  ReaderState,
  "applied" | "cursor" | "epoch" | "watermark" | "folded" | "recent" | "history" | "outdated"
>;

/** The history in the making: a snapshot, then its pages, then {@link Loading.done}. */
export class Loading {
  readonly #snapshot: Snapshot;
  #folded = NOTHING;
  #recent: Event[] = [];
  #outdated = false;

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  /** Folds a page in. False when it is of another life of the thread than the snapshot: begin anew. */
  page(page: Page): boolean {
    const { cursor, latest_sequence: latest } = this.#snapshot.read;
    const epoch = epochOf(cursor);
    // A thread without records has no epoch yet, and may get one while it is read.
    if (latest > 0 && epochOf(page.read.cursor) !== epoch) return false;
    const events = page.records.flatMap(({ event, sequence }) =>
      event && (sequence === null || sequence <= latest) ? [event] : [],
    );
    this.#outdated ||= events.some((event) => event.version !== VERSION);
    // What changes something that the history does not have is nothing: asking again would not bring it.
    this.#folded = fold(this.#folded, events).folded;
    this.#recent = [...this.#recent, ...events].slice(-RECENT);
    return true;
  }

  /** The thread at the moment of the snapshot. */
  done(): Loaded {
    const { read } = this.#snapshot;
    return {
      applied: read.latest_sequence,
      cursor: read.cursor,
      epoch: epochOf(read.cursor),
      watermark: read.latest_sequence,
      folded: asOf(this.#snapshot, this.#folded),
      recent: this.#recent,
      history: worse({ complete: true, reasons: [] }, read.history_complete, read.incomplete_reasons),
      outdated: this.#outdated,
    };
  }
}

/** What the snapshot knows beyond the events: the thread's row, and which runs are not over. */
function asOf({ session, executions, read }: Snapshot, folded: Folded): Folded {
  const at = read.latest_sequence;
  const runs = new Map(folded.runs);
  const last = new Map(folded.last);
  const unsettled = new Map(executions.map((execution) => [execution.execution_id, execution]));
  for (const [id, run] of runs) {
    const isOpen = run.state === "running" || run.state === "stopping";
    if (!isOpen || unsettled.has(id)) continue;
    // Its end has no event, or none that is left.
    if (run.deleted) runs.delete(id);
    else runs.set(id, { ...run, state: "stopped" });
  }
  for (const [id, { state, started_at: startedAt }] of unsettled) {
    const known = runs.get(id);
    const now = state === "stopping" ? "stopping" : "running";
    if (known) runs.set(id, { ...known, state: now });
    else if (!last.has(`run:${id}`)) {
      last.set(`run:${id}`, at);
      const nothing = { endedAt: null, reason: null, error: null, trigger: null, parentId: null, deleted: false };
      runs.set(id, { id, sequence: at, changed: at, state: now, startedAt, ...nothing });
    }
  }
  last.set("thread", at);
  return {
    ...folded,
    runs,
    last,
    thread: { ...folded.thread, name: session.name, metadata: session.metadata },
    settings: settingsIn(session.metadata),
  };
}

/** The first part of a cursor, the only one that a reader looks at. */
function epochOf(cursor: string): string | null {
  const dot = cursor.indexOf(".");
  return dot < 0 ? null : cursor.slice(0, dot);
}

/** Whether a position belongs to another numbering. A thread that had none gets its first one. */
function isOtherLife(state: ReaderState, cursor: string): boolean {
  const epoch = epochOf(cursor);
  return state.epoch !== null && state.epoch !== "none" && epoch !== null && epoch !== state.epoch;
}

/** A history that was not whole once is not whole again by itself; reasons are only added. */
function worse(history: History, complete: boolean, reasons: readonly string[]): History {
  const all = [...new Set([...history.reasons, ...reasons])].sort();
  if (complete && all.length === history.reasons.length) return history;
  return { complete: history.complete && complete && all.length === 0, reasons: all };
}

const LIVE = { status: "live", overdue: false, trouble: null } as const;

function withPreviews(state: ReaderState, previews: Previews): ReaderState {
  return previews === state.previews ? state : { ...state, previews };
}

function goOn(state: ReaderState): { readonly state: ReaderState; readonly next: null } {
  return { state, next: null };
}
