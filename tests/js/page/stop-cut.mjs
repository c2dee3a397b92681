// The line breaks in the middle of a streamed text and is away for three seconds: the stop button is there afterwards, ends
// the run, and the text so far stays, on the page as well as in the store.
// Chainlit 2.12.0 FAILS here: the page that is back loses the text, and no token comes any more.

import { scenario } from "../browser.mjs";
import { breakableLine } from "../proxy.mjs";

// Long enough to outlast the cut and the wait of a client that has failed twice to come back (8 s).
const answer = `assistant_message: ${Array.from({ length: 600 }, (_, n) => `t${n}`).join(" ")}`;

await scenario(
  async ({ person, page, line, ok, check, shot }) => {
    await person.signIn("alice", "pw");
    await person.sees("assistant_message", "hello");
    await person.send("/stream 600 50");
    await person.sees("assistant_message", /t0 t1 t2/);
    await person.loses(line, 3000);
    ok("the page was away, and is back");
    const before = (await person.transcript()).at(-1);
    await person.transcriptWhere((steps) => steps.at(-1).length > before.length, "more tokens after the cut");
    check(await person.stopButton.isVisible(), "the stop button is there while the text grows on");
    await shot("back");

    await person.stop();
    await person.sees("assistant_message", "Task manually stopped.");
    await person.ready();
    ok("stop is told, and the composer is free");
    const stopped = await person.transcript();
    const text = stopped.find((step) => step.startsWith("assistant_message: t0 "));
    check(answer.startsWith(text) && text !== answer, "the text so far stays, without a hole, and is not the whole", text);
    await shot("stopped");

    // What a whole turn later is not there does not come any more.
    await person.send("hi");
    await person.sees("assistant_message", "echo: hi");
    await person.send("/calls");
    await person.sees("assistant_message", /"on_stop": 1/);
    ok("on_stop was called once");
    await person.ready();
    const now = await person.transcript();
    check(JSON.stringify(now.slice(0, stopped.length)) === JSON.stringify(stopped), "no token came after the stop", now);

    await page.reload();
    await person.sees("assistant_message", "echo: hi");
    await person.ready();
    const stored = await person.transcript();
    check(JSON.stringify(stored) === JSON.stringify(now), "loaded again it is the same", stored);
  },
  { through: breakableLine },
);
