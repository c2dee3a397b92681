// compare.mjs BASE_URL [--transport websocket|polling] [--only NAME] [--app NAME=URL] [--no-deviations] [--jobs N] [--json]
// Plays the scenarios against a server and holds what came, event by event, against expected/, which was
// recorded from Chainlit 2.12.0. With --no-deviations the server is Chainlit itself, the proof that the comparer and
// the recordings are right; otherwise deviations.json says where rejoinder differs on purpose, and why. What may come
// in any order is said in normalise.mjs (`arrange`). Exit status: 0 all ok, 1 something differs, 2 misuse.
import { readFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { settle } from "./normalise.mjs";
import { play, print } from "./play.mjs";
import { scenarios } from "./scenarios.mjs";
import { soften } from "./soften.mjs";

const here = import.meta.dirname;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string", multiple: true },
    transport: { type: "string", multiple: true, default: ["websocket", "polling"] },
    app: { type: "string", multiple: true, default: [] },
    "no-deviations": { type: "boolean", default: false },
    expected: { type: "string", default: join(here, "expected") },
    jobs: { type: "string", default: "4" },
    json: { type: "boolean", default: false },
  },
});
const [base] = positionals;
if (!base || values.only?.some((name) => !scenarios[name])) {
  console.error(base ? `no such scenario: ${values.only.filter((name) => !scenarios[name])}` : "usage: compare.mjs BASE_URL [--transport websocket|polling] [--only NAME] [--app NAME=URL] [--no-deviations] [--jobs N] [--json]");
  process.exit(2);
}
const twins = Object.fromEntries(values.app.map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
const deviations = values["no-deviations"] ? [] : JSON.parse(readFileSync(join(here, "deviations.json"), "utf8"));

/** What the scenario must show: entries, where they are from, and the deviations that were taken into account. */
function expectation(name) {
  const rows = deviations.filter((row) => row.scenario === "*" || row.scenario === name);
  const own = rows.filter((row) => row.instead);
  const file = own.length ? join(values.expected, "rejoinder", `${name}.json`) : join(values.expected, `${name}.json`);
  if (!existsSync(file)) return undefined;
  return { file, rows, entries: JSON.parse(readFileSync(file, "utf8")), softened: values["no-deviations"] ? ["metadata-may-be-lost", "stored-elements"] : rows.flatMap((row) => row.soften ?? []), ignored: rows.flatMap((row) => row.ignore ?? []) };
}

/** Paths of the first entry at which the two differ; `undefined` when they are the same. */
export function firstDifference(expected, got) {
  for (let index = 0; index < Math.max(expected.length, got.length); index++) {
    if (index >= expected.length) return { index, paths: ["something more came"] };
    if (index >= got.length) return { index, paths: ["nothing more came"] };
    const paths = [];
    differ(expected[index], got[index], "", paths);
    if (paths.length) return { index, paths };
  }
  return undefined;
}

function differ(want, have, path, paths) {
  if (want === "<any>") return;
  if (want && have && typeof want === "object" && typeof have === "object" && Array.isArray(want) === Array.isArray(have)) {
    for (const key of new Set([...Object.keys(want), ...Object.keys(have)])) {
      const at = path ? `${path}.${key}` : key;
      if (want[key] === "<any or absent>") continue;
      if (!(key in have)) paths.push(`${at}: expected ${brief(want[key])}, is absent`);
      else if (!(key in want)) paths.push(`${at}: expected absent, is ${brief(have[key])}`);
      else differ(want[key], have[key], at, paths);
    }
  } else if (want !== have) paths.push(`${path}: expected ${brief(want)}, is ${brief(have)}`);
}
const brief = (value) => {
  const text = JSON.stringify(value) ?? "undefined";
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
};

/** Removes what a row says not to look at: dotted paths from the entry, `*` for any key or index. */
function ignore(entries, patterns) {
  const cut = (value, [key, ...rest]) => {
    if (!value || typeof value !== "object") return;
    for (const found of key === "*" ? Object.keys(value) : key in value ? [key] : [])
      if (rest.length) cut(value[found], rest);
      else value[found] = "<ignored>";
  };
  const copy = structuredClone(entries);
  for (const pattern of patterns) for (const entry of copy) cut(entry, pattern.split("."));
  return copy;
}

async function check(name, transport) {
  const scenario = scenarios[name];
  if (scenario.app && !twins[scenario.app]) return { name, transport, outcome: "skipped", reason: `needs --app ${scenario.app}=URL` };
  const expected = expectation(name);
  const skip = expected?.rows.find((row) => row.skip);
  if (skip) return { name, transport, outcome: "skipped", reason: `${skip.what}: ${skip.reason}` };
  if (!expected) return { name, transport, outcome: "skipped", reason: "nothing recorded" };
  const played = await play(scenario, { base: scenario.app ? twins[scenario.app] : base, transport, mend: values["no-deviations"] });
  const ready = (entries) => settle(ignore(soften(entries, expected.softened), expected.ignored));
  const want = ready(expected.entries);
  const got = ready(played);
  const difference = firstDifference(want, got);
  const reasons = expected.rows.filter((row) => row.scenario !== "*").map((row) => `${row.what}: ${row.reason}`);
  return difference ? { name, transport, outcome: "differs", file: expected.file, ...difference, want, got, reasons } : { name, transport, outcome: "ok", reasons };
}

function report({ name, transport, outcome, reason, reasons, index, paths, want, got, file }) {
  if (outcome === "ok") return console.log(`ok       ${name} (${transport})${reasons.map((text) => `\n           on purpose: ${text}`).join("")}`);
  if (outcome === "skipped") return console.log(`skipped  ${name} (${transport}): ${reason}`);
  console.log(`differs  ${name} (${transport}) at entry ${index} of ${file}`);
  for (const text of reasons) console.log(`           on purpose: ${text}`);
  const section = want.slice(0, index + 1).findLast((entry) => entry.do) ?? got.slice(0, index + 1).findLast((entry) => entry.do);
  if (section) console.log(`   in "${section.do}"`);
  for (const path of paths.slice(0, 12)) console.log(`   ${path}`);
  if (paths.length > 12) console.log(`   and ${paths.length - 12} more`);
  const line = (entry) => print([entry]).slice(2, -3).trimEnd().split("\n").map((text) => `      ${text}`).join("\n");
  console.log("   both had:");
  for (const entry of want.slice(Math.max(0, index - 2), index)) console.log(line(entry));
  console.log("   expected:");
  for (const entry of want.slice(index, index + 2)) console.log(line(entry));
  console.log("   got:");
  for (const entry of got.slice(index, index + 2)) console.log(line(entry));
}

const work = values.transport.flatMap((transport) => Object.keys(scenarios).filter((name) => !values.only || values.only.includes(name)).map((name) => [name, transport]));
const results = [];
const queue = [...work];
await Promise.all(
  Array.from({ length: Math.min(Number(values.jobs), work.length) }, async () => {
    for (let next; (next = queue.shift()); ) {
      const result = await check(...next);
      results.push(result);
      if (!values.json) report(result);
    }
  }),
);
const count = (outcome) => results.filter((result) => result.outcome === outcome).length;
if (values.json) console.log(JSON.stringify(results.map(({ want, got, index, ...rest }) => (rest.outcome === "differs" ? { ...rest, index, expected: want[index], got: got[index] } : rest)), null, 1));
else console.log(`\n${count("ok")} passed, ${count("differs")} failed, ${count("skipped")} skipped`);
process.exit(count("differs") ? 1 : 0);
