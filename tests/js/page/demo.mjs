// rejoinder's demo: no form, a local user is signed in by itself; a scripted assistant greets, streams, uses a tool, asks.

import { scenario } from "../browser.mjs";

await scenario(async ({ person, page, base, ok, check, shot }) => {
  await page.goto(`${base}/`);
  // An app greets with a message or with starters on an empty page; the page shows starters only as long as nothing is said.
  const greeting = page.locator('.step[data-step-type="assistant_message"], [id^="starter-"]').first();
  await greeting.waitFor();
  const words = (await greeting.innerText()).trim();
  check(words.length > 0, `signed in without a form and greeted: ${words.split("\n")[0]}`);
  await shot("greeted");

  const answersTo = async (text) => {
    const before = (await person.transcript()).length;
    await person.send(text);
    // The message itself and at least one answer.
    const steps = await person.transcriptWhere((now) => now.length >= before + 2, `an answer to ${text}`);
    await person.ready();
    return (await person.transcript()).slice(before + 1, Math.max(steps.length, before + 2));
  };

  const streamed = await answersTo("stream");
  check(streamed.some((step) => step.startsWith("assistant_message: ")), "stream is answered", streamed);
  await shot("streamed");

  await answersTo("tool");
  const tool = await person.transcriptWhere((steps) => steps.some((step) => step.startsWith("tool: ")), "a tool step");
  ok(`a tool step is shown: ${tool.find((step) => step.startsWith("tool: "))}`);
  await shot("tool");

  await answersTo("ask");
  ok("it asks");
  await shot("asked");
  const reply = await answersTo("Ada");
  check(reply.length > 0, "the answer is taken", reply);
  await shot("answered");

  const thread = await person.threadId();
  const all = await person.transcript();
  await page.reload();
  await person.transcriptWhere((now) => now.length === all.length, "the whole conversation after a reload");
  check((await person.sidebarEntry(thread).count()) === 1, "after a reload all is there, and in the sidebar");
  await shot("reloaded");
});
