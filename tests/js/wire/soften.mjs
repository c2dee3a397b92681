// Transformations that a deviation row may ask for by name, applied to both sides before they are compared.
// Each removes a difference that no frontend can notice or that chat-wire.md tells a new server to make.

const softeners = {
  /**
   * Stored rows as they should be on the wire: Chainlit on SQLite hands out JSON columns as text and booleans as
   * 0 and 1 (chat-wire.md 5.7, 8.5); absent and null mean the same to every client, and columns that Chainlit does
   * not read back (`command`, `modes`, `defaultOpen`, `autoCollapse`) may come or not.
   */
  "stored-types": (entries) => threads(entries, (thread) => {
    thread.metadata = json(thread.metadata) ?? {};
    thread.tags = json(thread.tags) ?? null;
    thread.steps = thread.steps?.map(storedStep);
    return thread;
  }),

  /**
   * Where the bytes of a stored element are: each server has places of its own, and a client takes any `url`. Chainlit
   * stores `chainlitKey` when its own writing was faster, and properties as text.
   */
  "stored-elements": (entries) => threads(entries, (thread) => {
    thread.elements = thread.elements?.map((element) => ({
      ...element, url: element.url ? "<url>" : element.url, objectKey: "<any>", chainlitKey: "<any>", props: json(element.props) ?? null,
    }));
    return thread;
  }),

  /** Of what is deleted clients read nothing but the id (4.1). */
  "deleted-ids": (entries) => entries.map((entry) => (entry.event === "delete_message" ? { ...entry, args: [{ id: entry.args[0].id }] } : entry)),

  /** The elements of the side view are in its list; Chainlit tells of each before, beside no message. */
  "side-view-list": (entries) => {
    const listed = new Set(entries.filter(({ event }) => event === "set_sidebar_elements").flatMap(({ args }) => args[0].elements.map(({ id }) => id)));
    return entries
      .filter((entry) => entry.event !== "element" || !listed.has(entry.args[0].id))
      .map((entry) => (entry.event === "set_sidebar_elements" ? { ...entry, args: [{ ...entry.args[0], key: "<any>" }] } : entry));
  },

  /** Null, false and absent are one to every client here; favourites are rows. */
  "live-types": (entries) => entries.map((entry) => {
    const [first] = entry.args ?? [];
    const live = ({ showInput, ...step }) => ({ ...step, metadata: json(step.metadata), ...(empty(showInput) ? {} : { showInput }) });
    if (entry.event === "element" && !first.autoPlay) return { ...entry, args: [{ ...first, autoPlay: null }] };
    if (entry.event === "set_favorites") return { ...entry, args: [first.map(storedStep)] };
    if (entry.event === "ask") return { ...entry, args: [{ ...first, msg: live(first.msg) }] };
    return entry.event === "update_message" ? { ...entry, args: [live(first)] } : entry;
  }),

  /** What Chainlit writes into a thread's metadata on its own at a disconnect (2.7) and no client reads. */
  "metadata-own-keys": (entries) => threads(entries, (thread) => {
    if (thread.metadata && typeof thread.metadata === "object") thread.metadata = ownKeysRemoved(thread.metadata);
    return thread;
  }),

  /**
   * Chainlit against itself: its write of the metadata at a disconnect races with a resume, and in 2 of 100 threads
   * another write of the thread's row undoes it for good. So only what an app put there is compared.
   */
  "metadata-may-be-lost": (entries) => threads(entries, (thread) => {
    if (typeof thread.metadata === "string") thread.metadata = JSON.stringify(ownKeysRemoved(JSON.parse(thread.metadata)));
    return thread;
  }),

  /** The texts of a validation error are its framework's; that there is a list of them, and the status, count. */
  "validation-texts": (entries) => entries.map((entry) => (entry.status === 422 ? { ...entry, body: { detail: "<validation errors>" } } : entry)),

  /** The list of threads needs no steps and elements: no client reads them there (6.5). */
  "list-without-steps": (entries) => entries.map((entry) => {
    if (!entry.http?.startsWith("POST /project/threads") || !Array.isArray(entry.body?.data)) return entry;
    return { ...entry, body: { ...entry.body, data: entry.body.data.map(({ steps, elements, ...thread }) => thread) } };
  }),

  /** A message that was streamed and never sent has no times in Chainlit, live or stored. With times it is only better. */
  "stream-times": (entries) => {
    const streamed = new Set(entries.filter((entry) => entry.event === "stream_start").map((entry) => entry.args[0].id));
    return entries.map((entry) => {
      if (!["stream_start", "update_message"].includes(entry.event) || !(streamed.has(entry.args[0].id) || entry.args[0].createdAt === null)) return entry;
      return { ...entry, args: [{ ...entry.args[0], createdAt: "<time or null>", start: "<time or null>", end: "<time or null>" }] };
    });
  },

  /** An update of a step that no page knows changes nothing on any page (9.3). */
  "unknown-updates": (entries) => {
    const known = new Set();
    return entries.filter(({ event, args }) => {
      const id = args?.[0]?.id;
      if (["new_message", "stream_start"].includes(event)) known.add(id);
      return event !== "update_message" || known.has(id) || /^<message-/.test(id);
    });
  },

  /** Why a connection is refused is said in words of the server's own (M11). */
  "refusal-texts": (entries) => entries.map((entry) => (entry.event === "connect_error" ? { ...entry, args: [{ message: "<reason>" }] } : entry)),

  /** What an error message says: Python's words for a slip of the app or of the input are not ours. */
  "error-texts": (entries) => entries.map((entry) => {
    const step = entry.args?.[0];
    if (!step?.isError || !["new_message", "update_message"].includes(entry.event) || (step.name !== "Error" && step.type !== "run") || step.output === "") return entry;
    return { ...entry, args: [{ ...step, output: "<error>" }] };
  }),

  /**
   * A `client_message` with a wrong type in a field may be understood (a turn follows) or refused (an error message
   * between `task_start` and `task_end`); both become one entry. Anything else, silence above all, stays and differs.
   */
  "input-understood-or-refused": (entries) => bySection(entries, (section) => {
    if (!section[0]?.do?.startsWith("a client_message with")) return section;
    const events = section.filter((entry) => entry.event && entry.event !== "first_interaction");
    const kinds = events.map((entry) => entry.event).join(" ");
    const turn = kinds === "task_start new_message new_message update_message task_end" && events[1].args[0].type === "run";
    const refused = kinds === "task_start new_message task_end" && events[1].args[0].isError === true;
    return turn || refused ? [section[0], { answered: "understood or refused" }] : section;
  }),

  /** Any 400 or 422 is a bad request. */
  "bad-requests": (entries) => entries.map((entry) => ([400, 422].includes(entry.status) ? { ...entry, status: "<bad request>" } : entry)),

  /** Pages of no or of a negative length. */
  "odd-pages": (entries) => entries.map((entry) => (entry.json?.pagination?.first < 1 ? { ...entry, status: "<any>", headers: "<any>", body: "<any>" } : entry)),

  /** After an edit, what may be deleted once more on a page that has dropped it by itself (3.3) is not counted. */
  "deletes-after-edit": (entries) => bySection(entries, (section) => (section[0]?.do?.includes(" edits ") ? section.filter((entry) => entry.event !== "delete_message") : section)),

  /** Once a page was sent a thread, its own message may be said to it again (design, promise 6); it takes it twice (9.4). */
  "echoes-after-resume": (entries) => {
    const resumed = new Set();
    const sent = new Set();
    return entries.filter((entry) => {
      if (entry.event === "resume_thread") resumed.add(entry.client);
      if (entry.sends === "client_message") sent.add(`${entry.client} ${entry.args[0]?.message?.id}`);
      return !(entry.event === "new_message" && resumed.has(entry.client) && sent.has(`${entry.client} ${entry.args[0].id}`));
    });
  },

  /**
   * In the section of a connect, a step that the page shows already may be said again as it is: it was not proven
   * to have arrived (design, promise 8), and a page takes it twice (9.4). Where one that has changed is said does not
   * count, since a page does not move it (9.3): here it comes before the new ones.
   */
  repeats: (entries) => {
    const shown = new Map();
    return bySection(entries, (section) => {
      const arriving = new Set(section.filter((entry) => entry.event === "connect").map((entry) => entry.client));
      const known = new Set(shown.keys());
      return knownFirst(section, (entry) => arriving.has(entry.client) && entry.event === "new_message", (entry) => known.has(`${entry.client} ${entry.args[0].id}`)).filter((entry) => {
        if (!["new_message", "update_message"].includes(entry.event)) return true;
        const key = `${entry.client} ${entry.args[0].id}`;
        const text = JSON.stringify(entry.args[0]);
        const again = arriving.has(entry.client) && entry.event === "new_message" && shown.get(key) === text;
        shown.set(key, text);
        return !again;
      });
    });
  },
};

