import type { Clock } from '../../src/base/clock.ts';

/** A clock that stands still until it is moved. */
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
