// Random histories: few ids, so that things are changed, deleted, asked and voted on again and again.

import fc from "fast-check";

const id = (letter, count) => fc.integer({ min: 1, max: count }).map((n) => `${letter}${n}`);
const parent = fc.option(fc.oneof(id("m", 6), id("s", 4), id("x", 3)), { nil: null });
const text = fc.string({ maxLength: 6 });
const run = fc.option(id("x", 3), { nil: null });
const time = fc.constant("2026-11-30T12:00:00Z");

const message = { message_id: id("m", 6), content: text, parent_id: parent };
const step = { step_id: id("s", 4), step_type: fc.constant("llm"), input: text, output: text, parent_id: parent };

function of(type, payload, entityKey) {
  return fc
    .record({ payload: fc.record(payload), run })
    .map(({ payload, run }) => ({ type, payload, run, entity: entityKey ? payload[entityKey] : null }));
}

function ofRun(type, payload) {
  return fc
    .record({ payload: fc.record(payload), run: id("x", 3) })
    .map(({ payload, run }) => ({ type, payload, run, entity: run }));
}

const record = fc.oneof(
  of("message.completed", { ...message, role: fc.constantFrom("user", "assistant") }, "message_id"),
  of("message.updated", message, "message_id"),
  of("message.deleted", { message_id: fc.oneof(id("m", 6), id("s", 4), id("x", 3)) }, "message_id"),
  of("step.started", step, "step_id"),
  of("step.updated", step, "step_id"),
  of("step.completed", { ...step, is_error: fc.boolean() }, "step_id"),
  of("tool.completed", { tool_call_id: id("s", 4), output: text, status: fc.constantFrom("ok", "error") }, "tool_call_id"),
  ofRun("execution.started", { started_at: time, parent_id: parent }),
  ofRun("execution.stopped", { stopped_at: time, reason: fc.constant("completed") }),
  ofRun("execution.failed", { failed_at: time, error: fc.constant({ code: "hook_error", message: "sorry", retryable: true }) }),
  ofRun("execution.lost", { lost_at: time, reason: fc.constant("process_restarted") }),
  of("interaction.requested", { interaction_id: id("m", 6), message_id: id("m", 6), kind: fc.constant("text"), content: text }, "interaction_id"),
  of("interaction.responded", { interaction_id: id("m", 6), outcome: fc.constantFrom("answered", "timed_out") }, "interaction_id"),
  of("element.added", { element_id: id("e", 3), for_id: fc.option(id("m", 6), { nil: null }), name: text }, "element_id"),
  of("element.removed", { element_id: id("e", 3) }, "element_id"),
  of("feedback.set", { feedback_id: id("v", 2), message_id: id("x", 3), value: fc.constantFrom(0, 1) }, "feedback_id"),
  of("feedback.removed", { feedback_id: id("v", 2) }, "feedback_id"),
  of("thread.updated", { name: fc.option(text, { nil: null }), metadata: fc.dictionary(fc.constantFrom("a", "b"), fc.option(text, { nil: null })) }),
  of("settings.updated", { values: fc.dictionary(fc.constantFrom("a", "b"), text) }),
  fc.oneof(id("m", 6), id("s", 4)).map((entity) => ({ type: "record.erased", payload: { record_type: "message" }, run: null, entity })),
  // Of tomorrow, and without a public form: both move the position and nothing else.
  of("weather.changed", { degrees: fc.integer() }),
  fc.constant({ type: null, payload: {}, run: null, entity: null }),
);

export const histories = (size) => fc.array(record, { maxLength: size, size: "max" });
export const historyOf = (size) => fc.array(record, { minLength: size, maxLength: size });
