import assert from 'node:assert/strict';
import { LocalPermits, SharedPermits, sharedPermitMemory } from '../../../src/search/permits.ts';
import { mulberry } from '../../support/random.ts';
import { TestQueue } from '../../support/test-queue.ts';

interface Search {
  id: number;
  holder: string;
  weight: number;
  /** When it got its permit. */
  since?: number;
}

function keyOf({ holder }: Pick<Search, 'holder'>): string {
  return holder.split(' ')[0]!;
}

/** The same queue, of requests of one search, by lists that are looked through each time. */
class NaiveQueue {
  now = 0;
  readonly running: Search[] = [];
  readonly waiting: Search[] = [];
  readonly refused: number[] = [];
  readonly #turns: string[] = [];
  /** Where each key that has searches began, and the times of its permits by its weight. */
  readonly #used = new Map<string, number[]>();
  readonly #options: { permits: number; busy: number; waitingMax: number };

  constructor(options: { permits: number; busy: number; waitingMax: number }) {
    this.#options = options;
  }

  holds(holder: string): number {
    return this.running.filter((one) => one.holder === holder).length;
  }

  waits(holder: string): number {
    return this.waiting.filter((one) => one.holder === holder).length;
  }

  come(search: Search): void {
    const { busy, permits, waitingMax } = this.#options;
    const { holder } = search;
    const isFirst = this.holds(holder) === 0;
    if (this.waits(holder) === 0 && this.running.length < (isFirst ? permits : busy)) {
      this.#note(search);
      this.running.push({ ...search, since: this.now });
      return;
    }
    if (this.waiting.length >= waitingMax) {
      const largest = [...this.#turns].sort((a, b) => this.waits(b) - this.waits(a))[0]!;
      this.#refuse(this.waits(largest) > this.waits(holder) + 1 ? largest : holder, search);
      if (this.refused.at(-1) === search.id) return;
    }
    this.#note(search);
    this.waiting.push(search);
    if (!this.#turns.includes(holder)) this.#turns.push(holder);
    this.#startAll();
  }

  /** A key without searches begins where the one that is behind is. */
  #note(search: Search): void {
    const key = keyOf(search);
    if (this.#used.has(key)) return;
    const all = [...this.#used.keys()].map((other) => this.#at(other));
    this.#used.set(key, [all.length === 0 ? 0 : Math.min(...all)]);
  }

  #at(key: string): number {
    const sum = this.#used.get(key)!.reduce((one, other) => one + other, 0);
    const own = this.running.filter((one) => keyOf(one) === key);
    return own.reduce((at, { since, weight }) => at + (this.now - since!) / weight, sum);
  }

  #forget(search: Search): void {
    const key = keyOf(search);
    if (![...this.running, ...this.waiting].some((one) => keyOf(one) === key)) {
      this.#used.delete(key);
    }
  }

  /** The requesters whose key is behind; of several such keys, of the one that holds the fewest. */
  #behind(holders: readonly string[]): readonly string[] {
    const ranks = holders.map((holder) => {
      const key = keyOf({ holder });
      const own = this.running.filter((one) => keyOf(one) === key);
      const { weight } = [...this.waiting, ...own].find((one) => keyOf(one) === key)!;
      return { key, at: this.#at(key), held: own.length / weight };
    });
    const first = [...ranks].sort((a, b) => a.at - b.at || a.held - b.held)[0];
    return holders.filter((_, n) => ranks[n]!.key === first?.key);
  }

  leave(id: number): void {
    const at = this.waiting.findIndex((one) => one.id === id);
    if (at >= 0) this.#remove(at);
  }

  end(id: number): void {
    const [ended] = this.running.splice(
      this.running.findIndex((one) => one.id === id),
      1,
    );
    this.#used.get(keyOf(ended!))!.push((this.now - ended!.since!) / ended!.weight);
    this.#forget(ended!);
    this.#startAll();
  }

  #startAll(): void {
    const { busy, permits } = this.#options;
    for (;;) {
      const may = this.#behind(this.#turns);
      if (may.length === 0) return;
      const fewest = Math.min(...may.map((holder) => this.holds(holder)));
      if (this.running.length >= (fewest === 0 ? permits : busy)) return;
      const next = may.find((holder) => this.holds(holder) === fewest)!;
      this.#turns.push(...this.#turns.splice(this.#turns.indexOf(next), 1));
      const search = this.waiting.find(({ holder }) => holder === next)!;
      this.running.push({ ...search, since: this.now });
      this.#remove(this.waiting.indexOf(search));
    }
  }

