/** Documents that expire (docs/behaviour/expiry.md). */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

describe('documents that expire', function () {
  this.timeout(300_000);

  let server: BuiltServer;

  before(async () => {
    server = await startBuiltServer();
  });
  after(() => server?.close());

  const settings = { expiresAtAttribute: 'until', filterableAttributes: ['kind'] };
  const hour = (hours: number): number => Math.floor(Date.now() / 1000) + hours * 3600;

  const idsOf = (list: { id: number }[]): number[] => list.map(({ id }) => id).toSorted();
  const found = async (uid: string): Promise<number[]> =>
    idsOf((await server.call('POST', `/indexes/${uid}/search`, { body: {} })).json.hits);
  /** The deletions by the server, which have an original filter. */
  const deletions = async (uid: string): Promise<any[]> => {
    const path = `/tasks?types=documentDeletion&indexUids=${uid}`;
    return (await server.call('GET', path)).json.results;
  };
  const deleted = async (uid: string): Promise<any> => {
    for (;;) {
      const done = (await deletions(uid)).filter(({ status }) => status === 'succeeded');
      if (done.length > 0) return done.at(-1);
      await pause();
    }
  };

  it('are not found by any route, and deleted later', async () => {
    await server.finish('PATCH', '/indexes/a/settings', { body: settings });
    const documents = [
      { id: 1, kind: 'x', until: '2020-01-01' },
      { id: 2, kind: 'x', until: '2020-01-01T10:00:00+02:00' },
      { id: 3, kind: 'x', until: 1_500_000_000 },
      { id: 4, kind: 'x', until: hour(2) },
      { id: 5, kind: 'y', until: new Date(hour(2) * 1000).toISOString() },
      { id: 6, kind: 'y', until: 'never' },
      { id: 7, kind: 'y', until: null },
      { id: 8, kind: 'y' },
      { id: 9, kind: 'y', until: [hour(1), '2020-01-01'] },
    ];
    await server.finish('POST', '/indexes/a/documents', { body: documents });
    const living = [4, 5, 6, 7, 8];
    assert.deepEqual(await found('a'), living);
    const search = (body: object) => server.call('POST', '/indexes/a/search', { body });
    const { json } = await search({ filter: 'kind = x', facets: ['kind'], hitsPerPage: 5 });
    assert.deepEqual([json.totalHits, json.facetDistribution], [1, { kind: { x: 1 } }]);
    const listed = await server.call('GET', '/indexes/a/documents');
    assert.deepEqual([idsOf(listed.json.results), listed.json.total], [living, 5]);
    const fetched = await server.call('POST', '/indexes/a/documents/fetch', {
      body: { ids: [1, 4] },
    });
    assert.deepEqual(idsOf(fetched.json.results), [4]);
    assert.equal((await server.call('GET', '/indexes/a/documents/4')).status, 200);
    const missing = await server.call('GET', '/indexes/a/documents/1');
    assert.deepEqual([missing.status, missing.json.code], [404, 'document_not_found']);
    const federated = await server.call('POST', '/multi-search', {
      body: { federation: {}, queries: [{ indexUid: 'a' }] },
    });
    assert.deepEqual(idsOf(federated.json.hits), living);
    const facets = await server.call('POST', '/indexes/a/facet-search', {
      body: { facetName: 'kind', facetQuery: 'x' },
    });
    assert.equal(facets.json.facetHits[0].count, 1);

    const task = await deleted('a');
    assert.deepEqual(task.details, {
      ...{ providedIds: 0, deletedDocuments: 4, originalFilter: JSON.stringify('"until" <= now') },
    });
    const stats = await server.call('GET', '/indexes/a/stats');
    assert.equal(stats.json.numberOfDocuments, 5);
    assert.deepEqual(await found('a'), living);
  });

  it('expire at the earliest of several dates, whatever its form and place', async () => {
    await server.finish('PATCH', '/indexes/several/settings', { body: settings });
    const text = (hours: number): string => new Date(hour(hours) * 1000).toISOString();
    const later = [hour(2), hour(2) + 0.5, text(3), text(72).slice(0, 10)];
    const past = [
      ...[1_500_000_000, 1_500_000_000.25, 0, -5, '2020-01-01', '2020-01-01T10:00:00Z'],
      ...['2020-01-01t10:00:00z', '2020-01-01 10:00:00.123456+02:00', '1969-12-31T23:59:59-01:00'],
    ];
    const noDates = ['never', '', null, true, '2020-13-01', '1500000000x'];
    const expiring: unknown[] = [];
    const living: unknown[] = [];
    for (const date of past) {
      for (const other of [...later, ...noDates]) expiring.push([date, other], [other, date]);
      expiring.push([...later, ...noDates, date], [date, ...noDates, ...later], [[date], later]);
    }
    for (const date of later) {
      for (const other of [...later, ...noDates]) living.push([date, other], [other, date]);
    }
    living.push(noDates, []);
    const documents = [
      ...expiring.map((until, n) => ({ id: n, until })),
      ...living.map((until, n) => ({ id: 10_000 + n, until })),
    ];
    await server.finish('POST', '/indexes/several/documents', { body: documents });
    const listed = await server.call('GET', '/indexes/several/documents?limit=1000&fields=id');
    assert.deepEqual(
      idsOf(listed.json.results),
      living.map((_, n) => 10_000 + n),
    );
    assert.equal((await deleted('several')).details.deletedDocuments, expiring.length);
  });

  it('disappear at their second, not before', async () => {
    await server.finish('PATCH', '/indexes/b/settings', { body: settings });
    const at = Math.floor(Date.now() / 1000) + 3;
    const documents = [
      { id: 1, until: at },
      { id: 2, until: hour(1) },
    ];
    await server.finish('POST', '/indexes/b/documents', { body: documents });
    for (;;) {
      const before = Date.now();
      const ids = await found('b');
      if (ids.includes(1)) {
        assert.ok(before < at * 1000, 'found after its date');
        await pause();
        continue;
      }
      assert.ok(Date.now() >= at * 1000, 'not found before its date');
      assert.deepEqual(ids, [2]);
      break;
    }
    assert.equal((await deleted('b')).details.deletedDocuments, 1);
  });

  it('appear again with a later date or without the setting', async () => {
    const body = [{ id: 1, until: '2020-01-01' }];
    await server.finish('POST', '/indexes/c/documents', { body });
    assert.deepEqual(await found('c'), [1]);
    await server.finish('PUT', '/indexes/c/settings/expires-at-attribute', { body: 'until' });
    await server.finish('PUT', '/indexes/c/documents', { body: [{ id: 1, until: hour(1) }] });
    assert.deepEqual(await found('c'), [1]);
    const { json } = await server.call('GET', '/indexes/c/settings/expires-at-attribute');
    assert.equal(json, 'until');
    await server.finish('DELETE', '/indexes/c/settings/expires-at-attribute');
    await server.finish('POST', '/indexes/c/documents', { body });
    assert.deepEqual(await found('c'), [1]);
  });

  it('are deleted after a kill', async () => {
    await server.finish('PATCH', '/indexes/d/settings', { body: settings });
    const body = [{ id: 1, until: '2020-01-01' }, { id: 2 }];
    await server.finish('POST', '/indexes/d/documents', { body });
    await server.kill('SIGKILL');
    await server.restart();
    assert.deepEqual(await found('d'), [2]);
    assert.equal((await deleted('d')).details.deletedDocuments, 1);
  });

  it('have one deletion at a time', async () => {
    for (const uid of ['a', 'b']) assert.equal((await deletions(uid)).length, 1, uid);
  });
});
