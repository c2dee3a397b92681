// Opening stored threads (chat-wire.md 2.3).
import { randomUUID } from "node:crypto";
import { sleep } from "../page.mjs";
import { breaks, earlier, scenario } from "./common.mjs";

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
