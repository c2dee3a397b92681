// What people do with what was said: they edit it, vote, keep favourites, share it, look for it, and page through the past.
//
// Against the surface app.

import { randomUUID } from "node:crypto";
import { io } from "socket.io-client";
import { scenario } from "../browser.mjs";

/** Leaves so many conversations of a person, as another device would. */
async function talk(base, cookie, count) {
  for (let number = 1; number <= count; number++) {
    const auth = { clientType: "webapp", sessionId: randomUUID(), threadId: "", userEnv: "{}", chatProfile: "" };
    const socket = io(base, { path: "/ws/socket.io", auth, extraHeaders: { Cookie: cookie }, transports: ["websocket"], forceNew: true });
    await new Promise((told) => {
      socket.once("first_interaction", told);
      socket.on("connect", () => {
        socket.emit("connection_successful");
        const message = { id: randomUUID(), name: "alice", type: "user_message", output: `old talk ${number}`, createdAt: new Date().toISOString(), metadata: {} };
        socket.emit("client_message", { message, fileReferences: [] });
      });
    });
    socket.disconnect();
  }
}

await scenario(async ({ person, page, base, ok, check, shot }) => {
  const user = (text) => person.step("user_message", text).last();
  const dialog = page.getByRole("dialog");
  const button = (place, icon) => place.locator(`button:has(svg[class*="lucide-${icon}"])`);
  const edit = async (from, to) => {
    await user(from).hover();
    await user(from).locator("button").first().click();
    await page.locator("#edit-chat-input").fill(to);
    await page.getByRole("button", { name: "Confirm" }).click();
    await person.sees("assistant_message", `echo: ${to}`);
    await person.ready();
  };
  const says = async (lines, what) => {
    const wanted = JSON.stringify(lines);
    await person.transcriptWhere((steps) => JSON.stringify(steps.map((step) => step.split(": ").slice(1).join(": "))) === wanted, what);
  };

  await person.signIn("alice", "pw");
  await person.connected();
  for (const text of ["one", "two", "three"]) {
    await person.send(text);
    await person.sees("assistant_message", `echo: ${text}`);
  }
  const thread = await person.threadId();
  await person.ready();

  // ---- favourites ----
  await user("one").hover();
  await button(user("one"), "star").click();
  await page.locator(".favorite-popover-wrapper button").click();
  const favourites = page.locator("[data-radix-popper-content-wrapper]");
  await favourites.getByText("one", { exact: true }).waitFor();
  ok("a message becomes a favourite");
  await shot("favourites");
  await page.keyboard.press("Escape");
  await page.reload();
  await person.sees("assistant_message", "echo: three");
  await person.connected();
  await page.locator(".favorite-popover-wrapper button").click();
  await favourites.getByText("one", { exact: true }).click();
  await page.waitForFunction(() => document.querySelector("#chat-input").value === "one");
  ok("and can be said again after a reload");
  await person.composer.fill("");
  await page.keyboard.press("Escape");

  // ---- editing ----
  await edit("two", "two, better");
  await says(["one", "echo: one", "two, better", "echo: two, better"], "what came after an edited message is gone");
  ok("a message is edited, and what came after it is gone");
  await page.reload();
  await says(["one", "echo: one", "two, better", "echo: two, better"], "the edited conversation after a reload");
  await edit("one", "one, better");
  await says(["one, better", "echo: one, better"], "a message of a resumed thread is edited");
  ok("so is one of a resumed thread");
  await shot("edited");

  // ---- voting ----
  const answer = page.locator('.step[data-step-type="assistant_message"]').last();
  await button(answer, "thumbs-down").click();
  await dialog.locator("textarea").fill("too short");
  await shot("vote");
  await dialog.locator("#submit-feedback").click();
  await button(answer, "message-circle").waitFor();
  await person.send("/vote");
  await person.sees("assistant_message", 'vote: {"comment":"too short","value":0}');
  ok("a vote with a comment reaches the app");
  await page.reload();
  await person.sees("assistant_message", "echo: one, better");
  await button(page.locator(".step").nth(1), "message-circle").click();
  await page.getByText("too short").last().waitFor();
  ok("and is there after a reload");
  await shot("voted");
  await page.keyboard.press("Escape");

  // ---- sharing ----
  await button(page.locator("#header"), "share").click();
  const link = await dialog.locator("[title*='/share/']").getAttribute("title");
  check(link === `${base}/share/${thread}`, "there is a link to share", link);
  await dialog.getByRole("button", { name: "Share", exact: true }).click();
  await page.locator("[data-sonner-toast]").first().waitFor();
  await shot("shared");
  const guest = await (await page.context().browser().newContext()).newPage();
  await guest.goto(`${base}/`);
  await guest.locator("#email").fill("bob");
  await guest.locator("#password").fill("pw");
  await guest.locator("button[type=submit]").click();
  await guest.locator("#chat-input").waitFor();
  await guest.goto(link);
  await guest.getByText("echo: one, better", { exact: true }).waitFor();
  ok("somebody else follows it and reads");
  await guest.screenshot({ path: `${process.argv[3]}/history-guest.png` });
  await guest.goto(`${base}/thread/${thread}`);
  await guest.waitForURL(`${base}/`);
  ok("but does not open the thread itself");
  await guest.context().close();
  await page.keyboard.press("Escape");

  // ---- the past ----
  const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
  await talk(base, cookie, 40);
  await page.goto(`${base}/`);
  const entries = page.locator('#thread-history [id^="thread-"]:not(#thread-options)');
  await page.locator("#thread-history").getByText("old talk 40", { exact: true }).waitFor();
  const first = await entries.count();
  await page.locator("#thread-history").getByText("old talk 40", { exact: true }).hover();
  for (let tries = 0; tries < 40 && (await page.locator("#thread-history").getByText("old talk 1", { exact: true }).count()) === 0; tries++) {
    await page.mouse.wheel(0, 400);
    await page.waitForTimeout(100);
  }
  const all = await entries.count();
  check(first === 35 && all > 40, "the past comes in pages while it is scrolled", { first, all });
  await page.locator("#search-chats-button").click();
  await dialog.locator("input").fill("OLD TALK 17");
  await dialog.getByText("old talk 17").first().waitFor();
  await shot("found");
  await dialog.getByText("old talk 17").first().click();
  await person.sees("assistant_message", "echo: old talk 17");
  ok("and is searched");
  await shot("opened");
});
