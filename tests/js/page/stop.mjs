// The stop button ends a stream: notice, no more tokens, and the composer takes the next message.

import { scenario } from "../browser.mjs";

await scenario(async ({ person, ok, check, shot }) => {
  await person.signIn("alice", "pw");
  await person.sees("assistant_message", "hello");

  await person.send("/stream 200 50");
  await person.sees("assistant_message", /t0 t1 t2/);
  await shot("streaming");
  await person.stop();
  await person.sees("assistant_message", "Task manually stopped.");
  ok("the notice is shown");
  await person.ready();
  ok("the composer is usable again");
  const stopped = await streamed(person);
  check(!stopped.includes("t199"), "the stream ended early");

  // What a whole turn later is not there does not come any more.
  await person.send("hi");
  await person.sees("assistant_message", "echo: hi");
  check((await streamed(person)) === stopped, "no token came after the stop", await person.transcript());

  await person.send("/calls");
  await person.sees("assistant_message", /"on_stop": 1/);
  ok("on_stop was called once");
  await shot("stopped");
});

async function streamed(person) {
  return (await person.transcript()).find((step) => step.startsWith("assistant_message: t0 "));
}
