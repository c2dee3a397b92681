// The words for a person.

import assert from "node:assert/strict";
import { test } from "node:test";

import { incomplete } from "../dist/index.js";

test("a loss and a removal on purpose sound different; a reason of tomorrow is not shown as a code", () => {
  assert.equal(incomplete(["record_rejected"]), "This history is incomplete: the database refused a record.");
  assert.equal(
    incomplete(["execution_lost", "legacy_rows"]),
    "This history is incomplete: a run was cut off, and what it still held is gone; its oldest part was written before records had numbers.",
  );
  assert.match(incomplete(["retention"]), /begins later/);
  assert.match(incomplete(["retention", "record_rejected"]), /^This history is incomplete/);
  for (const unknown of [[], ["of_tomorrow"]]) assert.doesNotMatch(incomplete(unknown), /_/);
});
