/** Large bodies: parsed off the event loop, and understood as small ones are. */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

describe('A large body', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
    const documents = Array.from({ length: 100 }, (_, id) => ({ id, n: id }));
    documents.push({ id: '18446744073709551615' as unknown as number, n: 1000 });
    await server.finish('POST', '/indexes/things/documents', { body: documents });
    await server.finish('PATCH', '/indexes/things/settings', {
      body: { filterableAttributes: ['n'], searchCutoffMs: 600_000 },
    });
  });
  after(() => server.close());

  /** The response, and how many other requests were served meanwhile. */
  async function withOthers(path: string, text: string) {
    let done = false;
    const asked = server.call('POST', path, { text }).finally(() => (done = true));
    let others = 0;
    while (!done) {
      await server.call('GET', '/health');
      if (!done) others++;
    }
    return { ...(await asked), others };
  }

  const long = Array.from({ length: 100_000 }, (_, i) => `n = ${i + 50}`);

  it('may hold a long filter', async () => {
    const filter = [long, ['n < 60', ...long.slice(0, 3)]];
    const found = { search: '/indexes/things/search', fetch: '/indexes/things/documents/fetch' };
    for (const [name, path] of Object.entries(found)) {
      const text = JSON.stringify({ filter, limit: 1000 });
      const { status, json, others } = await withOthers(path, text);
      assert.equal(status, 200, JSON.stringify(json));
      assert.equal((json.hits ?? json.results).length, 10, name);
      assert.ok(others > 0, 'nobody was served meanwhile');
    }
    const queries = [
      { indexUid: 'things', filter },
      { indexUid: 'things', filter: 'n = 1' },
    ];
    for (const federation of [undefined, {}]) {
      const { json } = await withOthers('/multi-search', JSON.stringify({ federation, queries }));
      const hits = federation === undefined ? json.results[0].hits : json.hits;
      assert.equal(hits.length, federation === undefined ? 10 : 11);
    }
  });

  it('with a faulty filter gets the error of the route', async () => {
    const filter = [[...long, 'n =']];
    for (const [path, code] of [
      ['/indexes/things/search', 'invalid_search_filter'],
      ['/indexes/nowhere/search', 'invalid_search_filter'],
      ['/indexes/things/documents/fetch', 'invalid_document_filter'],
    ] as const) {
      const { status, json } = await server.call('POST', path, { body: { filter } });
      assert.equal(status, 400);
      assert.equal(json.code, code);
    }
    const wrong = await server.call('POST', '/indexes/things/search', {
      body: { filter: [...long, 3] },
    });
    assert.equal(wrong.json.code, 'invalid_search_filter');
  });

  it('may hold long texts and many names, and an error shows their ends only', async () => {
    const path = '/indexes/things/search';
    const q = `0 ${'漢字é\u{1f600} "'.repeat(300_000)}`;
    const asked = await withOthers(path, JSON.stringify({ q, attributesToRetrieve: ['n'] }));
    assert.equal(asked.status, 200);
    assert.equal(asked.json.query, q);
    const names = ['n', ...Array.from({ length: 65_535 }, (_, i) => `${i}${'y'.repeat(50)}`)];
    const listed = await withOthers(
      path,
      JSON.stringify({ attributesToRetrieve: names, limit: 1 }),
    );
    assert.deepEqual(Object.keys(listed.json.hits[0]), ['n']);
    const many = await withOthers(path, JSON.stringify({ facets: [...names, 'n'] }));
    assert.equal(many.json.code, 'invalid_search_facets');
    for (const body of [
      { filter: `x ${'漢字'.repeat(500_000)}` },
      { distinct: 'y'.repeat(3_000_000) },
      { matchingStrategy: 'z'.repeat(200_000) },
    ]) {
      const { status, json } = await withOthers(path, JSON.stringify(body));
      assert.equal(status, 400);
      assert.ok(json.message.length <= 8192, `${json.message.length}`);
    }
  });

  it('is refused at its first fault', async () => {
    const blank = '\n'.repeat(5_000_000);
    const cases: [string, string][] = [
      [`${blank}x`, 'malformed_payload'],
      [`{"filter": ${'[[],'.repeat(1)}${'[],'.repeat(3_000_000)}[]]}`, 'malformed_payload'],
      [`{"limit":1.0,"q":"${'x'.repeat(5_000_000)}"}`, 'invalid_search_limit'],
      [`{"q":"${'x'.repeat(300_000)}","nope":1}`, 'bad_request'],
    ];
    for (const [text, code] of cases) {
      const { status, json, others } = await withOthers('/indexes/things/search', text);
      assert.equal(status, 400);
      assert.equal(json.code, code);
      assert.ok(others > 0);
    }
  });

  it('may hold many ids, which stay exact', async () => {
    const ids = Array.from({ length: 60_000 }, (_, i) => String(i + 98));
    const text = `{"limit":10,"ids":[${ids.join(',')},18446744073709551615]}`;
    const { json } = await withOthers('/indexes/things/documents/fetch', text);
    assert.deepEqual(
      json.results.map(({ n }: any) => n),
      [98, 99, 1000],
    );
    const list = `[${ids.join(',')},18446744073709551615]`;
    const task = await server.finish('POST', '/indexes/things/documents/delete-batch', {
      text: list,
    });
    assert.equal(task.details.deletedDocuments, 3);
    assert.equal(task.details.providedIds, 60_001);
  });

  it('may hold many settings', async () => {
    const stopWords = Array.from({ length: 50_000 }, (_, i) => `word${i}`);
    const body = { stopWords, synonyms: { a: ['b'], __proto__x: ['c'] } };
    const task = await server.finish('PATCH', '/indexes/things/settings', { body });
    assert.equal(task.status, 'succeeded');
    const { json } = await server.call('GET', '/indexes/things/settings');
    assert.deepEqual(json.stopWords, stopWords.toSorted());
    assert.deepEqual(json.synonyms, { __proto__x: ['c'], a: ['b'] });
  });
});
