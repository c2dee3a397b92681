// A stored thread is open, nobody does anything, the line is away for three seconds: afterwards nothing is different.
// Chainlit 2.12.0 FAILS here: it resumes the thread again at each reconnect, calls the hook again, and what the hook says
// is wiped by the thread that follows.

import { scenario } from "../browser.mjs";
import { breakableLine } from "../proxy.mjs";

await scenario(
  async ({ person, page, base, line, ok, check, shot }) => {
    await person.signIn("alice", "pw");
    await person.sees("assistant_message", "hello");
    await person.send("hi");
    await person.sees("assistant_message", "echo: hi");
    await person.ready();
    const thread = await person.threadId();
    // The reference app's resume hook says "welcome back" in a thread of such a name.
    await page.request.put(`${base}/project/thread`, { data: { threadId: thread, name: "greet me" } });

    await page.reload();
    await person.sees("assistant_message", "echo: hi");
    // Not required here: the verdict below counts it.
    await person.step("assistant_message", "welcome back").waitFor({ timeout: 5000 }).catch(() => {});
    await person.ready();
    const told = await person.transcript();
    ok("the stored thread is open");
    await shot("open");

    await person.loses(line, 3000, async () => ok("the page knows that the line is away"));
    ok("the page is back");
    await shot("back");

    // The answer comes after whatever a reconnect makes the server send.
    await person.send("/calls");
    await person.sees("assistant_message", /on_message/);
    await person.ready();
    await shot("asked");
    const now = await person.transcript();
    const calls = JSON.parse(now.at(-1).slice("assistant_message: ".length));
    const welcomes = now.filter((step) => step === "assistant_message: welcome back").length;
    check(calls.on_chat_resume === 1, "on_chat_resume was called once", calls);
    check(welcomes === 1, "one welcome back on the page", now);
    check(JSON.stringify(now.slice(0, -2)) === JSON.stringify(told), "the rest stands as it stood before the cut", { told, now });
  },
  { through: breakableLine },
);
