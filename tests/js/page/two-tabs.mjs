// A second tab is opened on a thread whose answer streams, and loaded again in the middle of it: it shows the beginning and
// offers stop, the first tab notices nothing, and both end with the same whole text.
// Chainlit 2.12.0 FAILS here: the second tab shows nothing of the answer.

import { scenario } from "../browser.mjs";

const answer = `assistant_message: ${Array.from({ length: 400 }, (_, n) => `t${n}`).join(" ")}`;

await scenario(async ({ person, tab, base, ok, check, shot }) => {
  await person.signIn("alice", "pw");
  await person.sees("assistant_message", "hello");
  await person.send("/stream 400 60");
  await person.sees("assistant_message", /t0 t1 t2/);
  const thread = await person.threadId();

  const other = await tab();
  await other.page.goto(`${base}/thread/${thread}`);
  // Not required here: a page that connects without its thread (see browser.mjs) is loaded again below, as it is anyway.
  await other.step("assistant_message", /t0 t1 t2/).waitFor({ timeout: 5000 }).catch(() => {});
  await other.page.reload();
  await other.sees("assistant_message", /t0 t1 t2/);
  const text = (steps) => steps.find((step) => step.startsWith("assistant_message: t0 ")) ?? "";
  const growing = text(await other.transcript());
  check(answer.startsWith(growing) && growing !== answer, "the tab that was loaded again shows the text so far", growing);
  check(await other.stopButton.isVisible(), "and offers stop");
  await shot("reloaded", other.page);
  await other.transcriptWhere((steps) => text(steps).length > growing.length, "more tokens in the second tab");
  ok("it goes on there");

  // The whole takes longer than a person waits for one thing.
  await person.sees("assistant_message", /t250/);
  for (const somebody of [person, other]) {
    await somebody.sees("assistant_message", /t399/);
    await somebody.ready();
  }
  const [here, there] = [await person.transcript(), await other.transcript()];
  const wanted = ["assistant_message: hello", "user_message: /stream 400 60", answer];
  check(JSON.stringify(here) === JSON.stringify(wanted), "the first tab has the whole text, once", here);
  check(JSON.stringify(there) === JSON.stringify(here), "and the second one the same", there);
  await shot("first");
  await shot("second", other.page);

  await other.send("hi");
  await person.sees("assistant_message", "echo: hi");
  await other.sees("assistant_message", "echo: hi");
  ok("what is said in the one is seen in the other");
});
