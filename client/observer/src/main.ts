// The observer: a thread, live, as its records tell it. It reads and never writes.

import { type ReaderState, follow, notices } from "../../src/index.js";
import { conversation } from "./conversation.js";
import { byId, fill, list } from "./list.js";
import { openQuestions, openRuns, recordRow } from "./parts.js";

const root = document.querySelector<HTMLMetaElement>('meta[name="rejoinder-root"]')?.content ?? "";
const thread = decodeURIComponent(location.pathname.split("/").at(-1) ?? "");
// A visitor without a login brings the id of their session along.
const session = new URLSearchParams(location.search).get("session_id");
const reader = follow({ thread, root, ...(session !== null && { session }) });

const STATUS = { connecting: "Connecting", live: "Live", reconnecting: "Reconnecting", stopped: "Stopped" };

function show(state: ReaderState): void {
  const { folded, status, applied, watermark, epoch } = state;
  const name = folded.thread.name ?? (state.cursor === null ? "Thread" : "Untitled thread");
  document.title = `${name} – observer`;
  fill(byId("name"), name);
  fill(byId("status"), STATUS[status]);
  byId("status").dataset["status"] = status;
  fill(byId("applied"), String(applied));
  fill(byId("watermark"), String(watermark));
  fill(byId("epoch"), epoch ?? "unknown");

  // A notice that goes on holding is the same node, and is read out once.
  list(
    byId("notices"),
    notices(state).map((notice) => [`${notice.code} ${notice.text}`, notice.code, notice]),
    ({ code, text }) => {
      const line = document.createElement("p");
      line.className = `notice ${code}`;
      line.append(text);
      if (state.stopped === "not_authenticated") {
        const link = document.createElement("a");
        link.href = `${root}/login`;
        link.append("Sign in");
        line.append(" ", link);
      }
      return line;
    },
  );

  const said = conversation(state, root);
  list(byId("conversation"), said, (make) => make());
  byId("empty").hidden = said.length > 0 || status !== "live";
  openRuns(byId("runs"), folded);
  openQuestions(byId("questions"), folded);

  const scroller = byId("scroller");
  const isAtEnd = scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 4;
  list(
    byId("records"),
    state.recent.map((event) => [event.event_id, event, event]),
    recordRow,
  );
  if (isAtEnd) scroller.scrollTop = scroller.scrollHeight;
}

// Of what comes within one picture only the last is drawn; a page in the background draws nothing.
let isDue = false;
reader.subscribe(() => {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    show(reader.state);
  });
});

fill(byId("thread"), thread);
show(reader.state);
byId("again").addEventListener("click", () => {
  if (reader.state.stopped === null) reader.reload();
  else location.reload();
});
