// What a frontend may do, played with the official client against the reference app. Each scenario names
// what it does with `r.does(..)`; what follows until the next is the server's answer. Every page and caller
// uses names, sessions and threads of its own, so scenarios may run on a server that is in use.
import { randomUUID } from "node:crypto";
import { sleep } from "./page.mjs";

/** The line breaks once the server may know that everything has arrived; a server that keeps proof needs a moment. */
async function breaks(page) {
  await page.quiet(700);
  page.drop();
  await sleep(200);
}

/** An earlier visit that leaves a thread; not recorded. Gives the thread's id. */
async function earlier(r, texts, { person = "a", auth } = {}) {
  for (let tries = 3; ; tries--) {
    let thread, whole;
    await r.unseen(async () => {
      const page = await r.page("before", { person, auth });
      await page.open();
      for (const [index, text] of texts.entries()) await page.turn(text, { first: index === 0 });
      thread = page.thread;
      whole = await page.leave();
    });
    // Chainlit loses a thread's metadata now and then (soften.mjs): another visit, then.
    if (whole || !r.mend || tries === 1) return thread;
    await r.http("DELETE", "/project/thread", { cookie: await r.signIn(person), json: { threadId: thread } });
    r.entries.pop();
  }
}

/** A page that has been greeted and, if it `spoke`, has had its first turn (`hi`); none of it is recorded. */
async function visitor(r, { spoke = false, cookie } = {}) {
  const page = await r.page("a", { cookie });
  await r.unseen(async () => {
    await page.open();
    if (spoke) await page.turn("hi", { first: true });
  });
  return page;
}

const uuidV1 = "8a6e0804-2bd0-11ef-9a9b-325096b39f47";

/** One section a variant: `change` alters the payload of a good `client_message`. */
function badMessages(variants) {
  return async (r) => {
    const a = await visitor(r, { spoke: true });
    for (const [what, change] of Object.entries(variants)) {
      r.does(`a client_message with ${what}`);
      const message = a.message("hi");
      const payload = change(message, { message, fileReferences: [] });
      a.send("client_message", ...(payload === undefined ? [] : [payload]));
      await a.until(Object.assign((e) => e.event === "task_end", { label: "task_end" }), { patience: 1200 });
      await a.quiet();
    }
    await a.turn("still there");
  };
}
const field = (name, value) => (message, payload) => (value === undefined ? delete message[name] : (message[name] = value), payload);
const fields = (name, values) => Object.fromEntries(values.map((value) => [`${name} ${value === undefined ? "missing" : JSON.stringify(value)}`, field(name, value)]));

const s = {};
export const scenarios = s;
const scenario = (name, run, more = {}) => (s[name] = { run, ...more });

// ---- connecting: every case of chat-wire.md 2.3 ----

scenario("fresh", async (r) => {
  const a = await r.page("a");
  await a.open();
});

scenario("fresh-silent-until-greeted", async (r) => {
  const a = await r.page("a");
  r.does("a connects and says nothing");
  await a.connect({ greet: false });
  await sleep(300);
  r.does("a says connection_successful");
  a.greet();
  await a.until("task_end", { count: 2 });
  await a.quiet();
});

scenario("fresh-null-auth-fields", async (r) => {
  const a = await r.page("a", { auth: { threadId: null, chatProfile: null, userEnv: null } });
  await a.open();
});

scenario("fresh-odd-session-id", async (r) => {
  const a = await r.page("a", { auth: { sessionId: `not-a-uuid-${randomUUID()}` } });
  await a.open();
  await a.turn("hi", { first: true });
});

scenario("reconnect-before-chat-start", async (r) => {
  const a = await r.page("a");
  r.does("a connects, and its line breaks before connection_successful");
  await a.connect({ greet: false });
  a.drop();
  await sleep(200);
  await a.open("a comes back");
  await a.turn("/calls", { first: true });
});

scenario("reconnect-after-chat-start", async (r) => {
  const a = await r.page("a");
  await a.open();
  await breaks(a);
  await a.come("a comes back, no first interaction yet");
  await a.turn("/calls", { first: true });
});

scenario("reconnect-after-turn", async (r) => {
  const a = await visitor(r, { spoke: true });
  await breaks(a);
  await a.come("a comes back");
  await a.turn("/calls");
  await a.turn("/context");
});

scenario("reconnect-message-first", async (r) => {
  const a = await visitor(r, { spoke: true });
  await breaks(a);
  r.does("a comes back; a buffered message is sent before connection_successful");
  await a.connect({ greet: false });
  a.say("buffered");
  await a.until("task_end");
  await a.quiet();
  r.does("a says connection_successful");
  a.greet();
  await a.until("clear_call_fn");
  await a.quiet();
});

scenario("reconnect-during-run", async (r) => {
  const a = await visitor(r, { spoke: true });
  r.does("a says /sleep 2500");
  a.say("/sleep 2500");
  await a.until("new_message");
  await a.quiet();
  await breaks(a);
  await a.come("a comes back while the run works");
  r.does("the run ends");
  await a.until("task_end");
  await a.quiet();
  await a.turn("/context");
});

