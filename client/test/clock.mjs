// A clock that stands still. The waits between tries are noted and are over at once; silence, the notice and the hidden
// page come when the test says so.

const SILENCE = 45_000;
const OVERDUE = 2_000;
const HIDDEN = 60_000;

export class StandingClock {
  /** How long was waited before each try, in milliseconds. */
  waits = [];
  /** Whether waits are over at once; else with `fire`. */
  isHasty = true;
  #timers = new Set();

  // Not a half: no wait is then as long as one of the other times.
  random() {
    return 0.75;
  }

  after(milliseconds, call) {
    const timer = { milliseconds, call };
    this.#timers.add(timer);
    if (![SILENCE, OVERDUE, HIDDEN].includes(milliseconds)) {
      this.waits.push(milliseconds);
      if (this.isHasty) setImmediate(() => this.#fire(timer));
    }
    return () => this.#timers.delete(timer);
  }

  silence() {
    this.fire(SILENCE);
  }

  overdue() {
    this.fire(OVERDUE);
  }

  hidden() {
    this.fire(HIDDEN);
  }

  /** Whether such a time runs. */
  runs(milliseconds) {
    return [...this.#timers].some((timer) => timer.milliseconds === milliseconds);
  }

  /** Lets so much time have passed for those who wait exactly that long. */
  fire(milliseconds) {
    for (const timer of [...this.#timers]) {
      if (timer.milliseconds === milliseconds) this.#fire(timer);
    }
  }

  #fire(timer) {
    if (this.#timers.delete(timer)) timer.call();
  }
}
