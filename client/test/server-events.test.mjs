// What the server's own tests keep as the public form of every record: the reader knows each of them.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { NOTHING, fold, isKnown } from "../dist/index.js";

const SNAPSHOT = new URL("../../src/record/snapshots/rejoinder__record__event__tests__every_event_as_json.snap", import.meta.url);

test("every event that the server makes is known and folded", { skip: !existsSync(SNAPSHOT) && "the server has none here" }, () => {
  const text = readFileSync(SNAPSHOT, "utf8");
  const events = JSON.parse(text.slice(text.indexOf("\n[")));
  assert.ok(events.length > 20);
  assert.deepEqual(events.filter((event) => !isKnown(event)).map(({ type }) => type), []);
  // Each is of another record here, though the server wrote them as one.
  events.forEach((event, at) => {
    event.sequence = at + 1;
    event.event_id = `R${at}`;
  });
  const of = (type) => events.filter((event) => event.type === type);
  const { folded } = fold(NOTHING, [
    ...of("thread.updated"),
    ...of("message.completed"),
    ...of("element.added"),
    ...of("feedback.set"),
    ...of("settings.updated"),
  ]);
  assert.equal(folded.thread.name, "hello");
  assert.deepEqual(folded.settings, { temperature: 0.5 });
  const [message] = folded.messages.values();
  assert.deepEqual([message.content, message.role, message.interrupted], ["out", "assistant", true]);
  const [element] = folded.elements.values();
  assert.deepEqual([element.name, element.kind], ["cat.png", "image"]);
  assert.equal(folded.feedback.get("S").value, 1);
  const [tool] = fold(NOTHING, of("tool.completed")).folded.steps.values();
  assert.deepEqual([tool.type, tool.state, tool.error, tool.output], ["tool", "error", "out", null]);
  const [ask] = fold(NOTHING, of("interaction.requested")).folded.interactions.values();
  assert.deepEqual([ask.kind, ask.outcome], ["text", null]);
  const run = fold(NOTHING, [...of("execution.started"), ...of("execution.failed")]).folded.runs.get("S");
  assert.deepEqual([run.state, run.error.message, run.trigger], ["failed", "sorry", "M"]);
});
