// The fold, and the two positions: pure, without a server.

import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { Loading, NOTHING, begin, fold, reduce } from "../dist/index.js";
import { histories, historyOf } from "./lists.mjs";
import { World } from "./world.mjs";

function worldOf(history) {
  const world = new World();
  for (const { type, payload, run, entity } of history) world.append(type, payload, { run, entity });
  return world;
}

/** A reader that opened when the thread stood at `through`. */
function opened(world, through, limit = 200) {
  const loading = new Loading(world.snapshot(through));
  let after = null;
  for (;;) {
    const page = world.page({ after, limit, through });
    assert.ok(loading.page(page));
    if (!page.page.has_more) break;
    after = page.page.next_after;
  }
  return reduce(begin(world.thread), { heard: "loaded", loaded: loading.done() }).state;
}

function heard(state, ...frames) {
  for (const frame of frames) state = reduce(state, { heard: "frame", frame }).state;
  return state;
}

/** What a person sees. `last` is a note of the fold to itself: a snapshot says more of it than events do. */
const seen = ({ folded: { last: _, ...thread } }) => thread;

// Red when the next number must be the last one + 1, when an event's watermark is taken for its number, when metadata
// are replaced instead of merged, and when settings are not part of them.
test("I-33 from every cursor: the snapshot there and the events after it are the whole history", () => {
  fc.assert(
    fc.property(histories(60), (history) => {
      const world = worldOf(history);
      const whole = seen(opened(world, world.latest));
      for (let cut = 0; cut <= world.latest; cut++) {
        assert.deepEqual(seen(heard(opened(world, cut), ...world.frames(cut))), whole, `cut at ${cut}`);
      }
    }),
    { numRuns: 60 },
  );
});

// Red as the one above. Without the guard in the reducer it stays green as long as the fold has its own, and the other
// way round: I-47 and the list that is folded twice hold one of them each.
test("I-33 events that are replayed from an older cursor change nothing", () => {
  fc.assert(
    fc.property(histories(60), fc.nat(), fc.nat(), (history, a, b) => {
      const world = worldOf(history);
      const there = a % (world.latest + 1);
      const from = b % (there + 1);
      const whole = seen(opened(world, world.latest));
      assert.deepEqual(seen(heard(opened(world, there), ...world.frames(from))), whole);
    }),
  );
});

test("I-33 holds for 200 records, read in small pages", () => {
  fc.assert(
    fc.property(historyOf(200), (history) => {
      const world = worldOf(history);
      const whole = seen(opened(world, 200));
      for (let cut = 0; cut <= 200; cut++) {
        assert.deepEqual(seen(heard(opened(world, cut, 7), ...world.frames(cut))), whole, `cut at ${cut}`);
      }
    }),
    { numRuns: 2 },
  );
});

// Red when an entity is written without looking at who wrote it last.
test("the same list folded twice is the same thread", () => {
  fc.assert(
    fc.property(histories(60), (history) => {
      const events = worldOf(history).frames(0).map(({ event }) => event);
      const once = fold(NOTHING, events).folded;
      assert.deepEqual(fold(once, events).folded, once);
    }),
  );
});

test("folding leaves what was there as it was", () => {
  fc.assert(
    fc.property(histories(30), histories(30), (first, second) => {
      const world = worldOf([...first, ...second]);
      const events = world.frames(0).map(({ event }) => event);
      const before = fold(NOTHING, events.slice(0, first.length)).folded;
      const copy = structuredClone(before);
      fold(before, events);
      assert.deepEqual(before, copy);
    }),
  );
});