  /** Refuses the oldest of a requester, or `newest` if none of it waits. */
  #refuse(holder: string, newest: Search): void {
    const at = this.waiting.findIndex((one) => one.holder === holder);
    this.refused.push(at < 0 ? newest.id : this.#remove(at).id);
  }

  #remove(at: number): Search {
    const [search] = this.waiting.splice(at, 1);
    if (this.waits(search!.holder) === 0) {
      this.#turns.splice(this.#turns.indexOf(search!.holder), 1);
    }
    this.#forget(search!);
    return search!;
  }
}

const settle = async (): Promise<void> => {
  for (let n = 0; n < 12; n++) await null;
};

describe('The queue of searches, with several requesters', () => {
  it('starts and refuses what a naive queue does, at random arrivals, ends and departures', async () => {
    const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 1e6);
    const random = mulberry(seed);
    const below = (count: number): number => Math.floor(random() * count);
    let refusals = 0;
    for (let round = 0; round < 60; round++) {
      const permits = 1 + below(8);
      const options = { permits, busy: 1 + below(permits), waitingMax: below(12) };
      // Some are tenants of one key. Weights and times are such that sums are exact.
      const holders = Array.from({ length: 1 + below(5) }, (_, n) =>
        random() < 0.3 ? `key ${n}` : `key${n}`,
      );
      const weights = new Map(holders.map((holder) => [keyOf({ holder }), 2 ** below(3)]));
      const naive = new NaiveQueue(options);
      const queue = new TestQueue({
        permits: new LocalPermits({ count: permits, busy: options.busy }),
        ...{
          waitingMax: options.waitingMax,
          waitMsMax: 1e9,
          random: () => 0,
          now: () => naive.now,
        },
      });
      const [running, refused] = [new Map<number, () => void>(), [] as number[]];
      const leaving = new Map<number, () => void>();
      const check = (what: string): void => {
        const where = `seed ${seed}, round ${round}: ${what}`;
        const ids = naive.running.map(({ id }) => id).sort((a, b) => a - b);
        assert.deepEqual(
          [...running.keys()].sort((a, b) => a - b),
          ids,
          where,
        );
        assert.deepEqual(refused, naive.refused, where);
        assert.equal(queue.waiting, naive.waiting.length, where);
        assert.ok(ids.length <= permits, where);
      };
      for (let id = 0; id < 120; id++) {
        const what = random();
        // So short that no search counts as slow.
        if (random() < 0.7) naive.now += (1 + below(20)) / 64;
        if (what < 0.55) {
          // The first sends half of all.
          const holder = random() < 0.5 ? holders[0]! : holders[below(holders.length)]!;
          const search = (): Promise<void> =>
            new Promise((resolve) =>
              running.set(id, () => {
                running.delete(id);
                resolve();
              }),
            );
          const left = { is: false };
          const onAbort = (listener: () => void): void => void leaving.set(id, listener);
          const weight = weights.get(keyOf({ holder }))!;
          queue.run(search, holder, { onAbort }, weight).catch(() => left.is || refused.push(id));
          const leave = leaving.get(id);
          if (leave !== undefined) {
            leaving.set(id, () => {
              left.is = true;
              leave();
            });
          }
          naive.come({ id, holder, weight });
        } else if (what < 0.9 && running.size > 0) {
          const ended = [...running.keys()][below(running.size)]!;
          running.get(ended)!();
          await settle();
          naive.end(ended);
        } else if (naive.waiting.length > 0) {
          const { id: cancelled } = naive.waiting[below(naive.waiting.length)]!;
          leaving.get(cancelled)!();
          naive.leave(cancelled);
        }
        await settle();
        check(`step ${id}`);
      }
      while (running.size > 0) {
        const [ended] = running.keys();
        running.get(ended!)!();
        await settle();
        naive.end(ended!);
        check('at the end');
      }
      assert.deepEqual([queue.running, queue.waiting], [0, 0]);
      refusals += refused.length;
    }
    assert.ok(refusals > 100, `only ${refusals} were refused`);
  });

  it('gives a freed permit to whoever holds the fewest, with those of several kinds', async () => {
    const queue = new TestQueue({ permits: 4, waitingMax: 100, waitMsMax: 1e9, now: () => 0 });
    const started: string[] = [];
    const ends = new Map<string, () => void>();
    const search = (name: string) => (): Promise<void> => {
      started.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    };
    void queue.runSeveral(
      (run) => Promise.all(['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'].map((a) => run(search(a)))),
      'a',
    );
    for (let n = 0; n < 4; n++) {
      void queue.runSeveral((run) => run(search(`A${n}`)), 'a');
    }
    void queue.runSeveral((run) => Promise.all([run(search('b1')), run(search('b2'))]), 'b');
    void queue.run(search('c'), 'c');
    assert.deepEqual(started, ['a1', 'a2', 'a3', 'a4']);
    for (const [ended, next] of [
      ['a1', 'b1'],
      ['a2', 'c'],
      // Both hold as many then.
      ['a3', 'a5'],
      ['a4', 'b2'],
    ] as const) {
      ends.get(ended)!();
      await settle();
      assert.equal(started.at(-1), next);
    }
    while (ends.size > 0) {
      for (const [name, end] of [...ends]) {
        ends.delete(name);
        end();
      }
      await settle();
    }
    assert.equal(started.length, 14);
    assert.deepEqual([queue.running, queue.waiting], [0, 0]);
  });

  it('gives a key of weight 3 three turns where others get one, together with its tenants', async () => {
    const clock = { now: 0 };
    const limits = { waitingMax: 100, waitMsMax: 1e9, now: () => clock.now };
    const queue = new TestQueue({ permits: 1, ...limits });
    const started: string[] = [];
    let end = (): void => {};
    const search = (holder: string, weight: number): void =>
      void queue.run(
        () => {
          started.push(holder);
          return new Promise<void>((resolve) => (end = resolve));
        },
        ...([holder, undefined, weight] as const),
      );
    for (let n = 0; n < 16; n++) {
      search(`a ${n % 2}`, 3);
      search('b', 1);
      search('c', 1);
    }
    while (started.length < 40) {
      clock.now += 3;
      end();
      await settle();
    }
    const turns = (from: number, holder: string): number =>
      started.slice(from, from + 10).filter((one) => one.startsWith(holder)).length;
    for (const from of [0, 10]) {
      assert.deepEqual([turns(from, 'a'), turns(from, 'b'), turns(from, 'c')], [6, 2, 2]);
      assert.deepEqual([turns(from, 'a 0'), turns(from, 'a 1')], [3, 3]);
    }
  });

  it('lets a requester wait whose queue is short, although those of others are full', async () => {
    const queue = new TestQueue({ permits: 1, waitingMax: 3, waitMsMax: 1e9, random: () => 0 });
    const never = (): Promise<void> => new Promise(() => {});
    const refused: string[] = [];
    for (const name of ['a', 'a', 'a', 'a', 'b', 'c', 'a']) {
      queue.run(never, name).catch(() => refused.push(name));
    }
    await settle();
    assert.deepEqual(refused, ['a', 'a', 'a']);
    // Searches that wait for another server cannot be refused.
    const away = new TestQueue({ permits: 1, waitingMax: 2, waitMsMax: 1e9 });
    for (let n = 0; n < 2; n++) void away.run((permit) => permit.away(never), 'a');
    assert.equal(await away.run(() => Promise.resolve('found'), 'b'), 'found');
    await assert.rejects(away.run(never, 'a'), { code: 'too_many_search_requests' });
  });

  it('shares the permits of several threads as those of one', async () => {
    const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 1e6);
    const random = mulberry(seed);
    const memory = sharedPermitMemory(3);
    const limits = { count: 6, busy: 4 };
    const queues = [0, 1, 2].map(
      (queue) =>
        new TestQueue({
          permits: new SharedPermits(memory, { ...limits, queue }, random),
          ...{ waitingMax: 1000, waitMsMax: 1e9, random, now: () => 0 },
        }),
    );
    const held = new Map<string, number>();
    let [running, done] = [0, 0];
    const started: string[] = [];
    const search = (holder: string) => async (): Promise<void> => {
      started.push(holder);
      held.set(holder, (held.get(holder) ?? 0) + 1);
      assert.ok(++running <= limits.count, `seed ${seed}`);
      for (let left = 1 + Math.floor(random() * 6); left > 0; left--) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      held.set(holder, held.get(holder)! - 1);
      running--;
      done++;
    };
    const heavy = Array.from({ length: 300 }, (_, n) => queues[n % 3]!.run(search('a'), 'a'));
    const positions: number[] = [];
    for (let n = 0; n < 20; n++) {
      const before = started.length;
      const own = queues[Math.floor(random() * 3)]!.run(async () => {
        positions.push(started.length - before);
        await search('b')();
      }, 'b');
      await own;
    }
    await Promise.all(heavy);
    assert.equal(done, 320, `seed ${seed}`);
    assert.ok(Math.max(...positions) <= 3, `seed ${seed}: ${positions.join(' ')}`);
    assert.equal(queues[0]!.running, 0);
  });
});
