// What a scenario holds: a recorder of everything a client sees, pages (official socket.io-client,
// behaving as the stock frontends do around it) and plain HTTP callers.
import { randomUUID } from "node:crypto";
import { io } from "socket.io-client";

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Nothing has come for this long: the turn is over. Late, freely ordered events come within it. */
const QUIET = 200;
/** A wait that lasts this long has failed. */
const PATIENCE = 8000;

export class Recorder {
  constructor({ base, transport, mend = false }) {
    this.base = base.replace(/\/$/, "");
    this.transport = transport;
    this.mend = mend;
    this.entries = [];
    this.pages = [];
    this.people = new Map();
    this.names = new Map();
  }

  /** Opens a section: what follows is the answer to `what`. */
  does(what) {
    this.entries.push({ do: what });
    for (const page of this.pages) page.mark = page.seen.length;
  }

  /** A user that no other run has; the normaliser calls it `<user-LABEL>`. */
  person(label) {
    if (!this.people.has(label)) this.people.set(label, this.call(`u-${label}-${randomUUID().slice(0, 8)}`, `<user-${label}>`));
    return this.people.get(label);
  }

  /** Tells the normaliser what to call a value that this run made up. */
  call(value, placeholder) {
    this.names.set(String(value), placeholder);
    return value;
  }

  /** Signs `label` in without recording it; gives the Cookie header. */
  async signIn(label, { quiet = true } = {}) {
    const form = new FormData();
    form.set("username", this.person(label));
    form.set("password", "pw");
    const ask = () => fetch(`${this.base}/login`, { method: "POST", body: form });
    const answer = await ask().catch(ask);
    if (!answer.ok) throw new Error(`login of ${label}: ${answer.status} ${await answer.text()}`);
    return answer.headers.getSetCookie().map((cookie) => cookie.split(";")[0]).join("; ");
  }

  /** A page of `person`; `auth` overrides the connect payload, `cookie` the login. */
  async page(name, { person = "a", auth = {}, cookie, rawAuth } = {}) {
    const page = new Page(this, name, {
      cookie: cookie ?? (await this.signIn(person)),
      person: this.person(person),
      auth: rawAuth !== undefined ? rawAuth : {
        clientType: "webapp",
        sessionId: randomUUID(),
        threadId: "",
        userEnv: "{}",
        chatProfile: "",
        ...auth,
      },
    });
    this.pages.push(page);
    return page;
  }

  /** One recorded HTTP exchange. `json` and `form` are bodies; `shape` reduces the answer before it is recorded. */
  async http(method, path, { cookie, headers = {}, json, form, text, shape, as } = {}) {
    const sent = { ...headers };
    let body;
    if (json !== undefined) {
      sent["content-type"] = "application/json";
      body = JSON.stringify(json);
    } else if (form) {
      body = new FormData();
      for (const [key, value] of Object.entries(form)) {
        if (value && typeof value === "object") body.set(key, new Blob([value.bytes], { type: value.type }), value.name);
        else body.set(key, value);
      }
    } else if (text !== undefined) body = text;
    if (cookie) sent.cookie = cookie;
    const ask = () => fetch(this.base + path, { method, headers: sent, body, redirect: "manual" });
    // A pooled connection that the server has just closed for idleness says nothing about the server: once more.
    const answer = await ask().catch((error) => (["UND_ERR_SOCKET", "ECONNRESET"].includes(error.cause?.code) ? ask() : Promise.reject(error)));
    const raw = await answer.text();
    let data = raw;
    if ((answer.headers.get("content-type") ?? "").includes("application/json") && raw) data = JSON.parse(raw);
    // The built page belongs to its wheel: that there is one is all that counts.
    if ((answer.headers.get("content-type") ?? "").includes("text/html")) data = "<page>";
    const kept = {};
    for (const header of ["content-type", "location", "www-authenticate", "access-control-allow-origin", "access-control-allow-credentials"])
      if (answer.headers.has(header)) kept[header] = answer.headers.get(header);
    const cookies = answer.headers.getSetCookie();
    if (cookies.length) kept["set-cookie"] = cookies;
    this.entries.push({
      http: `${method} ${path}`,
      ...(as ? { as } : {}),
      ...(json !== undefined ? { json } : {}),
      ...(form ? { form: Object.fromEntries(Object.entries(form).map(([k, v]) => [k, v?.name ?? v])) } : {}),
      status: answer.status,
      headers: kept,
      body: shape ? shape(data) : data,
    });
    return { status: answer.status, data, cookies };
  }

