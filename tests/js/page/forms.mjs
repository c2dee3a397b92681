// What people give beside text: files, buttons, forms, settings, commands, modes.
//
// Against the surface app.

import { scenario } from "../browser.mjs";

const file = (name, mimeType, content) => ({ name, mimeType, buffer: Buffer.from(content) });
const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

await scenario(async ({ person, page, ok, check, shot }) => {
  const last = () => page.locator('.step[data-step-type="assistant_message"]').last();
  const tell = async (text) => {
    await person.ready();
    await person.composer.fill(text);
    await person.composer.press("Enter");
  };
  const answered = async (text) => {
    await person.sees("assistant_message", text);
    await person.ready();
  };
  const press = (name) => page.getByRole("button", { name, exact: true }).last().click();

  await person.signIn("alice", "pw");
  await person.connected();
  await person.send("hi");
  await person.sees("assistant_message", "echo: hi");

  // ---- files ----
  // A message that is sent before its files are there goes without them.
  const uploads = (count) => {
    let left = count;
    return page.waitForResponse((answer) => answer.url().includes("/project/file?") && answer.status() === 200 && --left === 0);
  };
  const uploaded = uploads(2);
  await page.locator("#upload-button-input").setInputFiles([file("note.txt", "text/plain", "hello"), { ...file("dot.png", "image/png", ""), buffer: png }]);
  await uploaded;
  await page.locator("#attachments img").waitFor();
  await person.send("with files");
  await answered(`echo: with files (files note.txt 5, dot.png ${png.length})`);
  const mine = page.locator('.step[data-step-type="user_message"]').last();
  await mine.locator("img.inline-image").waitFor();
  const link = mine.locator("a.inline-file");
  check((await (await page.request.get(await link.evaluate((a) => a.href))).text()) === "hello", "files are uploaded, shown, and come back whole");
  await shot("files");

  await page.locator("#upload-button-input").setInputFiles([file("big.txt", "text/plain", "x".repeat(1_100_000))]);
  await page.locator("[data-sonner-toast]").first().waitFor();
  check((await page.locator("#attachments").count()) === 0, "a file that is too large is refused", await page.locator("[data-sonner-toast]").first().innerText());
  await shot("too-large");

  await tell("/ask-file 2");
  await person.sees("assistant_message", "files?");
  await shot("asks-file");
  await page.locator("#ask-button-input").setInputFiles([file("one.txt", "text/plain", "1"), file("two.md", "text/plain", "22")]);
  await person.sees("assistant_message", "got: one.txt 1, two.md 2");
  ok("a question for files is answered with two");

  // ---- buttons ----
  await tell("/actions");
  await answered("buttons");
  await press("Press 2");
  await answered("pressed 2");
  await press("Fail");
  ok("a button calls the app");
  await tell("/remove actions");
  await answered("removed");
  check((await page.getByRole("button", { name: "Press 2" }).count()) === 1, "buttons that are removed are gone");

  await tell("/ask-action");
  await person.sees("assistant_message", "which?");
  await shot("asks-action");
  await press("Press 1");
  await answered("chose: Press 1");
  await page.getByText("Selected:").waitFor();
  ok("a question is answered by a button");
  await tell("/ask-element");
  await page.locator(".form").waitFor();
  await shot("asks-element");
  await press("blue");
  await answered('filled in: {"color":"blue","submitted":true,"sure":true}');
  ok("a form of the app is filled in");
  await tell("/ask-element");
  await page.locator(".form").waitFor();
  await press("None");
  await answered('filled in: {"submitted":false}');
  check((await page.locator(".form").count()) === 0, "or not");
  await shot("answered");

  // ---- settings ----
  await tell("/settings");
  await answered("settings sent");
  await page.locator("#chat-settings-open-modal").click();
  const dialog = page.getByRole("dialog");
  await dialog.locator("#lines").waitFor();
  await shot("settings");
  await dialog.locator("#switch").click();
  await dialog.locator("#checkbox").click();
  await dialog.locator("#slider [role=slider]").press("ArrowRight");
  await dialog.locator("#select").click();
  await page.getByRole("option", { name: "b" }).click();
  await dialog.locator("#l").click();
  await dialog.locator("[cmdk-input]").click();
  await page.locator("[cmdk-item]", { hasText: "z" }).click();
  await dialog.locator("#tags").fill("old");
  await dialog.locator("#tags").press("Enter");
  await dialog.locator("#text").fill("other");
  await dialog.locator("#lines").fill("one\ntwo");
  await dialog.locator("#number").fill("8");
  await shot("settings-filled");
  await dialog.locator("#confirm").click();
  await person.sees("assistant_message", /^settings: /);
  const said = (await person.transcript()).findLast((step) => step.startsWith("assistant_message: settings: "));
  const { day, days, ...values } = JSON.parse(said.slice("assistant_message: settings: ".length));
  const wanted = { checkbox: true, lines: "one\ntwo", multiselect: ["x", "z"], number: "8", off: false, radio: "l", select: "b", slider: 4, switch: false, tags: ["new", "old"], text: "other" };
  check(JSON.stringify(values) === JSON.stringify(wanted), "every field of the settings arrives", values);
  check(/^2026-01-02/.test(day) && days?.length === 2, "days too", { day, days });
  check((await person.transcript()).some((step) => step.startsWith('assistant_message: edited: {"checkbox":false')), "and every change of a field before");
  await person.ready();
  await page.locator("#chat-settings-open-modal").click();
  await dialog.locator("#lines").waitFor();
  check((await dialog.locator("#text").inputValue()) === "other", "the form shows what was confirmed");
  await page.keyboard.press("Escape");
  await tell("/settings tabs");
  await person.transcriptWhere((steps) => steps.at(-1) === "assistant_message: settings sent", "settings sent");
  await person.ready();
  await page.locator("#chat-settings-open-modal").click();
  await dialog.getByRole("tab", { name: "Two" }).click();
  await dialog.locator("#slider").waitFor();
  ok("settings come in tabs");
  await shot("settings-tabs");
  await page.keyboard.press("Escape");

  // ---- commands, modes ----
  await tell("/commands");
  await answered("commands set");
  await page.locator("#command-Search").click();
  await person.send("what is new");
  await answered("echo: what is new (command Search)");
  ok("a command goes along");
  await tell("/modes");
  await answered("modes set");
  await page.locator("#mode-picker-trigger-tone").click();
  await page.getByText("Warm", { exact: true }).last().click();
  await shot("composer");
  await person.send("so");
  await answered('echo: so (modes {"model":"careful","tone":"warm"})');
  ok("modes go along");

  // ---- the window around the page ----
  await page.evaluate(() => {
    window.addEventListener("message", ({ data }) => data?.said && (window.heard = data.said));
    window.postMessage("host: are you there", "*");
  });
  await answered("window: are you there");
  await tell("/window yes");
  await answered("posted");
  check((await page.evaluate(() => window.heard)) === "yes", "the window posts and is posted to");
  await tell("/usage 12");
  await answered("counted");
  await shot("end");
});
