// Questions and their answers.
import { randomUUID } from "node:crypto";
import { sleep } from "../page.mjs";
import { scenario, turns, uuidV1, visitor } from "./common.mjs";

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
