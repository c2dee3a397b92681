// A person at the stock Chainlit page, in headless Chromium. The scenarios in page/ are written with it:
//
//   node tests/js/page/NAME.mjs BASE_URL OUTDIR
//
// A scenario prints a line "ok - …" for what was seen and "not ok - …" for what was not, leaves screenshots in OUTDIR,
// and exits 0 only if nothing was missing. What it needs to go on and does not see within 15 s ends it, with the
// screenshot NAME-failed.png.
//
// CHROMIUM names the browser (default /usr/bin/chromium).

import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { chromium } from "playwright-core";

/** All text of the page, or of the copilot, which lives in a shadow root. */
const TEXT = '(document.querySelector("#root") ?? document.querySelector("#chainlit-copilot").shadowRoot).textContent';

const PATIENCE = 15_000;
const WHOLE_SCENARIO = 120_000;

/**
 * Plays one scenario and ends the process with its verdict. `play` is given
 *   person  what the person can do and see on the page (Person)
 *   base    the server's address
 *   tab     opens another tab of the same browser, and gives the person who sits before it
 *   ok      says what was seen
 *   check   says whether something holds, and goes on if not; the scenario has failed then
 *   shot    keeps a screenshot, of another page where one is named: NAME-what.png
 * `through` may put something between page and server: it is given the server's address and gives back
 * { url, close(), … }, which `play` gets as `line`.
 */
/**
 * Lets `page.reload` end on the page's thread. Loading /thread/ID the stock page now and then connects without that
 * thread and never again with it (on a busy machine once in thirty loads): it shows its spinner, and no server could
 * know what it wants. Somebody at the page loads it once more; so does this, and says so. What the page sends when it
 * connects tells this race from a server that does not answer.
 */
function reloadsItsThread(page) {
  let wanted = [];
  const see = (frame) => {
    if (typeof frame !== "string" || !frame.startsWith("40{")) return;
    wanted.push(JSON.parse(frame.slice(2)).threadId ?? "");
    page.connectedAt = Date.now();
  };
  page.on("request", (request) => request.url().includes("/ws/socket.io/") && see(request.postData()));
  page.on("websocket", (socket) => socket.on("framesent", ({ payload }) => see(payload)));
  const reload = page.reload.bind(page);
  page.reload = async () => {
    const thread = new URL(page.url()).pathname.match(/\/thread\/(.+)$/)?.[1];
    for (let tries = 1; ; tries++) {
      wanted = [];
      await reload();
      if (!thread) return;
      // It connects twice, and only the second one stays: what counts is the last, once nothing follows it.
      let steady = 0;
      for (let waited = 0, seen = 0; waited < 60 && steady < 8; waited++) {
        await page.waitForTimeout(100);
        steady = wanted.at(-1) === thread && wanted.length === seen ? steady + 1 : 0;
        seen = wanted.length;
      }
      if (steady === 8 || tries === 5) return;
      console.log("note - the page connected without its thread, loading it again");
    }
  };
}

export async function scenario(play, { through } = {}) {
  const name = basename(process.argv[1], ".mjs");
  const [server, outdir] = process.argv.slice(2);
  if (!server || !outdir) {
    console.error(`usage: node ${name}.mjs BASE_URL OUTDIR`);
    process.exit(2);
  }
  mkdirSync(outdir, { recursive: true });

  let failures = 0;
  const ok = (what) => console.log(`ok - ${what}`);
  const failed = (what) => {
    failures += 1;
    console.log(`not ok - ${what}`);
  };
  const check = (holds, what, seen) =>
    holds ? ok(what) : failed(seen === undefined ? what : `${what}; seen: ${JSON.stringify(seen)}`);

  const line = await through?.(server);
  const base = (line?.url ?? server).replace(/\/$/, "");
  const browser = await launch();
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const open = async () => {
    const page = await context.newPage();
    reloadsItsThread(page);
    page.setDefaultTimeout(PATIENCE);
    page.on("pageerror", (error) => failed(`an error nobody caught in the page: ${error.message}`));
    return page;
  };
  const page = await open();
  const tab = async () => new Person(await open(), base);
  const shot = (what, of = page) => of.screenshot({ path: join(outdir, `${name}-${what}.png`) });

  const tooLong = new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`not done after ${WHOLE_SCENARIO / 1000} s`)), WHOLE_SCENARIO).unref();
  });
  try {
    await Promise.race([play({ person: new Person(page, base), page, base, line, tab, ok, check, shot }), tooLong]);
  } catch (error) {
    // Playwright colours its messages.
    failed(error.message.replace(/\x1b\[\d+m/g, ""));
  }
  if (failures) {
    const path = join(outdir, `${name}-failed.png`);
    await page.screenshot({ path }).then(
      () => console.log(`see ${path}`),
      (error) => console.log(`no screenshot: ${error.message}`),
    );
  }
  await browser.close();
  await line?.close();
  console.log(failures ? `${name}: FAILED (${failures} not seen)` : `${name}: all seen`);
  process.exit(failures ? 1 : 0);
}

function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    headless: true,
    args: [
      "--no-sandbox", // root has none
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // The page asks for fonts on the network. Refused at once they cost nothing; waited for, they cost seconds.
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ],
  });
}

/** What somebody does with the page. Every act waits until the page is ready for it. */
class Person {
  constructor(page, base) {
    this.page = page;
    this.base = base;
    this.composer = page.locator("#chat-input");
    this.stopButton = page.locator("#stop-button");
  }

  // ---- doing ----

