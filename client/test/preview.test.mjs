// Texts while they are written: whole from their first letter, or absent.

import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { begin, follow, reduce } from "../dist/index.js";
import { FakeServer } from "./server.mjs";
import { World } from "./world.mjs";

const frame = (index, text, offset, { run = "x1", entity = "m2", ...more } = {}) => ({
  frame: "preview",
  preview: {
    version: 1,
    kind: "frame",
    execution_id: run,
    entity_id: entity,
    frame_index: index,
    type: "token",
    ...(offset !== undefined && { offset }),
    payload: { text },
    ...more,
  },
});

const hear = (state, ...frames) => frames.reduce((state, frame) => reduce(state, { heard: "frame", frame }).state, state);
const texts = ({ previews }) => Object.fromEntries([...previews].map(([entity, { text }]) => [entity, text]));

function running() {
  const world = new World();
  world.append("execution.started", { started_at: null }, { run: "x1" });
  return { world, state: hear(begin("t1"), ...world.frames(0)) };
}

/** A text cut into frames, each with its offset. */
function cut(pieces) {
  let offset = 0;
  return pieces.map((text, index) => {
    const one = frame(index, text, offset);
    offset += text.length;
    return one;
  });
}

// Red when a hole is not noticed, by offset or by index.
test("I-52 of any text that loses any frames, a preview is its beginning as far as it came, or nothing", () => {
  const piece = fc.string({ unit: "binary", minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.array(fc.boolean(), { maxLength: 12 }), (pieces, lost) => {
      let { state } = running();
      const frames = cut(pieces);
      let whole = "";
      for (const [index, one] of frames.entries()) {
        whole += pieces[index];
        if (!lost[index]) state = hear(state, one);
        const { m2 } = texts(state);
        if (lost.slice(0, index + 1).includes(true)) assert.ok(m2 === undefined || whole.startsWith(m2));
        else assert.equal(m2, whole);
        // After a hole nothing more is shown than what came before it.
        if (m2 !== undefined && !lost[index]) assert.equal(m2, whole);
      }
    }),
  );
});

test("I-52 without frame 3 the preview goes, and comes back only from its beginning", () => {
  const { state } = running();
  const [zero, one, two, , four] = cut(["a", "b", "c", "d", "e"]);
  const before = hear(state, zero, one, two);
  assert.deepEqual(texts(before), { m2: "abc" });
  const after = hear(before, four);
  assert.deepEqual(texts(after), {});
  assert.deepEqual(texts(hear(after, frame(5, "f", 5))), {});
  assert.deepEqual(texts(hear(after, frame(6, "abcdef", 0), frame(7, "g", 6))), { m2: "abcdefg" });
});

test("I-52 offsets alone tell a hole, and indexes alone do", () => {
  const { state } = running();
  assert.deepEqual(texts(hear(state, frame(0, "ab", 0), frame(1, "d", 3))), {});
  assert.deepEqual(texts(hear(state, frame(0, "ab", 0), frame(2, "c", 2))), {});
  assert.deepEqual(texts(hear(state, frame(0, "ab"), frame(1, "c"))), { m2: "abc" });
  assert.deepEqual(texts(hear(state, frame(0, "ab"), frame(2, "d"))), {});
  assert.deepEqual(texts(hear(state, frame(4, "middle", 17))), {}, "joined in the middle");
  assert.deepEqual(texts(hear(state, frame(4, "so far", 0), frame(5, ", more", 6))), { m2: "so far, more" });
  assert.deepEqual(texts(hear(state, frame(0, "a", 0), frame(1, "?", 1, { type: "of tomorrow" }))), {});
  assert.deepEqual(texts(hear(state, frame(0, "a", 0, { version: 2 }))), {});
});

test("I-52 the text so far and what followed it may overlap, and must agree", () => {
  const { state } = running();
  const joined = (...frames) => texts(hear(state, frame(3, "Hello wor", 0), ...frames)).m2;
  assert.equal(joined(frame(4, "lo ", 3)), "Hello wor", "all of it is known");
  assert.equal(joined(frame(4, "lo ", 3), frame(5, "wo", 6), frame(6, "rld", 8), frame(7, "!", 11)), "Hello world!");
  assert.equal(joined(frame(4, "p!", 3)), undefined, "another text");
});

