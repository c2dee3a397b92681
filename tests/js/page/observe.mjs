// The observer page and the stock page side by side: what is said on the one is seen on the other, word for word as it
// streams, also after the observer's line was away; and what both show in the end is the same.

import { faults } from "../axe.mjs";
import { scenario } from "../browser.mjs";
import { breakableLine } from "../proxy.mjs";

await scenario(async ({ person, page, base, ok, check, shot }) => {
  await person.signIn("alice", "pw");
  await person.sees("assistant_message", "hello");
  await person.send("hi");
  await person.sees("assistant_message", "echo: hi");
  const thread = await person.threadId();

  const state = await page.context().storageState();
  const observer = await (await page.context().browser().newContext({ storageState: state })).newPage();
  const line = await breakableLine(base);
  await observer.goto(`${line.url}/observe/${thread}`);
  const text = (id) => observer.locator(`#${id}`).innerText();
  const is = (status) => observer.locator(`#status[data-status=${status}]`).waitFor();
  const messages = () => observer.locator("#conversation li").allInnerTexts();
  const says = (what) => observer.locator("#conversation").getByText(what).first().waitFor();
  await is("live");
  await says("echo: hi");
  check((await text("watermark")) === (await text("applied")), "it stands at the end", await text("applied"));
  check((await text("notices")) === "", "there is nothing to say", await text("notices"));

  await person.send("/stream 20 200");
  await observer.locator(".preview").getByText(/t0 t1 t2/).waitFor();
  check((await observer.locator("#runs li").count()) === 1, "the run is open");
  ok("a text is seen as it streams");
  await shot("streaming", observer);
  await person.sees("assistant_message", /t18 t19/);
  await observer.locator(".preview").waitFor({ state: "detached" });
  await says(/t18 t19/);
  await observer.locator("#runs:empty").waitFor({ state: "attached" });
  ok("the message takes the preview's place, and the run is closed");

  await person.send("/ask");
  await observer.locator("#questions li").waitFor();
  await person.send("Ada");
  await observer.locator("#questions:empty").waitFor({ state: "attached" });
  await says("you said: Ada");
  ok("a question is seen, and its end");

  // The observer's line is away while the chat goes on.
  const cut = line.cut(8000);
  await is("reconnecting");
  await observer.locator("[role=status] .reconnecting").waitFor();
  await shot("reconnecting", observer);
  await person.send("/many 5");
  await person.sees("assistant_message", "m4");
  await cut;
  await says("m4");
  await is("live");
  const seen = (await messages()).join("\n");
  for (const said of ["hello", "echo: hi", "you said: Ada", "m0", "m1", "m2", "m3", "m4"]) {
    check(seen.split(said).length >= 2, `${said} is there`, seen);
  }
  check((await text("watermark")) === (await text("applied")), "it stands at the end again", await text("applied"));
  const found = await faults(observer);
  check(found.length === 0, "no serious fault", found);
  await shot("caught-up", observer);
  await shot("page");

  // Somebody else sees nothing of it.
  const answer = await fetch(`${base}/sessions/${thread}`);
  check(answer.status === 401, "nobody reads it without a login", answer.status);
  line.close();
});
