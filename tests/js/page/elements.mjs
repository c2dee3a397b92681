// Elements of every kind beside a message, in the side view and on a page of their own; a component of the app that changes
// and goes; the side view that the app opens; tasks. What is stored is there after a reload.
//
// Against the surface app. Chainlit 2.12.0 FAILS after the reload: on SQLite it has no columns for sound and film, gives
// properties back as a text, and its places for files do not tell that a figure is JSON.

import { scenario } from "../browser.mjs";

/** What is seen of an element in a message. */
const looks = {
  text: { is: ".inline-text .language-rust", reads: "let shown = 1;" },
  image: { is: "img.inline-image", loads: (image) => image.naturalWidth === 64 },
  pdf: { is: '[data-page-number="2"] canvas' },
  audio: { is: ".inline-audio audio", loads: (audio) => audio.duration > 0.05 },
  video: { is: ".inline-video video", loads: (video) => video.videoWidth === 64 },
  file: { is: "a.inline-file" },
  plotly: { is: ".inline-plotly .main-svg", reads: "bars" },
  dataframe: { is: ".dataframe table", reads: "Ada" },
  custom: { is: ".counter", reads: "counted to 1" },
};

await scenario(async ({ person, page, base, ok, check, shot }) => {
  const last = () => page.locator('.step[data-step-type="assistant_message"]').last();
  const within = async (place, { is, reads, loads }) => {
    const seen = place.locator(is).first();
    await seen.waitFor({ state: "attached" });
    // Pictures are fetched when they come into view.
    await seen.evaluate((element) => element.scrollIntoView());
    await seen.waitFor();
    if (reads) await place.getByText(reads).first().waitFor();
    // Film and sound tell of themselves when their head has come.
    if (loads) await page.waitForFunction(loads, await seen.elementHandle());
  };
  const ask = async (text, answer) => {
    await person.send(text);
    await person.transcriptWhere((steps) => steps.at(-1) !== `user_message: ${text}` && steps.at(-1).startsWith(`assistant_message: ${answer}`), `${answer} after ${text}`);
    await person.ready();
  };

  await person.signIn("alice", "pw");
  await person.connected();
  await person.send("hi");
  await person.sees("assistant_message", "echo: hi");
  for (const [kind, look] of Object.entries(looks)) {
    await ask(`/element ${kind}`, "see");
    await within(last(), look);
    ok(`${kind} is shown`);
    if (kind === "plotly" || kind === "pdf") await shot(kind);
    if (kind !== "file") continue;
    const download = page.waitForEvent("download");
    await last().locator("a.inline-file").evaluate((link) => (link.target = "")); // headless has no tab to show
    await last().locator("a.inline-file").click();
    const file = await (await download).createReadStream();
    check((await file.toArray()).join("") === "a,b\n1,2\n", "and comes whole when it is clicked");
  }
  const thread = await person.threadId();

  // ---- a component ----
  const counter = () => last().locator(".counter");
  await counter().getByRole("button", { name: "More" }).click();
  await counter().getByText("counted to 2").waitFor();
  ok("a component changes its properties");
  await counter().getByRole("button", { name: "Tell" }).click();
  await person.sees("assistant_message", "pressed 2");
  ok("and calls the app");
  await page.locator(".counter").getByRole("button", { name: "Say" }).click();
  await person.sees("assistant_message", "echo: I have 2");
  ok("and speaks for the person");
  await ask("/element custom", "see");
  await counter().getByRole("button", { name: "Away" }).click();
  await counter().waitFor({ state: "detached" });
  ok("and takes itself away");
  await shot("component");

  // ---- elsewhere than beside its message ----
  await ask("/element text side", "see");
  const side = page.locator("#side-view-content");
  await within(side, { is: ".language-rust", reads: "let shown = 1;" });
  ok("the side view opens by itself");
  await shot("side");
  await ask("/sidebar", "sidebar open");
  await page.locator("#side-view-title", { hasText: "Notes" }).waitFor();
  await side.getByText("beside the chat").waitFor();
  ok("the app opens the side view");
  await shot("sidebar");
  await ask("/sidebar close", "sidebar closed");
  await side.waitFor({ state: "detached" });
  ok("and closes it");

  await ask("/tasks", "tasks done");
  await page.getByText("four", { exact: true }).filter({ visible: true }).waitFor();
  await page.getByText("Done", { exact: true }).filter({ visible: true }).waitFor();
  ok("tasks are shown as they stand");
  await shot("tasks");

  await ask("/remove element", "removed");
  check((await page.getByText("soon gone").count()) === 0, "a removed element is gone");

  // ---- a reload ----
  await ask("/element image page", "see");
  // What stands in an element may come a moment later.
  const said = (steps) => JSON.stringify(steps.map((step) => step.replace(/^(assistant_message: see).*/, "$1")));
  const before = said(await person.transcript());
  await page.reload();
  await person.transcriptWhere((steps) => said(steps) === before, "the conversation after a reload");
  for (const [kind, look] of Object.entries(looks)) {
    const message = page.locator(".step", { has: page.getByText(`/element ${kind}`, { exact: true }) }).first();
    // The answer is the next step.
    const answer = message.locator('xpath=following::*[contains(@class,"step")][1]');
    await within(answer, kind === "custom" ? { ...look, reads: "counted to 2" } : look);
  }
  ok("after a reload every element is there, the component as it was left");
  check((await page.locator(".counter").count()) === 1, "and what was taken away is not");
  await shot("reloaded");

  await last().locator("a.element-link").click();
  await page.waitForURL(/\/element\/[0-9a-f-]+\?thread=/);
  await within(page.locator("#root"), { is: "img[alt=shown]", loads: (image) => image.naturalWidth === 64 });
  await page.reload();
  await within(page.locator("#root"), { is: "img[alt=shown]", loads: (image) => image.naturalWidth === 64 });
  ok("an element has a page of its own, which can be loaded again");
  await shot("page");
  const answer = await page.request.get(`${base}/project/thread/${thread}`);
  check(answer.ok(), "all of it in one thread");
});
