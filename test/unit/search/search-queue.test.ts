import assert from 'node:assert/strict';
import { activeSpan, Tracer } from '../../../src/base/tracing.ts';
import { type Permit, SearchQueue } from '../../../src/search/search-queue.ts';
import { TestQueue } from '../../support/test-queue.ts';

/** Searches that end on request. */
class Searches {
  readonly started: string[] = [];
  readonly #ends = new Map<string, () => void>();

  of(name: string): () => Promise<string> {
    return () => {
      this.started.push(name);
      return new Promise((resolve) => this.#ends.set(name, () => resolve(name)));
    };
  }

  runs(name: string): boolean {
    return this.#ends.has(name);
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)!();
    this.#ends.delete(name);
    for (let n = 0; n < 5; n++) await null;
  }
}

describe('the search queue', () => {
  const tooMany = { code: 'too_many_search_requests', status: 503 };
  let now = 0;
  let random = 0;

  function queueOf(
    options: {
      permits?: number;
      waitingMax?: number;
      onPermit?: (waitedMs: number) => void;
    } = {},
  ): TestQueue {
    now = 0;
    random = 0;
    return new TestQueue({
      permits: 1,
      waitingMax: 2,
      waitMsMax: 60_000,
      ...options,
      random: () => random,
      now: () => now,
    });
  }

  it('runs as many as it has permits for, the others wait', async () => {
    const queue = queueOf({ permits: 2 });
    const searches = new Searches();
    const results = ['a', 'b', 'c'].map((name) => queue.run(searches.of(name)));
    assert.deepEqual(searches.started, ['a', 'b']);
    assert.equal(queue.waiting, 1);
    await searches.end('a');
    assert.deepEqual(searches.started, ['a', 'b', 'c']);
    await searches.end('b');
    await searches.end('c');
    assert.deepEqual(await Promise.all(results), ['a', 'b', 'c']);
    assert.equal(queue.running, 0);
  });

  it('counts a search from its start to its end, one that is refused not at all', async () => {
    const queue = new SearchQueue({ permits: 1, waitingMax: 1, waitMsMax: 60_000 });
    const searches = new Searches();
    const counted: number[] = [];
    const meter = {
      begin: (count: number) => void counted.push(count),
      end: (count: number) => void counted.push(-count),
    };
    const requester = { access: { holder: 'a' }, meter };
    const first = queue.run(searches.of('a'), requester, 3);
    const outcomes = Promise.allSettled(
      ['b', 'c'].map((n) => queue.run(searches.of(n), requester)),
    );
    assert.deepEqual(counted, [3]);
    await searches.end('a');
    await first;
    for (const name of ['b', 'c']) if (searches.runs(name)) await searches.end(name);
    assert.equal((await outcomes).filter(({ status }) => status === 'rejected').length, 1);
    assert.deepEqual(counted, [3, -3, 1, -1]);
    const failing = (): Promise<never> => Promise.reject(new Error('wrong'));
    const several = queue.runSeveral((run) => Promise.all([run(failing), run(failing)]), requester);
    await assert.rejects(several, /wrong/);
    for (let n = 0; n < 20; n++) await null;
    assert.deepEqual(counted.slice(4), [1, -1, 1, -1]);
  });

  it('reports how long each request has waited, and nothing of one that is refused', async () => {
    const waits: number[] = [];
    const queue = queueOf({ waitingMax: 1, onPermit: (ms) => void waits.push(ms) });
    const searches = new Searches();
    void queue.run(searches.of('a'));
    const b = queue.run(searches.of('b'));
    const refused = assert.rejects(b);
    void queue.runSeveral((run) => run(searches.of('c')));
    await refused;
    now += 7;
    await searches.end('a');
    assert.deepEqual(waits, [0, 7]);
  });

  it('begins a search that waited in the trace of those who asked for it', async () => {
    const queue = queueOf();
    const tracer = new Tracer(1, () => {});
    const begun: (string | undefined)[] = [];
    let end = (): void => {};
    const traced = (name: string, waits: () => Promise<void>): Promise<string> =>
      tracer.root(name, {}, async ({ traceId }) => {
        await queue.run(async () => {
          begun.push(activeSpan()?.traceId);
          await waits();
        });
        return traceId;
      });
    const first = traced('first', () => new Promise((resolve) => (end = resolve)));
    const others = ['second', 'third'].map((name) => traced(name, () => Promise.resolve()));
    end();
    assert.deepEqual(begun, [begun[0]]);
    assert.deepEqual(await Promise.all([first, ...others]), begun);
    assert.equal(new Set(begun).size, 3);
  });

  it('gives a freed permit to the oldest', async () => {
    const queue = queueOf({ waitingMax: 3 });
    const searches = new Searches();
    for (const name of ['a', 'b', 'c', 'd']) void queue.run(searches.of(name));
    for (const name of ['a', 'b', 'c']) await searches.end(name);
    assert.deepEqual(searches.started, ['a', 'b', 'c', 'd']);
  });

  it('refuses a random waiting one when the list is full, and takes the new one', async () => {
    const queue = queueOf();
    const searches = new Searches();
    void queue.run(searches.of('a'));
    const b = queue.run(searches.of('b'));
    const c = queue.run(searches.of('c'));
    const refused = assert.rejects(b, (error: Error) => {
      assert.equal((error as Error & { status: number }).status, tooMany.status);
      assert.match(error.message, /2 are waiting/);
      return true;
    });
    void queue.run(searches.of('d'));
    await refused;
    assert.equal(queue.waiting, 2);
    await searches.end('a');
    await searches.end(searches.started.at(-1)!);
    assert.deepEqual([...searches.started].sort(), ['a', 'c', 'd']);
    void c;
  });

  it('without a list refuses at once when all permits are taken', async () => {
    const queue = queueOf({ waitingMax: 0 });
    const searches = new Searches();
    void queue.run(searches.of('a'));
    await assert.rejects(queue.run(searches.of('b')), tooMany);
    await searches.end('a');
    void queue.run(searches.of('c'));
    assert.deepEqual(searches.started, ['a', 'c']);
  });

  it('refuses one that has waited too long, and runs the next', async () => {
    const queue = queueOf();
    const searches = new Searches();
    void queue.run(searches.of('a'));
    const late = queue.run(searches.of('b'));
    const refused = assert.rejects(late, tooMany);
    now = 60_001;
    void queue.run(searches.of('c'));
    await searches.end('a');
    await refused;
    assert.deepEqual(searches.started, ['a', 'c']);
  });

  it('forgets one whose client goes away, and runs the others', async () => {
    const queue = queueOf();
    const searches = new Searches();
    const leave = new Map<string, () => void>();
    const run = (name: string): Promise<string> =>
      queue.run(searches.of(name), 'all', {
        onAbort: (listener) => leave.set(name, listener),
      });
    void run('a');
    const b = assert.rejects(run('b'), tooMany);
    void run('c');
    leave.get('b')!();
    await b;
    assert.equal(queue.waiting, 1);
    void run('d');
    assert.equal(queue.waiting, 2, 'its slot is free');
    await searches.end('a');
    assert.deepEqual(searches.started, ['a', 'c']);
    leave.get('c')!();
    assert.equal(queue.running, 1, 'what runs goes on');
    leave.get('d')!();
    await searches.end('c');
    assert.deepEqual(searches.started, ['a', 'c']);
    assert.deepEqual([queue.running, queue.waiting], [0, 0]);
  });

  describe('with searches that wait for another server', () => {
    /** A search that goes away at once and returns on request. */
    class Away {
      back = (): void => {};
      state = 'waits';
      readonly search = async (permit: Permit): Promise<string> => {
        await permit.away(() => {
          this.state = 'away';
          return new Promise<void>((resolve) => (this.back = resolve));
        });
        this.state = 'back';
        return 'done';
      };
    }
    const settle = async (): Promise<void> => {
      for (let n = 0; n < 10; n++) await null;
    };

    it('gives their permits to others, and takes one again in order', async () => {
      const queue = queueOf({ waitingMax: 10 });
      const searches = new Searches();
      const away = new Away();
      const result = queue.run(away.search);
      assert.deepEqual([away.state, queue.running], ['away', 0]);
      void queue.run(searches.of('a'));
      void queue.run(searches.of('b'));
      assert.deepEqual(searches.started, ['a']);
      away.back();
      await settle();
      assert.deepEqual([away.state, queue.running, queue.waiting], ['away', 1, 1]);
      await searches.end('a');
      await settle();
      assert.equal(away.state, 'back');
      assert.equal(await result, 'done');
      assert.deepEqual(searches.started, ['a', 'b']);
      await searches.end('b');
      assert.deepEqual([queue.running, queue.waiting], [0, 0]);
    });

    it('does not refuse one that comes back, however long the list is', async () => {
      const queue = queueOf();
      const searches = new Searches();
      const away = new Away();
      const result = queue.run(away.search);
      const refused: string[] = [];
      for (const name of ['a', 'b', 'c', 'd']) {
        queue.run(searches.of(name)).catch(() => refused.push(name));
      }
      away.back();
      await settle();
      now = 120_000;
      random = 0.99;
      await searches.end('a');
      assert.equal(await result, 'done');
      assert.ok(refused.length > 0);
    });

    it('counts them with those that wait', async () => {
      const queue = queueOf({ permits: 1, waitingMax: 2 });
      const aways = [new Away(), new Away()];
      const results = aways.map(({ search }) => queue.run(search));
      assert.deepEqual(
        aways.map(({ state }) => state),
        ['away', 'away'],
      );
      await assert.rejects(queue.run(new Searches().of('c')), tooMany);
      aways[0]!.back();
      await results[0];
      const searches = new Searches();
      void queue.run(searches.of('d'));
      assert.deepEqual(searches.started, ['d']);
      aways[1]!.back();
      await searches.end('d');
      assert.equal(await results[1], 'done');
    });

    it('lets other requests of several searches begin meanwhile', async () => {
      const queue = queueOf({ permits: 1, waitingMax: 10 });
      const aways = [new Away(), new Away()];
      const first = queue.runSeveral((run) => Promise.all(aways.map(({ search }) => run(search))));
      const searches = new Searches();
      void queue.runSeveral((run) => Promise.all([run(searches.of('a')), run(searches.of('b'))]));
      await settle();
      assert.deepEqual(searches.started, ['a']);
      await searches.end('a');
      await searches.end('b');
      await settle();
      for (const { back } of aways) back();
      assert.deepEqual(await first, ['done', 'done']);
      assert.equal(queue.running, 0);
    });

    it('passes on what fails, and learns nothing of the time', async () => {
      const queue = queueOf({ permits: 1, waitingMax: 1000 });
      const failing = queue.run((permit) =>
        permit.away(() => {
          now += 50_000;
          return Promise.reject(new Error('gone'));
        }),
      );
      await assert.rejects(failing, /gone/);
      assert.equal(queue.running, 0);
      const searches = new Searches();
      const refused: string[] = [];
      for (let n = 0; n < 900; n++) {
        queue.run(searches.of(String(n))).catch(() => refused.push(String(n)));
      }
      await settle();
      assert.deepEqual(refused, []);
    });
  });

  describe('bounded by the time that the list takes', () => {
    /**
     * A queue with two permits, both taken, and `count` waiting requests; each search that ends has
     * taken `ms`.
     */
    function busy(count: number): {
      queue: TestQueue;
      searches: Searches;
      refused: string[];
      add: (name: string) => void;
      endOne: (ms: number) => Promise<void>;
    } {
      const queue = queueOf({ permits: 2, waitingMax: 1000 });
      const searches = new Searches();
      const refused: string[] = [];
      const startedAt = new Map<string, number>();
      let ended = 0;
      const add = (name: string): void => {
        const run = searches.of(name);
        const timed = (): Promise<string> => {
          startedAt.set(name, now);
          return run();
        };
        queue.run(timed).catch(() => refused.push(name));
      };
      for (let n = 0; n < count + 2; n++) add(String(n));
      const endOne = async (ms: number): Promise<void> => {
        const name = searches.started[ended++]!;
        now = startedAt.get(name)! + ms;
        await searches.end(name);
      };
      return { queue, searches, refused, add, endOne };
    }

    it('keeps what two permits can do in 4 s', async () => {
      const { queue, refused, endOne } = busy(500);
      await endOne(100);
      assert.equal(queue.waiting, 499, 'one search tells nothing');
      await endOne(100);
      // 100 ms each on two permits: 80 in 4 s, one of which has got the permit.
      assert.equal(queue.waiting, 79);
      assert.equal(refused.length, 500 - 81);
    });

    it('refuses a waiting one for each that comes then', async () => {
      const { queue, refused, add, endOne } = busy(500);
      await endOne(100);
      await endOne(100);
      const before = refused.length;
      add('next');
      assert.equal(queue.waiting, 80);
      add('last');
      await null;
      await null;
      assert.equal(queue.waiting, 80);
      assert.equal(refused.length, before + 1);
      assert.ok(!refused.includes('last'));
    });

    it('follows searches that become fast again', async () => {
      const { queue, refused, add, endOne } = busy(500);
      await endOne(100);
      await endOne(100);
      for (let n = 0; n < 40; n++) await endOne(1);
      const before = refused.length;
      for (let n = 0; n < 500; n++) add(`more ${n}`);
      await null;
      await null;
      assert.equal(refused.length, before);
      assert.ok(queue.waiting > 500);
    });

    it('lets as many wait as may run, however slow they are', async () => {
      const { queue, add, endOne } = busy(10);
      await endOne(60_000);
      await endOne(60_000);
      assert.equal(queue.waiting, 1);
      add('next');
      assert.equal(queue.waiting, 2);
    });

    it('forgets how slow searches were once none waits', async () => {
      const { queue, refused, add, endOne } = busy(2);
      for (let n = 0; n < 4; n++) await endOne(10_000);
      assert.deepEqual([queue.running, queue.waiting], [0, 0]);
      for (let n = 0; n < 500; n++) add(`new ${n}`);
      await null;
      await null;
      assert.deepEqual(refused, []);
      assert.equal(queue.waiting, 498);
    });

    it('does not let a longer list than asked for', async () => {
      const queue = queueOf({ permits: 1, waitingMax: 2 });
      const searches = new Searches();
      const refused: string[] = [];
      for (const name of ['a', 'b', 'c', 'd', 'e']) {
        queue.run(searches.of(name)).catch(() => refused.push(name));
      }
      await searches.end('a');
      assert.equal(refused.length, 2);
      assert.equal(queue.waiting, 1);
    });
  });

  it('frees the permit of a search that fails', async () => {
    const queue = queueOf();
    await assert.rejects(
      queue.run(() => Promise.reject(new Error('bad'))),
      /bad/,
    );
    assert.equal(queue.running, 0);
    assert.equal(await queue.run(() => Promise.resolve('good')), 'good');
  });

  describe('with requests of several searches', () => {
    /** Two consecutive searches, then the response. */
    function twoOf(queue: TestQueue, searches: Searches, name: string): Promise<string> {
      return queue.runSeveral(async (run) => {
        await run(searches.of(`${name}1`));
        return run(searches.of(`${name}2`));
      });
    }

    it('gives every second permit to those that have begun', async () => {
      const queue = queueOf({ waitingMax: 3 });
      const searches = new Searches();
      const several = queue.runSeveral((run) =>
        Promise.all(['a1', 'a2', 'a3'].map((name) => run(searches.of(name)))),
      );
      const alone = ['b', 'c'].map((name) => queue.run(searches.of(name)));
      for (const name of ['a1', 'a2', 'b', 'a3', 'c']) await searches.end(name);
      assert.deepEqual(searches.started, ['a1', 'a2', 'b', 'a3', 'c']);
      assert.deepEqual(await several, ['a1', 'a2', 'a3']);
      assert.deepEqual(await Promise.all(alone), ['b', 'c']);
      assert.deepEqual([queue.running, queue.waiting], [0, 0]);
    });

    it('lets no more of them begin than there are permits', async () => {
      const queue = queueOf({ waitingMax: 9 });
      const searches = new Searches();
      const results = ['a', 'b', 'c'].map((name) => twoOf(queue, searches, name));
      for (const name of ['a1', 'a2', 'b1', 'b2', 'c1', 'c2']) await searches.end(name);
      assert.equal(searches.started[0], 'a1');
      const order = searches.started.map((name) => name[0]);
      assert.equal(new Set([order.slice(0, 2), order.slice(2, 4), order.slice(4)].flat()).size, 3);
      for (const n of [0, 2, 4]) assert.equal(order[n], order[n + 1], searches.started.join(' '));
      assert.equal((await Promise.all(results)).length, 3);
    });

    it('refuses none that has begun, and does not count what it still has to run', async () => {
      const queue = queueOf();
      const searches = new Searches();
      const several = queue.runSeveral((run) =>
        Promise.all(['a1', 'a2', 'a3', 'a4'].map((name) => run(searches.of(name)))),
      );
      const waiting = [queue.run(searches.of('b')), twoOf(queue, searches, 'c')];
      assert.equal(queue.waiting, 2);
      const refused = queue.run(searches.of('d'));
      const outcomes = Promise.allSettled([...waiting, refused]);
      const names = ['a1', 'a2', 'a3', 'a4', 'b', 'c1', 'c2', 'd'];
      while (queue.running > 0) {
        await searches.end(names.find((name) => searches.runs(name))!);
      }
      assert.equal((await several).length, 4);
      const failed = (await outcomes).filter(({ status }) => status === 'rejected');
      assert.equal(failed.length, 1);
    });

    it('gives its permit to the next when one of them fails', async () => {
      const queue = queueOf();
      const searches = new Searches();
      await assert.rejects(
        queue.runSeveral(() => Promise.reject(new Error('wrong'))),
        /wrong/,
      );
      const result = queue.runSeveral((run) => run(searches.of('a')));
      await searches.end('a');
      assert.equal(await result, 'a');
    });

    it('has done with one that has failed, though a search of it goes on', async () => {
      const queue = queueOf();
      const searches = new Searches();
      const failing = queue.runSeveral((run) => {
        void run(searches.of('a'));
        return Promise.reject(new Error('wrong'));
      });
      await assert.rejects(failing, /wrong/);
      await searches.end('a');
      void queue.runSeveral((run) => run(searches.of('b')));
      assert.deepEqual(searches.started, ['a', 'b']);
      await searches.end('b');
    });
  });
});
