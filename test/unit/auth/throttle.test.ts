import assert from 'node:assert/strict';
import { Throttle } from '../../../src/auth/throttle.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { mulberry } from '../../support/random.ts';

/** The same in whole thousandths of a request, refilled each millisecond. */
class SlowBucket {
  readonly #perSecond: number;
  #thousandths: number;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#thousandths = perSecond * 1000;
  }

  tick(): void {
    this.#thousandths = Math.min(this.#perSecond * 1000, this.#thousandths + this.#perSecond);
  }

  take(): boolean {
    if (this.#thousandths < 1000) return false;
    this.#thousandths -= 1000;
    return true;
  }
}

describe('A throttle', () => {
  it('lets pass what a bucket that is filled each millisecond does, at random times', () => {
    const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 1e6);
    const random = mulberry(seed);
    for (let round = 0; round < 50; round++) {
      const requestsPerSecond = 1 + Math.floor(random() * 40);
      const clock = new FakeClock(0);
      const throttle = new Throttle({ requestsPerSecond, concurrentSearches: null }, clock);
      const slow = new SlowBucket(requestsPerSecond);
      for (let n = 0; n < 300; n++) {
        const ms = Math.floor(random() ** 3 * 400);
        clock.advance(ms);
        for (let tick = 0; tick < ms; tick++) slow.tick();
        const { refusal } = throttle.enter(false);
        assert.equal(refusal === null, slow.take(), `seed ${seed}, round ${round}, request ${n}`);
      }
    }
  });
});