scenario("reconnect-during-ask", async (r) => {
  const a = await visitor(r, { spoke: true });
  r.does("a says /ask 3");
  a.say("/ask 3");
  await a.until("ask");
  await a.quiet();
  await breaks(a);
  await a.come("a comes back while the question is open");
  r.does("nobody answers");
  await a.until("ask_timeout");
  await a.until("task_end");
  await a.quiet();
});

scenario("reconnect-gap", async (r) => {
  const a = await visitor(r, { spoke: true });
  r.does("a says /sleep 500; its line breaks, the run ends in the gap");
  a.say("/sleep 500");
  await a.until("new_message");
  a.drop();
  await sleep(1000);
  await a.come("a comes back");
});

scenario("takeover", async (r) => {
  const a = await visitor(r, { spoke: true });
  await a.quiet(700);
  const b = await r.page("b", { auth: { ...a.auth } });
  await b.come("b connects with the session id of a");
  await b.turn("from b");
  r.does("a says from a");
  a.say("from a");
  await sleep(600);
  r.does("a leaves");
  await a.leave();
  await b.turn("/calls");
});

scenario("session-of-another-user", async (r) => {
  const a = await r.page("a");
  await a.open();
  const b = await r.page("b", { person: "b", auth: { sessionId: a.auth.sessionId } });
  await b.come("b, another user, connects with the session id of a");
});

scenario("resume", async (r) => {
  const thread = await earlier(r, ["one", "two", "/set color deep blue"]);
  const a = await r.page("a", { auth: { threadId: thread } });
  await a.come("a opens its thread", { end: "resume_thread" });
  await a.turn("/calls");
  await a.turn("/context");
  await a.turn("/get color");
  await a.turn("three");
});

scenario("resume-rich", async (r) => {
  const thread = await earlier(r, ["rich", "/tool x", "/element", "/many 2", "/stream 3 5", "/settings", "/action"]);
  const a = await r.page("a", { auth: { threadId: thread } });
  await a.come("a opens a thread that has seen tool, element, many, stream, settings, action", { end: "resume_thread" });
  await a.turn("/context");
});

scenario("resume-reconnect", async (r) => {
  const thread = await earlier(r, ["one"]);
  const a = await r.page("a", { auth: { threadId: thread } });
  await a.come("a opens its thread", { end: "resume_thread" });
  await a.turn("two");
  await breaks(a);
  r.does("a comes back");
  await a.connect();
  await a.until("clear_call_fn");
  await a.quiet(500);
  await a.turn("/calls");
  await a.turn("/context");
});

scenario("resume-reconnect-at-once", async (r) => {
  const thread = await earlier(r, ["one"]);
  const a = await r.page("a", { auth: { threadId: thread } });
  r.does("a connects with a thread id, and its line breaks before connection_successful");
  await a.connect({ greet: false });
  a.drop();
  await sleep(200);
  r.does("a comes back");
  await a.connect();
  await a.until("clear_call_fn");
  await a.quiet(500);
  await a.turn("/calls", { first: "maybe" });
  await a.turn("/context");
});

scenario("resume-greet", async (r) => {
  const thread = await earlier(r, ["greet me"]);
  const a = await r.page("a", { auth: { threadId: thread } });
  await a.come("a opens a thread whose resume hook speaks", { end: "resume_thread" });
  await a.turn("/context");
  const b = await r.page("b", { auth: { threadId: thread } });
  await a.leave();
  await b.come("b opens it again", { end: "resume_thread" });
});

scenario("resume-fail-once", async (r) => {
  const thread = await earlier(r, ["fail-once please"]);
  const a = await r.page("a", { auth: { threadId: thread } });
  r.does("a opens a thread whose resume hook fails");
  await a.connect();
  await a.until("task_end", { count: 2 });
  await a.quiet(500);
  await breaks(a);
  r.does("a comes back");
  await a.connect();
  await a.until("clear_call_fn");
  await a.quiet(500);
  await a.turn("/calls");
  await a.turn("/context");
});

scenario("resume-fail-then-event", async (r) => {
  const thread = await earlier(r, ["fail-once please"]);
  const a = await r.page("a", { auth: { threadId: thread } });
  r.does("a opens a thread whose resume hook fails");
  await a.connect();
  await a.until("task_end", { count: 2 });
  await a.quiet(500);
  r.does("a says /calls");
  a.say("/calls");
  await a.until("task_end");
  await a.quiet(500);
});

scenario("resume-slow", async (r) => {
  const thread = await earlier(r, ["slow 400 please"]);
  const a = await r.page("a", { auth: { threadId: thread } });
  await a.come("a opens a thread whose resume hook takes its time", { end: "resume_thread" });
  await a.turn("/calls");
});

scenario("resume-unknown", async (r) => {
  const a = await r.page("a", { auth: { threadId: randomUUID() } });
  await a.open("a asks for a thread that does not exist");
  await a.turn("/calls", { first: true });
  await breaks(a);
  r.does("a comes back");
  await a.connect();
  await a.until("clear_call_fn");
  await a.quiet(500);
  await a.turn("/context");
});

