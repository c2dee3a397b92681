// Everything else that frontends show and do, against the surface app (client-fixtures/chainlit/surface.py): elements,
// questions of every kind, settings, commands, modes, the side view, tasks, steps.
import { randomUUID } from "node:crypto";
import { sleep } from "../page.mjs";
import { scenario as define } from "./common.mjs";

const scenario = (name, run) => define(`surface-${name}`, run, { app: "surface" });

/** A page that is ready and has said `hi`; none of it is recorded. */
async function visitor(r, { auth, spoke = true } = {}) {
  const cookie = await r.signIn("a");
  const page = await r.page("a", { cookie, auth });
  await r.unseen(async () => {
    await page.open();
    if (spoke) await page.turn("hi", { first: true });
  });
  return page;
}

const itsEnd = Object.assign((e) => e.event === "update_message" && e.args[0].type === "run", { label: "the end of the run" });

/** A visit that says one text after another. */
const turns = (...texts) => async (r) => {
  const a = await visitor(r);
  for (const text of texts) await a.turn(text);
};

/** The file of the last element that came, as it is served; of its bytes only the number. */
async function itsFile(r, page, { bytes = true } = {}) {
  const element = page.seen.filter(({ event }) => event === "element").at(-1)?.args[0];
  const shape = (data) => (bytes ? `${typeof data === "string" ? data.length : JSON.stringify(data).length} characters` : data);
  await r.http("GET", `/project/file/${element?.chainlitKey}?session_id=${page.auth.sessionId}`, { cookie: page.cookie, shape });
  return element;
}

for (const kind of ["text", "image", "pdf", "audio", "video", "file", "plotly", "dataframe", "custom"]) {
  scenario(`element-${kind}`, async (r) => {
    const a = await visitor(r);
    await a.turn(`/element ${kind}`);
    r.does("its file");
    await itsFile(r, a, { bytes: !["text", "file", "plotly", "dataframe", "custom"].includes(kind) });
  });
}
scenario("element-displays", turns("/element text side", "/element image page", "/element link"));

scenario("element-changes", async (r) => {
  const a = await visitor(r);
  await a.turn("/element custom");
  const { url, ...element } = a.seen.filter(({ event }) => event === "element").at(-1).args[0];
  const sessionId = a.auth.sessionId;
  const call = async (what, method, body, as = a.cookie) => {
    r.does(what);
    await r.http(method, "/project/element", { cookie: as, json: body });
    await a.quiet(1000);
  };
  const changed = { ...element, props: { count: 5, list: [1, { b: null }] }, mime: "text/plain", size: "large" };
  await call("a changes its properties", "PUT", { element: changed, sessionId });
  await itsFile(r, a, { bytes: false });
  await call("a text is not changed", "PUT", { element: { ...element, id: randomUUID(), type: "text" }, sessionId });
  await call("another user changes it", "PUT", { element: changed, sessionId }, await r.signIn("b"));
  await call("an unknown session changes it", "PUT", { element: changed, sessionId: randomUUID() });
  await call("another user removes it", "DELETE", { element, sessionId }, await r.signIn("b"));
  await call("a removes it", "DELETE", { element, sessionId });
  await call("a removes it again", "DELETE", { element, sessionId });
});

scenario("remove", turns("/remove element", "/remove actions", "/remove message"));
scenario("actions", turns("/actions"));
scenario("commands", turns("/commands", "/commands"));
scenario("modes", turns("/modes"));
scenario("sidebar", turns("/sidebar", "/sidebar close"));
scenario("usage", turns("/usage 12", "/usage 0"));
scenario("tasks", turns("/tasks"));
scenario("steps", turns("/steps"));
scenario("author", turns("/author Ghost", "/author Surface"));

scenario("action-results", async (r) => {
  const a = await visitor(r);
  await a.turn("/actions");
  const sessionId = a.auth.sessionId;
  for (const action of a.seen.filter(({ event }) => event === "action").map(({ args }) => args[0])) {
    r.does(`a presses ${action.label}`);
    await r.http("POST", "/project/action", { cookie: a.cookie, json: { action, sessionId } });
    await a.quiet(1000);
  }
});

scenario("window", async (r) => {
  const a = await visitor(r);
  await a.turn("/window hello");
  for (const data of ["host: are you there", { said: "hello" }, null, 5]) {
    r.does(`the window posts ${JSON.stringify(data)}`);
    a.send("window_message", data);
    await a.quiet(1000);
  }
});