// Red when what is complete is not held against a frame that comes after it.
test("I-52 the message replaces its preview once, and a late frame does not bring it back", () => {
  const { world, state } = running();
  let now = hear(state, frame(0, "he", 0), frame(0, "other", 0, { entity: "m3" }));
  world.append("message.completed", { message_id: "m2", role: "assistant", content: "hello" }, { run: "x1" });
  now = hear(now, world.frames(1)[0]);
  assert.deepEqual(texts(now), { m3: "other" });
  assert.equal(now.folded.messages.get("m2").content, "hello");
  assert.deepEqual(texts(hear(now, frame(1, "llo", 2), frame(0, "again", 0))), { m3: "other" });
});

for (const type of ["execution.stopped", "execution.failed", "execution.lost"]) {
  test(`I-52 ${type} takes the run's previews away for good, and nobody else's`, () => {
    const { world, state } = running();
    world.append("execution.started", { started_at: null }, { run: "x2" });
    world.append(type, { error: {} }, { run: "x1" });
    let now = hear(state, world.frames(1)[0], frame(0, "a", 0), frame(0, "b", 0, { run: "x2", entity: "m3" }));
    now = hear(now, world.frames(2)[0]);
    assert.deepEqual(texts(now), { m3: "b" });
    assert.deepEqual(texts(hear(now, frame(0, "late", 0), frame(0, "late", 0, { entity: "m9" }))), { m3: "b" });
  });
}

test("I-52 a step is shown until it is complete; what was deleted is not shown", () => {
  const { world, state } = running();
  world.append("step.started", { step_id: "m2" }, { run: "x1" });
  world.append("step.completed", { step_id: "m2" }, { run: "x1" });
  world.append("message.completed", { message_id: "m3", role: "user", content: "" });
  world.append("message.deleted", { message_id: "m3" });
  const [started, completed, ...deleted] = world.frames(1);
  let now = hear(state, started, frame(0, "a", 0));
  assert.deepEqual(texts(now), { m2: "a" });
  now = hear(now, completed, frame(1, "b", 1), frame(0, "b", 0));
  assert.deepEqual(texts(now), {});
  assert.deepEqual(texts(hear(now, ...deleted, frame(0, "c", 0, { entity: "m3" }))), {});
});

test("preview_reset takes one preview away, or all of a run", () => {
  const { state } = running();
  const both = hear(state, frame(0, "a", 0), frame(0, "b", 0, { entity: "m3" }));
  const reset = (entity_id) => ({ frame: "preview_reset", reset: { execution_id: "x1", entity_id } });
  assert.deepEqual(texts(hear(both, reset("m2"), frame(1, "a", 1))), { m3: "b" });
  assert.deepEqual(texts(hear(both, reset(null))), {});
});

// Red when a lost line leaves the previews.
test("I-52 a lost line takes every preview, and the next one begins with the text so far", async (t) => {
  const server = await FakeServer.start();
  server.append("execution.started", { started_at: null }, { run: "x1" });
  const reader = follow({ thread: "t1", root: server.url, clock: { after: soon, random: () => 0 } });
  t.after(() => {
    reader.close();
    server.close();
  });
  const seen = [];
  reader.subscribe(({ status, previews }) => seen.push([status, previews.get("m2")?.text ?? null]));
  const until = (holds) =>
    new Promise((resolve) => {
      const look = () => holds(reader.state) && (stop(), resolve());
      const stop = reader.subscribe(look);
      look();
    });
  await until(({ status }) => status === "live");
  server.preview("x1", "m2", 0, "Hä", 0);
  server.preview("x1", "m2", 1, "👋", 2);
  await until(({ previews }) => previews.get("m2")?.text === "Hä👋");
  server.cut();
  await until(({ status }) => status === "reconnecting");
  assert.equal(reader.state.previews.size, 0);
  await until(({ status }) => status === "live");
  server.preview("x1", "m2", 2, "!", 4);
  server.preview("x1", "m2", 3, "Hä👋!", 0);
  await until(({ previews }) => previews.get("m2")?.text === "Hä👋!");
  assert.ok(!seen.some(([status, text]) => status === "reconnecting" && text !== null));
  assert.ok(!seen.some(([, text]) => text === "!"));
});

function soon(milliseconds, call) {
  // The line is cut once; nothing here needs the long times.
  if (milliseconds > 1_000) return () => {};
  const timer = setTimeout(call, 0);
  return () => clearTimeout(timer);
}