  /** Does something that is not recorded: what came before the scenario. */
  async unseen(work) {
    const length = this.entries.length;
    await work();
    this.entries.length = length;
  }

  end() {
    for (const page of this.pages) page.close();
  }
}

export class Page {
  constructor(recorder, name, { cookie, person, auth }) {
    Object.assign(this, { recorder, name, person, auth, cookie, seen: [], mark: 0, parting: false });
    this.last = Date.now();
    this.socket = io(recorder.base, {
      path: "/ws/socket.io",
      transports: [recorder.transport],
      upgrade: false,
      forceNew: true,
      autoConnect: false,
      reconnection: false,
      withCredentials: false,
      extraHeaders: cookie ? { Cookie: cookie } : {},
      // The stock client hands over a mutable object: what is in it at a reconnect is sent then.
      ...(auth === null ? {} : { auth: (give) => give(this.auth) }),
    });
    const socket = this.socket;
    socket.on("connect", () => this.#note("connect", [], { recovered: socket.recovered || undefined }));
    socket.on("connect_error", (error) => this.#note("connect_error", [{ message: error.message, ...(error.data !== undefined ? { data: error.data } : {}) }]));
    socket.on("disconnect", (reason) => {
      if (!this.parting) this.#note("disconnect", [reason]);
    });
    socket.onAny((event, ...args) => {
      let ack;
      if (typeof args.at(-1) === "function") ack = args.pop();
      if (ack) this.answerWith = ack;
      // What the stock clients do with these two (chat-wire.md 1.4).
      if (event === "first_interaction" && args[0]) this.auth.threadId = args[0].thread_id;
      if (event === "resume_thread" && args[0]) this.auth.threadId = args[0].id;
      this.#note(event, args, ack ? { ack: true } : {});
    });
  }

  #note(event, args, more = {}) {
    const entry = JSON.parse(JSON.stringify({ client: this.name, event, args, ...more }));
    this.last = Date.now();
    this.seen.push(entry);
    this.recorder.entries.push(entry);
  }

  get thread() {
    for (const { args } of this.seen) if (args[0]?.threadId) return args[0].threadId;
    return this.auth.threadId;
  }

  /** Connects and waits for the answer, whatever it is. `silence`: how long to wait for none. */
  async connect({ silence = PATIENCE, greet = true } = {}) {
    const from = this.seen.length;
    this.parting = false;
    this.socket.connect();
    const until = Date.now() + silence;
    while (this.seen.length === from && Date.now() < until) await sleep(10);
    const answer = this.seen.slice(from).find(({ event }) => event.startsWith("connect"));
    if (!answer) this.recorder.entries.push({ client: this.name, waited: "neither connect nor connect_error came" });
    if (answer?.event === "connect" && greet) this.greet();
    return answer?.event;
  }

  /** What every stock client says right after CONNECT. */
  greet() {
    this.socket.emit("connection_successful");
    this.socket.emit("fetch_favorites");
  }

  /** Recorded emit. */
  send(event, ...args) {
    this.recorder.entries.push(JSON.parse(JSON.stringify({ client: this.name, sends: event, args })));
    this.socket.emit(event, ...args);
  }

  message(text, more = {}) {
    return {
      threadId: "",
      id: randomUUID(),
      name: this.person,
      type: "user_message",
      output: text,
      createdAt: new Date().toISOString(),
      metadata: { location: `${this.recorder.base}/` },
      ...more,
    };
  }

  say(text, more = {}) {
    const message = this.message(text, more);
    this.send("client_message", { message, fileReferences: [] });
    return message.id;
  }

  /** Answers the open question. */
  answer(value) {
    this.recorder.entries.push(JSON.parse(JSON.stringify({ client: this.name, answers: value ?? null })));
    this.answerWith(value);
  }

  /** Waits for `count` events of a name (or a predicate) since the section began. */
  async until(event, { count = 1, patience = PATIENCE } = {}) {
    const is = typeof event === "function" ? event : (entry) => entry.event === event;
    const end = Date.now() + patience;
    for (;;) {
      const found = this.seen.slice(this.mark).filter(is);
      if (found.length >= count) return found[count - 1];
      if (Date.now() > end) {
        this.recorder.entries.push({ client: this.name, waited: `in vain for ${count > 1 ? `${count} ` : ""}${typeof event === "string" ? event : event.label ?? "it"}` });
        return undefined;
      }
      await sleep(5);
    }
  }

  /** Waits until nothing has come for a while. */
  async quiet(ms = QUIET) {
    const start = Date.now();
    while (Date.now() - Math.max(this.last, start) < ms) await sleep(5);
  }

  /**
   * A whole turn: says it, waits for its end; the first of a session also for `first_interaction`. With `first: "maybe"`
   * it depends on the server whether it is the first.
   */
  async turn(text, { first = false, more, patience } = {}) {
    this.recorder.does(`${this.name} says ${text}`);
    const id = this.say(text, more);
    await this.until("task_end", { patience });
    if (first === true) await this.until("first_interaction");
    const interacts = () => this.seen.slice(this.mark).some(({ event }) => event === "first_interaction");
    if (first === "maybe") for (const end = Date.now() + 1500; Date.now() < end && !interacts(); ) await sleep(20);
    await this.quiet();
    return id;
  }

  /** Connects as a page load does, waits for the greeting of `on_chat_start`. */
  async open(what = `${this.name} opens a page`) {
    this.recorder.does(what);
    await this.connect();
    // One task_end opens, the other ends on_chat_start.
    await this.until("task_end", { count: 2 });
    await this.quiet();
  }

  /** Connects where no greeting follows; `end` is the event that closes what does. */
  async come(what, { end = "clear_call_fn", count = 1 } = {}) {
    this.recorder.does(what);
    const answer = await this.connect();
    if (answer === "connect") await this.until(end, { count });
    await this.quiet();
  }

  /** The line breaks: no Socket.IO DISCONNECT, as in a network blip. */
  drop() {
    this.parting = true;
    this.socket.io.engine.close();
  }

  /** The page leaves, as "new chat" does it. */
  close() {
    this.parting = true;
    this.socket.disconnect();
  }

  /** Leaves, and gives the server the time to write what it writes then; tells whether it did. */
  async leave() {
    this.close();
    return await this.stored({ metadata: true });
  }

  /**
   * Waits until the thread holds every step that was shown and has stopped changing: Chainlit writes behind, in
   * tasks of their own, and the `metadata` only after a disconnect (2.7). Not recorded, and a wait that leads nowhere ends by itself: what is read afterwards tells.
   */
  async stored({ metadata = false } = {}) {
    const steps = new Set();
    for (const { event, args } of this.seen) {
      if (["new_message", "stream_start"].includes(event)) steps.add(args[0].id);
      if (event === "ask") steps.add(args[0].msg.id);
      if (event === "delete_message") steps.delete(args[0].id);
    }
    let last;
    const start = Date.now();
    for (const end = Date.now() + 4000; Date.now() < end; await sleep(250)) {
      const answer = await fetch(`${this.recorder.base}/project/thread/${this.thread}`, { headers: { cookie: this.cookie } }).catch(() => undefined);
      if (!answer?.ok) {
        await answer?.arrayBuffer();
        continue;
      }
      const text = await answer.text();
      const thread = JSON.parse(text);
      const there = new Set(thread.steps.map(({ id }) => id));
      // A server that has nothing to write there is not waited for long.
      const written = !metadata || !["{}", "null"].includes(typeof thread.metadata === "string" ? thread.metadata : JSON.stringify(thread.metadata));
      if ((written || Date.now() - start > 1500) && text === last && [...steps].every((id) => there.has(id))) return written;
      last = text;
    }
    return false;
  }
}
