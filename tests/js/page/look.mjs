// What an app decides of the page's look and offers: profiles, starters, headings, names and pictures, links, the readme,
// colours, style and script of its own, texts; steps, and a profile that hides them.
//
// Against the surface app; the address may have a root path.

import { scenario } from "../browser.mjs";

await scenario(async ({ person, page, base, ok, check, shot }) => {
  const answered = async (text) => {
    await person.sees("assistant_message", text);
    await person.ready();
  };
  const loads = (image) => image.evaluate(async (img) => (await img.decode(), img.naturalWidth));
  const profile = async (name) => {
    await page.locator("#chat-profiles").click();
    await page.getByRole("option", { name }).click();
    const confirm = page.getByRole("button", { name: "Confirm" });
    // It asks only where something was said.
    if ((await page.locator(".step").count()) > 0) await confirm.click();
    await page.locator("#chat-profiles", { hasText: name }).waitFor();
    await person.connected();
  };

  // ---- before anybody is signed in ----
  await page.goto(`${base}/`);
  await page.locator("#email").waitFor();
  check((await page.title()) === "Surface", "the page has the app's name");
  await shot("login");
  await person.signIn("alice", "pw");
  await person.connected();

  // ---- the head and the look ----
  check((await loads(page.locator("#welcome-screen img").first())) === 120, "the app's logo");
  const favicon = await page.locator('link[rel="icon"]').first().getAttribute("href");
  check((await page.request.get(new URL(favicon, base).href)).headers()["content-type"] === "image/png", "its icon", favicon);
  check((await page.evaluate(() => window.surfaceScript)) === "was here", "its script");
  check((await page.locator("#chat-input").evaluate((input) => getComputedStyle(input).outlineColor)) === "rgb(20, 140, 80)", "its style");
  check((await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--primary").trim())) === "150 75% 31%", "its colours");
  const link = page.locator('#header a[href="https://handbook.example/"]');
  check((await loads(link.locator("img"))) === 32 && (await link.innerText()) === "Handbook", "its link in the head");
  await page.locator("#readme-button").click();
  await page.getByRole("dialog").getByRole("heading", { name: "About the surface" }).waitFor();
  ok("its readme");
  await shot("readme");
  await page.keyboard.press("Escape");

  // ---- profiles and starters ----
  await page.locator("#chat-profiles").click();
  await shot("profiles");
  await page.getByRole("option", { name: "Plain" }).click();
  check((await page.locator("#chat-profiles").innerText()).trim() === "Plain", "the profile that is chosen at first");
  await page.locator("#starter-greet").waitFor();
  check((await loads(page.locator("#starter-greet img"))) === 32, "a starter with a picture");
  await shot("starters");
  await page.locator("#starter-look-up").click();
  await answered("echo: what is new (command Search)");
  ok("a starter says its message with its command");
  await profile("fancy");
  await page.locator("#starter-be-fancy").click();
  await answered("echo: fancy that");
  ok("a profile has starters of its own");
  await person.send("/profile");
  await answered("profile: fancy");
  ok("the app knows the profile");
  await profile("sorted");
  await page.getByText("Play", { exact: true }).click();
  await page.getByText("Joke", { exact: true }).waitFor();
  await shot("categories");
  await page.getByText("Joke", { exact: true }).click();
  await answered("echo: tell me a joke");
  ok("starters stand under headings");

  // ---- names and pictures ----
  const avatar = page.locator('.step[data-step-type="assistant_message"] img').last();
  check((await avatar.getAttribute("alt")) === "Avatar for Robin" && (await loads(avatar)) === 32, "the author under another name, with its picture");
  await person.send("/author Ghost");
  await answered("it is me");
  check((await avatar.getAttribute("alt")) === "Avatar for Ghost", "another author");

  // ---- steps, and none ----
  await person.send("/steps");
  await answered("steps done");
  const steps = (await person.transcript()).filter((step) => !step.includes("_message"));
  await person.seesStep("outer", "x is 1");
  await shot("steps");
  check(steps.length >= 7, "steps of every kind", steps);
  await profile("quiet");
  await person.send("/steps");
  await answered("steps done");
  const hidden = (await person.transcript()).filter((step) => !step.includes("_message"));
  check(hidden.length === 0, "a profile that hides them", hidden);
  await shot("hidden");
  const thread = new URL(page.url()).pathname;

  // ---- another language ----
  const foreign = await (await page.context().browser().newContext({ locale: "eo" })).newPage();
  await foreign.goto(`${base}/`);
  await foreign.locator("#email").fill("bob");
  await foreign.locator("#password").fill("pw");
  await foreign.locator("button[type=submit]").click();
  await foreign.getByPlaceholder("Skribu ĉi tie").waitFor();
  ok("the app's own texts in a language of the browser");
  await foreign.screenshot({ path: `${process.argv[3]}/look-esperanto.png` });
  await foreign.context().close();

  // ---- dark ----
  await page.locator("#theme-toggle").click();
  await page.getByRole("menuitem", { name: "Dark" }).click();
  await page.waitForFunction(() => getComputedStyle(document.documentElement).getPropertyValue("--primary").trim() === "150 60% 67%");
  ok("other colours in the dark");
  await shot("dark");
  await page.locator("#user-nav-button").click();
  await page.getByRole("menuitem", { name: "Logout" }).click();
  await page.locator("#email").waitFor();
  ok("signed out");
  check(thread.startsWith(new URL(base).pathname), "the address keeps the root", thread);
});