// Red when the next event must be the last one + 1.
test("I-47 sparse is normal: after 1 come 3, 6, 7, 9, each once; what is older or there already is nothing", () => {
  const world = new World();
  for (let n = 1; n <= 9; n++) {
    const type = [1, 3, 6, 7, 9].includes(n) ? "message.completed" : null;
    world.append(type, { message_id: `m${n}`, role: "user", content: `${n}` });
  }
  let state = opened(world, 1);
  const frames = world.frames(1);
  assert.deepEqual(frames.map(({ event }) => event.sequence), [3, 6, 7, 9]);
  for (const frame of frames) {
    state = heard(state, frame);
    assert.equal(state.applied, frame.event.sequence);
    assert.equal(state.cursor, frame.id);
    assert.equal(heard(state, frame), state, "a duplicate");
    assert.equal(heard(state, ...frames.filter(({ event }) => event.sequence < frame.event.sequence)), state, "older");
  }
  assert.deepEqual([...state.folded.messages.keys()], ["m1", "m3", "m6", "m7", "m9"]);
});

// Red when the watermark of an event moves a position.
test("I-48 an event's watermark moves no position: with 10 of 12 the cursor is at 10", () => {
  const world = new World();
  for (let n = 1; n <= 12; n++) world.append("message.completed", { message_id: `m${n}`, role: "user", content: "" });
  const ten = world.frames(9)[0];
  assert.equal(ten.event.watermark, 12);
  let state = heard(opened(world, 9), ten);
  assert.equal(state.applied, 10);
  assert.equal(state.cursor, world.cursor(10));
  state = heard(state, ...world.frames(10));
  assert.ok(state.folded.messages.has("m11") && state.folded.messages.has("m12"));
});

// Red when an unknown type is not counted as heard, or when its payload is read.
test("I-50 unknown types, fields and frames are ignored, and the position moves past them", () => {
  const world = new World();
  world.append("message.completed", { message_id: "m1", role: "user", content: "a", weather: { of: "tomorrow" } });
  world.append("weather.changed", { message_id: "m1", content: "b" });
  world.append("message.completed", null);
  const state = heard(opened(world, 0), ...world.frames(0));
  assert.equal(state.applied, 3);
  assert.equal(state.cursor, world.cursor(3));
  assert.equal(state.folded.messages.get("m1").content, "a");
});

test("ready and checkpoint prove a position, also where nothing has a public form", () => {
  const world = new World();
  world.append(null);
  world.append(null);
  let state = opened(world, 0);
  state = heard(state, { frame: "checkpoint", checkpoint: { cursor: world.cursor(1), watermark: 1 } });
  assert.deepEqual([state.applied, state.cursor, state.status], [1, world.cursor(1), "connecting"]);
  state = heard(state, { frame: "ready", ready: world.ready() });
  assert.deepEqual([state.applied, state.cursor, state.status], [2, world.cursor(2), "live"]);
});

test("another life of the thread, or a later version, needs a new snapshot; the version only once", () => {
  const world = new World();
  world.append("message.completed", { message_id: "m1", role: "user", content: "" });
  let state = opened(world, 1);
  const old = world.cursor(1);
  world.begin();
  const next = (frame) => reduce(state, { heard: "frame", frame }).next;
  assert.equal(next({ frame: "ready", ready: world.ready() })?.do, "load");
  assert.equal(next({ frame: "checkpoint", checkpoint: { cursor: old, watermark: 1 } }), null);

  world.append("message.completed", { message_id: "m2" }, { version: 2 });
  const frame = { ...world.frames(1)[0], id: null };
  const step = reduce(state, { heard: "frame", frame });
  assert.equal(step.next?.do, "load");
  state = step.state;
  assert.equal(next(frame), null, "the same again would be a loop");
});

test("a thread that had no numbering gets its first one without a new snapshot", () => {
  const world = new World();
  const loading = new Loading({ ...world.snapshot(), read: { ...world.read(), cursor: "none.0.0", epoch: "none" } });
  let state = reduce(begin("t1"), { heard: "loaded", loaded: loading.done() }).state;
  world.append("message.completed", { message_id: "m1", role: "user", content: "a" });
  const { state: after, next } = reduce(state, { heard: "frame", frame: world.frames(0)[0] });
  assert.equal(next, null);
  assert.equal(after.cursor, world.cursor(1));
  state = heard(after, { frame: "ready", ready: world.ready() });
  world.begin();
  assert.equal(reduce(state, { heard: "frame", frame: { frame: "ready", ready: world.ready() } }).next?.do, "load");
});

