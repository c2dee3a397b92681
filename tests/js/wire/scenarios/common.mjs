// What scenarios are made of.
import { randomUUID } from "node:crypto";
import { sleep } from "../page.mjs";

/** The line breaks once the server may know that everything has arrived; a server that keeps proof needs a moment. */
export async function breaks(page) {
  await page.quiet(700);
  page.drop();
  await sleep(200);
}

/** An earlier visit that leaves a thread; not recorded. Gives the thread's id. */
export async function earlier(r, texts, { person = "a", auth } = {}) {
  for (let tries = 3; ; tries--) {
    let thread, whole;
    await r.unseen(async () => {
      const page = await r.page("before", { person, auth });
      await page.open();
      for (const [index, text] of texts.entries()) await page.turn(text, { first: index === 0 });
      thread = page.thread;
      whole = await page.leave();
    });
    // Chainlit loses a thread's metadata now and then (soften.mjs): another visit, then.
    if (whole || !r.mend || tries === 1) return thread;
    await r.http("DELETE", "/project/thread", { cookie: await r.signIn(person), json: { threadId: thread } });
    r.entries.pop();
  }
}

/** A page that has been greeted and, if it `spoke`, has had its first turn (`hi`); none of it is recorded. */
export async function visitor(r, { spoke = false, cookie } = {}) {
  const page = await r.page("a", { cookie });
  await r.unseen(async () => {
    await page.open();
    if (spoke) await page.turn("hi", { first: true });
  });
  return page;
}

export const uuidV1 = "8a6e0804-2bd0-11ef-9a9b-325096b39f47";

/** One section a variant: `change` alters the payload of a good `client_message`. */
export function badMessages(variants) {
  return async (r) => {
    const a = await visitor(r, { spoke: true });
    for (const [what, change] of Object.entries(variants)) {
      r.does(`a client_message with ${what}`);
      const message = a.message("hi");
      const payload = change(message, { message, fileReferences: [] });
      a.send("client_message", ...(payload === undefined ? [] : [payload]));
      await a.until(Object.assign((e) => e.event === "task_end", { label: "task_end" }), { patience: 1200 });
      await a.quiet();
    }
    await a.turn("still there");
  };
}
const field = (name, value) => (message, payload) => (value === undefined ? delete message[name] : (message[name] = value), payload);
export const fields = (name, values) => Object.fromEntries(values.map((value) => [`${name} ${value === undefined ? "missing" : JSON.stringify(value)}`, field(name, value)]));

/** All scenarios by name. */
export const scenarios = {};

/** Adds one. `app`: the twin of the reference app that it is for. */
export const scenario = (name, run, more = {}) => (scenarios[name] = { run, ...more });

/** A visit that says one text after another. */
export const turns = (...texts) => async (r) => {
  const a = await visitor(r);
  for (const [index, text] of texts.entries()) await a.turn(text, { first: index === 0 });
};
