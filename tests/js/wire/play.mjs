// Plays one scenario against one server and gives its normalised recording.
import { normalise } from "./normalise.mjs";
import { Recorder } from "./page.mjs";

/** `mend`: the server is Chainlit, see `mendRows`. */
export async function play(scenario, { base, transport, mend = false }) {
  const recorder = new Recorder({ base, transport, mend });
  try {
    await scenario.run(recorder);
  } catch (error) {
    recorder.entries.push({ failed: error.message });
  } finally {
    recorder.end();
  }
  if (mend) mendRows(recorder);
  return normalise(recorder.entries, { base: recorder.base, names: recorder.names });
}

/**
 * Chainlit writes a step's first and last state by two tasks that may land in the wrong order (chat-wire.md M10), so a
 * stored row now and then shows the first. Where a row's field is what the step began with, it becomes what
 * the step ended with, as the pages of this run saw it. Only for recordings of Chainlit: rejoinder has no such excuse.
 */
function mendRows(recorder) {
  const first = new Map();
  const last = new Map();
  for (const { event, args } of recorder.pages.flatMap((page) => page.seen)) {
    const step = event === "ask" ? args[0]?.msg : args[0];
    if (!["new_message", "update_message", "ask"].includes(event) || !step?.id) continue;
    if (!first.has(step.id)) first.set(step.id, step);
    last.set(step.id, step);
  }
  const same = (row, value) => row === value || (typeof value === "boolean" && row === Number(value));
  const visit = (value) => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (!value || typeof value !== "object") return;
    if (Array.isArray(value.steps))
      for (const row of value.steps)
        for (const key of ["input", "output", "isError", "waitForAnswer"])
          if (first.has(row.id) && key in row && key in last.get(row.id) && same(row[key], first.get(row.id)[key]) && !same(row[key], last.get(row.id)[key]))
            row[key] = typeof last.get(row.id)[key] === "boolean" ? Number(last.get(row.id)[key]) : last.get(row.id)[key];
    Object.values(value).forEach(visit);
  };
  for (const entry of recorder.entries) if (entry.http || entry.event === "resume_thread") visit([entry.body, entry.args]);
}

/** Pretty, and yet small: what fits stands on one line, short fields share a line. */
export function print(entries) {
  return `[\n${entries.map((entry) => ` ${pretty(entry, 1)}`).join(",\n")}\n]\n`;
}

const WIDTH = 132;

function pretty(value, indent) {
  const line = JSON.stringify(value);
  if (!value || typeof value !== "object" || line.length + indent <= WIDTH) return line;
  const pad = " ".repeat(indent + 1);
  const parts = Array.isArray(value) ? value.map((item) => pretty(item, indent + 1)) : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${pretty(item, indent + 1)}`);
  const lines = [];
  for (const part of parts) {
    const last = lines.at(-1);
    if (last !== undefined && !last.includes("\n") && !part.includes("\n") && pad.length + last.length + part.length + 2 <= WIDTH) lines[lines.length - 1] = `${last}, ${part}`;
    else lines.push(part);
  }
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${lines.map((text) => pad + text).join(",\n")}\n${" ".repeat(indent)}${close}`;
}
