// What a person is told, in words.

import type { ReaderState } from "./state.js";

/** A notice to show as long as it holds. */
export interface Notice {
  readonly code: "reconnecting" | "history_incomplete" | "reset" | "outdated" | "stopped";
  readonly text: string;
}

/** The notices that hold now. */
export function notices(state: ReaderState): Notice[] {
  const all: Notice[] = [];
  if (state.stopped !== null) all.push({ code: "stopped", text: STOPPED[state.stopped] ?? "This reader has stopped." });
  else if (state.overdue) all.push({ code: "reconnecting", text: "Reconnecting. What you see may be old." });
  const reset = state.reset !== null && state.status === "live" ? RESET[state.reset] : undefined;
  if (reset) all.push({ code: "reset", text: reset });
  if (!state.history.complete) all.push({ code: "history_incomplete", text: incomplete(state.history.reasons) });
  if (state.outdated) {
    all.push({ code: "outdated", text: "The server is newer than this page. Load the page again to see everything." });
  }
  return all;
}

/** Why a history is not whole. What was removed on purpose sounds unlike what was lost. */
export function incomplete(reasons: readonly string[]): string {
  const known = reasons.flatMap((reason) => REASONS[reason] ?? []);
  const why = known.length > 0 ? known.join("; ") : "the server does not say why";
  return reasons.length > 0 && reasons.every((reason) => reason === "retention")
    ? `This history begins later than the thread: ${why}.`
    : `This history is incomplete: ${why}.`;
}

const REASONS: Record<string, string> = {
  legacy_rows: "its oldest part was written before records had numbers",
  unsequenced_rows: "a part was written while the numbering was switched off",
  record_rejected: "the database refused a record",
  pending_overflow: "records were dropped while the database was away",
  execution_lost: "a run was cut off, and what it still held is gone",
  imported: "it was imported from elsewhere",
  producer_reported: "an application reported that it lost something",
  retention: "old records were removed on purpose",
};

const OTHER_HISTORY = "The server has another history than before, as after a restored backup. It was loaded again.";

/** Of some loading there is nothing to say. */
const RESET: Record<string, string> = {
  cursor_ahead: OTHER_HISTORY,
  cursor_mismatch: OTHER_HISTORY,
  "another epoch": OTHER_HISTORY,
  cursor_expired: "What came in the meantime is no longer kept one by one. The history was loaded again.",
};

const STOPPED: Record<string, string> = {
  closed: "Reading was ended here.",
  not_authenticated: "You are not signed in.",
  forbidden: "You may not read this thread.",
  authorization_revoked: "You may no longer read this thread.",
  session_deleted: "This thread was deleted.",
  session_not_found: "There is no such thread, or it is not yours.",
  not_found: "This server does not offer records.",
  invalid_request: "The server did not understand the request.",
};
