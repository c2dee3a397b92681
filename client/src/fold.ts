// Events into a thread: a pure function. What an event says about an entity counts only when nothing later was said
// about it, so the same list folded twice, or cut and folded again from anywhere, gives the same thread.

import { isKnown } from "./event.js";
import type { Event, Json, KnownEvent, MessagePayload, Payloads, StepPayload } from "./event.js";
import type { Entity, Folded, Run } from "./thread.js";

/** What folding gave. */
export interface FoldResult {
  readonly folded: Folded;
  /** Something was changed that nobody ever told of: what is here is not the whole. */
  readonly missing: boolean;
}

/** Folds events in their order. Unknown types are nothing. `folded` itself stays as it is. */
export function fold(folded: Folded, events: Iterable<Event>): FoldResult {
  const draft = new Draft(folded);
  for (const event of events) {
    if (isKnown(event)) draft.apply(event);
  }
  return { folded: draft.folded, missing: draft.missing };
}

/** Whether an entity, or the run that writes it, is done with or gone: no preview may show it any more. */
export function isOver(folded: Folded, entity: string, run: string | null): boolean {
  if (folded.messages.has(entity)) return true;
  const step = folded.steps.get(entity);
  if (step ? step.state !== "running" : folded.last.has(`step:${entity}`)) return true;
  if (run === null || !folded.last.has(`run:${run}`)) return false;
  const state = folded.runs.get(run)?.state;
  return state !== "running" && state !== "stopping";
}

type Maps = "messages" | "steps" | "runs" | "interactions" | "elements" | "feedback" | "last";
type Writable<T> = T extends ReadonlyMap<infer K, infer V> ? Map<K, V> : never;

/** A fold in the making: every map is copied once, when it is first written to. */
class Draft {
  folded: Folded;
  missing = false;
  readonly #copied = new Set<Maps>();

  constructor(folded: Folded) {
    this.folded = folded;
  }