scenario("resume-not-an-id", async (r) => {
  const a = await r.page("a", { auth: { threadId: `no-such-thing-${randomUUID()}` } });
  await a.open("a asks for a thread id that is no id");
  await a.turn("hi", { first: true });
});

scenario("resume-foreign", async (r) => {
  const thread = await earlier(r, ["mine"], { person: "b" });
  const a = await r.page("a", { auth: { threadId: thread } });
  await a.come("a asks for a thread of another user", { count: 1 });
});

scenario("resume-deleted", async (r) => {
  const thread = await earlier(r, ["to be deleted"]);
  const cookie = await r.signIn("a");
  r.does("the thread is deleted, then opened");
  await r.http("DELETE", "/project/thread", { cookie, json: { threadId: thread } });
  const a = await r.page("a", { auth: { threadId: thread } });
  await a.open("a opens it");
});

scenario("no-resume-hook", async (r) => {
  const thread = await earlier(r, ["one"]);
  const a = await r.page("a", { auth: { threadId: thread } });
  await a.open("a opens its thread on a server without on_chat_resume");
  await a.turn("two", { first: true });
  await breaks(a);
  await a.come("a comes back");
  const b = await r.page("b", { auth: { threadId: randomUUID() } });
  await b.open("b asks for a thread that does not exist");
}, { app: "no-resume" });

// ---- turns ----

const turns = (...texts) => async (r) => {
  const a = await visitor(r);
  for (const [index, text] of texts.entries()) await a.turn(text, { first: index === 0 });
};

scenario("echo", turns("hi", "two words", "ünï ☃ **md**"));
scenario("stream", turns("/stream 5 10", "/stream 1 1"));
scenario("stream-nothing", turns("/stream 0 1"));
scenario("tool", turns("/tool x", "/tool two words"));
scenario("many", turns("/many 3", "/many 0"));
scenario("error", turns("/error boom", "/error two words", "/error", "after"));
scenario("element", turns("/element"));
scenario("toast", turns("/toast"));
scenario("set-get", turns("/set color deep blue", "/get color", "/get nothing"));
scenario("calls", turns("/calls", "/calls"));
scenario("context", turns("/context", "one", "/context", "/tool x", "/stream 2 1", "/many 2", "/error boom", "/context"));
scenario("bad-commands", turns("/stream", "/stream x y", "/sleep", "/set", "/get"));
scenario("empty-text", turns("", " ", "x"));
scenario("first-is-error", turns("/error first"));

scenario("message-extras", async (r) => {
  const a = await visitor(r);
  await a.turn("hi", { first: true, more: { command: "Search", modes: { llm: "a" }, language: "python", tags: ["t"], extra: 1 } });
  await a.turn("as system", { more: { type: "system_message", name: "host" } });
  await a.turn("as child", { more: { parentId: a.seen.find((e) => e.args[0]?.type === "run").args[0].id } });
  r.does("the thread as stored");
  await a.stored();
  await r.http("GET", `/project/thread/${a.thread}`, { cookie: await r.signIn("a") });
});

scenario("message-twice", async (r) => {
  const a = await visitor(r, { spoke: true });
  r.does("a sends one message twice");
  const message = a.message("again");
  a.send("client_message", { message, fileReferences: [] });
  await a.until("task_end");
  await a.quiet();
  r.does("the second time");
  a.send("client_message", { message, fileReferences: [] });
  await a.until("task_end", { patience: 1000 });
  await a.quiet();
  await a.turn("/context");
});

scenario("overlap", async (r) => {
  const a = await visitor(r, { spoke: true });
  r.does("a says /sleep 400, and while that works: quick");
  a.say("/sleep 400");
  await a.until("new_message");
  a.say("quick");
  await a.until("task_end", { count: 2 });
  await a.quiet();
});

scenario("ask", async (r) => {
  const a = await visitor(r);
  r.does("a says /ask");
  a.say("/ask");
  const ask = await a.until("ask");
  await a.until("first_interaction");
  await a.quiet();
  r.does("a answers bob");
  a.answer(a.message("bob", { parentId: ask?.args[0].msg.parentId }));
  await a.until("task_end", { count: 2 });
  await a.quiet();
  await a.turn("/context");
});

scenario("ask-timeout", turns("/ask 1", "/context"));

scenario("ask-bad-answers", async (r) => {
  const a = await visitor(r, { spoke: true });
  for (const [what, answer] of [
    ["null", null],
    ["an empty object", {}],
    ["a text", "bob"],
    ["a number", 5],
    ["an empty list", []],
    ["a message without id", { output: "bob" }],
    ["a message with an id that is not v4", { ...a.message("bob"), id: uuidV1 }],
    ["a message without createdAt", { id: randomUUID(), output: "bob" }],
    ["a message without output", { id: randomUUID(), createdAt: new Date().toISOString() }],
  ]) {
    r.does(`a says /ask 2, and answers with ${what}`);
    a.say("/ask 2");
    await a.until("ask");
    a.answer(answer);
    await a.until(Object.assign((e) => e.event === "update_message" && e.args[0].type === "run", { label: "the end of the run" }));
    await a.until("task_end");
    await a.quiet();
  }
});

