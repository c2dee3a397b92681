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

/** Cuts text into blocks, however the network cut it. Comments, `retry:` and unknown fields are nothing. */
export class BlockParser {
  #rest = "";
  #lookedAt = 0;
  #afterCr = false;
  #name = "";
  #data: string[] = [];
  #id: string | undefined;

  /** The blocks that `text` completes. A block without data is none. */
  push(text: string): Block[] {
    const blocks: Block[] = [];
    if (this.#afterCr && text !== "") {
      // The other half of a CR LF that was cut between the two.
      if (text.startsWith("\n")) text = text.slice(1);
      this.#afterCr = false;
    }
    this.#rest += text;
    let start = 0;
    // What was looked at before holds no line end, so a long line costs its length once.
    for (let at = this.#lookedAt; at < this.#rest.length; at++) {
      const end = this.#rest.charCodeAt(at);
      if (end !== 10 && end !== 13) continue;
      this.#line(this.#rest.slice(start, at), blocks);
      if (end === 13) {
        if (at + 1 === this.#rest.length) this.#afterCr = true;
        else if (this.#rest.charCodeAt(at + 1) === 10) at++;
      }
      start = at + 1;
    }
    this.#rest = this.#rest.slice(start);
    this.#lookedAt = this.#rest.length;
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
