/**
 * The current time in milliseconds since 1970 (UTC). All code that needs the time takes one of
 * these.
 */
export interface Clock {
  now(): number;
  /** Milliseconds since some fixed moment, whatever happens to the clock. Absent: unknown. */
  elapsed?(): number;
}

export const systemClock: Clock = { now: () => Date.now(), elapsed: () => performance.now() };

/**
 * Strictly increasing moments, in milliseconds with microseconds as fraction. While the clock is
 * behind the last one, because it was ahead before, they advance at the pace of elapsed time: so
 * durations stay correct.
 */
export class Moments {
  readonly #clock: Clock;
  #last: number;
  #elapsed: number;

  /** @param last the last moment returned before; 0: none */
  constructor(clock: Clock, last: number) {
    this.#clock = clock;
    this.#last = last;
    this.#elapsed = clock.elapsed?.() ?? 0;
  }

  /** What is given out from now on is later. */
  notBefore(time: number): void {
    this.#last = Math.max(this.#last, time);
  }

  next(): number {
    const elapsed = this.#clock.elapsed?.() ?? 0;
    const passed = this.#last + Math.max(0, elapsed - this.#elapsed);
    const earliest = Math.round(this.#last * 1000 + 1) / 1000;
    const now = this.#clock.now();
    this.#last = now >= earliest ? now : Math.max(earliest, Math.round(passed * 1000) / 1000);
    this.#elapsed = elapsed;
    return this.#last;
  }
}

/** RFC 3339 in UTC, always with six digits of a second: moments sort as texts. */
export function rfc3339(ms: number): string {
  const micros = Math.round(ms * 1000);
  const whole = Math.floor(micros / 1000);
  const rest = String(micros - whole * 1000).padStart(3, '0');
  return `${new Date(whole).toISOString().slice(0, -1)}${rest}Z`;
}
