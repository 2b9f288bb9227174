import assert from 'node:assert/strict';
import { SearchQueue } from '../../../src/search/search-queue.ts';

/** Searches that end when told. */
class Searches {
  readonly started: string[] = [];
  readonly #ends = new Map<string, () => void>();

  of(name: string): () => Promise<string> {
    return () => {
      this.started.push(name);
      return new Promise((resolve) => this.#ends.set(name, () => resolve(name)));
    };
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)!();
    for (let n = 0; n < 5; n++) await null;
  }
}

describe('the search queue', () => {
  const tooMany = { code: 'too_many_search_requests', status: 503 };
  let now = 0;
  let random = 0;

  function queueOf(options: { permits?: number; waitingMax?: number } = {}): SearchQueue {
    now = 0;
    random = 0;
    return new SearchQueue({
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
    const answers = ['a', 'b', 'c'].map((name) => queue.run(searches.of(name)));
    assert.deepEqual(searches.started, ['a', 'b']);
    assert.equal(queue.waiting, 1);
    await searches.end('a');
    assert.deepEqual(searches.started, ['a', 'b', 'c']);
    await searches.end('b');
    await searches.end('c');
    assert.deepEqual(await Promise.all(answers), ['a', 'b', 'c']);
    assert.equal(queue.running, 0);
  });

  it('gives a freed permit to a random one', async () => {
    const queue = queueOf({ waitingMax: 3 });
    const searches = new Searches();
    for (const name of ['a', 'b', 'c', 'd']) void queue.run(searches.of(name));
    random = 0.5;
    await searches.end('a');
    assert.deepEqual(searches.started, ['a', 'c']);
    random = 0.99;
    await searches.end('c');
    assert.deepEqual(searches.started, ['a', 'c', 'd']);
    await searches.end('d');
    assert.deepEqual(searches.started, ['a', 'c', 'd', 'b']);
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
    const gone = new Map<string, () => void>();
    const run = (name: string): Promise<string> =>
      queue.run(searches.of(name), (listener) => gone.set(name, listener));
    void run('a');
    const b = assert.rejects(run('b'), tooMany);
    void run('c');
    gone.get('b')!();
    await b;
    assert.equal(queue.waiting, 1);
    void run('d');
    assert.equal(queue.waiting, 2, 'its place is free');
    random = 0.99;
    await searches.end('a');
    assert.deepEqual(searches.started, ['a', 'd']);
    gone.get('d')!();
    assert.equal(queue.running, 1, 'what runs goes on');
    gone.get('c')!();
    await searches.end('d');
    assert.deepEqual(searches.started, ['a', 'd']);
    assert.deepEqual([queue.running, queue.waiting], [0, 0]);
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
});
