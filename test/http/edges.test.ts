import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { settle } from './kill/support/compare.ts';
import { addonIsBuilt, ServerProcess } from './kill/support/server-process.ts';

/** The greatest integer of the interface; as a double it is 2^64. */
const GREATEST = '18446744073709551615';

interface Answer {
  status: number;
  body: any;
}

/** What requests get whose values are at the edge of what is allowed, or that have two faults at once. */
describe('at the edges of the interface', function () {
  this.timeout(60_000);

  let dir: string;
  let server: ServerProcess;

  before(async function () {
    if (!addonIsBuilt()) this.skip();
    dir = mkdtempSync(join(tmpdir(), 'gannet-edges-'));
    server = await ServerProcess.start({ dir, port: await freePort() });
    await send('PATCH', '/indexes/i/settings', { filterableAttributes: ['kind'] });
    const documents = [1, 2, 3].map((id) => ({ id, text: 'word', kind: id % 2 }));
    await send('POST', '/indexes/i/documents', documents);
    await send('POST', '/indexes/i/documents', [{ id: 1000, text: 'other' }]);
    await settle(server.client);
  });

  after(async () => {
    if (server === undefined) return;
    await server.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  /** @param body text as it is, anything else as JSON */
  async function send(method: string, path: string, body?: unknown): Promise<Answer> {
    const options = typeof body === 'string' ? { bytes: Buffer.from(body) } : { body };
    const { status, json } = await server.client.call(method, path, options);
    return { status, body: json() };
  }

  /** @returns the finished task */
  async function done(method: string, path: string, body: unknown): Promise<any> {
    const { status, body: task } = await send(method, path, body);
    assert.equal(status, 202, JSON.stringify(task));
    await settle(server.client);
    return (await send('GET', `/tasks/${task.taskUid}`)).body;
  }

  const idsOf = ({ body }: Answer): number[] =>
    (body.hits ?? body.results).map(({ id }: { id: number }) => id);

  async function code(method: string, path: string, body: unknown): Promise<string> {
    return (await send(method, path, body)).body.code;
  }

  it('takes the greatest integer for what it is', async () => {
    const search = (parameters: string): Promise<Answer> =>
      send('POST', '/indexes/i/search', `{"q":"word",${parameters}}`);
    assert.deepEqual(idsOf(await search(`"limit":${GREATEST}`)), [1, 2, 3]);
    assert.deepEqual(idsOf(await search(`"offset":${GREATEST}`)), []);
    assert.deepEqual(idsOf(await search(`"limit":${GREATEST},"offset":1`)), [2, 3]);
    const page = await search(`"hitsPerPage":${GREATEST}`);
    assert.deepEqual(idsOf(page), [1, 2, 3]);
    assert.equal(page.body.totalPages, 1);
    assert.deepEqual(idsOf(await search(`"page":${GREATEST}`)), []);
    for (const list of ['GET', 'POST']) {
      const fetched = (parameters: Record<string, string>): Promise<Answer> =>
        list === 'GET'
          ? send('GET', `/indexes/i/documents?${new URLSearchParams(parameters).toString()}`)
          : send(
              'POST',
              '/indexes/i/documents/fetch',
              `{${Object.entries(parameters)
                .map(([name, value]) => `"${name}":${value}`)
                .join()}}`,
            );
      assert.deepEqual(idsOf(await fetched({ limit: GREATEST })), [1, 2, 3, 1000]);
      assert.deepEqual(idsOf(await fetched({ limit: GREATEST, offset: '2' })), [3, 1000]);
      assert.deepEqual(idsOf(await fetched({ offset: GREATEST })), []);
    }
    const federated = await send(
      'POST',
      '/multi-search',
      `{"federation":{"limit":${GREATEST}},"queries":[{"indexUid":"i","q":"word"}]}`,
    );
    assert.deepEqual(idsOf(federated), [1, 2, 3]);
  });

  it('shows the statistics of an index whatever its name is', async () => {
    for (const uid of ['__proto__', 'constructor']) {
      await done('POST', `/indexes/${uid}/documents`, [{ id: 1 }]);
      const all = Object.entries((await send('GET', '/stats')).body.indexes);
      const found = all.find(([name]) => name === uid);
      assert.deepEqual(found?.[1], (await send('GET', `/indexes/${uid}/stats`)).body, uid);
      await done('DELETE', `/indexes/${uid}`, undefined);
    }
  });

  it('deletes nothing where an id is empty', async () => {
    await done('POST', '/indexes/empty/documents', [{ id: 1 }, { id: 2 }]);
    const { status, details } = await done('POST', '/indexes/empty/documents/delete-batch', [
      '',
      2,
    ]);
    assert.equal(status, 'succeeded');
    assert.deepEqual(details, { providedIds: 2, deletedDocuments: 1, originalFilter: null });
  });

  it('dates an update of an index that changes nothing', async () => {
    await done('POST', '/indexes', { uid: 'dated' });
    const created = (await send('GET', '/indexes/dated')).body;
    const { startedAt } = await done('PATCH', '/indexes/dated', {});
    assert.ok(startedAt > created.updatedAt);
    const { body } = await send('GET', '/indexes/dated');
    assert.deepEqual(body, { ...created, updatedAt: startedAt });
  });

  it('measures the queues and the last batch', async () => {
    await send('PATCH', '/experimental-features', { metrics: true });
    const batch = (await done('POST', '/indexes/metered/documents', [{ id: 1 }, { id: 2 }]))
      .batchUid;
    const { text } = await server.client.call('GET', '/metrics');
    const metrics = new Map(
      text
        .split('\n')
        .filter((line) => line.startsWith('gannet_'))
        .map((line) => /^gannet_(.+) (\S+)$/.exec(line)!)
        .map(([, name, value]) => [name!, Number(value)] as const),
    );
    const value = (name: string): number => {
      assert.ok(metrics.has(name), name);
      return metrics.get(name)!;
    };
    assert.equal(value(`last_indexed_documents_count{batch_uid="${batch}",index="metered"}`), 2);
    const { body } = await send('GET', `/batches/${batch}`);
    assert.equal(
      value(`last_indexed_documents_duration_ms{batch_uid="${batch}",index="metered"}`),
      Date.parse(body.finishedAt) - Date.parse(body.startedAt),
    );
    for (const [step, time] of Object.entries<string>(body.stats.progressTrace)) {
      const name = `last_finished_batches_progress_trace_ms{batch_uid="${batch}",step_name="${step}"}`;
      const factor = { µs: 1e-3, ms: 1 }[time.slice(-2)] ?? 1000;
      assert.ok(Math.abs(value(name) - Number.parseFloat(time) * factor) < 1e-6, `${step} ${time}`);
    }
    assert.equal(value('search_queue_size'), 1000);
    // One of those that a start asks itself may be running.
    assert.ok(value('searches_running') <= 1);
    assert.equal(value('searches_waiting_to_be_processed'), 0);
    assert.equal(value('task_queue_latency_seconds'), 0);
    assert.equal(value('is_indexing'), 0);
    const [most, used] = [value('task_queue_max_size'), value('task_queue_used_size')];
    assert.equal(value('task_queue_size_until_stop_registering'), most * 0.4 - used);
    await send('PATCH', '/experimental-features', { metrics: false });
  });

  it('takes the greatest integer as a setting', async () => {
    const settings =
      `{"pagination":{"maxTotalHits":${GREATEST}},"faceting":{"maxValuesPerFacet":${GREATEST}},` +
      `"searchCutoffMs":${GREATEST}}`;
    assert.equal((await done('PATCH', '/indexes/i/settings', settings)).status, 'succeeded');
    const { body } = await send('POST', '/indexes/i/search', {
      q: 'word',
      facets: ['kind'],
      showRankingScoreDetails: true,
    });
    assert.equal(body.estimatedTotalHits, 3);
    assert.deepEqual(body.facetDistribution, { kind: { 0: 1, 1: 2 } });
    assert.equal(body.hits[0]._rankingScoreDetails.skipped, undefined);
    await done('PATCH', '/indexes/i/settings', {
      pagination: null,
      faceting: null,
      searchCutoffMs: null,
    });
  });

  it('refuses what is no integer of 64 bits', async () => {
    for (const number of ['18446744073709551616', '1.0', '1e3']) {
      assert.equal(
        await code('PUT', '/indexes/i/settings/search-cutoff-ms', number),
        'invalid_settings_search_cutoff_ms',
        number,
      );
    }
    for (const ids of [
      '[1.0]',
      '[1e3]',
      '["1",1E3]',
      '[18446744073709551616]',
      '[-9223372036854775809]',
    ]) {
      const body = `{"ids":${ids}}`;
      assert.equal(
        await code('POST', '/indexes/i/documents/fetch', body),
        'invalid_document_ids',
        ids,
      );
    }
    const found = await send(
      'POST',
      '/indexes/i/documents/fetch',
      `{"ids":["1",1000,${GREATEST}]}`,
    );
    assert.deepEqual(idsOf(found), [1, 1000]);
  });

  it('reports the first of two faults', async () => {
    assert.equal(
      await code('POST', '/indexes/i/documents/delete-batch?x=1', '['),
      'malformed_payload',
    );
    assert.equal(await code('POST', '/indexes/i/documents/delete-batch?x=1', '[]'), 'bad_request');
    const filter = 'kind =';
    const search = { filter, vector: [1] };
    assert.equal(await code('POST', '/indexes/i/search', search), 'invalid_search_filter');
    const facets = { facetName: 'kind', filter };
    assert.equal(await code('POST', '/indexes/none/facet-search', facets), 'index_not_found');
    assert.equal(await code('POST', '/indexes/i/facet-search', facets), 'invalid_search_filter');
    const sizes = { minWordSizeForTypos: { oneTypo: 5, twoTypos: 3 } };
    const settings = { typoTolerance: sizes, pagination: { maxTotalHits: -1 } };
    assert.equal(
      await code('PATCH', '/indexes/i/settings', settings),
      'invalid_settings_typo_tolerance',
    );
    assert.equal(
      await code('PATCH', '/indexes/i!/settings/typo-tolerance', sizes),
      'invalid_settings_typo_tolerance',
    );
  });

  it('refuses what a federated search cannot do', async () => {
    const federated = (federation: object, options?: object): Promise<string> =>
      code('POST', '/multi-search', {
        federation,
        queries: [{ indexUid: 'i', ...(options && { federationOptions: options }) }],
      });
    assert.equal(await federated({ personalize: { userContext: 'x' } }), 'feature_not_enabled');
    assert.equal(await federated({}, { remote: 'other' }), 'feature_not_enabled');
    await send('PATCH', '/experimental-features', { network: true });
    assert.equal(await federated({}, { remote: 'other' }), 'invalid_multi_search_remote');
    await send('PATCH', '/experimental-features', { network: false });
  });

  it('ignores what else stands in a search of facet values', async () => {
    const facet = (body: object): Promise<Answer> =>
      send('POST', '/indexes/i/facet-search', { facetName: 'kind', ...body });
    const plain = await facet({});
    assert.equal(plain.status, 200);
    for (const ignored of [
      { distinct: 'x' },
      { distinct: 'kind' },
      { sort: 3 },
      { personalize: { userContext: 'x' } },
      { segmentation: [0] },
    ]) {
      const { status, body } = await facet(ignored);
      assert.deepEqual([status, body.facetHits], [200, plain.body.facetHits]);
    }
    const gated = await facet({ filter: 'kind CONTAINS 1', containsFilter: true });
    assert.equal(gated.body.code, 'feature_not_enabled');
  });

  it('says which index an error is about', async () => {
    const refused: [path: string, body: object][] = [
      ['search', { filter: 'x = 1' }],
      ['search', { sort: ['x:asc'] }],
      ['search', { facets: ['x'] }],
      ['search', { distinct: 'x' }],
      ['facet-search', { facetName: 'x' }],
      ['facet-search', { facetName: 'kind', filter: 'x = 1' }],
      ['documents/fetch', { filter: 'x = 1' }],
      ['documents/fetch', { sort: ['x:asc'] }],
    ];
    for (const [path, body] of refused) {
      const answer = await send('POST', `/indexes/i/${path}`, body);
      assert.match(answer.body.message, /^Index `i`: /, `${path} ${JSON.stringify(body)}`);
    }
    const queries = [{ indexUid: 'i' }, { indexUid: 'i', filter: 'x = 1' }];
    for (const federation of [null, {}]) {
      const { body } = await send('POST', '/multi-search', { federation, queries });
      assert.match(body.message, /^Inside `\.queries\[1\]`: Index `i`: [^`]/);
    }
  });

  it('does not tell the names of attributes that are not displayed', async () => {
    await done('POST', '/indexes/hidden/documents', [{ id: 1, pub: 'a', secret: 'b' }]);
    await done('PATCH', '/indexes/hidden/settings', {
      displayedAttributes: ['id', 'pub'],
      searchableAttributes: ['pub', 'secret'],
      filterableAttributes: [
        'pub',
        'secret',
        {
          attributePatterns: ['off'],
          features: { filter: { equality: false, comparison: false } },
        },
      ],
      sortableAttributes: ['pub', 'secret'],
    });
    for (const search of [
      { filter: 'x = 1' },
      { filter: '_geoRadius(1, 1, 1)' },
      { sort: ['x:asc'] },
      { facets: ['x'] },
      { distinct: 'x' },
      { attributesToSearchOn: ['x'] },
    ]) {
      const { status, body } = await send('POST', '/indexes/hidden/search', search);
      assert.equal(status, 400);
      assert.match(body.message, /`pub` and hidden ones/, JSON.stringify(search));
      assert.doesNotMatch(body.message, /secret/);
    }
    const facet = await send('POST', '/indexes/hidden/facet-search', { facetName: 'x' });
    assert.match(facet.body.message, /`pub` and hidden ones/);
    const off = await send('POST', '/indexes/hidden/search', { facets: ['off'] });
    assert.match(off.body.message, /rule #2 /);
  });

  it('searches attributes that a pattern matches below a searchable one', async () => {
    const settings = { searchableAttributes: ['chef'] };
    await done('PATCH', '/indexes/chefs/settings', settings);
    const chefs = [{ id: 1, chef: { city: 'lyon' }, mayor: { city: 'paris' } }];
    await done('POST', '/indexes/chefs/documents', chefs);
    const search = (q: string, attribute: string): Promise<Answer> =>
      send('POST', '/indexes/chefs/search', { q, attributesToSearchOn: [attribute] });
    assert.deepEqual(idsOf(await search('lyon', '*.city')), [1]);
    assert.deepEqual(idsOf(await search('paris', '*.city')), []);
    for (const attribute of ['*.name', 'mayor.*', 'mayor.city']) {
      const { body } = await search('lyon', attribute);
      assert.equal(body.code, 'invalid_search_attributes_to_search_on', attribute);
    }
  });

  it('enables places only where every stored one is right', async () => {
    const cases: [string, unknown, string][] = [
      ['_geo', { lat: 1 }, 'invalid_document_geo_field'],
      ['_geojson', { type: 'x' }, 'invalid_document_geojson_field'],
      ['_geojson', 5, 'invalid_document_geojson_field'],
    ];
    for (const [n, [name, place, expected]] of cases.entries()) {
      for (const more of [{}, { stopWords: ['the'] }]) {
        const path = `/indexes/places-${n}-${Object.keys(more).length}`;
        await done('POST', `${path}/documents`, [{ id: 'first' }, { id: 'wrong', [name]: place }]);
        const task = await done('PATCH', `${path}/settings`, {
          filterableAttributes: [name],
          ...more,
        });
        assert.equal(task.error?.code, expected, `${name} ${JSON.stringify(place)}`);
        assert.match(task.error.message, /wrong/);
        const { body } = await send('GET', `${path}/settings`);
        assert.deepEqual([body.filterableAttributes, body.stopWords], [[], []]);
        await done('DELETE', `${path}/documents/wrong`, undefined);
        const again = await done('PATCH', `${path}/settings`, {
          filterableAttributes: [name],
          ...more,
        });
        assert.equal(again.status, 'succeeded');
      }
    }
  });

  it('keeps the last of repeated keys, at every depth of a document', async () => {
    await done('PATCH', '/indexes/repeated/settings', { filterableAttributes: ['a', 'list'] });
    const documents =
      '[{"id": 1, "a": {"x": 1, "y": 5, "\\u0078": 2, "y": {"z": "old"}, "y": {"z": "new"}},' +
      ' "list": [3, {"k": "one", "l": 0, "k": "two"}, "{\\"k\\":1,\\"k\\":2}"]}]';
    await done('POST', '/indexes/repeated/documents?primaryKey=id', documents);
    const stored =
      '{"id":1,"a":{"x":2,"y":{"z":"new"}},"list":[3,{"k":"two","l":0},"{\\"k\\":1,\\"k\\":2}"]}';
    const { text } = await server.client.call('GET', '/indexes/repeated/documents/1');
    assert.equal(text, stored);
    const found = async (filter: string): Promise<number[]> =>
      idsOf(await send('POST', '/indexes/repeated/search', { filter }));
    for (const filter of ['a.x = 2', 'a.y.z = new', 'list.k = two', 'list.l = 0', 'list = 3']) {
      assert.deepEqual(await found(filter), [1], filter);
    }
    for (const filter of ['a.x = 1', 'a.y = 5', 'a.y.z = old', 'list.k = one']) {
      assert.deepEqual(await found(filter), [], filter);
    }
    const again = '[{"id": 1, "a": {"x": 8, "x": 9}}]';
    await done('PUT', '/indexes/repeated/documents', again);
    assert.deepEqual(await found('a.x = 9'), [1]);
    assert.deepEqual(await found('a.x = 8'), []);
  });

  it('takes the last of repeated keys for the id', async () => {
    const path = '/indexes/repeated-ids/documents';
    const task = await done(
      'POST',
      `${path}?primaryKey=meta.id`,
      '[{"meta": {"id": 1, "id": 2}}, {"meta": {"id": 3}, "meta": {"id": 4}}]',
    );
    assert.equal(task.status, 'succeeded');
    const { body } = await send('GET', path);
    assert.deepEqual(body.results, [{ meta: { id: 2 } }, { meta: { id: 4 } }]);
    const twice = await done('POST', path, '[{"meta": {"id": 5}, "meta.id": 5}]');
    assert.equal(twice.error.code, 'invalid_document_id');
  });

  it('lets every text start with what is empty once it is normalised', async () => {
    await done('PATCH', '/indexes/starts/settings', { filterableAttributes: ['v'] });
    const values = ['word', 3, [], null, { inner: 1 }];
    const documents = [...values.map((v, id) => ({ id, v })), { id: 5 }];
    await done('POST', '/indexes/starts/documents', documents);
    for (const prefix of ['', ' ', '\t\n', '\u3000']) {
      const search = async (operator: string): Promise<number[]> =>
        idsOf(
          await send('POST', '/indexes/starts/search', { filter: `v ${operator} "${prefix}"` }),
        );
      assert.deepEqual(await search('STARTS WITH'), [0, 1, 2, 3, 4], JSON.stringify(prefix));
      assert.deepEqual(await search('NOT STARTS WITH'), [5], JSON.stringify(prefix));
    }
  });
});
