// An app on @chainlit/react-client 0.3.0 (tests/js/react), served from another origin: its hooks connect, sign in, send,
// stream, answer, stop, upload, press, edit, go on after a lost line, and sign out.

import { join } from "node:path";
import { build } from "esbuild";
import { scenario } from "../browser.mjs";
import { host } from "../host.mjs";
import { breakableLine } from "../proxy.mjs";

const bundle = await build({
  entryPoints: [join(import.meta.dirname, "../react/app.jsx")],
  bundle: true,
  write: false,
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "error",
});
const html = '<!doctype html><meta charset="utf-8"><title>an app</title><div id="root"></div><script src="/app.js"></script>';
const app = await host({ "/": html, "/app.js": bundle.outputFiles[0].text });

await scenario(
  async ({ page, base, line, ok, check, shot }) => {
    const said = (type, text) => page.locator(`.step[data-type="${type}"]`).getByText(text, { exact: !(text instanceof RegExp) });
    const transcript = () => page.locator(".step").evaluateAll((steps) => steps.map((step) => `${step.dataset.type}: ${step.innerText.trim()}`));
    const send = async (text) => {
      await page.locator("#text").fill(text);
      await page.locator("#composer button").click();
    };
    const idle = () => page.locator("#loading", { hasText: "idle" }).waitFor();

    await page.goto(`${app.url}/?server=${encodeURIComponent(base)}`);
    await page.locator("[name=username]").fill("alice");
    await page.locator("[name=password]").fill("wrong");
    await page.locator("form button").click();
    await page.locator("#login-error", { hasText: "credentialssignin" }).waitFor();
    ok("a wrong password is told");
    await page.locator("[name=password]").fill("pw");
    await page.locator("form button").click();
    await page.locator("#who", { hasText: "alice" }).waitFor();
    await said("assistant_message", "hello").waitFor();
    // Having been refused once, the library asks once more who it is some seconds later, and forgets who it is if the line
    // is away just then. A page that comes with its cookie does not.
    await page.reload();
    await said("assistant_message", "hello").waitFor();
    check((await page.locator("#state").innerText()) === "connected", "useAuth and useChatSession: signed in, connected, greeted");

    await send("hi");
    await said("assistant_message", "echo: hi").waitFor();
    await page.locator("#interaction", { hasText: "hi" }).waitFor();
    const thread = await page.locator("#thread").innerText();
    check(/^[0-9a-f-]{36}$/.test(thread), "a message is answered, and the app knows the thread", thread);

    await idle();
    await send("/stream 20 200");
    await said("assistant_message", /^t0 t1 t2/).waitFor();
    check((await page.locator("#loading").innerText()) === "busy", "the text is seen while it streams");
    await said("assistant_message", /^t0 t1 .* t19/).waitFor();
    ok("the stream came whole");
    await shot("streamed");

    await idle();
    await send("/ask 30");
    await page.locator("#ask", { hasText: "text" }).waitFor();
    await send("Ada");
    await said("assistant_message", "you said: Ada").waitFor();
    check((await page.locator("#ask").innerText()) === "", "a question was asked, answered, and is done");

    await idle();
    await send("/tool x");
    await said("assistant_message", "done").waitFor();
    check((await transcript()).includes("tool: found x"), "a step, complete as this library needs it", await transcript());

    await idle();
    await send("/stream 200 50");
    await said("assistant_message", /^t0 t1 t2 t3/).waitFor();
    await page.locator("#stop").click();
    await said("assistant_message", "Task manually stopped.").waitFor();
    await idle();
    const stopped = (await transcript()).filter((step) => step.includes("t0 ")).at(-1);
    await send("after");
    await said("assistant_message", "echo: after").waitFor();
    const later = (await transcript()).filter((step) => step.includes("t0 ")).at(-1);
    check(stopped === later && !later.includes("t199"), "a stop ends the stream", { stopped, later });
    await shot("stopped");

    const file = (name, content) => ({ name, mimeType: "text/plain", buffer: Buffer.from(content) });
    await idle();
    await page.locator("#files").setInputFiles([file("note.txt", "hello")]);
    await send("with a file");
    await said("assistant_message", "echo: with a file").waitFor();
    const link = page.locator(".element a", { hasText: "file note.txt" });
    check((await (await page.request.get(await link.getAttribute("href"))).text()) === "hello", "a file is uploaded, and comes back");

    await idle();
    await send("/ask-file");
    await page.locator("#ask", { hasText: "file" }).waitFor();
    await page.locator("#files").setInputFiles([file("answer.txt", "yes")]);
    await page.locator("#composer button").click();
    await said("assistant_message", "got: answer.txt 3").waitFor();
    ok("a question is answered with a file");

    await idle();
    await send("/ask-action");
    await page.locator(".action", { hasText: "Yes" }).click();
    await said("assistant_message", "chose: yes").waitFor();
    check((await page.locator(".action").count()) === 0, "a question is answered by a button, and the buttons go");
    await idle();
    await send("/action");
    await page.locator(".action", { hasText: "Press" }).click();
    await said("assistant_message", "pressed 1").waitFor();
    ok("a button calls the app");
    await shot("given");

    await idle();
    await page.locator("li", { has: said("user_message", "after") }).locator("> button.edit").first().click();
    await said("assistant_message", "echo: after!").waitFor();
    await idle();
    const edited = await transcript();
    check(edited.at(-1) === "assistant_message: echo: after!" && !edited.includes("assistant_message: pressed 1"), "an edit takes what came after it away", edited);

    const before = await transcript();
    await line.cut(1500);
    await send("back");
    await said("assistant_message", "echo: back").waitFor();
    await idle();
    const after = await transcript();
    check(JSON.stringify(after.slice(0, before.length)) === JSON.stringify(before), "a lost line changes nothing", { before, after });
    check(after.filter((step) => step === "assistant_message: echo: back").length === 1, "and the talk goes on", after);
    await shot("talked");

    await page.locator("#clear").click();
    await page.locator("#logout").click();
    await page.locator("[name=username]").waitFor();
    ok("signed out");
  },
  { through: breakableLine },
);
