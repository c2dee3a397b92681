// The line breaks in the middle of a streamed text and is away for three seconds: the text has no hole afterwards, while it
// still grows as well as in the end, and nothing is there twice.
// Chainlit 2.12.0 FAILS here: what it says while the line is away is lost until the finished text replaces all.

import { scenario } from "../browser.mjs";
import { breakableLine } from "../proxy.mjs";

// Long enough to outlast the cut and the wait of a client that has failed twice to come back (8 s).
const answer = `assistant_message: ${Array.from({ length: 300 }, (_, n) => `t${n}`).join(" ")}`;

await scenario(
  async ({ person, line, ok, check, shot }) => {
    await person.signIn("alice", "pw");
    await person.sees("assistant_message", "hello");
    await person.send("/stream 300 50");
    await person.sees("assistant_message", /t0 t1 t2/);

    await person.loses(line, 3000, async () => {
      ok("the page knows that the line is away");
      await shot("away");
    });
    ok("the page is back");
    const before = (await person.transcript()).at(-1);
    const growing = (await person.transcriptWhere((steps) => steps.at(-1).length > before.length, "more tokens after the cut")).at(-1);
    check(answer.startsWith(growing), "what has come since joins what was there", growing);
    check(growing !== answer, "it is still growing"); // else the check above has said nothing
    await shot("back");

    await person.sees("assistant_message", /t299/);
    await person.ready();
    const steps = await person.transcript();
    const wanted = ["assistant_message: hello", "user_message: /stream 300 50", answer];
    check(JSON.stringify(steps) === JSON.stringify(wanted), "the text is whole, once, and nothing else came", steps);
    await shot("whole");

    await person.send("hi");
    await person.sees("assistant_message", "echo: hi");
    ok("and the conversation goes on");
  },
  { through: breakableLine },
);
