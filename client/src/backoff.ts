// How long to wait before the next try, so that an outage is not made worse.

/** 1 s, doubled with every failure up to 30 s, of which each wait is a random part ("full jitter"). */
export class Backoff {
  #failures = 0;
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** The next wait in milliseconds. */
  next(): number {
    const ceiling = Math.min(FIRST * 2 ** this.#failures, LAST);
    this.#failures += 1;
    return this.#random() * ceiling;
  }

  /** Only `ready` is a success. An open connection is none. */
  succeeded(): void {
    this.#failures = 0;
  }
}

const FIRST = 1_000;
const LAST = 30_000;
