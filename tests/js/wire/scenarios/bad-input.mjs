// Messages in bad shape, and connections that are refused (chat-wire.md 1.7).
import { randomUUID } from "node:crypto";
import { badMessages, fields, scenario, uuidV1, visitor } from "./common.mjs";

scenario("bad-message-id", badMessages({
  ...fields("id", [uuidV1, "abc", "", 5, null, [], undefined]),
}));
scenario("odd-message-id", async (r) => {
  const a = await visitor(r, { spoke: true });
  for (const [what, id] of [["in capitals", randomUUID().toUpperCase()], ["without dashes", r.call(randomUUID().replaceAll("-", ""), "<id without dashes>")]]) {
    r.does(`a client_message with an id ${what}`);
    a.say("hi", { id });
    await a.until("task_end", { patience: 1200 });
    await a.quiet();
  }
});
scenario("bad-message-output", badMessages(fields("output", [5, null, {}, ["a"], true, undefined])));
scenario("bad-message-createdat", badMessages(fields("createdAt", [5, null, "yesterday", undefined])));
scenario("bad-message-type", badMessages(fields("type", ["assistant_message", "tool", "nonsense", 5, null, undefined])));
scenario("bad-message-name", badMessages(fields("name", [5, null, {}, "", undefined])));
scenario("bad-message-parent", badMessages({ ...fields("parentId", [5, null, "abc", {}, undefined]), "an unknown parent": (message, payload) => ((message.parentId = randomUUID()), payload) }));
scenario("bad-message-rest", badMessages({
  ...fields("threadId", [5, null, undefined]),
  ...fields("command", [5, {}, null]),
  ...fields("modes", [[], "a", 5, null]),
  ...fields("metadata", ["a", 5, [], null, undefined]),
  ...fields("language", [5, null]),
  ...fields("tags", [5, "a", null]),
}));
scenario("bad-message-files", badMessages({
  "no fileReferences": (message) => ({ message }),
  "fileReferences null": (message) => ({ message, fileReferences: null }),
  "fileReferences a text": (message) => ({ message, fileReferences: "abc" }),
  "fileReferences a number": (message) => ({ message, fileReferences: 5 }),
  "fileReferences an object": (message) => ({ message, fileReferences: { id: "x" } }),
  "a file reference without id": (message) => ({ message, fileReferences: [{}] }),
  "a file reference that is a text": (message) => ({ message, fileReferences: ["abc"] }),
  "a file reference with a number": (message) => ({ message, fileReferences: [{ id: 5 }] }),
}));
scenario("bad-message-envelope", badMessages({
  "an empty object": () => ({}),
  "message null": () => ({ message: null }),
  "message a text": () => ({ message: "hi" }),
  "message a list": () => ({ message: [] }),
  "null": () => null,
  "a text": () => "hi",
  "a list": () => [],
}));

scenario("bad-message-none", badMessages({ "no argument": () => undefined }));

// ---- refused connections (chat-wire.md 1.7) ----

const refused = (what, make, more) => async (r) => {
  const a = await r.page("a", await make(r));
  r.does(what);
  await a.connect({ silence: 1500, ...more });
  await a.quiet(300);
};
scenario("refused-no-token", refused("a connects without a cookie", () => ({ cookie: "" })));
scenario("refused-bad-token", refused("a connects with a token that is none", () => ({ cookie: "access_token=nonsense" })));
scenario("refused-foreign-token", refused("a connects with a token signed by somebody else", () => ({
  cookie: `access_token=${["eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", Buffer.from(JSON.stringify({ identifier: "x", exp: 4102444800 })).toString("base64url"), "c2lnbmF0dXJl"].join(".")}`,
})));
scenario("refused-no-auth", refused("a connects without auth", () => ({ rawAuth: null })));
scenario("refused-no-session-id", refused("a connects without sessionId", () => ({ auth: { sessionId: undefined } })));
scenario("refused-user-env", refused("a connects with a userEnv that is no JSON", () => ({ auth: { userEnv: "{nonsense" } })));
scenario("refused-user-env-list", refused("a connects with a userEnv that is a JSON list", () => ({ auth: { userEnv: "[]" } })));
scenario("refused-no-client-type", refused("a connects without clientType", () => ({ auth: { clientType: undefined } })));
scenario("refused-number-session-id", refused("a connects with a number for sessionId", (r) => ({ auth: { sessionId: r.call(Math.floor(Math.random() * 1e12), "<number>") } })));
scenario("refused-number-thread-id", refused("a connects with a number for threadId", () => ({ auth: { threadId: 5 } })));