/** Within each row of entries for which `counts`, those that are `known` come first. */
function knownFirst(entries, counts, known) {
  const out = [];
  let row = [];
  const end = () => {
    out.push(...row.filter(known), ...row.filter((entry) => !known(entry)));
    row = [];
  };
  for (const entry of entries) {
    if (counts(entry)) row.push(entry);
    else {
      end();
      out.push(entry);
    }
  }
  end();
  return out;
}

function bySection(entries, change) {
  const sections = [[]];
  for (const entry of entries) {
    if (entry.do) sections.push([]);
    sections.at(-1).push(entry);
  }
  return sections.flatMap(change);
}

export function soften(entries, names) {
  return names.reduce((done, name) => {
    if (!softeners[name]) throw new Error(`deviations.json names no such softener: ${name}`);
    return softeners[name](done);
  }, structuredClone(entries));
}

function ownKeysRemoved({ id, env, user, client_type, ...metadata }) {
  for (const key of ["chat_settings", "chat_profile"]) if (empty(metadata[key])) delete metadata[key];
  return metadata;
}

/** See `stored-types`. */
function storedStep(step) {
  const out = { ...step, metadata: json(step.metadata) ?? {}, tags: json(step.tags) ?? null };
  for (const key of ["isError", "waitForAnswer", "streaming"]) out[key] = Boolean(out[key]);
  for (const key of ["generation", "showInput", "language", "feedback"]) if (empty(out[key])) delete out[key];
  for (const key of ["command", "modes", "defaultOpen", "autoCollapse", "indent"]) delete out[key];
  if (String(out.type).includes("message") && !out.input) delete out.input;
  if (typeof out.showInput === "boolean") out.showInput = String(out.showInput);
  return out;
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