  async signIn(name, password) {
    await this.page.goto(`${this.base}/`);
    await this.page.locator("#email").fill(name);
    await this.page.locator("#password").fill(password);
    await this.page.locator("button[type=submit]").click();
  }

  /**
   * Waits until the page has connected and stays so, where no greeting tells it: with profiles it connects, chooses one
   * and connects again, and what was entered before is lost.
   */
  async connected() {
    const deadline = Date.now() + PATIENCE;
    while (!(Date.now() - this.page.connectedAt > 1000)) {
      if (Date.now() > deadline) throw new Error("the page did not connect");
      await this.page.waitForTimeout(100);
    }
  }

  /** Sends a message when nothing runs any more. Only after the greeting: text entered earlier is lost. */
  async send(text) {
    await this.ready();
    await this.composer.fill(text);
    await this.page.locator("#chat-submit:not([disabled])").waitFor();
    await this.composer.press("Enter");
    await this.sees("user_message", text);
  }

  async stop() {
    await this.stopButton.click();
  }

  /**
   * The line is away for so long, and the page notices; `meanwhile` is done when it has, and it is over when the page is
   * back. Who is signed in the page is told all the time: the stock page asks for that at its own moments, and where it
   * finds no server just then, it forgets everything and goes to its login - whichever server it is that is not there.
   */
  async loses(line, milliseconds, meanwhile = async () => {}) {
    const signedIn = await (await this.page.request.get(`${this.base}/user`)).text();
    const answer = (route) => route.fulfill({ contentType: "application/json", body: signedIn });
    await this.page.route(`${this.base}/user`, answer);
    const unreachable = this.page.getByText("Could not reach the server");
    const cut = line.cut(milliseconds);
    await unreachable.waitFor();
    await meanwhile();
    await cut;
    await unreachable.waitFor({ state: "hidden" });
    await this.page.unroute(`${this.base}/user`, answer);
  }

  async newChat() {
    await this.page.locator("#new-chat-button").first().click();
    // There is a dialog "Create New Chat" in front of it once something was said.
    await this.page.getByRole("button", { name: "Confirm" }).click();
  }

  async openThread(id) {
    await this.sidebarEntry(id).locator("a").click();
  }

  async renameThread(id, name) {
    await this.threadMenu(id, "#rename-thread");
    const dialog = this.page.getByRole("dialog");
    await dialog.locator("#name").fill(name);
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await dialog.waitFor({ state: "hidden" });
  }

  async deleteThread(id) {
    await this.threadMenu(id, "#delete-thread");
    const dialog = this.page.getByRole("alertdialog");
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await dialog.waitFor({ state: "hidden" });
  }

  async threadMenu(id, entry) {
    const inSidebar = this.sidebarEntry(id);
    // The three dots are there only below the pointer.
    await inSidebar.hover();
    await inSidebar.locator("#thread-options").click();
    await this.page.locator(entry).click();
  }

  // ---- seeing ----

  /** Waits for a step of this type that reads so, or matches the pattern. */
  async sees(type, text) {
    try {
      await this.step(type, text).last().waitFor();
    } catch {
      throw new Error(`${type} ${text} did not appear; seen: ${JSON.stringify(await this.transcript())}`);
    }
  }

  /** Waits for a step that is not a message, opens it and waits for this in its input or output. */
  async seesStep(name, text) {
    const button = this.page.locator(`button[id="step-${name}"]`);
    const step = this.page.locator(".step", { has: button }).last();
    if ((await step.locator(button).getAttribute("data-state")) === "closed") await step.locator(button).click();
    await step.getByText(text, { exact: true }).waitFor();
  }

  step(type, text) {
    const steps = this.page.locator(`.step[data-step-type="${type}"]`);
    if (text instanceof RegExp) return steps.filter({ hasText: text });
    return steps.filter({ has: this.page.getByText(text, { exact: true }) });
  }

  /** Waits until the composer takes a message: nothing runs. */
  async ready() {
    await this.page.locator("#chat-submit").waitFor();
  }

  /** Waits until the page has changed so that `test` holds for its transcript, and gives that back. */
  async transcriptWhere(test, what) {
    let last = [];
    const deadline = Date.now() + PATIENCE;
    while (Date.now() < deadline) {
      last = await this.transcript();
      if (test(last)) return last;
      const old = JSON.stringify(await this.page.evaluate(TEXT));
      await this.page.waitForFunction(`${TEXT} !== ${old}`, undefined, { timeout: 250 }).catch(() => {}); // nothing changed: look again, the markup may have
    }
    throw new Error(`${what}; seen: ${JSON.stringify(last)}`);
  }

  /** Everything that is said, in the order of the page: ["assistant_message: hello", "user_message: hi", …]. */
  transcript() {
    return this.page.locator(".step").evaluateAll((steps) =>
      steps.map((step) => {
        // A message's text is in its content. Another step has a button that opens its input and output (contents too),
        // and plain words where there is neither.
        const said = step.querySelector("[id^=step-] button[id^=step-]") ?? step.querySelector(".message-content");
        const words = (said ?? step).innerText.replace(/\s+/g, " ").trim();
        return `${step.dataset.stepType}: ${words}${said ? "" : " (nothing in it)"}`;
      }),
    );
  }

  sidebarEntry(id) {
    return this.page.locator(`#thread-${id}`);
  }

  /** The id of the thread in the address, once it is there: after the first message, and after opening a thread. */
  async threadId() {
    await this.page.waitForURL("**/thread/*");
    return new URL(this.page.url()).pathname.split("/").at(-1);
  }
}