scenario("ask-answered-twice", async (r) => {
  const a = await visitor(r, { spoke: true });
  r.does("a says /ask");
  a.say("/ask");
  await a.until("ask");
  await a.quiet();
  r.does("a answers twice");
  const again = a.answerWith;
  a.answer(a.message("bob"));
  again(a.message("alice"));
  await a.until("task_end", { count: 2 });
  await a.quiet();
});

scenario("ask-late-answer", async (r) => {
  const a = await visitor(r, { spoke: true });
  r.does("a says /ask 1 and lets it time out");
  a.say("/ask 1");
  await a.until("ask_timeout");
  await a.until("task_end");
  await a.quiet();
  r.does("a answers late");
  a.answer(a.message("bob"));
  await sleep(500);
  await a.turn("/context");
});

scenario("ask-and-message", async (r) => {
  const a = await visitor(r, { spoke: true });
  r.does("a says /ask 2, then a message instead of an answer");
  a.say("/ask 2");
  await a.until("ask");
  await a.quiet();
  await a.turn("something else");
  r.does("the question times out");
  await a.until("ask_timeout");
  await a.until("task_end");
  await a.quiet();
});

scenario("ask-stop", async (r) => {
  const a = await visitor(r, { spoke: true });
  r.does("a says /ask 1");
  a.say("/ask 1");
  await a.until("ask");
  await a.quiet();
  r.does("a stops");
  a.send("stop");
  await a.until("task_end");
  await a.quiet(1500);
  await a.turn("/calls");
});

scenario("ask-action", async (r) => {
  const a = await visitor(r);
  r.does("a says /ask-action");
  a.say("/ask-action");
  await a.until("ask");
  await a.until("first_interaction");
  await a.quiet();
  r.does("a presses yes");
  a.answer(a.seen.find((e) => e.event === "action" && e.args[0].name === "yes")?.args[0]);
  await a.until("task_end", { count: 2 });
  await a.quiet();
  r.does("a says /ask-action and answers null");
  a.say("/ask-action");
  await a.until("ask");
  a.answer(null);
  await a.until("task_end", { count: 2 });
  await a.quiet();
});

scenario("ask-file", async (r) => {
  const cookie = await r.signIn("a");
  const a = await visitor(r, { cookie });
  r.does("a says /ask-file");
  a.say("/ask-file");
  const ask = await a.until("ask");
  await a.until("first_interaction");
  await a.quiet();
  const query = `session_id=${a.auth.sessionId}&ask_parent_id=${ask?.args[0].msg.parentId}`;
  r.does("a uploads a file of a wrong type");
  await r.http("POST", `/project/file?${query}`, { cookie, form: { file: { bytes: "x", name: "note.png", type: "image/png" } } });
  r.does("a uploads under an unknown parent");
  await r.http("POST", `/project/file?session_id=${a.auth.sessionId}&ask_parent_id=${randomUUID()}`, { cookie, form: { file: { bytes: "x", name: "note.txt", type: "text/plain" } } });
  r.does("a uploads note.txt");
  const { data } = await r.http("POST", `/project/file?${query}`, { cookie, form: { file: { bytes: "hello file", name: "note.txt", type: "text/plain" } } });
  r.does("a answers with it");
  a.answer([{ id: data.id }]);
  await a.until("task_end", { count: 2 });
  await a.quiet();
  r.does("the file");
  await r.http("GET", `/project/file/${data.id}?session_id=${a.auth.sessionId}`, { cookie });
});

scenario("files", async (r) => {
  const cookie = await r.signIn("a");
  const a = await visitor(r, { cookie });
  r.does("a uploads two files");
  const up = async (name, type, bytes = "hello") => (await r.http("POST", `/project/file?session_id=${a.auth.sessionId}`, { cookie, form: { file: { bytes, name, type } } })).data.id;
  const one = await up("note.txt", "text/plain");
  const two = await up("dot.png", "image/png");
  r.does("a sends them with a message");
  a.send("client_message", { message: a.message("with files"), fileReferences: [{ id: one }, { id: two }, { id: randomUUID() }] });
  await a.until("task_end");
  await a.until("first_interaction");
  await a.until("element", { count: 2 });
  await a.quiet();
  r.does("files: right and wrong ways");
  await r.http("GET", `/project/file/${one}?session_id=${a.auth.sessionId}`, { cookie });
  await r.http("GET", `/project/file/${randomUUID()}?session_id=${a.auth.sessionId}`, { cookie });
  await r.http("GET", `/project/file/${one}?session_id=${randomUUID()}`, { cookie });
  await r.http("GET", `/project/file/${one}?session_id=${a.auth.sessionId}`, { cookie: await r.signIn("b") });
  await r.http("GET", `/project/file/${one}?session_id=${a.auth.sessionId}`);
  await r.http("POST", `/project/file?session_id=${randomUUID()}`, { cookie, form: { file: { bytes: "x", name: "n.txt", type: "text/plain" } } });
  await r.http("POST", `/project/file?session_id=${a.auth.sessionId}`, { cookie: await r.signIn("b"), form: { file: { bytes: "x", name: "n.txt", type: "text/plain" } } });
  await r.http("POST", `/project/file?session_id=${a.auth.sessionId}`, { cookie, form: {} });
});

