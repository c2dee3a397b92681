// text/event-stream over a fetch body. The browser's EventSource hides status codes, gives up for good on any answer
// but 200 and cannot send a bearer token, so the few rules of the format stand here.

/** One block of the stream. */
export interface Block {
  /** `message` when the block does not name itself. */
  readonly name: string;
  readonly data: string;
  /** Only when this very block has one. */
  readonly id: string | undefined;
}

const LF = 10;
const CR = 13;

/** Cuts text into blocks, however the network cut it. Comments, `retry:` and unknown fields are nothing. */
export class BlockParser {
  /** The pieces of a line that has not ended: joined once, so a long line costs its length. */
  #pieces: string[] = [];
  #afterCr = false;
  #name = "";
  #data: string[] = [];
  #id: string | undefined;

  /** The blocks that `text` completes. A block without data is none. */
  push(text: string): Block[] {
    const blocks: Block[] = [];
    let start = 0;
    if (this.#afterCr && text !== "") {
      // The other half of a CR LF that was cut between the two.
      if (text.startsWith("\n")) start = 1;
      this.#afterCr = false;
    }
    for (let at = start; at < text.length; at++) {
      const end = text.charCodeAt(at);
      if (end !== LF && end !== CR) continue;
      this.#pieces.push(text.slice(start, at));
      this.#line(this.#pieces.join(""), blocks);
      this.#pieces = [];
      if (end === CR) {
        if (at + 1 === text.length) this.#afterCr = true;
        else if (text.charCodeAt(at + 1) === LF) at++;
      }
      start = at + 1;
    }
    if (start < text.length) this.#pieces.push(text.slice(start));
    return blocks;
  }

  #line(line: string, blocks: Block[]): void {
    if (line === "") {
      if (this.#data.length > 0) {
        blocks.push({ name: this.#name || "message", data: this.#data.join("\n"), id: this.#id });
      }
      this.#name = "";
      this.#data = [];
      this.#id = undefined;
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id" && !value.includes("\0")) this.#id = value;
  }
}

/**
 * The blocks of a body, in order, until it ends. `onBytes` is called with every piece that arrives, comments too: it
 * is the sign of life.
 */
export async function* blocks(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<Block> {
  const parser = new BlockParser();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    // Whoever stops listening lets go of the connection.
    reader.cancel().catch(() => {});
  }
}
