// The routes of records.md 3.7 and 3.8 over real HTTP on loopback, for a World. Small, and it does what it is told: cut
// lines, refuse, be silent, keep an answer back.

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";

import { World } from "./world.mjs";

const TYPES = { ".js": "text/javascript", ".css": "text/css", ".html": "text/html" };

// As strict as the server's own.
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export class FakeServer {
  /** Every request: "GET /sessions/t1/events", with what it resumed from. */
  requests = [];
  /** Answers instead of the routes while it is set: a function of (request, answer) that gives true if it did. */
  instead = null;
  /** Whether a stream gets as far as its `ready`. */
  reachesReady = true;
  #streams = new Set();
  #waiting = [];

  static async start({ world = new World(), root = "", page } = {}) {
    const fake = new FakeServer(world, root, page);
    await fake.listen(0);
    return fake;
  }

  constructor(world, root, page) {
    Object.assign(this, { world, root, page });
  }

  async listen(port) {
    this.http = createServer((request, answer) => this.#answer(request, answer));
    this.http.listen(port, "127.0.0.1");
    await once(this.http, "listening");
    this.port = this.http.address().port;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Ends every connection without a goodbye and takes no new one, until `listen` again. */
  down() {
    this.cut();
    this.http.close();
    this.http.closeAllConnections();
  }

  close() {
    this.down();
  }

  /** Ends every stream without a goodbye. */
  cut() {
    for (const stream of this.#streams) stream.answer.socket?.resetAndDestroy();
    this.#streams.clear();
  }

  count(path) {
    return this.requests.filter((request) => request.path === path).length;
  }

  /** Stores a record and wakes the streams. */
  append(...record) {
    const sequence = this.world.append(...record);
    for (const stream of this.#streams) this.#follow(stream);
    return sequence;
  }

  /** Sends one more frame to every stream: of a name, or unnamed, or a comment. */
  send(name, data, id) {
    for (const stream of this.#streams) write(stream, name, data, id);
  }

  preview(run, entity, index, text, offset) {
    const frame = { version: 1, kind: "frame", execution_id: run, entity_id: entity, frame_index: index, offset };
    this.send("preview", { ...frame, type: "token", payload: { text } });
  }

  checkpoint() {
    const cursor = this.world.cursor(this.world.latest);
    this.send("checkpoint", { cursor, watermark: this.world.latest }, cursor);
  }

  /** Says goodbye and ends every stream. */
  goodbye(reason, retry_after_ms = 0) {
    this.send("close", { reason, retry_after_ms });
    for (const { answer } of this.#streams) answer.end();
  }

  /** Resolves with the next request of that path. */
  asked(path) {
    return new Promise((resolve) => this.#waiting.push({ path, resolve }));
  }

  #answer(request, answer) {
    const { pathname, searchParams } = new URL(request.url, this.url);
    if (!pathname.startsWith(this.root)) return answer.writeHead(404).end();
    const path = pathname.slice(this.root.length);
    const seen = { path, query: searchParams, from: request.headers["last-event-id"] ?? null, headers: request.headers };
    this.requests.push(seen);
    for (const wait of this.#waiting.filter((wait) => wait.path === path)) wait.resolve(seen);
    this.#waiting = this.#waiting.filter((wait) => wait.path !== path);
    if (this.instead?.(seen, answer)) return;
    if (path.startsWith("/observe/")) return this.#file(path, answer);
    const [, , thread, below] = path.split("/");
    if (thread !== this.world.thread) return refuse(answer, 404, "session_not_found");
    if (below === undefined) return json(answer, this.world.snapshot());
    if (below === "records") {
      const through = searchParams.get("through_sequence");
      return json(
        answer,
        this.world.page({
          after: searchParams.get("after"),
          limit: Number(searchParams.get("limit") ?? 100),
          ...(through !== null && { through: Number(through) }),
        }),
      );
    }
    if (below === "events") return this.#stream(seen, answer);
    return refuse(answer, 404, "not_found");
  }

  #stream(seen, answer) {
    const after = seen.from ?? seen.query.get("after") ?? "none.0.0";
    const refused = this.world.refusal(after);
    if (refused && seen.from === null) return refuse(answer, 409, refused);
    answer.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store, no-transform" });
    answer.write("retry: 3000\n\n");
    const stream = { answer, sent: Number(after.split(".")[1]) };
    if (refused) {
      write(stream, "reset", { reason: refused, latest_sequence: this.world.latest }, "");
      return answer.end();
    }
    this.#follow(stream);
    if (!this.reachesReady) return answer.end();
    write(stream, "ready", this.world.ready(), this.world.cursor(this.world.latest));
    this.#streams.add(stream);
    answer.on("close", () => this.#streams.delete(stream));
  }

  #follow(stream) {
    for (const { event, id } of this.world.frames(stream.sent)) write(stream, "message", event, id);
    stream.sent = this.world.latest;
  }

  async #file(path, answer) {
    const name = path.split("/").at(-1);
    const file = extname(name) ? name : "index.html";
    let text = await readFile(new URL(file, this.page)).catch(() => null);
    if (text === null) return answer.writeHead(404).end();
    if (file === "index.html") {
      text = String(text).replace(/(<meta name="rejoinder-root" content=")"/, `$1${this.root}"`);
    }
    answer.writeHead(200, {
      "content-type": `${TYPES[extname(file)]}; charset=utf-8`,
      "content-security-policy": POLICY,
    });
    answer.end(text);
  }
}

function write({ answer }, name, data, id) {
  if (name === "comment") return answer.write(`: ${data}\n\n`);
  const lines = [];
  if (id !== undefined) lines.push(`id: ${id}`);
  if (name !== "message") lines.push(`event: ${name}`);
  lines.push(`data: ${typeof data === "string" ? data : JSON.stringify(data)}`);
  answer.write(`${lines.join("\n")}\n\n`);
}

function json(answer, body, status = 200) {
  answer.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

export function refuse(answer, status, code, headers = {}) {
  answer.writeHead(status, { "content-type": "application/json", ...headers });
  answer.end(JSON.stringify({ code, message: `refused: ${code}`, retryable: status >= 500 }));
  return true;
}