scenario("action", async (r) => {
  const cookie = await r.signIn("a");
  const a = await visitor(r, { cookie });
  await a.turn("/action", { first: true });
  const action = a.seen.find((e) => e.event === "action")?.args[0];
  const sessionId = a.auth.sessionId;
  const press = async (what, body, as = cookie) => {
    r.does(what);
    await r.http("POST", "/project/action", { cookie: as, json: body });
    await a.quiet(300);
  };
  await press("a presses", { action, sessionId });
  await press("an action with payload 7", { action: { ...action, payload: { n: 7 } }, sessionId });
  await press("a callback that fails", { action: { ...action, payload: {} }, sessionId });
  await press("an unknown action", { action: { ...action, name: "nothing" }, sessionId });
  await press("an unknown session", { action, sessionId: randomUUID() });
  await press("without payload", { action: { id: action?.id, name: "press" }, sessionId });
  await press("no action", { sessionId });
  await press("another user", { action, sessionId }, await r.signIn("b"));
  await press("nobody", { action, sessionId }, undefined);
});

scenario("action-first", async (r) => {
  const cookie = await r.signIn("a");
  const a = await visitor(r, { cookie });
  r.does("an action is the first interaction");
  await r.http("POST", "/project/action", { cookie, json: { action: { id: randomUUID(), name: "press", payload: { n: 3 }, label: "", tooltip: "", forId: "" }, sessionId: a.auth.sessionId } });
  await a.until("first_interaction");
  await a.quiet();
});

scenario("settings", async (r) => {
  const a = await visitor(r);
  await a.turn("/settings", { first: true });
  for (const values of [{ loud: true, model: "b" }, { loud: null, model: "a", other: [1] }, {}]) {
    r.does("a changes the settings");
    a.send("chat_settings_change", values);
    await a.until("task_end");
    await a.quiet();
  }
  r.does("a edits a field (no on_settings_edit hook)");
  a.send("chat_settings_edit", { loud: false, model: "b" });
  await sleep(400);
  r.does("a sends settings that are no object");
  a.send("chat_settings_change", "loud");
  await sleep(400);
  await a.turn("/calls");
  await a.turn("/settings");
});

scenario("settings-first", async (r) => {
  const a = await visitor(r);
  r.does("a changes settings before it says anything");
  a.send("chat_settings_change", { loud: true });
  await a.until("task_end");
  await a.quiet();
  await a.turn("/context", { first: true });
});

scenario("stop-stream", async (r) => {
  const a = await visitor(r, { spoke: true });
  r.does("a says /stream 50 100, and stops after the second token");
  a.say("/stream 50 100");
  await a.until("stream_token");
  a.send("stop");
  await a.until("task_end");
  await a.quiet(500);
  await a.turn("/context");
  await a.turn("/calls");
  r.does("the thread as stored");
  await a.stored();
  await r.http("GET", `/project/thread/${a.thread}`, { cookie: await r.signIn("a") });
});

scenario("stop-sleep", async (r) => {
  const a = await visitor(r, { spoke: true });
  r.does("a says /sleep 5000, and stops");
  a.say("/sleep 5000");
  await a.until("new_message");
  await a.quiet();
  a.send("stop");
  await a.until("task_end");
  await a.quiet(500);
});

scenario("stop-idle", async (r) => {
  const a = await visitor(r);
  r.does("a stops before anything was said");
  a.send("stop");
  await a.until("new_message");
  await a.quiet();
  await a.turn("hi", { first: true });
  r.does("a stops when nothing runs");
  a.send("stop");
  await a.until("new_message");
  await a.quiet();
  await a.turn("/calls");
  await a.turn("/context");
});

scenario("edit", async (r) => {
  const a = await visitor(r);
  await a.turn("one", { first: true });
  const two = a.message("two");
  r.does("a says two");
  a.send("client_message", { message: two, fileReferences: [] });
  await a.until("task_end");
  await a.quiet();
  await a.turn("/tool x");
  r.does("a edits two");
  a.send("edit_message", { message: { ...two, output: "two, better" } });
  await a.until("task_end");
  await a.quiet();
  await a.turn("/context");
  r.does("a edits an unknown message");
  a.send("edit_message", { message: a.message("what") });
  await a.until("task_end");
  await a.quiet();
  r.does("a edits nothing");
  a.send("edit_message", {});
  await sleep(400);
  await a.turn("/calls");
  r.does("the thread as stored");
  await a.stored();
  await r.http("GET", `/project/thread/${a.thread}`, { cookie: await r.signIn("a") });
});

scenario("clear-session", async (r) => {
  const a = await visitor(r, { spoke: true });
  r.does("a clears its session, leaves, and comes back with the same session id and no thread");
  a.send("clear_session");
  await sleep(200);
  await a.leave();
  a.auth.threadId = "";
  await a.open("a comes back");
  await a.turn("/calls", { first: true });
  await a.turn("/get anything");
});

