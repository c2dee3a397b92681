// Where the server is and how it is asked.

/** The server that is read from. */
export interface Server {
  /** What stands in front of `/sessions/…`: nothing on the server's own page, else its origin and root path. */
  readonly root?: string;
  /** More headers of every request: a bearer token where there is no cookie. Asked anew each time. */
  readonly headers?: () => Record<string, string>;
  /** For a visitor without a login: the id of the live session on the thread, which is all that proves the right. */
  readonly session?: string;
  /** As `fetch` has it; cookies go to the own origin by default. */
  readonly credentials?: RequestCredentials;
  /** The function that fetches; the global one by default. */
  readonly fetch?: typeof fetch;
}

/** The server answered, and it was a no. */
export class RequestError extends Error {
  override readonly name = "RequestError";

  constructor(
    /** The HTTP status. */
    readonly status: number,
    /** The code to go by: `session_not_found`, `cursor_mismatch`, … The message is for people. */
    readonly code: string,
    message: string,
    /** How long the server asks to be left alone, in milliseconds; 0 when it does not say. */
    readonly retryAfter: number,
  ) {
    super(message);
  }
}

/** The path of a thread, and of what is below it. */
export function address(thread: string, below = ""): string {
  return `/sessions/${encodeURIComponent(thread)}${below}`;
}

/** Sends a GET and gives back the answer when it is a 200. */
export async function get(
  server: Server,
  path: string,
  headers: Record<string, string>,
  signal?: AbortSignal,
): Promise<Response> {
  // Called on nothing: a browser's fetch wants no other `this`.
  const { fetch = globalThis.fetch } = server;
  const mark = path.includes("?") ? "&" : "?";
  const session = server.session === undefined ? "" : `${mark}session_id=${encodeURIComponent(server.session)}`;
  const answer = await fetch(`${server.root ?? ""}${path}${session}`, {
    headers: { ...server.headers?.(), ...headers },
    credentials: server.credentials ?? "same-origin",
    cache: "no-store",
    ...(signal && { signal }),
  });
  if (answer.status === 200) return answer;
  throw await refusal(answer);
}

/** Reads a JSON answer. */
export async function ask<T>(server: Server, path: string, signal?: AbortSignal): Promise<T> {
  const answer = await get(server, path, { accept: "application/json" }, signal);
  return (await answer.json()) as T;
}

async function refusal(answer: Response): Promise<RequestError> {
  // What stands in between, a proxy for one, says no in its own words.
  const said: unknown = await answer.json().catch(() => null);
  const { code, message } = (said ?? {}) as { code?: unknown; message?: unknown };
  return new RequestError(
    answer.status,
    typeof code === "string" ? code : (CODES[answer.status] ?? "http_error"),
    typeof message === "string" ? message : `the server answered ${answer.status}`,
    Number(answer.headers.get("retry-after")) * 1000 || 0,
  );
}

const CODES: Record<number, string> = { 401: "not_authenticated", 403: "forbidden", 404: "not_found" };
