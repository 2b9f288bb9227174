import assert from 'node:assert/strict';
import { RequestMeter, Throttle } from '../../../src/auth/throttle.ts';
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

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);

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

  it('counts requests and their searches as a count of all of them does, at random', () => {
    const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 1e6);
    const random = mulberry(seed);
    const upTo = (max: number): number => Math.floor(random() * (max + 1));
    interface Request {
      meter: RequestMeter;
      isSearch: boolean;
      isOpen: boolean;
      begun: number;
      inner: number;
      running: number[];
    }
    for (let round = 0; round < 50; round++) {
      const concurrentSearches = 1 + upTo(8);
      const requestsPerSecond = 1_000_000;
      const throttle = new Throttle({ requestsPerSecond, concurrentSearches }, new FakeClock(0));
      const requests: Request[] = [];
      /** Refused requests, except those that another request makes: that has counted them. */
      let refused = 0;
      /** Requests that passed and that another request has counted as well. */
      let twice = 0;
      const enter = (outer?: Request): void => {
        const isSearch = random() < 0.7;
        const running = requests.map((one) =>
          Math.max(one.isSearch && one.isOpen ? 1 : 0, sumOf(one.running)),
        );
        const isFull = sumOf(running) >= concurrentSearches;
        if (outer !== undefined) outer.inner++;
        const passage = throttle.enter(isSearch, outer?.meter.takeCover());
        assert.equal(passage.refusal !== null, isSearch && isFull, `seed ${seed}, round ${round}`);
        if (!(passage instanceof RequestMeter)) refused += outer === undefined ? 1 : 0;
        else {
          twice += outer === undefined ? 0 : 1;
          const own = { isSearch, isOpen: true, begun: 0, inner: 0, running: [] };
          requests.push({ meter: passage, ...own });
        }
      };
      for (let n = 0; n < 200; n++) {
        const one = requests[upTo(requests.length - 1)];
        const action = random();
        if (one === undefined || action < 0.3) enter();
        else if (action < 0.4) enter(one);
        else if (action < 0.7) {
          const count = upTo(3);
          one.meter.begin(count);
          one.begun += count;
          one.running.push(count);
        } else if (action < 0.9) one.meter.end(one.running.pop() ?? 0);
        else {
          one.meter.close();
          one.isOpen = false;
        }
        const costs = requests.map(({ begun, inner }) => Math.max(1, begun + inner));
        const expected = sumOf(costs) - twice + refused;
        const [, left] = throttle.headers().find(([name]) => name === 'ratelimit-remaining')!;
        assert.equal(requestsPerSecond - Number(left), expected, `seed ${seed}, round ${round}`);
      }
    }
  });
});
