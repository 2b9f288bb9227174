import assert from 'node:assert/strict';
import type { CostlySearches, RunningSearches } from '../../src/contract/insights.ts';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

for (const threads of [1, 2]) {
  describe(`insights, with ${threads} HTTP threads`, function () {
    this.timeout(60_000);
    let server: BuiltServer;

    before(async () => {
      server = await startBuiltServer(['--http-threads', String(threads), '--slow-search-ms', '0']);
      const documents = Array.from({ length: 3000 }, (_, id) => ({ id, t: `red ${id % 7} blue` }));
      for (const uid of ['a', 'b']) {
        await server.finish('POST', `/indexes/${uid}/documents`, { body: documents });
      }
    });

    after(() => server.close());

    it('list shapes without values, the costliest first, with the stages of an example', async () => {
      for (let n = 0; n < 20; n++) {
        await server.call('POST', '/indexes/a/search', { body: { q: `secret ${n}`, limit: 3 } });
      }
      await server.call('GET', '/indexes/a/search?q=other&limit=3');
      await server.call('POST', '/multi-search', { body: { queries: [{ indexUid: 'b' }] } });
      const { status, json: body } = await server.call('GET', '/insights/searches?by=count');
      assert.equal(status, 200);
      const { results, missingNodes } = body as CostlySearches;
      assert.deepEqual(missingNodes, []);
      const [first] = results;
      assert.deepEqual(
        [first!.kind, first!.indexUids, first!.words, first!.count, first!.failed],
        ['search', ['a'], 2, 20, 0],
      );
      assert.deepEqual(first!.parameters, ['limit', 'q']);
      assert.ok(first!.cpuMs > 0 && first!.p99Ms > 0 && first!.meanMs > 0);
      assert.ok(first!.example!.stages.some(({ name }) => name === 'terms'));
      assert.ok(!JSON.stringify(body).includes('secret'));
      assert.ok(results.some(({ kind }) => kind === 'multi-search'));
      const one = await server.call('GET', '/insights/searches?limit=1&hours=1');
      assert.equal((one.json as CostlySearches).results.length, 1);
    });

    it('refuse what is not in the contract', async () => {
      for (const query of ['by=time', 'hours=0', 'hours=25', 'limit=1001', 'x=1']) {
        const { status, json: body } = await server.call('GET', `/insights/searches?${query}`);
        assert.deepEqual([status, (body as { code: string }).code], [400, 'bad_request'], query);
      }
    });

    it('cancel a search that runs', async () => {
      await server.finish('PATCH', '/indexes/a/settings', {
        body: { sortableAttributes: ['id'], searchCutoffMs: 60_000 },
      });
      let formulas = 0;
      const body = (): object => ({
        queries: Array.from({ length: 60 }, () => ({
          indexUid: 'a',
          sort: [`log(1 + id / ${++formulas}) * id:desc`],
        })),
      });
      // Searches may end before they are seen or canceled.
      for (let canceled = 0; canceled === 0;) {
        const searches = Array.from({ length: 20 }, () =>
          server.call('POST', '/multi-search', { body: body() }),
        );
        const { json } = await server.call('GET', '/insights/running');
        for (const { kind, id } of (json as RunningSearches).results) {
          assert.equal(kind, 'multi-search');
          const { status } = await server.call('POST', `/insights/running/${id}/cancel`);
          if (status === 204) canceled++;
        }
        const outcomes = (await Promise.all(searches)).map(({ status, json: said }) =>
          status === 200 ? 'ended' : `${status} ${(said as { code: string }).code}`,
        );
        const refused = outcomes.filter((outcome) => outcome !== 'ended');
        assert.deepEqual(
          refused,
          Array.from({ length: canceled }, () => '409 search_canceled'),
        );
      }
      const { json: none } = await server.call('POST', '/insights/running/0-999999/cancel');
      assert.equal((none as { code: string }).code, 'search_not_found');
      const { json: after } = await server.call('GET', '/insights/running');
      assert.deepEqual((after as RunningSearches).results, []);
    });
  });
}

async function callWith(url: string, method: string, path: string, key: string) {
  const response = await fetch(url + path, { method, headers: { authorization: `Bearer ${key}` } });
  const text = await response.text();
  return { status: response.status, json: text === '' ? null : JSON.parse(text) };
}

describe('insights for keys', function () {
  this.timeout(60_000);
  let server: BuiltServer;

  before(async () => {
    server = await startBuiltServer([]);
    for (const uid of ['a', 'b']) {
      await server.finish('POST', `/indexes/${uid}/documents`, { body: [{ id: 1 }] });
      await server.call('POST', `/indexes/${uid}/search`, { body: {} });
    }
    // What names no index leaves no names.
    await server.call('POST', '/indexes/secret/search', { body: {} });
  });

  after(() => server.close());

  async function keyFor(actions: string[], indexes: string[]): Promise<string> {
    const { json: body } = await server.call('POST', '/keys', {
      body: { actions, indexes, expiresAt: null },
    });
    return (body as { key: string }).key;
  }

  it('need their actions, and show the indexes of the key', async () => {
    const cases: [string[], string[], number[], string[] | null][] = [
      [['search'], ['*'], [403, 403, 403], null],
      [['*.get'], ['*'], [200, 200, 403], ['a', 'b']],
      [['metrics.get'], ['*'], [200, 200, 403], ['a', 'b']],
      [['metrics.*'], ['*'], [200, 200, 404], ['a', 'b']],
      [['metrics.update'], ['*'], [403, 403, 404], null],
      [['metrics.get'], ['a'], [200, 200, 403], ['a']],
      [['metrics.get'], ['b*', 'c'], [200, 200, 403], ['b']],
    ];
    for (const [actions, indexes, statuses, seen] of cases) {
      const key = await keyFor(actions, indexes);
      const routes = [
        ['GET', '/insights/searches'],
        ['GET', '/insights/running'],
        ['POST', '/insights/running/0-1/cancel'],
      ] as const;
      for (const [n, [method, path]] of routes.entries()) {
        const { status, json: body } = await callWith(server.url, method, path, key);
        assert.equal(status, statuses[n], `${actions.join()} ${path}`);
        if (n > 0 || seen === null) continue;
        const { results } = body as CostlySearches;
        assert.deepEqual([...new Set(results.flatMap((one) => one.indexUids))].sort(), seen);
      }
    }
  });
});