scenario("clear-session-and-return-to-thread", async (r) => {
  const a = await visitor(r, { spoke: true });
  r.does("a clears its session and leaves");
  a.send("clear_session");
  await sleep(200);
  await a.leave();
  await a.come("the same session id comes back with the thread's id", { end: "resume_thread" });
  await a.turn("/context");
});

scenario("other-events", async (r) => {
  const a = await visitor(r, { spoke: true });
  for (const [event, ...args] of [["window_message", { any: "thing" }], ["audio_start"], ["fetch_favorites"], ["message_favorite", { message: a.message("hi") }], ["no_such_event", 1], ["client_message_", {}]]) {
    r.does(`a sends ${event}`);
    a.send(event, ...args);
    await sleep(300);
  }
  r.does("a sends connection_successful again");
  a.greet();
  await a.until("clear_call_fn");
  await a.quiet();
  await a.turn("/calls");
});

scenario("acks", async (r) => {
  const a = await visitor(r);
  for (const [event, ...args] of [["fetch_favorites"], ["client_message", { message: a.message("hi"), fileReferences: [] }], ["window_message", 1], ["stop"], ["no_such_event"]]) {
    r.does(`a sends ${event} and wants an ack`);
    const ack = await new Promise((done) => a.socket.timeout(1000).emit(event, ...args, (error, ...values) => done(error ? "none" : values)));
    if (event === "client_message") await a.until("first_interaction");
    await a.quiet(400);
    // Whether the ack comes before or after the run's events is nobody's business.
    r.entries.push({ client: "a", acked: ack });
  }
});

// ---- bad input ----

scenario("bad-message-id", badMessages({
  ...fields("id", [uuidV1, "abc", "", 5, null, [], undefined]),
}));
scenario("odd-message-id", async (r) => {
  const a = await visitor(r, { spoke: true });
  for (const [what, id] of [["in capitals", randomUUID().toUpperCase()], ["without dashes", r.call(randomUUID().replaceAll("-", ""), "<id without dashes>")]]) {
    r.does(`a client_message with an id ${what}`);
    a.say("hi", { id });
    await a.until("task_end", { patience: 1200 });
    await a.quiet();
  }
});
scenario("bad-message-output", badMessages(fields("output", [5, null, {}, ["a"], true, undefined])));
scenario("bad-message-createdat", badMessages(fields("createdAt", [5, null, "yesterday", undefined])));
scenario("bad-message-type", badMessages(fields("type", ["assistant_message", "tool", "nonsense", 5, null, undefined])));
scenario("bad-message-name", badMessages(fields("name", [5, null, {}, "", undefined])));
scenario("bad-message-parent", badMessages({ ...fields("parentId", [5, null, "abc", {}, undefined]), "an unknown parent": (message, payload) => ((message.parentId = randomUUID()), payload) }));
scenario("bad-message-rest", badMessages({
  ...fields("threadId", [5, null, undefined]),
  ...fields("command", [5, {}, null]),
  ...fields("modes", [[], "a", 5, null]),
  ...fields("metadata", ["a", 5, [], null, undefined]),
  ...fields("language", [5, null]),
  ...fields("tags", [5, "a", null]),
}));
scenario("bad-message-files", badMessages({
  "no fileReferences": (message) => ({ message }),
  "fileReferences null": (message) => ({ message, fileReferences: null }),
  "fileReferences a text": (message) => ({ message, fileReferences: "abc" }),
  "fileReferences a number": (message) => ({ message, fileReferences: 5 }),
  "fileReferences an object": (message) => ({ message, fileReferences: { id: "x" } }),
  "a file reference without id": (message) => ({ message, fileReferences: [{}] }),
  "a file reference that is a text": (message) => ({ message, fileReferences: ["abc"] }),
  "a file reference with a number": (message) => ({ message, fileReferences: [{ id: 5 }] }),
}));
scenario("bad-message-envelope", badMessages({
  "an empty object": () => ({}),
  "message null": () => ({ message: null }),
  "message a text": () => ({ message: "hi" }),
  "message a list": () => ({ message: [] }),
  "null": () => null,
  "a text": () => "hi",
  "a list": () => [],
}));

scenario("bad-message-none", badMessages({ "no argument": () => undefined }));

// ---- refused connections (chat-wire.md 1.7) ----

const refused = (what, make, more) => async (r) => {
  const a = await r.page("a", await make(r));
  r.does(what);
  await a.connect({ silence: 1500, ...more });
  await a.quiet(300);
};
scenario("refused-no-token", refused("a connects without a cookie", () => ({ cookie: "" })));
scenario("refused-bad-token", refused("a connects with a token that is none", () => ({ cookie: "access_token=nonsense" })));
scenario("refused-foreign-token", refused("a connects with a token signed by somebody else", () => ({
  cookie: `access_token=${["eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", Buffer.from(JSON.stringify({ identifier: "x", exp: 4102444800 })).toString("base64url"), "c2lnbmF0dXJl"].join(".")}`,
})));
scenario("refused-no-auth", refused("a connects without auth", () => ({ rawAuth: null })));
scenario("refused-no-session-id", refused("a connects without sessionId", () => ({ auth: { sessionId: undefined } })));
scenario("refused-user-env", refused("a connects with a userEnv that is no JSON", () => ({ auth: { userEnv: "{nonsense" } })));
scenario("refused-user-env-list", refused("a connects with a userEnv that is a JSON list", () => ({ auth: { userEnv: "[]" } })));
scenario("refused-no-client-type", refused("a connects without clientType", () => ({ auth: { clientType: undefined } })));
scenario("refused-number-session-id", refused("a connects with a number for sessionId", (r) => ({ auth: { sessionId: r.call(Math.floor(Math.random() * 1e12), "<number>") } })));
scenario("refused-number-thread-id", refused("a connects with a number for threadId", () => ({ auth: { threadId: 5 } })));

