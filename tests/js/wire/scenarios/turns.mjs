// Messages and what the app answers.
import { breaks, scenario, turns, visitor } from "./common.mjs";

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

// The chain of thought is hidden (4.3).
scenario("hidden-cot", async (r) => {
  const a = await visitor(r, { spoke: true });
  await a.turn("/tool x");
  await breaks(a);
  await a.come("a comes back");
  await a.turn("on");
  await a.stored();
  r.does("the stored thread");
  await r.http("GET", `/project/thread/${a.thread}`, { cookie: await r.signIn("a") });
}, { app: "hidden-cot" });