  apply(event: KnownEvent): void {
    switch (event.type) {
      case "message.completed":
        return this.#message(event, event.payload);
      case "message.updated":
        if (this.#there(event, event.payload.message_id)) this.#message(event, event.payload);
        return;
      case "message.deleted":
        return this.#delete(event, event.payload.message_id);
      case "step.started":
      case "step.completed":
        return this.#step(event, event.payload);
      case "tool.completed":
        return this.#step(event, event.payload, event.payload.status, event.payload.error);
      case "step.updated":
        if (this.#there(event, stepId(event, event.payload))) this.#step(event, event.payload);
        return;
      case "execution.started":
        return this.#started(event, event.payload);
      case "execution.stopped":
        return this.#ended(event, {
          state: "stopped",
          endedAt: event.payload.stopped_at,
          reason: event.payload.reason,
        });
      case "execution.failed":
        return this.#ended(event, {
          state: "failed",
          endedAt: event.payload.failed_at,
          error: event.payload.error,
        });
      case "execution.lost":
        return this.#ended(event, { state: "lost", endedAt: event.payload.lost_at, reason: event.payload.reason });
      case "interaction.requested":
        return this.#asked(event, event.payload);
      case "interaction.responded":
        return this.#answered(event, event.payload);
      case "element.added":
        return this.#element(event, event.payload);
      case "element.removed":
        if (this.#isNews(event, `element:${event.payload.element_id}`)) {
          this.#write("elements").delete(event.payload.element_id);
        }
        return;
      case "feedback.set":
        return this.#vote(event, event.payload);
      case "feedback.removed":
        for (const [step, vote] of this.folded.feedback) {
          if (vote.id === event.payload.feedback_id && this.#isNews(event, `vote:${step}`)) {
            this.#write("feedback").delete(step);
          }
        }
        return;
      case "thread.updated":
        return this.#thread(event, event.payload);
      case "settings.updated":
        return this.#thread(event, { metadata: { [SETTINGS]: event.payload.values } });
      case "record.erased":
        return this.#erased(event);
    }
  }

  #message(event: KnownEvent, payload: MessagePayload & { readonly finish_reason?: string }): void {
    const id = payload.message_id;
    if (!this.#isNews(event, `step:${id}`)) return;
    const known = this.folded.messages.get(id);
    this.#write("messages").set(id, {
      id,
      ...this.#place(event, known),
      role: payload.role ?? known?.role ?? "assistant",
      name: said(payload.name, known?.name),
      content: said(payload.content, known?.content) ?? "",
      createdAt: said(payload.created_at, known?.createdAt),
      parentId: said(payload.parent_id, known?.parentId),
      language: said(payload.language, known?.language),
      isError: said(payload.is_error, known?.isError) ?? false,
      interrupted: payload.finish_reason === "interrupted",
      erased: false,
      metadata: said(payload.metadata, known?.metadata) ?? {},
      run: event.execution_id ?? known?.run ?? null,
    });
  }

  #step(event: KnownEvent, payload: StepPayload, status?: string, error?: string | null): void {
    const id = stepId(event, payload);
    if (!this.#isNews(event, `step:${id}`)) return;
    const known = this.folded.steps.get(id);
    const isDone = event.type === "tool.completed" || event.type === "step.completed";
    const isError = status === "error" || payload.is_error === true;
    const output = text(payload.output);
    this.#write("steps").set(id, {
      id,
      ...this.#place(event, known),
      type: payload.step_type ?? known?.type ?? (payload.tool_call_id ? "tool" : "undefined"),
      name: said(payload.name, known?.name),
      input: payload.input === undefined ? (known?.input ?? null) : text(payload.input),
      output: isError ? null : output,
      error: isError ? (error ?? output ?? "") : null,
      state: !isDone ? "running" : status === "cancelled" ? "cancelled" : isError ? "error" : "ok",
      startedAt: said(payload.started_at, known?.startedAt),
      endedAt: payload.ended_at ?? null,
      parentId: said(payload.parent_id, known?.parentId),
      erased: false,
      metadata: said(payload.metadata, known?.metadata) ?? {},
      run: event.execution_id ?? known?.run ?? null,
    });
  }

  #started(event: KnownEvent, payload: Payloads["execution.started"]): void {
    const id = event.execution_id ?? event.entity_id;
    if (id === null || !this.#isNews(event, `run:${id}`)) return;
    this.#write("runs").set(id, {
      id,
      ...this.#place(event, undefined),
      state: "running",
      startedAt: payload.started_at,
      endedAt: null,
      reason: null,
      error: null,
      trigger: payload.trigger_message_id ?? null,
      parentId: payload.parent_id ?? null,
      deleted: false,
    });
  }

  #ended(event: KnownEvent, end: Pick<Run, "state" | "endedAt"> & Partial<Run>): void {
    const id = event.execution_id ?? event.entity_id;
    if (id === null || !this.#isNews(event, `run:${id}`)) return;
    const run = this.folded.runs.get(id);
    if (run?.deleted) this.#write("runs").delete(id);
    else if (run) this.#write("runs").set(id, { ...run, ...end, changed: place(event) });
    // Nobody waits for an answer any more.
    for (const [ask, interaction] of this.folded.interactions) {
      if (interaction.run !== id || interaction.outcome !== null || !this.#isNews(event, `ask:${ask}`)) continue;
      this.#write("interactions").set(ask, { ...interaction, outcome: "cancelled", changed: place(event) });
    }
  }

  #asked(event: KnownEvent, payload: Payloads["interaction.requested"]): void {
    const id = payload.interaction_id;
    if (payload.message_id !== undefined) this.#message(event, { ...payload, message_id: payload.message_id });
    if (!this.#isNews(event, `ask:${id}`)) return;
    this.#write("interactions").set(id, {
      id,
      ...this.#place(event, undefined),
      kind: payload.kind,
      spec: payload.spec ?? null,
      timeoutAt: payload.timeout_at ?? null,
      run: event.execution_id,
      outcome: null,
      value: null,
    });
  }

  #answered(event: KnownEvent, payload: Payloads["interaction.responded"]): void {
    const id = payload.interaction_id;
    if (!this.#isNews(event, `ask:${id}`)) return;
    const known = this.folded.interactions.get(id);
    if (!known) return;
    const { outcome, value = null } = payload;
    this.#write("interactions").set(id, { ...known, outcome, value, changed: place(event) });
  }

  #element(event: KnownEvent, payload: Payloads["element.added"]): void {
    const id = payload.element_id;
    if (!this.#isNews(event, `element:${id}`)) return;
    this.#write("elements").set(id, {
      id,
      ...this.#place(event, this.folded.elements.get(id)),
      forId: payload.for_id ?? null,
      kind: payload.kind ?? null,
      name: payload.name ?? null,
      url: payload.url ?? null,
      mime: payload.mime ?? null,
      payload,
    });
  }

  #vote(event: KnownEvent, payload: Payloads["feedback.set"]): void {
    const forId = payload.message_id;
    if (!this.#isNews(event, `vote:${forId}`)) return;
    this.#write("feedback").set(forId, {
      // A first vote has no id of its own; the server gives it the record's.
      id: payload.feedback_id ?? event.event_id,
      ...this.#place(event, this.folded.feedback.get(forId)),
      forId,
      value: payload.value,
      comment: payload.comment ?? null,
    });
  }

  #thread(event: KnownEvent, payload: Payloads["thread.updated"]): void {
    if (!this.#isNews(event, "thread")) return;
    const { thread } = this.folded;
    const merged = { ...thread.metadata, ...payload.metadata };
    const metadata = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
    const name = payload.name ?? thread.name;
    const tags = payload.tags ?? thread.tags;
    this.folded = { ...this.folded, thread: { name, tags, metadata }, settings: settingsIn(metadata) };
  }

  /** What was erased loses its words, not its place. */
  #erased(event: KnownEvent & { readonly type: "record.erased" }): void {
    const id = event.entity_id;
    if (id === null) return;
    const message = this.folded.messages.get(id);
    const step = this.folded.steps.get(id);
    const isMessage = event.payload.record_type === "message";
    if (!(message || step || isMessage) || !this.#isNews(event, `step:${id}`)) return;
    if (step) {
      const nothing = { input: null, output: null, error: null, erased: true };
      this.#write("steps").set(id, { ...step, ...nothing, changed: place(event) });
    } else {
      this.#write("messages").set(id, { ...(message ?? UNKNOWN), id, ...this.#place(event, message), ...ERASED });
    }
  }

  /** A message or step goes with everything that hangs below it. */
  #delete(event: KnownEvent, root: string): void {
    if (!this.#isNews(event, `step:${root}`)) return;
    const { messages, steps, runs, elements, feedback } = this.folded;
    const gone = subtree(root, messages, steps, runs);
    for (const id of gone) {
      this.#write("last").set(`step:${id}`, place(event));
      if (messages.has(id)) this.#write("messages").delete(id);
      if (steps.has(id)) this.#write("steps").delete(id);
      const run = runs.get(id);
      if (run) {
        const goesOn = run.state === "running" || run.state === "stopping";
        if (goesOn) this.#write("runs").set(id, { ...run, deleted: true });
        else this.#write("runs").delete(id);
      }
    }
    for (const [id, element] of elements) {
      if (element.forId === null || !gone.has(element.forId) || !this.#isNews(event, `element:${id}`)) continue;
      this.#write("elements").delete(id);
    }
    for (const step of feedback.keys()) {
      if (gone.has(step) && this.#isNews(event, `vote:${step}`)) this.#write("feedback").delete(step);
    }
  }

  /** Whether there is something to change. What is gone stays gone; what was never there is missing, once. */
  #there(event: KnownEvent, id: string): boolean {
    if (this.folded.messages.has(id) || this.folded.steps.has(id)) return true;
    const key = `step:${id}`;
    if (!this.folded.last.has(key)) {
      this.missing = true;
      this.#write("last").set(key, place(event));
    }
    return false;
  }

  /** Whether nothing later was said about the entity; then this is the last that was. */
  #isNews(event: KnownEvent, key: string): boolean {
    const last = this.folded.last.get(key);
    if (last !== undefined && last >= place(event)) return false;
    this.#write("last").set(key, place(event));
    return true;
  }

  #place(event: KnownEvent, known: Entity | undefined): Pick<Entity, "sequence" | "changed"> {
    return { sequence: known?.sequence ?? place(event), changed: place(event) };
  }

  #write<M extends Maps>(name: M): Writable<Folded[M]> {
    if (!this.#copied.has(name)) {
      this.#copied.add(name);
      this.folded = { ...this.folded, [name]: new Map<string, unknown>(this.folded[name]) };
    }
    return this.folded[name] as Writable<Folded[M]>;
  }
}

