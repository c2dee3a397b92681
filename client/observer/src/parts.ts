// The lists beside the conversation.

import type { Event, Folded } from "../../src/index.js";
import { list, make } from "./list.js";

/** The runs that have not ended. */
export function openRuns(parent: Element, { runs }: Folded): void {
  const open = [...runs.values()].filter(({ state }) => state === "running" || state === "stopping");
  list(
    parent,
    open.map((run) => [run.id, run, run]),
    ({ id, state, startedAt }) => make("li", "", make("code", "", id), ` ${state}`, startedAt ? " since " : "", at(startedAt)),
  );
}

/** The questions that nobody has answered. */
export function openQuestions(parent: Element, { interactions, messages }: Folded): void {
  const open = [...interactions.values()].filter(({ outcome }) => outcome === null);
  list(
    parent,
    open.map((question) => [question.id, question, question]),
    ({ id, kind, timeoutAt }) =>
      make("li", "", messages.get(id)?.content ?? id, ` (${kind})`, timeoutAt ? " until " : "", at(timeoutAt)),
  );
}

/** One record as it came. */
export function recordRow({ sequence, type, entity_id: entity, created_at: stored }: Event): HTMLElement {
  const cell = (className: string, ...children: (Node | string)[]) => make("td", className, ...children);
  return make(
    "tr",
    "",
    cell("right", sequence === null ? "old" : String(sequence)),
    cell("", type),
    cell("", entity === null ? "" : make("code", "", entity)),
    cell("", at(stored)),
  );
}

function at(time: string | null): Node | string {
  if (time === null || Number.isNaN(Date.parse(time))) return "";
  const element = document.createElement("time");
  element.dateTime = time;
  element.title = time;
  element.append(new Date(time).toLocaleTimeString());
  return element;
}
