import assert from 'node:assert/strict';
import { freePort } from '../support/free-port.ts';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

interface Sent {
  status: number;
  headers: Headers;
  text: string;
  json: any;
}

describe('Usage events and analytics', () => {
  let server: BuiltServer;
  let events: string;
  const click = { eventType: 'click', eventName: 'Result', indexUid: 'books', objectId: '1' };

  /** `key` null: no credential. */
  async function send(
    method: string,
    url: string,
    body?: unknown,
    headers: Record<string, string> = {},
    key: string | null = server.masterKey,
  ): Promise<Sent> {
    const response = await fetch(url.startsWith('http') ? url : server.url + url, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    return { status: response.status, headers: response.headers, text, json };
  }
  const search = (q: string, user: string, more: object = {}): Promise<Sent> =>
    send('POST', '/indexes/books/search', { q, ...more }, { 'x-svc-user-id': user });
  const report = async (path: string): Promise<any[]> =>
    (await send('GET', `/analytics/${path}`)).json.results;
  const newKey = async (actions: string[], indexes: string[]): Promise<string> =>
    (await server.call('POST', '/keys', { body: { actions, indexes, expiresAt: null } })).json.key;

  before(async () => {
    const port = await freePort();
    events = `http://127.0.0.1:${port}/events`;
    server = await startBuiltServer([
      ...['--analytics-retention-days', '30', '--events-addr', `127.0.0.1:${port}`],
    ]);
    const documents = [
      { id: 1, title: 'estimatedTotalHits', kind: 'a' },
      { id: 2, title: 'dune', kind: 'b' },
    ];
    for (const uid of ['books', 'films']) {
      await server.finish('POST', `/indexes/${uid}/documents`, { body: documents });
      await server.finish('PATCH', `/indexes/${uid}/settings`, {
        body: { filterableAttributes: ['kind', 'title'] },
      });
    }
  });
  after(() => server?.close());

  it('counts searches with query, hits and filter, whatever their form', async () => {
    await search('Dune', 'u1', { facets: ['kind', 'title'], filter: 'kind = b' });
    await search('dune', 'u1', { hitsPerPage: 1 });
    await send('GET', '/indexes/books/search?q=nowhere');
    await send('POST', '/multi-search', {
      queries: [
        { indexUid: 'books', q: 'dune' },
        { indexUid: 'films', q: 'dune', page: 1 },
      ],
    });
    await send('POST', '/multi-search', {
      federation: {},
      queries: [{ indexUid: 'films', q: 'dune' }],
    });
    const top = await report('top-searches');
    const seen = top.map(({ indexUid, query, searches, meanHits }) => [
      ...[indexUid, query, searches, meanHits],
    ]);
    assert.deepEqual(seen, [
      ['books', 'dune', 3, 1],
      ['films', 'dune', 2, 1],
      ['books', 'nowhere', 1, 0],
    ]);
    const nothing = await report('searches-without-results');
    assert.deepEqual(
      nothing.map(({ query }) => query),
      ['nowhere'],
    );
    const [filter] = await report('top-filters');
    assert.deepEqual([filter.indexUid, filter.filter, filter.searches], ['books', 'kind = b', 1]);
  });

  it('does not count what is no search: facet searches, similar documents, refused requests', async () => {
    const count = async (): Promise<number> => (await report('summary'))[0].searches;
    const before = await count();
    await send('POST', '/indexes/books/facet-search', { facetName: 'kind' });
    await send('POST', '/indexes/books/search', { q: 1 });
    await send('POST', '/indexes/books/search', { filter: 'year > 1' });
    await send('POST', '/indexes/missing/search', {});
    await send('POST', '/indexes/books/search', {}, {}, 'no key');
    assert.equal(await count(), before);
  });

  it('does not count searches that are marked as tests', async () => {
    const marked = (value: string): Record<string, string> => ({ 'X-Gannet-Test-Search': value });
    await send('POST', '/indexes/books/search', { q: 'trial' }, marked('true'));
    await send('GET', '/indexes/books/search?q=trial', undefined, marked('1'));
    for (const federation of [undefined, {}]) {
      const body = { federation, queries: [{ indexUid: 'books', q: 'trial' }] };
      await send('POST', '/multi-search', body, marked('true'));
    }
    await send('POST', '/indexes/books/search', { q: 'earnest' }, marked('false'));
    const queries = (await report('top-searches?limit=1000')).map(({ query }) => query);
    assert.ok(queries.includes('earnest'));
    assert.ok(!queries.includes('trial'));
  });

  it('binds events to searches by user, at either address, in both spellings of the id', async () => {
    await search('bound', 'u2');
    const user = { 'x-svc-user-id': 'u2' };
    for (const [url, id] of [
      [events, { objectId: '1', position: 4 }],
      ['/events', { objectID: '1', position: 2 }],
      ['/events', { objectId: 1, objectID: '1', objectName: 'one', position: 0 }],
    ] as const) {
      const body = { eventType: 'click', eventName: 'Result', indexUid: 'books', ...id };
      const { status, text } = await send('POST', url, body, user);
      assert.deepEqual([status, text], [201, '']);
    }
    const conversion = { ...click, eventType: 'conversion', objectId: undefined, objectID: '1' };
    assert.equal((await send('POST', events, conversion, user)).status, 201);
    const row = (await report('top-searches')).find(({ query }) => query === 'bound');
    assert.deepEqual(
      [row.clicks, row.conversions, row.clickThroughRate, row.conversionRate],
      [3, 1, 1, 1],
    );
    assert.equal(row.meanClickPosition, 2);
    const { text } = await send('GET', '/analytics/top-searches');
    assert.match(text, /"query":"bound".*"clickThroughRate":1\.0,.*"meanClickPosition":2\.0/);
    const ignored = await report('searches-without-clicks');
    assert.ok(!ignored.some(({ query }) => query === 'bound'));
  });

  it('binds events without a user to the last search from the same address', async () => {
    const from = { 'x-forwarded-for': '203.0.113.9, 10.0.0.1' };
    await send('POST', '/indexes/books/search', { q: 'anonymous' }, from);
    await send('POST', '/events', click, { 'x-forwarded-for': '203.0.113.9, 10.0.0.2' });
    await send('POST', '/indexes/books/search', { q: 'without proxy' });
    await send('POST', '/events', click);
    const top = await report('top-searches');
    for (const name of ['anonymous', 'without proxy']) {
      assert.equal(top.find(({ query }) => query === name).clicks, 1, name);
    }
  });

  it('binds events to the search whose query uid they name', async () => {
    const headers = { 'meili-include-metadata': 'true', 'x-svc-user-id': 'u3' };
    const { json } = await send('POST', '/indexes/books/search', { q: 'named' }, headers);
    await search('later', 'u3');
    const { queryUid } = json.metadata;
    assert.equal((await send('POST', '/events', { ...click, queryUid })).status, 201);
    const row = (await report('top-searches')).find(({ query }) => query === 'named');
    assert.equal(row.clicks, 1);
  });

  it('refuses what is no event, and records nothing of it', async () => {
    const before = (await report('summary'))[0];
    const cases: [object, number, string][] = [
      [{ ...click, eventType: 'view' }, 400, 'bad_request'],
      [{ ...click, eventType: undefined }, 400, 'bad_request'],
      [{ ...click, eventName: undefined }, 400, 'bad_request'],
      [{ ...click, eventName: '' }, 400, 'bad_request'],
      [{ ...click, eventName: 'x'.repeat(513) }, 400, 'bad_request'],
      [{ ...click, indexUid: undefined }, 400, 'missing_index_uid'],
      [{ ...click, indexUid: 'no uid' }, 400, 'invalid_index_uid'],
      [{ ...click, indexUid: 'missing' }, 404, 'index_not_found'],
      [{ ...click, objectID: '2' }, 400, 'bad_request'],
      [{ ...click, objectId: true }, 400, 'bad_request'],
      [{ ...click, position: -1 }, 400, 'bad_request'],
      [{ ...click, position: 1.5 }, 400, 'bad_request'],
      [{ ...click, price: 3 }, 400, 'bad_request'],
    ];
    for (const [body, status, code] of cases) {
      const received = await send('POST', events, body);
      assert.deepEqual([received.status, received.json.code], [status, code], JSON.stringify(body));
    }
    assert.deepEqual((await report('summary'))[0], before);
  });

  it('takes events with a key that may search the index, and no others', async () => {
    const key = await newKey(['search'], ['boo*']);
    assert.equal((await send('POST', events, click, {}, key)).status, 201);
    const other = await send('POST', events, { ...click, indexUid: 'films' }, {}, key);
    assert.deepEqual([other.status, other.json.code], [403, 'invalid_api_key']);
    const reader = await newKey(['analytics.get'], ['*']);
    assert.equal((await send('POST', events, click, {}, reader)).status, 403);
    assert.equal((await send('POST', events, click, {}, null)).status, 401);
  });

  it('serves nothing but events and the health at their address', async () => {
    const base = events.replace('/events', '');
    assert.equal((await send('GET', `${base}/health`)).status, 200);
    assert.equal((await send('GET', `${base}/indexes`)).status, 404);
    assert.equal((await send('GET', events)).status, 405);
    const preflight = await fetch(events, {
      method: 'OPTIONS',
      headers: { origin: 'http://shop.test', 'access-control-request-method': 'POST' },
    });
    assert.equal(preflight.headers.get('access-control-allow-origin'), '*');
  });

  it('shows a limited key its indexes alone, and needs the action for it', async () => {
    const limited = await newKey(['analytics.get'], ['films']);
    const { json } = await send('GET', '/analytics/top-searches', undefined, {}, limited);
    assert.deepEqual(
      json.results.map(({ indexUid, query }: any) => [indexUid, query]),
      [['films', 'dune']],
    );
    const summary = await send('GET', '/analytics/summary?groupBy=index', undefined, {}, limited);
    assert.deepEqual(
      summary.json.results.map(({ indexUid }: any) => indexUid),
      ['films'],
    );
    const none = await send('GET', '/analytics/summary?indexUids=books', undefined, {}, limited);
    assert.equal(none.json.results[0].searches, 0);
    const searcher = await newKey(['search'], ['*']);
    assert.equal((await send('GET', '/analytics/summary', undefined, {}, searcher)).status, 403);
    const everything = await newKey(['*.get'], ['*']);
    assert.equal((await send('GET', '/analytics/summary', undefined, {}, everything)).status, 200);
  });

  it('sums up by index and day, over a time, with latencies', async () => {
    const rows = await report('summary?groupBy=day,index');
    const today = new Date().toISOString().slice(0, 10);
    const books = rows.find(({ indexUid }) => indexUid === 'books');
    assert.ok(books.searches > 5);
    assert.ok(books.day <= today);
    const { p50, p90, p95, p99 } = books.latencyMs;
    assert.ok(p50 > 0 && p50 <= p90 && p90 <= p95 && p95 <= p99);
    const [before] = await report('summary?to=2001-01-01');
    assert.equal(before.searches, 0);
    const [after] = await report('summary?from=2001-01-01');
    assert.ok(after.searches >= books.searches);
    const { json } = await send('GET', '/analytics/top-searches?limit=1&offset=1');
    assert.deepEqual([json.results.length, json.limit, json.offset], [1, 1, 1]);
    assert.ok(json.total > 2);
  });

  it('gives every report as CSV too', async () => {
    for (const name of ['summary', 'top-searches', 'searches-without-results', 'top-filters']) {
      const { status, headers, text } = await send('GET', `/analytics/${name}?format=csv`);
      assert.equal(status, 200);
      assert.equal(headers.get('content-type'), 'text/csv; charset=utf-8');
      assert.match(text.split('\r\n')[0]!, /^[a-zA-Z0-9.,]+$/);
    }
    const { text } = await send('GET', '/analytics/searches-without-results?format=csv');
    assert.match(text, /^books,nowhere,1,1,0,0,0,0,0,$/m);
  });

  it('leaves out what was typed on the way, and reports what could not be recorded', async () => {
    for (const q of ['zeb', 'zebr', 'zebra']) await search(q, 'u9');
    const queries = async (more: string): Promise<string[]> =>
      (await report(`top-searches?limit=1000${more}`))
        .map(({ query }) => query)
        .filter((query) => query.startsWith('zeb'));
    assert.deepEqual(await queries(''), ['zeb', 'zebr', 'zebra']);
    assert.deepEqual(await queries('&finalQueries=true'), ['zebra']);
    await server.call('PATCH', '/experimental-features', { body: { metrics: true } });
    const { text } = await send('GET', '/metrics');
    assert.match(text, /^gannet_analytics_dropped_searches_total 0$/m);
  });

  it('refuses bad parameters of reports', async () => {
    for (const query of ['limit=1001', 'from=yesterday', 'format=xml', 'groupBy=week', 'a=1']) {
      const path = `/analytics/${query.startsWith('g') ? 'summary' : 'top-searches'}?${query}`;
      const { status, json } = await send('GET', path);
      assert.deepEqual([status, json.code], [400, 'bad_request'], query);
    }
  });

  it('keeps every event that was acknowledged, through a kill', async () => {
    const dropped = await startBuiltServer(['--analytics-retention-days', '3']);
    try {
      await dropped.finish('POST', '/indexes', { body: { uid: 'books' } });
      let acknowledged = 0;
      const sending = Array.from({ length: 20 }, async () => {
        for (let n = 0; n < 20; n++) {
          const sent = await dropped.call('POST', '/events', { body: click }).catch(() => null);
          if (sent === null) return;
          assert.equal(sent.status, 201);
          if (++acknowledged === 150) process.kill(dropped.pid, 'SIGKILL');
        }
      });
      await Promise.all(sending);
      const { valid, text } = await dropped.verify();
      assert.ok(valid, text);
      const stored = Number(/analytics: (\d+) searches and events/.exec(text)![1]);
      assert.ok(stored >= acknowledged, `${stored} of ${acknowledged}`);
    } finally {
      await dropped.close();
    }
  });

  it('records nothing and says so when it is off', async () => {
    const plain = await startBuiltServer();
    try {
      for (const [method, path, body] of [
        ['POST', '/events', click],
        ['GET', '/analytics/summary', undefined],
      ] as const) {
        const { status, json } = await plain.call(method, path, { body });
        assert.deepEqual([status, json.code], [400, 'feature_not_enabled']);
      }
    } finally {
      await plain.close();
    }
  });
});
