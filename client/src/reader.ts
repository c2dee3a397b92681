// Follows a thread: snapshot, history up to it, then the stream, again and again (records.md 3.11). What is heard is
// decided on in state.ts; here it is carried out.

import { Backoff } from "./backoff.js";
import { blocks } from "./event-stream.js";
import { readFrame } from "./frame.js";
import { pages } from "./page.js";
import { RequestError, type Server, address, get } from "./server.js";
import { snapshot } from "./snapshot.js";
import { type Input, Loading, type Next, type ReaderState, begin, reduce } from "./state.js";
import { CLOCK, type Clock, type Presence, presence } from "./surroundings.js";

/** What to follow, and how. */
export interface FollowOptions extends Server {
  /** The thread's id. */
  readonly thread: string;
  /** Whether texts are wanted while they are written; they are by default. */
  readonly previews?: boolean;
  /**
   * Takes the history before the stream is opened. False refuses it: the reader keeps what it had and loads again
   * later. Accepts everything by default.
   */
  readonly accept?: (state: ReaderState) => boolean | Promise<boolean>;
  /** Time and chance; the real ones by default. */
  readonly clock?: Clock;
  /** The page around it; the real one by default. */
  readonly presence?: Presence;
}

/** Begins to follow a thread at once. */
export function follow(options: FollowOptions): Reader {
  return new Reader(options);
}

/** A thread that is followed until {@link Reader.close} is called or the server says that there is nothing to read. */
export class Reader {
  /** Resolves with the reason once it has stopped for good. Never rejects. */
  readonly done: Promise<string>;

  readonly #options: FollowOptions;
  readonly #clock: Clock;
  readonly #presence: Presence;
  readonly #backoff: Backoff;
  readonly #listeners = new Set<(state: ReaderState) => void>();

  #state: ReaderState;
  /** Of the running attempt. Whoever asked in an older one gets no hearing. */
  #generation = 0;
  #mustLoad = true;
  /** One try without waiting is free, until the next `ready`. */
  #mayHurry = true;
  #isAway = false;
  #interrupt: (next: Next) => void = () => {};
  #wake: () => void = () => {};
  #stopBeingOverdue: (() => void) | null = null;
  #stopHiding: (() => void) | null = null;

