// What was said and done, and what is being written, in the order of the records.

import type { Attachment, Message, Preview, ReaderState, Work } from "../../src/index.js";
import { type Item, make } from "./list.js";

/** Messages and steps by their first record, what is being written after them. */
export function conversation(state: ReaderState, root: string): Item<() => Node>[] {
  const { messages, steps, elements, feedback } = state.folded;
  const attached = new Map<string, Attachment[]>();
  for (const element of elements.values()) {
    const owner = element.forId ?? "";
    attached.set(owner, [...(attached.get(owner) ?? []), element]);
  }
  const all = [...messages.values(), ...steps.values()].sort((a, b) => a.sequence - b.sequence);
  const items: Item<() => Node>[] = all.map((entity) => {
    const files = attached.get(entity.id) ?? [];
    const vote = feedback.get(entity.id);
    const preview = state.previews.get(entity.id);
    const version = [entity.changed, ...files.map(({ id, changed }) => `${id} ${changed}`), vote?.changed, preview?.text];
    return [
      entity.id,
      version.join(),
      () => {
        const item = "role" in entity ? message(entity) : work(entity);
        if (preview) item.append(make("p", "text", preview.text, writing()));
        if (vote) item.append(make("p", "faint", vote.value > 0 ? "Liked" : "Disliked", vote.comment ? `: ${vote.comment}` : ""));
        for (const file of files) item.append(attachment(file, root));
        return item;
      },
    ];
  });
  for (const preview of state.previews.values()) {
    if (!steps.has(preview.entity)) items.push([preview.entity, preview, () => beingWritten(preview)]);
  }
  const loose = attached.get("") ?? [];
  for (const file of loose) items.push([file.id, file.changed, () => make("li", "step", attachment(file, root))]);
  return items;
}

function message({ role, name, content, sequence, erased, interrupted, isError }: Message): HTMLElement {
  return make(
    "li",
    `message ${role}${isError ? " error" : ""}`,
    make("p", "who", name ?? role, number(sequence)),
    erased ? make("p", "faint", "This was erased.") : make("p", "text", content),
    interrupted ? make("p", "faint", "Cut off before its end.") : "",
  );
}

function work({ type, name, input, output, error, state, sequence, erased }: Work): HTMLElement {
  const said = [
    ["In", input],
    ["Out", output],
    ["Error", error],
  ].filter((line): line is [string, string] => Boolean(line[1]));
  const summary = make("p", "who", `${type}: ${name ?? ""}`, make("span", `state ${state}`, state), number(sequence));
  const lines = said.map(([label, text]) => make("p", "text", make("b", "", `${label} `), text));
  return make("li", "step", summary, ...(erased ? [make("p", "faint", "This was erased.")] : lines));
}

function beingWritten({ text }: Preview): HTMLElement {
  return make("li", "message preview", make("p", "who", "Being written"), make("p", "text", text, writing()));
}

/** The sign that a text goes on; nothing to read out. */
function writing(): HTMLElement {
  const cursor = make("span", "cursor");
  cursor.setAttribute("aria-hidden", "true");
  return cursor;
}

function attachment({ name, kind, url }: Attachment, root: string): HTMLElement {
  const label = `${kind ?? "file"}: ${name ?? "without a name"}`;
  const address = url && safe(url.startsWith("/") ? `${root}${url}` : url);
  if (!address) return make("p", "faint", label);
  const link = make("a", "", label) as HTMLAnchorElement;
  link.href = address;
  link.rel = "noreferrer";
  return make("p", "", link);
}

/** An address that a link may have: of the web, and nothing that runs. */
function safe(url: string): string | null {
  const { protocol, href } = URL.canParse(url, location.href) ? new URL(url, location.href) : { protocol: "", href: "" };
  return protocol === "https:" || protocol === "http:" ? href : null;
}

function number(sequence: number): HTMLElement {
  return make("span", "number", sequence > 0 ? `#${sequence}` : "old");
}
