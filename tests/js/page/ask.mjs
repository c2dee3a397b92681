// The app asks, the person answers in the composer.

import { scenario } from "../browser.mjs";

await scenario(async ({ person, ok, check, shot }) => {
  await person.signIn("alice", "pw");
  await person.sees("assistant_message", "hello");

  await person.send("/ask 30");
  await person.sees("assistant_message", "your name?");
  ok("the question is shown");
  await shot("asked");

  await person.send("Ada");
  await person.sees("assistant_message", "you said: Ada");
  ok("the answer arrived");
  await person.ready();
  const steps = await person.transcript();
  const wanted = ["hello", "/ask 30", "your name?", "Ada", "you said: Ada"];
  check(steps.map((step) => step.split(": ").slice(1).join(": ")).join() === wanted.join(), "all in order, nothing twice", steps);

  await person.send("hi");
  await person.sees("assistant_message", "echo: hi");
  ok("the next message is a message again, not an answer");
  await shot("answered");
});
