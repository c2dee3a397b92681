// The observer page in each of its states: live, reconnecting, an incomplete history, a reset, an end. What it reads from
// is the small server of client/test, below a root path: it can be told to break.

import { FakeServer } from "../../../client/test/server.mjs";
import { faults } from "../axe.mjs";
import { scenario } from "../browser.mjs";

const PAGE = new URL("../../../client/observer/dist/", import.meta.url);
const ROOT = "/deep/down";

await scenario(
  async ({ page, line: server, check, ok, shot }) => {
    const foreign = [];
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      const isOurs = request.url().startsWith(`${server.url}${ROOT}/`) || pathname === "/favicon.ico";
      if (!isOurs) foreign.push(request.url());
    });
    const text = (id) => page.locator(`#${id}`).innerText();
    const notice = (code) => page.locator(`[role=status] .${code}`);
    const is = (status) => page.locator(`#status[data-status=${status}]`).waitFor();
    /** A screenshot in both lights, and what axe says in both. */
    const look = async (what) => {
      for (const light of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme: light });
        const found = await faults(page);
        check(found.length === 0, `${what}, ${light}: no serious fault`, found);
        await shot(`${what}-${light}`);
      }
    };

    await page.goto(`${server.url}${ROOT}/observe/t1`);
    await is("live");
    await page.getByText("What do three invoices cost?").waitFor();
    check((await text("name")) === "Invoices <b>", "the name is text", await text("name"));
    check((await page.title()).startsWith("Invoices"), "the title is the thread's");
    check((await text("applied")) === "9" && (await text("watermark")) === "9", "it stands at 9", await text("applied"));
    check((await page.locator("#records tr").count()) === 8, "the records that have a public form", await text("records"));
    check(/x1/.test(await text("runs")), "the run is open", await text("runs"));
    check(/Which year\?/.test(await text("questions")), "the question is open", await text("questions"));
    check((await page.locator("#conversation img").count()) === 0, "a message is text, not markup");
    check((await page.locator("a[href^=javascript]").count()) === 0, "an address that runs is no link");
    const link = page.getByRole("link", { name: "image: invoice.png" });
    const href = await link.getAttribute("href");
    check(href === `${server.url}${ROOT}/project/thread/t1/element/e1/content`, "a file is below the root path", href);

    server.preview("x1", "m9", 0, "Three invoices co", 0);
    server.preview("x1", "m9", 1, "st 42 €", 17);
    await page.locator(".preview").getByText("Three invoices cost 42 €").waitFor();
    await look("live");
    server.append("message.completed", { message_id: "m9", role: "assistant", name: "Assistant", content: "Three invoices cost 42 €." }, { run: "x1", entity: "m9" });
    await page.getByText("Three invoices cost 42 €.", { exact: true }).waitFor();
    check((await page.locator(".preview").count()) === 0, "the message takes the preview's place");
    server.append("interaction.responded", { interaction_id: "q1", outcome: "answered" }, { run: "x1", entity: "q1" });
    server.append("execution.stopped", { stopped_at: null, reason: "completed" }, { run: "x1", entity: "x1" });
    await page.locator("#runs:empty").waitFor({ state: "attached" });
    await page.locator("#questions:empty").waitFor({ state: "attached" });
    ok("the run and the question are closed");

    const { port } = server;
    server.preview("x2", "m10", 0, "lost with the line", 0);
    await page.getByText("lost with the line").waitFor();
    server.down();
    await is("reconnecting");
    check((await notice("reconnecting").count()) === 0, "it is not said at once");
    await notice("reconnecting").waitFor();
    ok("I-54 it is said after two seconds");
    check((await page.locator(".preview").count()) === 0, "the preview went with the line");
    check((await page.locator("#conversation li").count()) > 3, "what was there stays");
    await look("reconnecting");
    server.world.append("message.completed", { message_id: "m11", role: "user", name: "alice", content: "Are you there?" }, { entity: "m11" });
    await server.listen(port);
    await page.getByText("Are you there?").waitFor();
    await is("live");
    await notice("reconnecting").waitFor({ state: "detached" });
    check((await text("applied")) === "13", "what came meanwhile is there", await text("applied"));

    server.send("notice", { code: "history_incomplete", incomplete_reasons: ["record_rejected"] });
    await notice("history_incomplete").waitFor();
    check(/the database refused a record/.test(await text("notices")), "I-54 it is said why", await text("notices"));
    await look("incomplete");

    server.world.records.splice(5);
    server.world.begin();
    server.cut();
    await notice("reset").waitFor();
    await is("live");
    check((await text("applied")) === "5", "the history is that of the server", await text("applied"));
    check((await page.getByText("Are you there?").count()) === 0, "what was rolled back is gone");
    check((await notice("history_incomplete").count()) === 0, "what the new history is, its snapshot says");
    await look("reset");

    await page.setViewportSize({ width: 390, height: 800 });
    await look("narrow");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(wide <= 0, "a narrow page does not scroll sideways", wide);
    await page.setViewportSize({ width: 1280, height: 900 });

    server.goodbye("session_deleted");
    await is("stopped");
    check(/was deleted/.test(await text("notices")), "the end is said", await text("notices"));
    await look("stopped");

    server.instead = ({ path }, answer) =>
      path.startsWith("/sessions/") &&
      answer.writeHead(401, { "content-type": "application/json" }).end('{"code":"not_authenticated","message":""}');
    await page.getByRole("button", { name: "Load again" }).click();
    const signIn = await page.getByRole("link", { name: "Sign in" }).getAttribute("href");
    check(signIn === `${ROOT}/login`, "somebody who is not signed in is told where to", signIn);
    await look("not-signed-in");
    check(foreign.length === 0, "nothing is fetched from elsewhere", foreign);
  },
  { through: begin },
);

async function begin() {
  const server = await FakeServer.start({ root: ROOT, page: PAGE });
  server.append("thread.updated", { name: "Invoices <b>", tags: [], metadata: {} });
  server.append("message.completed", { message_id: "m1", role: "user", name: "alice", content: "What do three invoices cost?" }, { entity: "m1" });
  server.append("execution.started", { started_at: "2026-11-30T12:00:03Z", parent_id: "m1" }, { run: "x1", entity: "x1" });
  server.append("tool.completed", { tool_call_id: "s1", name: "search", input: '{"q": "invoices"}', output: "3 hits", status: "ok", parent_id: "x1" }, { run: "x1", entity: "s1" });
  server.append("message.completed", { message_id: "m2", role: "assistant", name: "Assistant", content: "I found <img src=x onerror=alert(1)>.\nOne moment.", parent_id: "x1" }, { run: "x1", entity: "m2" });
  server.append("element.added", { element_id: "e1", for_id: "m2", kind: "image", name: "invoice.png", url: "/project/thread/t1/element/e1/content" }, { run: "x1", entity: "e1" });
  server.append("element.added", { element_id: "e2", for_id: "m2", kind: "file", name: "odd", url: "javascript:alert(1)" }, { run: "x1", entity: "e2" });
  server.append(null);
  server.append("interaction.requested", { interaction_id: "q1", message_id: "q1", role: "assistant", name: "Assistant", content: "Which year?", kind: "text", timeout_at: "2026-11-30T12:05:00Z" }, { run: "x1", entity: "q1" });
  return server;
}
