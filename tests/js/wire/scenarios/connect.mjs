// Connecting: every case of chat-wire.md 2.3 but resuming.
import { randomUUID } from "node:crypto";
import { sleep } from "../page.mjs";
import { breaks, scenario, visitor } from "./common.mjs";

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
