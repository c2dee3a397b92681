// Small helpers for the DOM: only text goes in, never markup.

/** An element that index.html has. */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`no #${id} in the page`);
  return element;
}

/** Sets a text, if it is another one. */
export function fill(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** An element with a class and children; empty texts are left out. */
export function make(tag: string, className: string, ...children: (Node | string)[]): HTMLElement {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== ""));
  return element;
}

/** What is to be in a list: a key, what it was made of, and what makes it. */
export type Item<T> = readonly [key: string, version: unknown, value: T];

const made = new WeakMap<Node, { key: string; version: unknown }>();

/** Makes the children of `parent` those of `items`, in their order. What has not changed stays the same node. */
export function list<T>(parent: Element, items: readonly Item<T>[], makeNode: (value: T) => Node): void {
  const old = new Map<string, ChildNode>();
  for (const child of parent.childNodes) {
    const note = made.get(child);
    if (note) old.set(note.key, child);
  }
  let next = parent.firstChild;
  for (const [key, version, value] of items) {
    const known = old.get(key);
    old.delete(key);
    if (known && made.get(known)?.version === version) {
      if (known === next) next = next.nextSibling;
      else parent.insertBefore(known, next);
      continue;
    }
    const node = makeNode(value);
    made.set(node, { key, version });
    parent.insertBefore(node, next);
    if (known) {
      if (known === next) next = next.nextSibling;
      known.remove();
    }
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
}
