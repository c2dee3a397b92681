// A thread as readers know it: its entities, each with the records that made and last changed it.

import type { Failure, Json } from "./event.js";

/** What every entity has. */
export interface Entity {
  readonly id: string;
  /** The record that made it; 0 for what was written before there were numbers. */
  readonly sequence: number;
  /** The record that last changed it. */
  readonly changed: number;
}

/** A message, complete. */
export interface Message extends Entity {
  /** `user`, `assistant` or `system`. */
  readonly role: string;
  readonly name: string | null;
  readonly content: string;
  readonly createdAt: string | null;
  readonly parentId: string | null;
  readonly language: string | null;
  readonly isError: boolean;
  /** A crash cut it off while it was written. */
  readonly interrupted: boolean;
  /** Its text was erased on purpose. */
  readonly erased: boolean;
  readonly metadata: Json;
  readonly run: string | null;
}

/** A step that is no message: a tool, a retrieval, a call of a model. */
export interface Work extends Entity {
  readonly type: string;
  readonly name: string | null;
  readonly input: string | null;
  readonly output: string | null;
  readonly error: string | null;
  readonly state: "running" | "ok" | "error" | "cancelled";
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly parentId: string | null;
  readonly erased: boolean;
  readonly metadata: Json;
  readonly run: string | null;
}

/** One run of the application for one turn. */
export interface Run extends Entity {
  /** `stopping` is known from the snapshot only. */
  readonly state: "running" | "stopping" | "stopped" | "failed" | "lost";
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** Why it stopped or was lost. */
  readonly reason: string | null;
  readonly error: Failure | null;
  readonly trigger: string | null;
  readonly parentId: string | null;
  /** An edit above took it away; kept only until it ends. */
  readonly deleted: boolean;
}

/** A question that the application asked. */
export interface Interaction extends Entity {
  readonly kind: string;
  readonly spec: unknown;
  readonly timeoutAt: string | null;
  readonly run: string | null;
  /** Null while it is open. */
  readonly outcome: string | null;
  readonly value: unknown;
}

/** An element that hangs below a message, or stands for itself. */
export interface Attachment extends Entity {
  readonly forId: string | null;
  readonly kind: string | null;
  readonly name: string | null;
  readonly url: string | null;
  readonly mime: string | null;
  /** All that was said of it. */
  readonly payload: Json;
}

/** Somebody's vote: at most one for a step, whose id is the key in {@link Folded.feedback}. */
export interface Vote extends Entity {
  readonly forId: string;
  readonly value: number;
  readonly comment: string | null;
}

/** A thread as its events tell it. Maps are in the order in which things first came. */
export interface Folded {
  readonly thread: { readonly name: string | null; readonly tags: readonly string[]; readonly metadata: Json };
  /** The chat settings, which live in the metadata. */
  readonly settings: Json;
  readonly messages: ReadonlyMap<string, Message>;
  readonly steps: ReadonlyMap<string, Work>;
  readonly runs: ReadonlyMap<string, Run>;
  readonly interactions: ReadonlyMap<string, Interaction>;
  readonly elements: ReadonlyMap<string, Attachment>;
  readonly feedback: ReadonlyMap<string, Vote>;
  /** The last record about each entity, those that are gone too: what is older is known already. */
  readonly last: ReadonlyMap<string, number>;
}

/** A thread of which nothing is known yet. */
export const NOTHING: Folded = {
  thread: { name: null, tags: [], metadata: {} },
  settings: {},
  messages: new Map(),
  steps: new Map(),
  runs: new Map(),
  interactions: new Map(),
  elements: new Map(),
  feedback: new Map(),
  last: new Map(),
};
