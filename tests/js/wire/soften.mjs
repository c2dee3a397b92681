// Transformations that a deviation row may ask for by name, applied to both sides before they are compared.
// Each removes a difference that no frontend can notice or that chat-wire.md tells a new server to make.

const softeners = {
  /**
   * Stored rows as they should be on the wire: Chainlit on SQLite hands out JSON columns as text and booleans as
   * 0 and 1 (chat-wire.md 5.7, 8); absent and null `generation`, `tags`, `language` mean the same to every client.
   */
  "stored-types": (entries) => threads(entries, (thread) => {
    thread.metadata = json(thread.metadata) ?? {};
    thread.tags = json(thread.tags) ?? null;
    thread.steps = thread.steps?.map((step) => {
      const out = { ...step, metadata: json(step.metadata) ?? {}, tags: json(step.tags) ?? null };
      for (const key of ["isError", "waitForAnswer", "streaming"]) out[key] = Boolean(out[key]);
      for (const key of ["generation", "showInput", "language", "feedback"]) if (empty(out[key])) delete out[key];
      if (typeof out.showInput === "boolean") out.showInput = String(out.showInput);
      return out;
    });
    return thread;
  }),

  /** What Chainlit writes into a thread's metadata on its own at a disconnect (2.7) and no client reads. */
  "metadata-own-keys": (entries) => threads(entries, (thread) => {
    if (thread.metadata && typeof thread.metadata === "object") {
      thread.metadata = { ...thread.metadata };
      for (const key of ["id", "env", "user", "client_type"]) delete thread.metadata[key];
      for (const key of ["chat_settings", "chat_profile"]) if (empty(thread.metadata[key])) delete thread.metadata[key];
    }
    return thread;
  }),

  /** The texts of a validation error are its framework's: status, `type` and `loc` count. */
  "validation-texts": (entries) => entries.map((entry) => {
    if (entry.status !== 422 || !Array.isArray(entry.body?.detail)) return entry;
    return { ...entry, body: { detail: "<validation errors>" } };
  }),
};

export function soften(entries, names) {
  return names.reduce((done, name) => {
    if (!softeners[name]) throw new Error(`deviations.json names no such softener: ${name}`);
    return softeners[name](done);
  }, structuredClone(entries));
}

const isThread = (value) => value && typeof value === "object" && Array.isArray(value.steps) && "userIdentifier" in value;

function threads(entries, change) {
  const visit = (value) => {
    if (isThread(value)) return change({ ...value });
    if (Array.isArray(value)) return value.map(visit);
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visit(item)]));
    return value;
  };
  return entries.map(visit);
}

function json(value) {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

const empty = (value) => value === undefined || value === null || value === "null" || value === "{}" || (typeof value === "object" && Object.keys(value).length === 0);
