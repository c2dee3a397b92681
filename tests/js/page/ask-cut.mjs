// The line breaks while a question is open and is away for three seconds: the question is there afterwards, once, and the
// answer that is given to it then arrives.
// Chainlit 2.12.0 FAILS here: the question is closed, what is answered is a new message, and the hook waits in vain.

import { scenario } from "../browser.mjs";
import { breakableLine } from "../proxy.mjs";

await scenario(
  async ({ person, line, ok, check, shot }) => {
    await person.signIn("alice", "pw");
    await person.sees("assistant_message", "hello");
    await person.send("/ask 100");
    await person.sees("assistant_message", "your name?");
    await person.loses(line, 3000);
    ok("the page was away, and is back");
    const asked = await person.transcript();
    const question = ["assistant_message: hello", "user_message: /ask 100", "assistant_message: your name?"];
    check(JSON.stringify(asked) === JSON.stringify(question), "the question stands there once", asked);
    await shot("back");

    await person.send("Ada");
    await person.sees("assistant_message", "you said: Ada");
    ok("the answer arrived");
    await person.send("hi");
    await person.sees("assistant_message", "echo: hi");
    await person.ready();
    const steps = await person.transcript();
    const rest = ["user_message: Ada", "assistant_message: you said: Ada", "user_message: hi", "assistant_message: echo: hi"];
    check(JSON.stringify(steps) === JSON.stringify([...question, ...rest]), "all in order, nothing twice", steps);
    await shot("answered");
  },
  { through: breakableLine },
);