// ---- HTTP ----

scenario("http-login", async (r) => {
  const username = r.person("a");
  r.does("right");
  const { cookies } = await r.http("POST", "/login", { form: { username, password: "pw" } });
  const cookie = cookies.map((c) => c.split(";")[0]).join("; ");
  r.does("wrong password");
  await r.http("POST", "/login", { form: { username, password: "no" } });
  r.does("password missing");
  await r.http("POST", "/login", { form: { username } });
  r.does("name missing");
  await r.http("POST", "/login", { form: { password: "pw" } });
  r.does("both empty");
  await r.http("POST", "/login", { form: { username: "", password: "" } });
  r.does("as JSON");
  await r.http("POST", "/login", { json: { username, password: "pw" } });
  r.does("urlencoded");
  await r.http("POST", "/login", { text: new URLSearchParams({ username, password: "pw" }) });
  r.does("who am I");
  await r.http("GET", "/user", { cookie });
  await r.http("GET", "/user");
  await r.http("GET", "/user", { cookie: "access_token=nonsense" });
  await r.http("GET", "/user", { headers: { authorization: `Bearer ${cookie.split("=")[1]}` }, as: "bearer" });
  r.does("jwt");
  await r.http("POST", "/auth/jwt", { headers: { authorization: `Bearer ${cookie.split("=")[1]}` }, as: "bearer" });
  await r.http("POST", "/auth/jwt");
  await r.http("POST", "/auth/jwt", { headers: { authorization: "Basic abc" } });
  await r.http("POST", "/auth/jwt", { headers: { authorization: "Bearer" } });
  await r.http("POST", "/auth/jwt", { headers: { authorization: "Bearer nonsense" } });
  r.does("other ways in");
  await r.http("POST", "/auth/header", { json: {} });
  await r.http("GET", "/auth/oauth/github");
  r.does("logout");
  await r.http("POST", "/logout", { cookie, json: {} });
  await r.http("POST", "/logout", { json: {} });
});

scenario("http-settings", async (r) => {
  const cookie = await r.signIn("a");
  // The readme is a text of the app's folder, made by Chainlit: only that there may be one counts.
  const shape = (data) => (data?.ui ? { ...data, markdown: "<text or null>" } : data);
  r.does("auth config");
  await r.http("GET", "/auth/config");
  r.does("settings");
  await r.http("GET", "/project/settings?language=en-US&", { cookie, shape });
  await r.http("GET", "/project/settings", { cookie, shape });
  await r.http("GET", "/project/settings?language=en-US&chat_profile=P1&", { cookie, shape });
  await r.http("GET", "/project/settings?language=en-US&");
  await r.http("GET", "/project/settings?language=../etc", { cookie });
  r.does("translations: keys only");
  const keys = (value) => (value && typeof value === "object" ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, keys(value[key])])) : "<text>");
  const texts = (data) => (data?.translation ? { ...data, translation: keys(data.translation) } : data);
  await r.http("GET", "/project/translations?language=en-US&", { shape: texts });
  await r.http("GET", "/project/translations?language=../etc");
});

scenario("http-plain", async (r) => {
  r.does("health, head, session cookie");
  await r.http("GET", "/health");
  await r.http("HEAD", "/");
  await r.http("HEAD", "/user");
  await r.http("POST", "/set-session-cookie", { json: { session_id: randomUUID() } });
  await r.http("POST", "/set-session-cookie", { text: "nonsense" });
  await r.http("POST", "/set-session-cookie", { json: {} });
  r.does("CORS");
  await r.http("GET", "/health", { headers: { origin: "https://elsewhere.example" } });
  r.does("unknown paths");
  await r.http("POST", "/no/such/path", { json: {} });
  await r.http("GET", "/public/nothing.css");
  await r.http("GET", "/avatars/..%2Fx");
});

scenario("http-threads", async (r) => {
  const threads = [];
  for (const text of ["first thread", "second thread", "third thread"]) threads.push(await earlier(r, [text]));
  const cookie = await r.signIn("a");
  const list = (pagination, filter = {}) => r.http("POST", "/project/threads", { cookie, json: { pagination, filter } });
  r.does("the list");
  await list({ first: 35 });
  r.does("in pages of two");
  const { data } = await list({ first: 2 });
  await list({ first: 2, cursor: data.pageInfo.endCursor });
  await list({ first: 2, cursor: threads[0] });
  await list({ first: 2, cursor: randomUUID() });
  await list({ first: 2, cursor: null });
  r.does("searching");
  await list({ first: 20 }, { search: "SECOND" });
  await list({ first: 20 }, { search: "no such text" });
  await list({ first: 20 }, { search: null, feedback: null });
  await list({ first: 20 }, { feedback: 1 });
  await list({ first: 20 }, { userId: randomUUID() });
  r.does("bad requests");
  await list({});
  await list({ first: "x" });
  await list({ first: 0 });
  await list({ first: -1 });
  await r.http("POST", "/project/threads", { cookie, json: {} });
  await r.http("POST", "/project/threads", { json: { pagination: { first: 35 }, filter: {} } });
  r.does("another user's list");
  await r.http("POST", "/project/threads", { cookie: await r.signIn("b"), json: { pagination: { first: 35 }, filter: {} } });
});

