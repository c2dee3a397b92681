// The conversations of make-database: node conversations.mjs URL. Two people talk to the reference app in every way that
// leaves different rows behind; then Chainlit itself is asked what it has stored, which is printed as JSON.

import { createRequire } from "node:module";

// The packages are those of tests/js.
const { io } = createRequire(new URL("../js/package.json", import.meta.url))("socket.io-client");

const base = process.argv[2];
const PATIENCE = 20_000;

// ---- a person and one of their tabs --------------------------------------------------------------------------------

class Person {
  static async signIn(name) {
    const form = new FormData();
    form.set("username", name);
    form.set("password", "pw");
    const response = await fetch(`${base}/login`, { method: "POST", body: form });
    if (!response.ok) throw new Error(`${name} cannot sign in: ${response.status}`);
    const person = new Person();
    person.name = name;
    person.cookie = response.headers.getSetCookie()[0].split(";")[0];
    return person;
  }

  async request(method, path, body) {
    const headers = { Cookie: this.cookie };
    if (body && !(body instanceof FormData)) {
      headers["Content-Type"] = "application/json";
      body = JSON.stringify(body);
    }
    const response = await fetch(base + path, { method, headers, body });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** One conversation in a tab of its own; gives back the thread's id. */
  async talk(what) {
    const tab = new Tab(this);
    await tab.greeted();
    await what(tab);
    const thread = await tab.thread;
    // Chainlit stores in the background; what is still on its way when the line drops may be lost.
    await settled(() => this.thread(thread));
    await tab.leave();
    return thread;
  }

  rename(threadId, name) {
    return this.request("PUT", "/project/thread", { threadId, name });
  }

  thread(id) {
    return this.request("GET", `/project/thread/${id}`);
  }

  /** All threads, newest first, as the sidebar has them. */
  async threads() {
    const page = await this.request("POST", "/project/threads", { pagination: { first: 100 }, filter: {} });
    return Promise.all(page.data.map(({ id }) => this.thread(id)));
  }
}

class Tab {
  constructor(person) {
    this.person = person;
    this.sessionId = crypto.randomUUID();
    this.events = [];
    this.watchers = new Set();
    this.socket = io(base, {
      path: "/ws/socket.io",
      transports: ["websocket"],
      forceNew: true,
      extraHeaders: { Cookie: person.cookie },
      auth: { clientType: "webapp", sessionId: this.sessionId, threadId: "", userEnv: "{}", chatProfile: "" },
    });
    this.thread = this.seen("first_interaction").then(({ thread_id }) => thread_id);
    this.socket.onAny((event, value, answer) => {
      this.events.push({ event, value, answer });
      for (const watcher of this.watchers) watcher();
    });
    this.socket.emit("connection_successful");
  }

  /** The argument of the first such event, past or to come. */
  seen(event, test = () => true) {
    return this.find((entry) => entry.event === event && test(entry.value)).then(({ value }) => value);
  }

  find(test) {
    return new Promise((resolve, reject) => {
      const watcher = () => {
        const found = this.events.find(test);
        if (!found) return;
        this.watchers.delete(watcher);
        clearTimeout(timer);
        resolve(found);
      };
      const timer = setTimeout(() => reject(new Error(`not seen in ${PATIENCE} ms: ${test}`)), PATIENCE);
      this.watchers.add(watcher);
      watcher();
    });
  }

  greeted() {
    return this.seen("update_message", (step) => step.name === "on_chat_start" && step.end);
  }

  /** Sends a message and waits until its run has ended; gives back its step and that run. */
  async say(output, fileReferences = []) {
    const message = this.message(output);
    this.socket.emit("client_message", { message, fileReferences });
    return { message, run: await this.runOf(message.id) };
  }

  message(output) {
    return {
      id: crypto.randomUUID(),
      threadId: "",
      name: this.person.name,
      type: "user_message",
      output,
      createdAt: new Date().toISOString(),
      metadata: { location: `${base}/` },
    };
  }

  runOf(messageId) {
    return this.seen("update_message", (step) => step.type === "run" && step.parentId === messageId && step.end);
  }

  /** Says something that makes the app ask, and answers it. */
  async sayAndAnswer(output, toAnswer) {
    const said = this.say(output);
    const { value, answer } = await this.find(({ event }) => event === "ask");
    answer(await toAnswer(value));
    await said;
  }

  async edit(message, output) {
    this.events = []; // the first run of this message must not be taken for the new one
    this.socket.emit("edit_message", { message: { ...message, output } });
    await this.runOf(message.id);
  }

  async upload(name, text, askParentId) {
    const form = new FormData();
    form.set("file", new Blob([text], { type: "text/plain" }), name);
    const parent = askParentId ? `&ask_parent_id=${askParentId}` : "";
    const { id } = await this.person.request("POST", `/project/file?session_id=${this.sessionId}${parent}`, form);
    return { id };
  }

