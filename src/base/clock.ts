/** The present as milliseconds since 1970 (UTC). Everything that asks for the time gets one of these. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** A clock that stands still until it is moved. For tests. */
export class FakeClock implements Clock {
  #now: number;

  constructor(now: number | string = 0) {
    this.#now = typeof now === 'string' ? Date.parse(now) : now;
  }

  now(): number {
    return this.#now;
  }

  set(now: number | string): void {
    this.#now = typeof now === 'string' ? Date.parse(now) : now;
  }

  advance(ms: number): void {
    this.#now += ms;
  }
}

/** RFC 3339 in UTC with milliseconds and the suffix `Z`. */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString();
}