scenario("profile", async (r) => {
  const a = await r.page("a", { auth: { chatProfile: "fancy" } });
  await a.open();
  await a.turn("/profile", { first: true });
  const b = await r.page("b", { auth: { chatProfile: "no%20such" } });
  await b.open("b opens a page under a profile that there is none");
  await b.turn("/profile", { first: true });
});

scenario("settings-http", async (r) => {
  const cookie = await r.signIn("a");
  for (const profile of ["", "plain", "fancy", "sorted", "no%20such"]) {
    r.does(`settings under the profile ${profile || "of nobody"}`);
    await r.http("GET", `/project/settings?language=en-US&${profile && `chat_profile=${profile}&`}`, { cookie });
  }
  r.does("auth config, logo, favicon, avatars, public files");
  await r.http("GET", "/auth/config");
  const type = (data) => `${data.length} characters`;
  for (const path of ["/logo?theme=light", "/logo?theme=dark", "/favicon", "/avatars/Robin", "/public/surface.css", "/public/theme.json", "/public/elements/Counter.jsx"])
    await r.http("GET", path, { shape: (data) => (typeof data === "string" ? type(data) : data) });
  r.does("signing out");
  await r.http("POST", "/logout", { cookie, json: {} });
});

scenario("echo", async (r) => {
  const a = await visitor(r);
  const up = async (name, type, bytes) =>
    (await r.http("POST", `/project/file?session_id=${a.auth.sessionId}`, { cookie: a.cookie, form: { file: { bytes, name, type } } })).data.id;
  r.does("a uploads");
  const ids = [await up("note.txt", "text/plain", "hello"), await up("page.pdf", "application/pdf", "%PDF-"), await up("odd.bin", "application/x-odd", "x"), await up("big.txt", "text/plain", "x".repeat(1024 * 1024 + 1))];
  r.does("a sends files, a command and modes with a message");
  const message = a.message("all", { command: "Draw", modes: { model: "fast", tone: "warm" } });
  a.send("client_message", { message, fileReferences: ids.slice(0, 2).map((id) => ({ id })) });
  await a.until("task_end");
  await a.until("element", { count: 2 });
  await a.quiet();
});

scenario("settings", async (r) => {
  const a = await visitor(r);
  await a.turn("/settings");
  r.does("a edits a field");
  a.send("chat_settings_edit", { switch: false, slider: 4 });
  await a.until("task_end");
  await a.quiet();
  r.does("a confirms");
  a.send("chat_settings_change", { switch: false, slider: 4, number: "8", lines: null, day: "2026-01-03T00:00:00.000Z", days: ["2026-01-03T00:00:00.000Z", "2026-01-04T00:00:00.000Z"], tags: [] });
  await a.until("task_end");
  await a.quiet();
  await a.turn("/settings tabs");
});

scenario("call-fn", async (r) => {
  const a = await visitor(r);
  for (const [what, answer] of [["an object", { price: 5 }], ["a text", "five"], ["null", null]]) {
    r.does(`a says /call-fn, and the host answers ${what}`);
    a.say("/call-fn 5 shoes");
    await a.until("call_fn");
    a.answer(answer);
    await a.until("task_end");
    await a.quiet();
  }
  await a.turn("/call-fn 1 hats");
});

scenario("ask-element", async (r) => {
  const a = await visitor(r);
  for (const answer of [{ submitted: true, color: "red", sure: true }, { submitted: false }, null]) {
    r.does(`a says /ask-element and answers ${JSON.stringify(answer)}`);
    a.say("/ask-element");
    await a.until("ask");
    await a.quiet();
    a.answer(answer);
    await a.until(itsEnd);
    await a.quiet(1000);
  }
});

scenario("ask-file", async (r) => {
  const a = await visitor(r);
  r.does("a says /ask-file 2");
  a.say("/ask-file 2");
  const ask = await a.until("ask");
  await a.quiet();
  const query = `session_id=${a.auth.sessionId}&ask_parent_id=${ask?.args[0].msg.parentId}`;
  const up = async (name, type, bytes = "hello") =>
    (await r.http("POST", `/project/file?${query}`, { cookie: a.cookie, form: { file: { bytes, name, type } } })).data.id;
  r.does("a uploads good and bad files");
  const ids = [await up("note.txt", "text/plain"), await up("READ.MD", "text/plain", "# read"), await up("dot.png", "image/png"), await up("wrong.png", "text/plain"), await up("wrong.txt", "image/png"), await up("big.txt", "text/plain", "x".repeat(1024 * 1024 + 1))];
  r.does("a answers with two");
  a.answer([{ id: ids[0] }, { id: ids[1] }, { id: randomUUID() }]);
  await a.until("task_end", { count: 2 });
  await a.quiet();
  r.does("a says /ask-file 1 and answers with nothing");
  a.say("/ask-file 1");
  await a.until("ask");
  a.answer([]);
  await a.until(itsEnd);
  await a.quiet(1000);
});

