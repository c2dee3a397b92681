// Plays one scenario against one server and gives its normalised recording.
import { normalise } from "./normalise.mjs";
import { Recorder } from "./page.mjs";

export async function play(scenario, { base, transport }) {
  const recorder = new Recorder({ base, transport });
  try {
    await scenario.run(recorder);
  } catch (error) {
    recorder.entries.push({ failed: error.message });
  } finally {
    recorder.end();
  }
  return normalise(recorder.entries, { base: recorder.base, people: recorder.people });
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
