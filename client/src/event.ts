// The typed, public form of a record: what pages, replay and the live stream carry alike (records.md 3.6).

/** The version of the envelope that this reader understands. */
export const VERSION = 1;

/** A JSON object. */
export type Json = { readonly [key: string]: unknown };

/** What went wrong, in words for a person. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly details?: unknown;
}

/** Every type of event with its payload. Types and fields may be added at any time: both are ignored when unknown. */
export interface Payloads {
  "execution.started": {
    readonly started_at: string | null;
    readonly trigger_message_id?: string | null;
    readonly name?: string | null;
    readonly parent_id?: string | null;
  };
  "execution.stopped": {
    readonly stopped_at: string | null;
    /** `completed`, `user_stop`, `superseded` or `session_cleared`. */
    readonly reason: string;
    readonly command_id?: string | null;
  };
  "execution.failed": { readonly failed_at: string | null; readonly error: Failure };
  "execution.lost": { readonly lost_at: string; readonly reason: string; readonly history_complete: false };
  "message.completed": MessagePayload & {
    readonly role: string;
    readonly content: string;
    /** `stop`, or `interrupted` when a crash cut the message off. */
    readonly finish_reason?: string;
  };
  "message.updated": MessagePayload;
  /** A message or a step is gone, with everything that hangs below it. */
  "message.deleted": { readonly message_id: string };
  "tool.completed": StepPayload & {
    readonly tool_call_id: string;
    readonly error?: string | null;
    /** `ok`, `error` or `cancelled`. */
    readonly status: string;
  };
  "step.started": StepPayload;
  "step.updated": StepPayload;
  "step.completed": StepPayload;
  /** With the message that asks. */
  "interaction.requested": Partial<MessagePayload> & {
    readonly interaction_id: string;
    /** `text`, `file`, `action` or `element`. */
    readonly kind: string;
    readonly spec?: unknown;
    readonly timeout_at?: string | null;
  };
  "interaction.responded": {
    readonly interaction_id: string;
    /** `answered`, `timed_out` or `cancelled`. */
    readonly outcome: string;
    readonly value?: unknown;
  };
  /** An element came or changed. Its bytes are at `url`, below the server's root when it begins with a slash. */
  "element.added": {
    readonly element_id: string;
    readonly for_id?: string | null;
    readonly kind?: string | null;
    readonly name?: string | null;
    readonly url?: string | null;
    readonly mime?: string | null;
  } & Json;
  "element.removed": { readonly element_id: string };
  "feedback.set": {
    readonly feedback_id?: string | null;
    readonly message_id: string;
    readonly value: number;
    readonly comment?: string | null;
  };
  "feedback.removed": { readonly feedback_id: string };
  /** What is absent or null stays. */
  "thread.updated": {
    readonly name?: string | null;
    readonly tags?: readonly string[] | null;
    /** Merged key by key; null takes a key away. */
    readonly metadata?: Json;
  };
  "settings.updated": { readonly values: Json };
  /** Stands where a record stood whose content was removed on purpose. */
  "record.erased": { readonly record_type?: string; readonly erased_at?: string };
}

/** What is said of a message. */
export interface MessagePayload {
  readonly message_id: string;
  readonly role?: string;
  readonly content?: string | null;
  readonly name?: string | null;
  readonly created_at?: string | null;
  readonly parent_id?: string | null;
  readonly language?: string | null;
  readonly is_error?: boolean | null;
  readonly metadata?: Json | null;
}

/** What is said of a step that is no message. A tool may be named by `tool_call_id` alone. */
export interface StepPayload {
  readonly step_id?: string;
  readonly tool_call_id?: string;
  readonly step_type?: string;
  readonly name?: string | null;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly is_error?: boolean | null;
  readonly started_at?: string | null;
  readonly ended_at?: string | null;
  readonly parent_id?: string | null;
  readonly metadata?: Json | null;
}

/** A type that this reader knows. */
export type EventType = keyof Payloads;

/** What surrounds every payload. */
export interface Envelope {
  readonly version: number;
  readonly kind: "event";
  readonly session_id: string;
  readonly execution_id: string | null;
  /** The record's id. */
  readonly event_id: string;
  readonly entity_id: string | null;
  /** The place in the thread; null for what was written before there were numbers. Sparse is normal. */
  readonly sequence: number | null;
  /** The server's last number when it read this. Information, never a position. */
  readonly watermark: number;
  readonly type: string;
  readonly payload: object;
  /** Not an order. */
  readonly created_at: string;
}

/** One event of a type that this reader knows. */
export type KnownEvent = {
  [T in EventType]: Omit<Envelope, "type" | "payload"> & { readonly type: T; readonly payload: Payloads[T] };
}[EventType];

/** An event as it comes from the wire. */
export type Event = Envelope;

const KNOWN: Record<EventType, true> = {
  "execution.started": true,
  "execution.stopped": true,
  "execution.failed": true,
  "execution.lost": true,
  "message.completed": true,
  "message.updated": true,
  "message.deleted": true,
  "tool.completed": true,
  "step.started": true,
  "step.updated": true,
  "step.completed": true,
  "interaction.requested": true,
  "interaction.responded": true,
  "element.added": true,
  "element.removed": true,
  "feedback.set": true,
  "feedback.removed": true,
  "thread.updated": true,
  "settings.updated": true,
  "record.erased": true,
};

/** Whether the event's version and type are known, so that its payload may be read. What has none is not. */
export function isKnown(event: Event): event is KnownEvent {
  const hasPayload = typeof event.payload === "object" && event.payload !== null;
  return event.version === VERSION && hasPayload && Object.hasOwn(KNOWN, event.type);
}
