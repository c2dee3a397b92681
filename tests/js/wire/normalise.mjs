// Makes two recordings of one scenario comparable: what differs from run to run (ids, times, names
// made up by the run, ports, tokens) becomes a placeholder, what the server orders freely gets one
// order. Key presence and values stay; the order of keys does not.

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const ID = new RegExp(`${UUID}|<(?:message|step|thread|session|user-id|element|action|file|id)-\\d+>`, "gi");
const WHOLE_ID = new RegExp(`^(?:${ID.source})$`, "i");
const TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(Z|[+-]\d\d:\d\d)?/g;
const JWT = /[\w-]+\.([\w-]+)\.[\w-]+/;

/** Recording of a run -> what is kept in a file. */
export function normalise(entries, { base, names }) {
  const port = new URL(base).port;
  const scrub = (text) => {
    let out = text.replaceAll(base, "<base>");
    if (port) out = out.replaceAll(`:${port}`, ":<port>");
    for (const [value, placeholder] of names) out = out.replaceAll(value, placeholder);
    out = out.replace(/^(access_token(?:_\d+)?=)([^;]+)/, (_, name, token) => name + claims(token));
    // Local time without a zone is a different fact from UTC, so it has a different placeholder.
    return out.replace(TIME, (_, zone) => (zone ? "<time>" : "<time without zone>")).replace(/expires=[^;]+/i, (m) => `${m.slice(0, 7)}=<date>`);
  };
  return renumber(arrange(walk(entries, scrub)));
}

/** A stored or hand-edited expectation, brought to the same form. */
export const settle = (entries) => renumber(arrange(entries));

function claims(token) {
  const match = JWT.exec(token);
  if (!match) return token;
  return `<jwt ${Object.keys(JSON.parse(Buffer.from(match[1], "base64url").toString())).sort().join(" ")}>`;
}

function walk(value, scrub) {
  if (typeof value === "string") return scrub(value);
  if (Array.isArray(value)) return value.map((item) => walk(item, scrub));
  if (typeof value === "number" && scrub(String(value)) !== String(value)) return scrub(String(value));
  if (value && typeof value === "object") return Object.fromEntries(Object.keys(value).sort().filter((key) => value[key] !== undefined).map((key) => [scrub(key), walk(value[key], scrub)]));
  return value;
}

/**
 * One order for what a server may order freely, within a section (what follows one `do`):
 *
 * - each client's events keep their own order; how two clients' events mix does not count, since
 *   nothing orders them on the wire;
 * - `set_favorites` answers a parallel `fetch_favorites` and can land anywhere (chat-wire.md 2.3);
 * - the `first_interaction` of a message or action is emitted by a task of its own, after the thread's row is
 *   written: between the run's `new_message` and some time after the last `task_end` (2.4). That of a
 *   resume (`interaction` = `resume`) and that of an answered ask are emitted in line and stay where they are;
 * - the `element` event of an uploaded file is sent by a task of its own too (2.4): recognised by
 *   `forId` = a message that the client sent.
 *
 * Each of these moves to the end of its client's section.
 */
function arrange(entries) {
  const sections = [[]];
  for (const entry of entries) {
    if (entry.do) sections.push([]);
    sections.at(-1).push(entry);
  }
  const sent = new Set(entries.filter((e) => e.sends).map((e) => e.args?.[0]?.message?.id));
  return sections.flatMap((section) => {
    const who = [...new Set(section.map((e) => e.client ?? ""))].sort();
    return who.flatMap((name) => {
      const own = section.filter((e) => (e.client ?? "") === name);
      const answered = own.some((e) => "answers" in e);
      const free = (e) =>
        e.event === "set_favorites" ||
        (e.event === "first_interaction" && !answered && e.args[0]?.interaction !== "resume") ||
        (e.event === "element" && sent.has(e.args[0]?.forId));
      const rank = (e) => ["set_favorites", "first_interaction", "element"].indexOf(e.event);
      return [...own.filter((e) => !free(e)), ...own.filter(free).sort((a, b) => rank(a) - rank(b))];
    });
  });
}

/** Ids by first occurrence, each kind counted on its own; runs on its own output as well. */
function renumber(entries) {
  const names = new Map();
  const counts = {};
  const name = (id, kind) => {
    if (!names.has(id)) names.set(id, `<${kind}-${(counts[kind] = (counts[kind] ?? 0) + 1)}>`);
    return names.get(id);
  };
  const visit = (value, kind, event) => {
    if (typeof value === "string") {
      if (WHOLE_ID.test(value)) return name(value, kind ?? "id");
      return value.replace(ID, (id) => name(id, "id"));
    }
    if (Array.isArray(value)) return value.map((item) => visit(item, kind, event));
    if (!value || typeof value !== "object") return value;
    const out = {};
    // An object's own id names what it is; the ids it refers to come after.
    for (const key of Object.keys(value).sort((a, b) => (b === "id") - (a === "id") || (a < b ? -1 : 1))) out[key] = visit(value[key], kindOf(key, value, event), event);
    return Object.fromEntries(Object.keys(out).sort().map((key) => [key, out[key]]));
  };
  return entries.map((entry) => {
    const { args, ...rest } = entry;
    const order = ["do", "client", "event", "sends", "answers", "acked", "waited", "http", "as", "json", "form", "status", "headers", "args", "ack", "body"];
    const done = { ...visit(rest, undefined, entry.sends ?? entry.event), ...(args ? { args: visit(args, undefined, entry.sends ?? entry.event) } : {}) };
    return Object.fromEntries(Object.keys(done).sort((a, b) => order.indexOf(a) - order.indexOf(b)).map((key) => [key, done[key]]));
  });
}

function kindOf(key, owner, event) {
  switch (key) {
    case "threadId":
    case "thread_id":
    case "endCursor":
    case "startCursor":
    case "cursor":
      return "thread";
    case "sessionId":
    case "session_id":
      return "session";
    case "parentId":
    case "forId":
    case "step_id":
      return "step";
    case "chainlitKey":
      return "file";
    case "element_id":
      return "element";
    case "userId":
      return "user-id";
    case "keys":
      return "action";
    case "id":
      if (event === "client_message" && "output" in owner) return "message";
      if (event === "element" || event === "remove_element" || "chainlitKey" in owner) return "element";
      if ("payload" in owner) return "action";
      if (Array.isArray(owner.steps) || "userIdentifier" in owner) return "thread";
      if ("identifier" in owner) return "user-id";
      if ("type" in owner) return "step";
      return "id";
    default:
      return undefined;
  }
}