scenario("http-thread", async (r) => {
  const thread = await earlier(r, ["one", "/tool x", "/element"]);
  const cookie = await r.signIn("a");
  const other = await r.signIn("b");
  const path = (id) => `/project/thread/${id}`;
  r.does("own");
  const { data } = await r.http("GET", path(thread), { cookie });
  r.does("unknown, no id, foreign, nobody");
  await r.http("GET", path(randomUUID()), { cookie });
  await r.http("GET", path("no-id"), { cookie });
  await r.http("GET", path(thread), { cookie: other });
  await r.http("GET", path(thread));
  r.does("its element");
  const element = data.elements?.[0]?.id ?? randomUUID();
  await r.http("GET", `${path(thread)}/element/${element}`, { cookie });
  await r.http("GET", `${path(thread)}/element/${randomUUID()}`, { cookie });
  await r.http("GET", `${path(thread)}/element/${element}`, { cookie: other });
  r.does("rename");
  await r.http("PUT", "/project/thread", { cookie, json: { threadId: thread, name: "renamed" } });
  await r.http("PUT", "/project/thread", { cookie: other, json: { threadId: thread, name: "stolen" } });
  await r.http("PUT", "/project/thread", { json: { threadId: thread, name: "stolen" } });
  await r.http("PUT", "/project/thread", { cookie, json: { threadId: randomUUID(), name: "renamed" } });
  await r.http("PUT", "/project/thread", { cookie, json: { threadId: thread } });
  await r.http("PUT", "/project/thread", { cookie, json: { threadId: thread, name: 5 } });
  await r.http("GET", path(thread), { cookie, shape: (t) => ({ name: t.name }) });
  r.does("share");
  await r.http("GET", `/project/share/${thread}`, { cookie });
  await r.http("GET", `/project/share/${randomUUID()}`, { cookie });
  await r.http("PUT", "/project/thread/share", { cookie, json: { threadId: thread, isShared: true } });
  await r.http("PUT", "/project/thread/share", { cookie: other, json: { threadId: thread, isShared: true } });
  await r.http("GET", `/project/share/${thread}`, { cookie: other });
  await r.http("PUT", "/project/thread/share", { cookie, json: { threadId: thread, isShared: false } });
  await r.http("GET", `/project/share/${thread}`, { cookie: other });
  r.does("delete");
  await r.http("DELETE", "/project/thread", { cookie: other, json: { threadId: thread } });
  await r.http("DELETE", "/project/thread", { json: { threadId: thread } });
  await r.http("DELETE", "/project/thread", { cookie, json: { threadId: randomUUID() } });
  await r.http("DELETE", "/project/thread", { cookie, json: {} });
  await r.http("DELETE", "/project/thread", { cookie, json: { threadId: thread } });
  r.does("after");
  await r.http("GET", path(thread), { cookie });
  await r.http("DELETE", "/project/thread", { cookie, json: { threadId: thread } });
});

scenario("http-feedback", async (r) => {
  const cookie = await r.signIn("a");
  const a = await r.page("a", { cookie });
  await r.unseen(async () => {
    await a.open();
    await a.turn("hi", { first: true });
    await a.stored();
  });
  const run = a.seen.filter((e) => e.args[0]?.name === "on_message").at(-1)?.args[0].id;
  const sessionId = a.auth.sessionId;
  const feedback = { forId: run, threadId: a.thread, value: 1, comment: "good" };
  r.does("vote");
  const { data } = await r.http("PUT", "/feedback", { cookie, json: { feedback, sessionId } });
  const id = data.feedbackId;
  await r.http("GET", `/project/thread/${a.thread}`, { cookie });
  r.does("change it");
  await r.http("PUT", "/feedback", { cookie, json: { feedback: { ...feedback, id, value: 0, comment: null }, sessionId } });
  r.does("bad votes");
  await r.http("PUT", "/feedback", { cookie, json: { feedback: { ...feedback, value: 2 }, sessionId } });
  await r.http("PUT", "/feedback", { cookie, json: { feedback: { ...feedback, forId: undefined }, sessionId } });
  await r.http("PUT", "/feedback", { json: { feedback, sessionId } });
  r.does("take it back");
  await r.http("DELETE", "/feedback", { cookie, json: { feedbackId: id } });
  await r.http("DELETE", "/feedback", { cookie, json: { feedbackId: randomUUID() } });
  await r.http("DELETE", "/feedback", { json: { feedbackId: id } });
});
