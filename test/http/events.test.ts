import assert from 'node:assert/strict';
import jwt from 'jsonwebtoken';
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

  describe('of searches interleaved with another index', () => {
    const IDS = [1, 2, 3, 4, 5, 6, 7, 8];
    const interleave = { with: 'draft' };
    interface Given {
      id: string;
      index: string;
    }
    const ask = (body: object, user = 'ada', more: object = {}, key?: string): Promise<Sent> =>
      send(
        'POST',
        '/indexes/live/search',
        { interleave, ...body },
        { 'x-svc-user-id': user, ...more },
        ...(key === undefined ? [] : [key]),
      );
    /** The hits, with the index that has given each. */
    const given = async (body: object, user?: string): Promise<Given[]> => {
      const { json, text } = await ask(
        { ...body, interleave: { ...interleave, showIndex: true } },
        user,
      );
      assert.ok(json.hits !== undefined, text);
      return json.hits.map((hit: any) => ({ id: hit.id, index: hit._federation.indexUid }));
    };
    const clicked = async (user: string, objectId: string | number): Promise<void> => {
      const event = { ...click, indexUid: 'live', objectId };
      const sent = await send('POST', '/events', event, { 'x-svc-user-id': user });
      assert.equal(sent.status, 201, sent.text);
    };
    const compared = async (query = ''): Promise<any> =>
      (await report(`interleaving?indexUids=live${query}`))[0];

    before(async () => {
      for (const [uid, order] of [
        ['live', 'asc'],
        ['draft', 'desc'],
      ] as const) {
        await server.finish('PATCH', `/indexes/${uid}/settings`, {
          body: {
            rankingRules: [`rank:${order}`],
            sortableAttributes: ['rank'],
            filterableAttributes: ['kind', 'secret'],
            embedders: { e: { source: 'userProvided', dimensions: 2 } },
          },
        });
        const documents = IDS.map((rank) => ({
          ...{ id: `d${rank}`, rank, kind: rank % 2 === 0 ? 'even' : 'odd', title: 'a thing' },
          ...{ secret: rank > 6, _vectors: { e: [1, rank] } },
        }));
        const extra = {
          id: 'new',
          secret: false,
          rank: 9,
          kind: 'odd',
          title: 'a thing',
          _vectors: { e: [0, 1] },
        };
        const body = uid === 'live' ? documents : [...documents, extra];
        await server.finish('POST', `/indexes/${uid}/documents?primaryKey=id`, { body });
      }
      const body = [{ key: 1 }];
      await server.finish('POST', '/indexes/otherwise/documents?primaryKey=key', { body });
    });

    it('takes hits alternately, each document once, and the same ones for the same user', async () => {
      const drafts = new Set<string>();
      for (const user of ['ada', 'bob', 'cem', 'dan', 'eve', 'fay']) {
        const hits = await given({ q: 'thing' }, user);
        assert.deepEqual(hits.map(({ id }) => id).toSorted(), [...IDS.map((n) => `d${n}`), 'new']);
        const taken = new Set<string>();
        for (const { id, index } of hits) {
          const lists = {
            live: IDS.map((n) => `d${n}`),
            draft: ['new', ...IDS.toReversed().map((n) => `d${n}`)],
          };
          assert.equal(
            id,
            lists[index as keyof typeof lists].find((one) => !taken.has(one)),
          );
          taken.add(id);
        }
        for (let n = 0; n < 8; n += 2) assert.notEqual(hits[n]!.index, hits[n + 1]!.index);
        const pages = [];
        for (let offset = 0; offset < 10; offset += 2) {
          pages.push(...(await given({ q: ' Thing', offset, limit: 2 }, user)));
        }
        assert.deepEqual(pages, hits);
        const path = '/indexes/live/search?q=thing&interleaveWith=draft';
        const { json } = await send('GET', path, undefined, { 'x-svc-user-id': user });
        assert.deepEqual(
          json.hits.map(({ id }: any) => id),
          hits.map(({ id }) => id),
        );
        const numbered = await given({ q: 'thing', page: 2, hitsPerPage: 4 }, user);
        assert.deepEqual(numbered, hits.slice(4, 8));
        drafts.add(JSON.stringify(hits));
      }
      assert.ok(drafts.size > 1, 'all users see the same draft');
    });

    it('responds as a search of one index does', async () => {
      for (const more of [
        { facets: ['kind'], limit: 3 },
        {
          facets: ['kind'],
          hitsPerPage: 3,
          showRankingScore: true,
          attributesToRetrieve: ['rank'],
        },
      ]) {
        const body = { q: 'thing', ...more };
        const headers = { 'meili-include-metadata': 'true' };
        const { json } = await ask(body, 'ada', headers);
        const plain = (await send('POST', '/indexes/live/search', body, headers)).json;
        assert.deepEqual(Object.keys(json).toSorted(), Object.keys(plain).toSorted());
        assert.deepEqual(json.hits.map(Object.keys), plain.hits.map(Object.keys));
        assert.deepEqual(json.facetDistribution, plain.facetDistribution);
        assert.deepEqual(json.metadata.indexUid, 'live');
        assert.equal(json.estimatedTotalHits ?? json.totalHits, 9);
      }
      const { text } = await ask({
        ...{ q: 'thing', vector: [1, 1], hybrid: { embedder: 'e' }, showPerformanceDetails: true },
      });
      assert.equal(text.match(/"semanticHitCount"/g)?.length, 1, text);
      assert.match(text, /"performanceDetails"/);
    });

    it('credits clicks to the index that has given the document, per user and query', async () => {
      const before = await compared();
      const users = ['kim', 'leo', 'mia', 'noa'];
      const of = (hits: Given[], index: string): string[] =>
        hits.filter((hit) => hit.index === index).map(({ id }) => id);
      for (const [n, user] of users.entries()) {
        const hits = await given({ q: 'thing' }, user);
        const [mine, other] = [of(hits, 'live'), of(hits, 'draft')];
        // Three prefer the draft, one has both; what is repeated, or was not shown, does not count.
        await clicked(user, other[0]!);
        if (n === 3) await clicked(user, mine[0]!);
        await clicked(user, other[0]!);
        await clicked(user, 'd99');
        // The second page belongs to the same comparison.
        const [last] = await given({ q: 'thing', offset: 8 }, user);
        if (n === 0) await clicked(user, last!.id);
      }
      const after = await compared();
      const lead = (await given({ q: 'thing' }, 'kim'))[8]!.index === 'draft' ? 1 : 0;
      assert.deepEqual(
        [after.with, after.wins, after.losses, after.ties],
        ['draft', 2 + lead, 0, 2 - lead],
      );
      assert.equal(after.searches - before.searches, 8);
      assert.equal(after.pValue, 2 * 0.5 ** (2 + lead));
      assert.ok(
        after.preferenceLow <= after.preference && after.preference <= after.preferenceHigh,
      );
      const csv = await send('GET', '/analytics/interleaving?format=csv');
      const [names, row] = csv.text.split('\r\n');
      assert.equal(
        names,
        'indexUid,with,searches,wins,losses,ties,preference,preferenceLow,preferenceHigh,pValue',
      );
      assert.match(row!, /^live,draft,\d+,/);
      assert.equal((await report('interleaving?from=2001-01-01&to=2001-01-02')).length, 0);
    });

    it('credits nothing for searches that are not recorded, or of one index', async () => {
      const before = await compared();
      await ask({ q: 'thing' }, 'tom', { 'x-gannet-test-search': 'true' });
      await send('POST', '/indexes/live/search', { q: 'thing' }, { 'x-svc-user-id': 'tom' });
      await clicked('tom', 'd1');
      assert.deepEqual(await compared(), before);
    });

    it('keeps to what the key and the token allow in each index', async () => {
      const narrow = await newKey(['search'], ['live']);
      const { status, json } = await ask({}, 'ada', {}, narrow);
      assert.deepEqual([status, json.code], [403, 'invalid_api_key']);
      const key = (
        await server.call('POST', '/keys', {
          body: { actions: ['search'], indexes: ['live', 'draft'], expiresAt: null },
        })
      ).json;
      const token = (searchRules: object): string =>
        jwt.sign({ apiKeyUid: key.uid, searchRules }, key.key, { expiresIn: 600 });
      const refused = await ask({}, 'ada', {}, token({ live: {} }));
      assert.deepEqual([refused.status, refused.json.code], [403, 'invalid_api_key']);
      const rules = { live: { filter: 'secret = false' }, draft: { filter: 'kind = even' } };
      const shown = await ask({ limit: 20 }, 'ada', {}, token(rules));
      assert.deepEqual(shown.json.hits.map(({ id }: any) => id).toSorted(), [
        'd1',
        'd2',
        'd3',
        'd4',
        'd5',
        'd6',
        'd8',
      ]);
      const reader = await newKey(['analytics.get'], ['live']);
      const rows = await send('GET', '/analytics/interleaving', undefined, {}, reader);
      assert.deepEqual(rows.json.results, []);
    });

    it('refuses what makes no sense', async () => {
      const cases: [object, string][] = [
        [{ interleave: { with: 'nowhere' } }, 'index_not_found'],
        [{ interleave: { with: 'otherwise' } }, 'invalid_search_interleave'],
        [{ interleave: { with: 'no uid' } }, 'invalid_search_interleave'],
        [{ interleave: {} }, 'invalid_search_interleave'],
        [{ interleave: 'draft' }, 'invalid_search_interleave'],
        [{ interleave: { with: 'draft', by: 1 } }, 'invalid_search_interleave'],
        [{ groupBy: { attribute: 'kind' } }, 'invalid_search_interleave'],
        [{ rerank: { model: 'm' } }, 'invalid_search_interleave'],
        [{ diversity: { attribute: 'kind' } }, 'invalid_search_interleave'],
        [{ useNetwork: true }, 'invalid_search_interleave'],
        [{ filter: 'title = x' }, 'invalid_search_filter'],
        [{ interleave: { with: 'books' }, filter: 'secret = true' }, 'invalid_search_filter'],
        [
          { q: 'x', interleave: { with: 'books' }, hybrid: { embedder: 'e' } },
          'invalid_search_embedder',
        ],
      ];
      for (const [body, code] of cases) {
        const { status, json } = await ask(body);
        assert.deepEqual([status, json.code], [400, code], JSON.stringify([body, json]));
      }
      const of = await ask({ interleave: { with: 'books' }, filter: 'secret = true' });
      assert.match(of.json.message, /interleave\.with/);
      const queries = [{ indexUid: 'live', interleave }];
      assert.equal((await send('POST', '/multi-search', { queries })).json.code, 'bad_request');
      assert.equal((await send('GET', '/indexes/live/search?interleaveWith=nowhere')).status, 400);
    });

    it('is charged as two searches', async () => {
      const rateLimit = { requestsPerSecond: 1 };
      const body = { actions: ['search'], indexes: ['*'], expiresAt: null, rateLimit };
      const { key } = (await server.call('POST', '/keys', { body })).json;
      const begun = performance.now();
      const { headers } = await ask({}, 'ada', {}, key);
      const seconds = Math.floor((performance.now() - begun) / 1000);
      const reset = Number(headers.get('ratelimit-reset'));
      assert.ok(reset <= 2 && 2 <= reset + seconds, `${reset}, ${seconds} s`);
    });
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
      await plain.finish('POST', '/indexes', { body: { uid: 'books' } });
      for (const [method, path, body] of [
        ['POST', '/events', click],
        ['GET', '/analytics/summary', undefined],
        ['POST', '/indexes/books/search', { interleave: { with: 'books' } }],
      ] as const) {
        const { status, json } = await plain.call(method, path, { body });
        assert.deepEqual([status, json.code], [400, 'feature_not_enabled']);
      }
    } finally {
      await plain.close();
    }
  });
});