  async leave() {
    const thread = await this.thread;
    this.socket.disconnect();
    // The last thing that Chainlit writes of a session is the thread's metadata.
    await until(async () => JSON.stringify((await this.person.thread(thread)).metadata).includes("client_type"));
  }
}

async function until(test) {
  const deadline = Date.now() + PATIENCE;
  while (!(await test())) {
    if (Date.now() > deadline) throw new Error(`never came true: ${test}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Waits until a question is answered alike for half a second: Chainlit tells nobody when its writes are done. */
async function settled(question) {
  let last = "";
  let alike = 0;
  await until(async () => {
    const answer = await question().then(JSON.stringify, () => "");
    alike = answer && answer === last ? alike + 1 : 0;
    last = answer;
    return alike >= 10;
  });
}

async function untilUp() {
  await until(() => fetch(`${base}/health`).then((response) => response.ok, () => false));
}

// ---- what they talk about ------------------------------------------------------------------------------------------

async function aliceTalks(alice) {
  await alice.talk(async (tab) => {
    await tab.say("hi there");
    await tab.say("über 90 % „fertig“ 🚀\nsecond line");
  });
  await alice.talk((tab) => tab.say("/stream 12 5"));
  await alice.talk((tab) => tab.say("/tool rust in action"));
  await alice.talk(async (tab) => {
    await tab.say("/error it broke");
    await tab.say("still there?");
  });
  await alice.talk(async (tab) => {
    await tab.sayAndAnswer("/ask 30", ({ msg }) => ({ ...tab.message("Ada"), parentId: msg.parentId }));
  });
  await alice.talk(async (tab) => {
    await tab.sayAndAnswer("/ask-action", () => tab.events.find(({ event }) => event === "action").value);
  });
  await alice.talk(async (tab) => {
    await tab.sayAndAnswer("/ask-file", async ({ msg }) => [await tab.upload("ada.txt", "Ada wrote this", msg.parentId)]);
  });
  await alice.talk((tab) => tab.say("/element"));
  await alice.talk(async (tab) => {
    await tab.say("/action");
    const { value: action } = await tab.find(({ event }) => event === "action");
    await alice.request("POST", "/project/action", { action, sessionId: tab.sessionId });
    await tab.seen("new_message", (step) => step.output === "pressed 1");
  });
  await alice.talk(async (tab) => {
    await tab.say("/many 5");
    const { run } = await tab.say("is this good?");
    const feedback = { forId: run.id, threadId: await tab.thread, value: 1, comment: "very good" };
    await alice.request("PUT", "/feedback", { feedback, sessionId: tab.sessionId });
  });
  await alice.talk(async (tab) => {
    const { message } = await tab.say("first try");
    await tab.say("what came after");
    await tab.edit(message, "second try");
  });
  await alice.talk(async (tab) => {
    await tab.say("/set colour deep blue");
    await tab.say("/get colour");
  });
  // What the reference app does on resume is told by the thread's name.
  for (const name of ["greet me", "fail-once please", "slow 300 ms"]) {
    const thread = await alice.talk((tab) => tab.say(`to be named ${name}`));
    await alice.rename(thread, name);
  }
}

async function bobTalks(bob) {
  await bob.talk((tab) => tab.say("bob was here"));
  await bob.talk(async (tab) => {
    const file = await tab.upload("bob.txt", "a file from bob");
    await tab.say("with a file", [file]);
    await tab.say("/tool of bob");
  });
}

// ---- what was stored ------------------------------------------------------------------------------------------------

const pick = (object, keys) => Object.fromEntries(keys.map((key) => [key, object[key] ?? null]));
const asObject = (value) => (typeof value === "string" ? JSON.parse(value) : value); // SQLite has JSON as text

function tell(thread) {
  return {
    ...pick(thread, ["id", "name", "createdAt", "userIdentifier"]),
    metadata: asObject(thread.metadata),
    steps: thread.steps.map((step) => ({
      ...pick(step, ["id", "type", "name", "input", "output", "parentId", "createdAt"]),
      isError: Boolean(step.isError),
      feedback: step.feedback ? pick(step.feedback, ["value", "comment"]) : null,
    })),
    elements: thread.elements.map((element) => pick(element, ["id", "forId", "name", "type", "display", "mime", "url"])),
  };
}

await untilUp();
const alice = await Person.signIn("alice");
const bob = await Person.signIn("bob");
await aliceTalks(alice);
await bobTalks(bob);
const told = {};
for (const person of [alice, bob]) told[person.name] = (await person.threads()).map(tell);
console.log(JSON.stringify(told));
