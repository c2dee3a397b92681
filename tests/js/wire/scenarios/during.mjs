// What a person does while a turn runs or is over: stop, edit, clear, odd events.
import { sleep } from "../page.mjs";
import { scenario, visitor } from "./common.mjs";

scenario("stop-stream", async (r) => {
  const a = await visitor(r, { spoke: true });
  r.does("a says /stream 50 500, and stops after the second token");
  a.say("/stream 50 500");
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
