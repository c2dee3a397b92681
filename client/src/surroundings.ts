// The time, chance, and the page that a reader lives in. Tests bring their own.

/** Time and chance. */
export interface Clock {
  /** Calls back after so many milliseconds, unless the function it gives back was called before. */
  after(milliseconds: number, call: () => void): () => void;
  /** From 0 to 1. */
  random(): number;
}

/** Whether somebody is looking, and whether there is a network. */
export interface Presence {
  /** Nobody sees the page. */
  hidden(): boolean;
  /** Calls back on every change, until the function it gives back is called. */
  onChange(call: (change: "hidden" | "shown" | "online") => void): () => void;
}

/** The real time. */
export const CLOCK: Clock = {
  after(milliseconds, call) {
    const timer = setTimeout(call, milliseconds);
    return () => clearTimeout(timer);
  },
  random: Math.random,
};

/** The page that this runs in; somebody who is always there outside of a browser. */
export function presence(): Presence {
  if (typeof document === "undefined") return { hidden: () => false, onChange: () => () => {} };
  return {
    hidden: () => document.hidden,
    onChange(call) {
      const seen = () => call(document.hidden ? "hidden" : "shown");
      const online = () => call("online");
      document.addEventListener("visibilitychange", seen);
      addEventListener("online", online);
      return () => {
        document.removeEventListener("visibilitychange", seen);
        removeEventListener("online", online);
      };
    },
  };
}
