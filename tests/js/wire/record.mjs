// record.mjs BASE_URL OUTDIR [--only NAME] [--transport websocket|polling] [--app NAME=URL]
// Runs the scenarios against a server and writes one normalised JSON file per scenario.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { play, print } from "./play.mjs";
import { scenarios } from "./scenarios.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: "string", multiple: true }, transport: { type: "string", default: "websocket" }, app: { type: "string", multiple: true, default: [] } },
});
const [base, out] = positionals;
if (!base || !out) {
  console.error("usage: record.mjs BASE_URL OUTDIR [--only NAME] [--transport websocket|polling] [--app NAME=URL]");
  process.exit(2);
}
await mkdir(out, { recursive: true });
const twins = Object.fromEntries(values.app.map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
for (const [name, scenario] of Object.entries(scenarios)) {
  if (values.only && !values.only.includes(name)) continue;
  if (scenario.app && !twins[scenario.app]) {
    console.log(`skipped  ${name}: needs --app ${scenario.app}=URL`);
    continue;
  }
  const entries = await play(scenario, { base: scenario.app ? twins[scenario.app] : base, transport: values.transport, mend: true });
  await writeFile(join(out, `${name}.json`), print(entries));
  console.log(`recorded ${name}${entries.some((e) => e.waited || e.failed) ? "   (!) something was waited for in vain" : ""}`);
}
process.exit(0);
