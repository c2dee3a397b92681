// The copilot on a page of another origin, signed in by a token that the page made: the chat, messages that the page
// sends for its visitor, a function of the page that the app calls, and a reload that keeps the conversation.
//
// Against the surface app, which knows this secret.

import { createHmac } from "node:crypto";
import { scenario } from "../browser.mjs";
import { host } from "../host.mjs";

const secret = "reference-app-secret-for-local-tests-only";
const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const token = (identifier) => {
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ identifier, exp, metadata: { role: "guest" } })}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
};

const html = (server, accessToken) => `<!doctype html><meta charset="utf-8"><title>somebody's shop</title>
<h1>Somebody's shop</h1>
<script src="${server}/copilot/index.js"></script>
<script>
  window.mountChainlitWidget({ chainlitServer: "${server}", accessToken: ${JSON.stringify(accessToken)}, theme: "light" });
  window.calls = [];
  window.addEventListener("chainlit-call-fn", ({ detail: { name, args, callback } }) => {
    window.calls.push({ name, args });
    callback({ answer: args });
  });
</script>`;

const files = {};
const shop = await host(files);

await scenario(async ({ person, page, base, ok, check, shot }) => {
  files["/"] = html(base, token("guest"));
  const connects = [];
  const see = (frame) => typeof frame === "string" && frame.startsWith("40{") && connects.push(JSON.parse(frame.slice(2)));
  page.on("request", (request) => request.url().includes("/ws/socket.io/") && see(request.postData()));
  page.on("websocket", (socket) => socket.on("framesent", ({ payload }) => see(payload)));

  await page.goto(`${shop.url}/`);
  await page.locator("#chainlit-copilot-button").click();
  await person.connected();
  ok("signed in with the page's token");
  const thread = await page.evaluate(() => window.getChainlitCopilotThreadId());
  check(connects.length > 0 && connects.every((auth) => auth.clientType === "copilot" && auth.threadId === thread), "it asks for a thread that it made up", connects);
  check(new Set(connects.map((auth) => auth.sessionId)).size === 1, "however many sockets it opens, they are one session", connects);

  await person.send("hi");
  await person.sees("assistant_message", "echo: hi");
  ok("it chats");
  await person.ready();
  await page.evaluate(() => window.sendChainlitMessage({ type: "system_message", output: "looks at shoes" }));
  await person.sees("assistant_message", "echo: looks at shoes");
  ok("the page says something for its visitor");
  await person.ready();
  await person.send("/call-fn 10 shoes");
  await person.sees("assistant_message", 'the host says: {"answer":{"item":"shoes"}}');
  check(JSON.stringify(await page.evaluate(() => window.calls)) === '[{"name":"price","args":{"item":"shoes"}}]', "the app calls a function of the page, once");
  await person.ready();
  const said = await person.transcript();
  check(said.length === 6, "nothing twice", said);
  check((await page.evaluate(() => window.getChainlitCopilotThreadId())) === thread, "the thread is the one it made up");
  await shot("talked");

  await page.reload();
  await page.locator("#chainlit-copilot-button").click();
  await person.transcriptWhere((steps) => JSON.stringify(steps) === JSON.stringify(said), "the conversation after a reload");
  ok("a reload keeps the conversation");
  await person.send("still me");
  await person.sees("assistant_message", "echo: still me");
  ok("which goes on");
  await shot("reloaded");

  await page.locator("#new-chat-button").click();
  await page.getByRole("button", { name: "Confirm" }).click();
  await person.transcriptWhere((steps) => steps.length === 0, "a new chat");
  const next = await page.evaluate(() => window.getChainlitCopilotThreadId());
  check(next !== thread, "a new chat is another thread");
  await shot("new");
});