// Red when an update creates what it changes.
test("a change of something that was never told of asks for a new snapshot, once; of something deleted it is nothing", () => {
  const world = new World();
  world.append("message.completed", { message_id: "gone", role: "user", content: "" });
  world.append("message.deleted", { message_id: "gone" });
  world.append("message.updated", { message_id: "gone", content: "back" });
  world.append("message.updated", { message_id: "never", content: "a" });
  world.append("message.updated", { message_id: "never", content: "b" });
  const next = (state, sequence) => reduce(state, { heard: "frame", frame: world.frames(sequence - 1)[0] });
  const three = next(opened(world, 2), 3);
  assert.equal(three.next, null);
  assert.equal(three.state.folded.messages.size, 0);
  assert.equal(next(three.state, 4).next?.do, "load");
  // The snapshot did not bring it either: it does not exist, and is not asked for again.
  assert.equal(next(opened(world, 4), 5).next, null);
});

test("what was written before there were numbers comes first, and numbers go on from 1", () => {
  const world = new World();
  world.appendLegacy("message.completed", { message_id: "old", role: "user", content: "old" }, "old");
  world.append("message.completed", { message_id: "new", role: "user", content: "new" });
  const state = opened(world, 1, 1);
  assert.deepEqual([...state.folded.messages.values()].map(({ id, sequence }) => [id, sequence]), [["old", 0], ["new", 1]]);
  world.append("message.updated", { message_id: "old", content: "changed" });
  assert.equal(heard(state, ...world.frames(1)).folded.messages.get("old").content, "changed");
  const event = { ...world.event(world.legacy[0]), payload: { message_id: "late", role: "user", content: "" } };
  assert.equal(heard(state, { frame: "event", event, id: null }), state, "the stream has none of these");
});

// Red when a deletion leaves what hangs below.
test("a run that an edit took away ends without coming back", () => {
  const world = new World();
  world.append("message.completed", { message_id: "m1", role: "user", content: "" });
  world.append("execution.started", { started_at: null, parent_id: "m1" }, { run: "x1" });
  world.append("step.started", { step_id: "s1", parent_id: "x1" }, { run: "x1" });
  world.append("element.added", { element_id: "e1", for_id: "s1" });
  world.append("message.deleted", { message_id: "m1" });
  const deleted = opened(world, 5);
  assert.deepEqual(
    [deleted.folded.messages.size, deleted.folded.steps.size, deleted.folded.elements.size],
    [0, 0, 0],
  );
  assert.equal(deleted.folded.runs.get("x1").deleted, true);
  world.append("execution.stopped", { stopped_at: null, reason: "superseded" }, { run: "x1" });
  assert.equal(heard(deleted, ...world.frames(5)).folded.runs.size, 0);
});

test("a question is open until it is answered or its run has ended", () => {
  const world = new World();
  world.append("execution.started", { started_at: null }, { run: "x1" });
  for (const id of ["q1", "q2"]) {
    world.append("interaction.requested", { interaction_id: id, message_id: id, kind: "text", content: id }, { run: "x1" });
  }
  world.append("interaction.responded", { interaction_id: "q1", outcome: "answered", value: { output: "yes" } });
  const outcomes = (state) => [...state.folded.interactions.values()].map(({ outcome }) => outcome);
  assert.deepEqual(outcomes(opened(world, 4)), ["answered", null]);
  assert.equal(opened(world, 4).folded.messages.get("q2").content, "q2");
  world.append("execution.lost", { lost_at: "", reason: "process_restarted" }, { run: "x1" });
  const lost = heard(opened(world, 4), ...world.frames(4));
  assert.deepEqual(outcomes(lost), ["answered", "cancelled"]);
  assert.deepEqual(lost.history, { complete: false, reasons: ["execution_lost"] }, "what the run still held is gone");
});