  /** See {@link follow}. */
  constructor(options: FollowOptions) {
    this.#options = options;
    this.#clock = options.clock ?? CLOCK;
    this.#presence = options.presence ?? presence();
    this.#backoff = new Backoff(() => this.#clock.random());
    this.#state = begin(options.thread);
    this.#watchTheTime();
    const stopWatching = this.#presence.onChange((change) => this.#onPresence(change));
    if (this.#presence.hidden()) this.#onPresence("hidden");
    this.done = this.#run().finally(stopWatching);
  }

  /** What is known now. */
  get state(): ReaderState {
    return this.#state;
  }

  /** Calls back with every new state, from the next one on, until the function it gives back is called. */
  subscribe(listener: (state: ReaderState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes a new snapshot, at once. */
  reload(): void {
    this.#mustLoad = true;
    this.#mayHurry = true;
    this.#interrupt({ do: "load", why: "asked for" });
    this.#wake();
  }

  /** Ends it. Nothing is heard after that. */
  close(): void {
    this.#interrupt({ do: "stop", why: "closed" });
    this.#stop("closed");
    this.#wake();
  }

  async #run(): Promise<string> {
    while (this.#state.stopped === null) {
      if (this.#isAway) {
        await this.#woken();
        continue;
      }
      const next = await this.#attempt();
      // `close` may have come in between.
      if (this.#state.stopped !== null) break;
      this.#hear({ heard: "disconnected", next });
      if (next.do === "stop") {
        this.#stop(next.why);
        break;
      }
      if (next.do === "load") this.#mustLoad = true;
      const hurry = (next.do === "load" || next.atOnce) && this.#mayHurry;
      if (hurry) this.#mayHurry = false;
      else await this.#woken(Math.max(this.#backoff.next(), next.do === "reconnect" ? next.after : 0));
    }
    this.#stopBeingOverdue?.();
    this.#stopHiding?.();
    return this.#state.stopped ?? "";
  }

  /** Connects and listens until that ends, by itself, by silence or by an interruption. */
  #attempt(): Promise<Next> {
    const generation = ++this.#generation;
    const abort = new AbortController();
    return new Promise((resolve) => {
      let stopListening = () => {};
      const finish = (next: Next) => {
        if (this.#generation !== generation) return;
        // What still comes of this attempt is too late.
        this.#generation += 1;
        stopListening();
        abort.abort();
        resolve(next);
      };
      this.#interrupt = finish;
      const attempt: Attempt = {
        signal: abort.signal,
        isCurrent: () => this.#generation === generation,
        listen: () => {
          stopListening();
          if (!attempt.isCurrent()) return;
          stopListening = this.#clock.after(SILENCE, () => finish(again("silence")));
        },
        wait: () => stopListening(),
      };
      this.#connect(attempt).then(finish, (error: unknown) => finish(afterError(error)));
    });
  }

  async #connect(attempt: Attempt): Promise<Next> {
    attempt.listen();
    if (this.#mustLoad && !(await this.#load(attempt))) return again("history not taken");
    if (!attempt.isCurrent()) return LATE;

    const { thread, previews = true } = this.#options;
    const path = address(thread, previews ? "/events" : "/events?previews=0");
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (this.#state.cursor !== null) headers["last-event-id"] = this.#state.cursor;
    const answer = await get(this.#options, path, headers, attempt.signal);
    if (!answer.body || !answer.headers.get("content-type")?.startsWith("text/event-stream")) {
      return again("not a stream");
    }
    for await (const block of blocks(answer.body, attempt.listen)) {
      if (!attempt.isCurrent()) return LATE;
      const frame = readFrame(block.name, block.data, block.id);
      if (!frame) continue;
      const next = this.#hear({ heard: "frame", frame });
      if (next) return next;
      if (frame.frame === "ready") {
        this.#backoff.succeeded();
        this.#mayHurry = true;
      }
    }
    return again("the stream ended");
  }

  /** Loads the history and hands it over. False when it was refused, or changed its life while it was read. */
  async #load(attempt: Attempt): Promise<boolean> {
    const { thread, accept } = this.#options;
    const start = await snapshot(this.#options, thread, attempt.signal);
    if (!attempt.isCurrent()) return false;
    attempt.listen();
    const loading = new Loading(start);
    const range = { through: start.read.latest_sequence };
    for await (const page of pages(this.#options, thread, range, attempt.signal)) {
      attempt.listen();
      if (!attempt.isCurrent() || !loading.page(page)) return false;
    }
    const input: Input = { heard: "loaded", loaded: loading.done() };
    // The host takes the time it needs.
    attempt.wait();
    if (accept && !(await accept(reduce(this.#state, input).state))) return false;
    if (!attempt.isCurrent()) return false;
    attempt.listen();
    this.#hear(input);
    this.#mustLoad = false;
    return true;
  }

  #hear(input: Input): Next | null {
    const { state, next } = reduce(this.#state, input);
    if (state === this.#state) return next;
    this.#state = state;
    this.#watchTheTime();
    for (const listener of this.#listeners) {
      try {
        listener(state);
      } catch (error) {
        // A listener's fault is not the reader's: it surfaces as if nobody had been in between.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
    return next;
  }

  #stop(reason: string): void {
    if (this.#state.stopped === null) this.#hear({ heard: "stopped", reason });
  }

  /** Two seconds without being live are worth a notice, however many attempts they hold. */
  #watchTheTime(): void {
    const isWaiting = this.#state.status === "connecting" || this.#state.status === "reconnecting";
    if (!isWaiting) {
      this.#stopBeingOverdue?.();
      this.#stopBeingOverdue = null;
    } else {
      this.#stopBeingOverdue ??= this.#clock.after(OVERDUE, () => this.#hear({ heard: "overdue" }));
    }
  }

  #onPresence(change: "hidden" | "shown" | "online"): void {
    if (change === "hidden") {
      this.#stopHiding ??= this.#clock.after(HIDDEN, () => {
        this.#isAway = true;
        this.#interrupt({ do: "reconnect", why: "nobody looks", atOnce: true, after: 0 });
      });
      return;
    }
    if (change === "shown") {
      this.#stopHiding?.();
      this.#stopHiding = null;
      this.#isAway = false;
    }
    this.#wake();
  }

  /** Waits so long, or until something wakes it. */
  #woken(milliseconds?: number): Promise<void> {
    return new Promise((resolve) => {
      let stop = () => {};
      const wake = () => {
        stop();
        this.#wake = () => {};
        resolve();
      };
      if (milliseconds !== undefined) stop = this.#clock.after(milliseconds, wake);
      this.#wake = wake;
    });
  }
}

/** One connection, from the first request to the last frame. */
interface Attempt {
  readonly signal: AbortSignal;
  isCurrent(): boolean;
  /** The server was heard, or is to be: silence counts from now on. */
  listen(): void;
  /** Nothing is expected of the server. */
  wait(): void;
}

/** The server sends a heartbeat every 15 s. */
const SILENCE = 45_000;
const OVERDUE = 2_000;
const HIDDEN = 60_000;

/** Nobody listens to it. */
const LATE = again("late");

function again(why: string): Next {
  return { do: "reconnect", why, atOnce: false, after: 0 };
}

function afterError(error: unknown): Next {
  if (!(error instanceof RequestError)) return again(String(error));
  const { status, code, retryAfter: after } = error;
  if (status === 409 || status === 410) return { do: "load", why: code };
  // What is refused for good does not get better by asking again.
  if ([400, 401, 403, 404].includes(status)) return { do: "stop", why: code };
  return { do: "reconnect", why: code, atOnce: false, after };
}
