// The sidebar: a thread is renamed, another one deleted, and both stay so after a reload.

import { scenario } from "../browser.mjs";

await scenario(async ({ person, page, base, ok, check, shot }) => {
  await person.signIn("alice", "pw");
  await person.sees("assistant_message", "hello");
  await person.send("first");
  await person.sees("assistant_message", "echo: first");
  const first = await person.threadId();

  await person.newChat();
  await page.waitForURL(`${base}/`);
  await person.transcriptWhere((steps) => steps.join() === "assistant_message: hello", "a new chat");
  await person.send("second");
  await person.sees("assistant_message", "echo: second");
  const second = await person.threadId();
  check(first !== second, "two conversations are two threads");
  await person.sidebarEntry(second).waitFor();
  await shot("two");

  await person.renameThread(first, "a better name");
  await person.sidebarEntry(first).getByText("a better name").waitFor();
  ok("renamed in the sidebar");
  await shot("renamed");

  await person.deleteThread(second);
  await person.sidebarEntry(second).waitFor({ state: "detached" });
  ok("deleted in the sidebar");

  await page.goto(`${base}/`);
  await person.sidebarEntry(first).getByText("a better name").waitFor();
  check((await person.sidebarEntry(second).count()) === 0, "after a reload one has its new name, the other is gone");
  await person.sees("assistant_message", "hello");
  const answer = await page.request.get(`${base}/project/thread/${second}`);
  check(!answer.ok(), "nor does the server have it", answer.status());
  await shot("reloaded");
});
