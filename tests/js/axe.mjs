// What axe finds in a page: faults that keep somebody from reading or using it.

import axe from "axe-core";

/** The serious faults, each with where it is. */
export async function faults(page) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => window.axe.run());
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}
