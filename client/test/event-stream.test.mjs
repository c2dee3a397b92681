// The format of the stream, however the network cuts it.

import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { BlockParser, blocks } from "../dist/index.js";

const parse = (...pieces) => {
  const parser = new BlockParser();
  return pieces.flatMap((piece) => parser.push(piece));
};

test("the frames of records.md 3.8", () => {
  const text = `retry: 3000

id: e.42.m
data: {"sequence":42}

id: e.44.m
event: ready
data: {"watermark":44}

: hb

event: preview
data: {"text":"He"}

`;
  assert.deepEqual(parse(text), [
    { name: "message", data: '{"sequence":42}', id: "e.42.m" },
    { name: "ready", data: '{"watermark":44}', id: "e.44.m" },
    { name: "preview", data: '{"text":"He"}', id: undefined },
  ]);
});

test("several data lines, no space, no colon, an empty id, an unfinished block", () => {
  assert.deepEqual(parse("data:a\ndata:  b\ndata\n\n"), [{ name: "message", data: "a\n b\n", id: undefined }]);
  assert.deepEqual(parse("id\nevent: reset\ndata: {}\n\n"), [{ name: "reset", data: "{}", id: "" }]);
  assert.deepEqual(parse("id: a\0b\ndata: x\n\n"), [{ name: "message", data: "x", id: undefined }]);
  assert.deepEqual(parse("event: a\n\ndata: x\n\n"), [{ name: "message", data: "x", id: undefined }]);
  assert.deepEqual(parse("data: half\n"), []);
});

// Red when the half of a line end, or of a letter, is forgotten at a cut.
test("cut anywhere, with any line end, it is the same", async () => {
  const line = fc.stringMatching(/^(id|event|data|retry|)(: ?[a-zäß👋: ]{0,6})?$/u);
  const end = fc.constantFrom("\n", "\r", "\r\n");
  const text = fc.array(fc.tuple(line, end), { maxLength: 12 }).map((lines) => lines.map(([line, end]) => line + end).join(""));
  const sizes = fc.infiniteStream(fc.integer({ min: 1, max: 5 }));
  await fc.assert(
    fc.asyncProperty(text, sizes, async (text, sizes) => {
      const bytes = new TextEncoder().encode(text);
      let at = 0;
      const body = new ReadableStream({
        pull(controller) {
          if (at >= bytes.length) return controller.close();
          const { value: size } = sizes.next();
          controller.enqueue(bytes.slice(at, at + size));
          at += size;
        },
      });
      const read = [];
      for await (const block of blocks(body, () => {})) read.push(block);
      assert.deepEqual(read, parse(text));
      assert.deepEqual(read, parse(text.replaceAll("\r\n", "\n").replaceAll("\r", "\n")));
    }),
    { numRuns: 500 },
  );
});

// Red when the line so far is put together with every piece.
test("a line of a megabyte in small pieces costs its length", () => {
  const parser = new BlockParser();
  const began = performance.now();
  for (let n = 0; n < 16_384; n++) parser.push(n === 0 ? `data: ${"x".repeat(64)}` : "x".repeat(64));
  const [block] = parser.push("\n\n");
  assert.equal(block.data.length, 1024 * 1024);
  assert.ok(performance.now() - began < 5_000);
});