scenario("vote", async (r) => {
  const a = await visitor(r);
  await a.stored();
  const run = a.seen.filter((e) => e.args[0]?.name === "on_message").at(-1)?.args[0].id;
  r.does("a votes");
  await r.http("PUT", "/feedback", { cookie: a.cookie, json: { feedback: { forId: run, threadId: a.thread, value: 0, comment: "too short" }, sessionId: a.auth.sessionId } });
  await a.turn("/vote");
});

scenario("share", async (r) => {
  const a = await visitor(r, { spoke: false });
  await r.unseen(async () => {
    await a.turn("mine", { first: true });
    await a.stored();
  });
  const b = await r.signIn("b");
  const see = (what, cookie) => (r.does(what), r.http("GET", `/project/share/${a.thread}`, { cookie, shape: ({ detail, name, metadata, steps }) => detail ?? { name, is_shared: metadata.is_shared, steps: steps.map(({ type, output }) => ({ type, output })) } }));
  await see("b looks at a thread that is not shared", b);
  await r.http("PUT", "/project/thread/share", { cookie: a.cookie, json: { threadId: a.thread, isShared: true } });
  await see("it is shared; b looks", b);
  await r.http("PUT", "/project/thread/share", { cookie: a.cookie, json: { threadId: a.thread, isShared: false } });
  await see("it is not shared any more; b looks", b);
  await r.http("PUT", "/project/thread", { cookie: a.cookie, json: { threadId: a.thread, name: "open house" } });
  await see("the app's hook says yes; b looks", b);
  await see("nobody looks");
});

scenario("favourites", async (r) => {
  const a = await visitor(r);
  const message = a.message("keep this");
  r.does("a says keep this");
  a.send("client_message", { message, fileReferences: [] });
  await a.until("task_end");
  await a.quiet();
  await a.stored();
  const star = async (what, favorite, more = {}) => {
    r.does(what);
    a.send("message_favorite", { message: { ...message, ...more, metadata: { ...message.metadata, favorite } } });
    await a.quiet(600);
  };
  await star("a stars it", true);
  await star("a stars it again", true);
  await star("a stars one that there is none", true, { id: randomUUID() });
  r.does("a asks for its favourites");
  a.send("fetch_favorites");
  await a.until("set_favorites");
  await a.quiet();
  await star("a takes the star away", false);
});

scenario("resume", async (r) => {
  const before = await r.page("before", { auth: { chatProfile: "fancy" } });
  await r.unseen(async () => {
    await before.open();
    await before.turn("rich", { first: true, more: { command: "Draw" } });
    for (const text of ["/element text", "/element custom side", "/element image page", "/steps", "/author Ghost", "/settings", "/tasks", "/actions"]) await before.turn(text);
    await before.leave();
    await sleep(500);
  });
  const a = await r.page("a", { auth: { threadId: before.thread } });
  await a.come("a opens a thread that has seen elements, steps, an author, settings, tasks, buttons", { end: "resume_thread" });
  await a.turn("/profile");
});

scenario("edit-resumed", async (r) => {
  const before = await r.page("before");
  let id;
  await r.unseen(async () => {
    await before.open();
    id = await before.turn("one", { first: true });
    await before.turn("two");
    await before.leave();
  });
  const a = await r.page("a", { auth: { threadId: before.thread } });
  await a.come("a opens its thread", { end: "resume_thread" });
  r.does("a edits one");
  a.send("edit_message", { message: a.message("one, better", { id }) });
  await a.until("task_end");
  await a.quiet();
  r.does("the thread as stored");
  await sleep(1000);
  await r.http("GET", `/project/thread/${a.auth.threadId}`, { cookie: a.cookie, shape: ({ steps }) => steps.map(({ type, name, output }) => ({ type, name, output })) });
});