/** The chat settings as a thread's metadata holds them. */
export function settingsIn(metadata: Json): Json {
  const settings = metadata[SETTINGS];
  return typeof settings === "object" && settings !== null ? (settings as Json) : {};
}

const SETTINGS = "chat_settings";

/** Where an event stands in its thread: 0 when it was written before there were numbers. */
function place(event: KnownEvent): number {
  return event.sequence ?? 0;
}

function stepId(event: KnownEvent, payload: StepPayload): string {
  return payload.step_id ?? payload.tool_call_id ?? event.entity_id ?? event.event_id;
}

/** What an event does not mention stays as it was known; a null it does mention. */
function said<T>(now: T | null | undefined, known: T | null | undefined): T | null {
  return (now === undefined ? known : now) ?? null;
}

const ERASED = { content: "", erased: true } as const;

/** A message of which only its place is left. */
const UNKNOWN = {
  role: "unknown",
  name: null,
  createdAt: null,
  parentId: null,
  language: null,
  isError: false,
  interrupted: false,
  metadata: {},
  run: null,
} as const;

/** Input and output are texts on the chat wire, any JSON elsewhere. */
function text(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

type Tree = ReadonlyMap<string, { readonly parentId: string | null }>;

function subtree(root: string, ...trees: Tree[]): Set<string> {
  const children = new Map<string, string[]>();
  for (const tree of trees) {
    for (const [id, { parentId }] of tree) {
      if (parentId === null) continue;
      const siblings = children.get(parentId);
      if (siblings) siblings.push(id);
      else children.set(parentId, [id]);
    }
  }
  const found = new Set([root]);
  // A set is walked in the order of insertion, those inserted on the way too.
  for (const id of found) {
    for (const child of children.get(id) ?? []) found.add(child);
  }
  return found;
}
