// Files, buttons, settings.
import { randomUUID } from "node:crypto";
import { sleep } from "../page.mjs";
import { scenario, visitor } from "./common.mjs";

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
    await a.quiet(1000);
  };
  await press("a presses", { action, sessionId });
  await press("an action with payload 7", { action: { ...action, payload: { n: 7 } }, sessionId });
  await press("a callback that fails", { action: { ...action, payload: {} }, sessionId });
  await press("an unknown action", { action: { ...action, name: "nothing" }, sessionId });
  await press("an unknown session", { action, sessionId: randomUUID() });
  await press("without payload", { action: { id: action?.id, name: "press" }, sessionId });
  await press("no action", { sessionId });
  await press("another user", { action, sessionId }, await r.signIn("b"));
  await press("nobody", { action, sessionId }, null);
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
