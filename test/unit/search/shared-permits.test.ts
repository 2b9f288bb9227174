import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { SharedPermits, sharedPermitMemory } from '../../../src/search/permits.ts';
import { mulberry } from '../../support/random.ts';
import { TestQueue } from '../../support/test-queue.ts';

interface Options {
  queues: number;
  count: number;
  waitingMax?: number;
  random?: () => number;
}

function queuesOf({ queues, count, waitingMax = 1000, random = Math.random }: Options) {
  const memory = sharedPermitMemory(queues);
  return Array.from(
    { length: queues },
    (_, queue) =>
      new TestQueue({
        permits: new SharedPermits(memory, { count, busy: count, queue }, random),
        waitingMax,
        waitMsMax: 600_000,
        random,
      }),
  );
}

/** A search that ends when the test says so. */
function held(queue: TestQueue): { begun: () => boolean; end: () => void; ended: Promise<void> } {
  let isBegun = false;
  let end = (): void => {};
  const ended = queue.run(() => {
    isBegun = true;
    return new Promise<void>((resolve) => (end = resolve));
  });
  return { begun: () => isBegun, end: () => end(), ended };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setImmediate();
}

describe('queues of searches that share their permits', () => {
  it('run no more searches together than there are permits', async () => {
    const [a, b] = queuesOf({ queues: 2, count: 2 });
    const first = [held(a!), held(b!)];
    const third = held(a!);
    assert.deepEqual([a!.running, b!.running], [2, 2]);
    assert.equal(b!.waiting, 1);
    assert.equal(third.begun(), false);
    first[1]!.end();
    await until(third.begun);
    for (const one of [first[0]!, third]) one.end();
    await Promise.all([...first, third].map(({ ended }) => ended));
    assert.deepEqual([a!.running, a!.waiting], [0, 0]);
  });

  it('hand a permit to a search that waits elsewhere, even if some wait here', async () => {
    let random = 0;
    const [a, b] = queuesOf({ queues: 2, count: 1, random: () => random });
    const running = held(a!);
    const here = held(a!);
    const there = held(b!);
    random = 0.9;
    running.end();
    await until(there.begun);
    assert.equal(here.begun(), false);
    random = 0;
    there.end();
    await until(here.begun);
    here.end();
    await Promise.all([running, here, there].map(({ ended }) => ended));
    assert.equal(a!.running, 0);
  });

  it('refuse a search when as many wait in all of them as may', async () => {
    const [a, b] = queuesOf({ queues: 2, count: 1, waitingMax: 1 });
    const running = held(a!);
    const waiting = held(a!);
    await assert.rejects(
      b!.run(async () => {}),
      { code: 'too_many_search_requests' },
    );
    running.end();
    await until(waiting.begun);
    waiting.end();
    await Promise.all([running.ended, waiting.ended]);
  });

  it('run everything, whatever the order, and have all permits back in the end', async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = mulberry(seed);
    const count = 3;
    const queues = queuesOf({ queues: 3, count, random });
    let [running, runningMax, done] = [0, 0, 0];
    const search = async (): Promise<void> => {
      runningMax = Math.max(runningMax, ++running);
      for (let left = Math.floor(random() * 4); left > 0; left--) await setImmediate();
      running--;
      done++;
    };
    const requests: Promise<unknown>[] = [];
    let searches = 0;
    for (let n = 0; n < 400; n++) {
      const queue = queues[Math.floor(random() * queues.length)]!;
      const several = random() < 0.3 ? 1 + Math.floor(random() * 4) : 0;
      searches += Math.max(1, several);
      requests.push(
        several === 0
          ? queue.run(search)
          : queue.runSeveral(async (run) => {
              await Promise.all(Array.from({ length: several }, () => run(search)));
            }),
      );
      if (random() < 0.3) await setImmediate();
    }
    await Promise.all(requests);
    assert.equal(done, searches, `seed ${seed}`);
    assert.ok(runningMax <= count, `seed ${seed}: ${runningMax} searches ran together`);
    await until(() => queues[0]!.running === 0);
  });
});
