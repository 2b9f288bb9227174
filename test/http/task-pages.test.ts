/** Pages of tasks and batches with a limit too large for a single response. */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

describe('A page of tasks', () => {
  let server: BuiltServer;
  const COUNT = 1100;
  before(async () => {
    server = await startBuiltServer(['--experimental-max-number-of-batched-tasks', '2']);
    for (let i = 0; i < COUNT; i++) await server.call('DELETE', '/indexes/none/documents');
    await server.idle();
  });
  after(() => server.close());

  it('has a greatest size, and says what follows', async () => {
    const { json } = await server.call('GET', '/tasks?limit=4294967295');
    assert.equal(json.results.length, 1000);
    assert.equal(json.limit, 4294967295);
    assert.equal(json.total, COUNT);
    const rest = await server.call('GET', `/tasks?limit=4294967295&from=${json.next}`);
    assert.equal(rest.json.results.length, COUNT - 1000);
    assert.equal(rest.json.next, null);
  });

  it('and one of batches has', async () => {
    const { json } = await server.call('GET', '/batches?limit=1000000');
    assert.equal(json.results.length, 200);
    const rest = await server.call('GET', `/batches?limit=1000000&from=${json.next}`);
    assert.ok(rest.json.results.length > 0);
    assert.ok(rest.json.results[0].uid < json.results.at(-1).uid);
  });
});

const COUNT_LONG = 30;

describe('A page of long tasks', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
  });
  after(() => server.close());

  it('ends early, and says what follows', async () => {
    // The maximum length of a body.
    const filter = (i: number): string => `id = "${i}${'x'.repeat(900_000)}"`;
    for (let i = 0; i < COUNT_LONG; i++) {
      const body = { filter: filter(i) };
      const { status } = await server.call('POST', '/indexes/long/documents/delete', { body });
      assert.equal(status, 202);
    }
    await server.idle();
    for (const path of ['/tasks?indexUids=long&limit=50', '/batches?indexUids=long&limit=50']) {
      const shown: number[] = [];
      let pages = 0;
      for (let from = ''; ; pages++) {
        const { json } = await server.call('GET', path + from);
        shown.push(...json.results.map(({ uid }: { uid: number }) => uid));
        if (json.next === null) break;
        assert.ok(JSON.stringify(json).length < 25_000_000);
        from = `&from=${json.next}`;
      }
      assert.ok(path.startsWith('/batches') || pages > 0, `one page of ${COUNT_LONG * 0.9} MB`);
      assert.deepEqual(
        shown,
        shown.toSorted((a, b) => b - a),
      );
      if (path.startsWith('/tasks')) assert.equal(shown.length, COUNT_LONG);
    }
    const { json } = await server.call('GET', '/tasks?indexUids=long&limit=1&reverse=true');
    assert.equal(JSON.parse(json.results[0].details.originalFilter), filter(0));
  });
});
