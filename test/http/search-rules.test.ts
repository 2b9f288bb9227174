/** Dynamic search rules: the result of a batch of changes, and the limits. */
import assert from 'node:assert/strict';
import type { SearchRule } from '../../src/contract/search-rules.ts';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';

type Action = SearchRule['actions'][number]['action'];

describe('Dynamic search rules', () => {
  const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 2 ** 32);
  const random = mulberry(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
    await server.call('PATCH', '/experimental-features', { body: { dynamicSearchRules: true } });
  });
  after(() => server.close());

  const put = (uid: string, body: unknown): Promise<any> =>
    server.finish('PATCH', `/dynamic-search-rules/${uid}`, { body });
  const list = async (body: unknown): Promise<any> =>
    (await server.call('POST', '/dynamic-search-rules', { body })).json;
  const uids = ({ results }: any): string[] => results.map(({ uid }: any) => uid);

  it('that are changed together are changed in their order', async () => {
    await server.finish('PATCH', '/dynamic-search-rules/old', { body: {} });
    const waiting: Promise<any>[] = [];
    const wait = async (method: string, path: string, body?: unknown): Promise<void> => {
      const { json } = await server.call(method, path, body === undefined ? {} : { body });
      waiting.push(server.ended(json.taskUid));
    };
    await wait('PATCH', '/dynamic-search-rules/a', { description: 'first', precedence: 1 });
    await wait('PATCH', '/dynamic-search-rules/a', { description: 'second' });
    await wait('DELETE', '/dynamic-search-rules/old');
    await wait('DELETE', '/dynamic-search-rules');
    await wait('PATCH', '/dynamic-search-rules/c', { precedence: 2 });
    await wait('PATCH', '/dynamic-search-rules/b', {});
    await wait('PATCH', '/dynamic-search-rules/c', { description: 'third' });
    const tasks = await Promise.all(waiting);
    assert.ok(tasks.every(({ status }) => status === 'succeeded'));
    assert.deepEqual(tasks[3].details, { deletedDocuments: 1 });
    const { results } = await list({});
    assert.deepEqual(
      results.map((rule: any) => ({ ...rule, lastUpdatedAt: null })),
      [
        {
          uid: 'c',
          description: 'third',
          lastUpdatedAt: null,
          precedence: 2,
          active: true,
          conditions: {},
          actions: [],
        },
        { uid: 'b', lastUpdatedAt: null, active: true, conditions: {}, actions: [] },
      ],
    );
  });

  it('are listed 1,000 at a time, whatever is asked for', async () => {
    await server.finish('DELETE', '/dynamic-search-rules');
    const description = 'x'.repeat(1_000);
    const last = await Promise.all(
      Array.from({ length: 1_010 }, (_, n) =>
        server.call('PATCH', `/dynamic-search-rules/r${n}`, { body: { description } }),
      ),
    );
    assert.ok(last.every(({ status }) => status === 202));
    await put('end', {});
    const first = await list({ limit: 1_000_000 });
    assert.equal(first.results.length, 1_000);
    assert.equal(first.limit, 1_000);
    assert.equal(first.total, 1_011);
    const rest = await list({ limit: 1_000_000, offset: 1_000 });
    assert.equal(rest.results.length, 11);
    assert.equal(new Set([...uids(first), ...uids(rest)]).size, 1_011);
    await server.finish('DELETE', '/dynamic-search-rules');
  });

  it('that are too large fail their task and change nothing', async () => {
    await put('large', { description: 'small' });
    await put('large', { conditions: { query: { words: 'x'.repeat(500_000) } } });
    const task = await put('large', { description: 'x'.repeat(900_000) });
    assert.equal(task.status, 'failed');
    assert.equal(task.error.code, 'bad_request');
    const { results } = await list({});
    assert.equal(results[0].description, 'small');
    const many = await server.call('PATCH', '/dynamic-search-rules/large', {
      body: {
        actions: Array.from({ length: 1_001 }, (_, n) => ({
          selector: { id: String(n) },
          action: { type: 'pin', position: 0 },
        })),
      },
    });
    assert.equal(many.json.code, 'invalid_dynamic_search_rule_actions');
  });

  it('are found by their words', async () => {
    await server.finish('DELETE', '/dynamic-search-rules');
    await put('d', { description: 'winter shoes' });
    await put('w', { conditions: { query: { words: 'Winter shoes' } } });
    await put('half', { description: 'winter' });
    await put('none', { description: 'shoes' });
    const found = async (query: string): Promise<string[]> =>
      uids(await list({ filter: { query } }));
    assert.deepEqual(await found('winter shoes'), ['w', 'd']);
    assert.deepEqual(await found('winter boots'), ['w', 'half', 'd']);
    assert.deepEqual(await found('boots winter'), []);
  });

  /** Documents 0 to 39 with few words, so that ranks tie and filters leave some. */
  const documents = Array.from({ length: 40 }, (_, id) => ({
    id,
    text: `${['red', 'blue', 'green'][id % 3]} ${['hat', 'shoe'][id % 2]} number${id}`,
    kind: `k${id % 4}`,
    price: (id * 7) % 20,
  }));

  it(`place documents as the naive model does (GANNET_SEED=${seed})`, async () => {
    await server.finish('DELETE', '/dynamic-search-rules');
    await server.finish('PATCH', '/indexes/goods/settings', {
      body: {
        searchableAttributes: ['text'],
        filterableAttributes: ['id', 'kind', 'price'],
        sortableAttributes: ['price'],
      },
    });
    await server.finish('POST', '/indexes/goods/documents?primaryKey=id', { body: documents });
    const feature = (dynamicSearchRules: boolean): Promise<unknown> =>
      server.call('PATCH', '/experimental-features', { body: { dynamicSearchRules } });

    for (let round = 0; round < 10; round++) {
      await server.finish('DELETE', '/dynamic-search-rules');
      const rules = Array.from({ length: 1 + below(5) }, (_, n) => ruleOf(n));
      for (const { uid, ...body } of rules) await put(uid, body);
      for (let n = 0; n < 15; n++) {
        const query = queryOf();
        const { pinned, hidden, filter } = pinsOf(rules, query);
        const withRules = (await server.call('POST', '/indexes/goods/search', { body: query }))
          .json;
        await feature(false);
        const all = { ...query, limit: 1000, offset: 0, page: undefined, hitsPerPage: undefined };
        const others = [...pinned.map(({ id }) => id), ...hidden];
        const ordinary = (
          await server.call('POST', '/indexes/goods/search', {
            body: { ...all, filter: [...filter, `id NOT IN [${others.join(', ')}]`] },
          })
        ).json;
        await feature(true);
        const context = `round ${round}: ${JSON.stringify({ query, rules })}`;
        const ranked = withPinned(ordinary.hits, pinned);
        const { page, hitsPerPage, offset = 0, limit = 20 } = query;
        const from = page === undefined ? offset : (page - 1) * hitsPerPage!;
        const count = page === undefined ? limit : hitsPerPage!;
        assert.deepEqual(
          withRules.hits.map(({ id }: any) => id),
          ranked.slice(from, from + count).map(({ id }) => id),
          context,
        );
        // With a threshold or `distinct` the total is only estimated while hits after the page are
        // not examined.
        const removes = query.rankingScoreThreshold !== undefined || query.distinct !== undefined;
        const isExact = !removes || page !== undefined;
        const total = ordinary.estimatedTotalHits + pinned.length;
        if (isExact) {
          assert.equal(withRules.totalHits ?? withRules.estimatedTotalHits, total, context);
        }
        for (const [i, hit] of withRules.hits.entries()) {
          const pin = pinned.find(({ id }) => id === hit.id);
          const details = hit._rankingScoreDetails;
          assert.equal('pin' in details, pin !== undefined, `${context} ${i}`);
          if (pin === undefined) continue;
          assert.equal(hit._rankingScore, 1);
          assert.deepEqual(details, { pin: { order: 0, position: pin.position } });
        }
        const counts: Record<string, number> = { ...ordinary.facetDistribution.kind };
        for (const { id } of pinned) {
          const { kind } = documents[id]!;
          counts[kind] = (counts[kind] ?? 0) + 1;
        }
        if (isExact) assert.deepEqual(withRules.facetDistribution.kind, counts, context);
      }
    }
  });

  it(`place documents in merged lists as the naive model does (GANNET_SEED=${seed})`, async () => {
    const feature = (dynamicSearchRules: boolean): Promise<unknown> =>
      server.call('PATCH', '/experimental-features', { body: { dynamicSearchRules } });
    for (const uid of ['goods', 'other']) {
      await server.finish('PATCH', `/indexes/${uid}/settings`, {
        body: { searchableAttributes: ['text'], filterableAttributes: ['id', 'kind', 'price'] },
      });
      await server.finish('POST', `/indexes/${uid}/documents?primaryKey=id`, { body: documents });
    }
    for (let round = 0; round < 6; round++) {
      await server.finish('DELETE', '/dynamic-search-rules');
      const rules = Array.from({ length: 1 + below(5) }, (_, n) => ruleOf(n));
      for (const { uid, ...body } of rules) await put(uid, body);
      for (let n = 0; n < 12; n++) {
        const queries = Array.from({ length: 1 + below(3) }, () => {
          const { q, filter } = queryOf();
          const weight = pick([1, 0.5, 2]);
          return {
            ...{ indexUid: pick(['goods', 'goods', 'other']), q, federationOptions: { weight } },
            ...(filter === undefined ? {} : { filter }),
            ...{ showRankingScore: true, showRankingScoreDetails: true },
          };
        });
        const facetsByIndex = Object.fromEntries(
          queries.map(({ indexUid }) => [indexUid, ['kind']]),
        );
        const distinct = pick([null, null, 'price']);
        const federation = { facetsByIndex, distinct };
        const { offset, limit, page, hitsPerPage } = queryOf();
        const merged = await multi({ ...federation, offset, limit, page, hitsPerPage }, queries);
        // Each document once per index: the pin of the first query that has it.
        const pins: (Pinned & { query: number; uid: string })[] = [];
        for (const [query, { indexUid: uid, ...rest }] of queries.entries()) {
          for (const pin of pinsOf(rules, rest, uid).pinned) {
            if (pins.some((other) => other.uid === uid && other.id === pin.id)) continue;
            pins.push({ ...pin, query, uid });
          }
        }
        const pinned = pins.toSorted((a, b) => a.position - b.position);
        await feature(false);
        const ordinary = await multi(
          page === undefined
            ? { ...federation, limit: 1000 }
            : { ...federation, page: 1, hitsPerPage: 1000 },
          queries.map((query) => {
            const { filter = [], indexUid: uid } = query;
            const elsewhere = pinned.filter((pin) => pin.uid === uid).map(({ id }) => id);
            // A query hides from its own hits only.
            const others = [...elsewhere, ...pinsOf(rules, query, uid).hidden];
            return { ...query, filter: [...filter, `id NOT IN [${others.join(', ')}]`] };
          }),
        );
        await feature(true);
        const context = `round ${round}: ${JSON.stringify({ queries, federation, rules })}`;
        const list = withPinned(ordinary.hits, pinned) as any[];
        const from = page === undefined ? (offset ?? 0) : (page - 1) * hitsPerPage!;
        const count = page === undefined ? (limit ?? 20) : hitsPerPage!;
        const shown = list
          .slice(from, from + count)
          .map((entry) =>
            'position' in entry
              ? [entry.uid, entry.query, entry.id, { pin: { order: 0, position: entry.position } }]
              : [entry._federation.indexUid, entry._federation.queriesPosition, entry.id, null],
          );
        const found = merged.hits.map((hit: any) => {
          const { indexUid, queriesPosition, weightedRankingScore } = hit._federation;
          const isPin = 'pin' in hit._rankingScoreDetails;
          if (isPin) {
            const { weight } = queries[queriesPosition]!.federationOptions;
            assert.equal(weightedRankingScore, weight);
            assert.equal(hit._rankingScore, 1);
          }
          return [indexUid, queriesPosition, hit.id, isPin ? hit._rankingScoreDetails : null];
        });
        assert.deepEqual(found, shown, context);
        const total = (response: any): number => response.totalHits ?? response.estimatedTotalHits;
        if (distinct === null) {
          assert.equal(total(merged), total(ordinary) + pinned.length, context);
          for (const uid of Object.keys(facetsByIndex)) {
            const counts = { ...ordinary.facetsByIndex[uid].distribution.kind };
            for (const { id } of pinned.filter((pin) => pin.uid === uid)) {
              const { kind } = documents[id]!;
              counts[kind] = (counts[kind] ?? 0) + 1;
            }
            assert.deepEqual(merged.facetsByIndex[uid].distribution.kind, counts, context);
          }
        }
      }
    }
  });

  it('have positions for pins, and none for what they hide', async () => {
    for (const action of [
      { type: 'pin' },
      { type: 'pin', position: null },
      { type: 'hide', position: 0 },
      { type: 'hide', n: 1 },
    ]) {
      const { status, json } = await server.call('PATCH', '/dynamic-search-rules/wrong', {
        body: { actions: [{ selector: { id: '1' }, action }] },
      });
      assert.deepEqual([status, json.code], [400, 'invalid_dynamic_search_rule_actions']);
    }
    const selector = { id: '1' };
    await put('hides', { actions: [{ selector, action: { type: 'hide', position: null } }] });
    const { json } = await server.call('GET', '/dynamic-search-rules/hides');
    assert.deepEqual(json.actions, [{ selector, action: { type: 'hide' } }]);
  });

  it('that pin what no document can be called pin nothing', async () => {
    await server.finish('DELETE', '/dynamic-search-rules');
    await server.finish('POST', '/indexes/called/documents', { body: [{ id: 1 }, { id: 2 }] });
    const ids = ['', 'x'.repeat(600), '2'];
    const actions = ids.map((id, position) => ({
      selector: { id },
      action: { type: 'pin', position },
    }));
    await put('pin', { actions });
    const { status, json } = await server.call('POST', '/indexes/called/search', { body: {} });
    assert.equal(status, 200, JSON.stringify(json));
    assert.deepEqual(
      json.hits.map(({ id }: any) => id),
      [1, 2],
    );
  });

  it('count no pin among the hits that vectors found', async () => {
    await server.finish('DELETE', '/dynamic-search-rules');
    await server.finish('PATCH', '/indexes/vectors/settings', {
      body: { embedders: { e: { source: 'userProvided', dimensions: 2 } } },
    });
    await server.finish('POST', '/indexes/vectors/documents', {
      body: [1, 2, 3, 4, 5].map((id) => ({ id, text: `red ${id}`, _vectors: { e: [id, 1] } })),
    });
    const actions = [{ selector: { id: '3' }, action: { type: 'pin', position: 1 } }];
    await put('pin', { actions });
    const semantic = { vector: [1, 0], hybrid: { embedder: 'e', semanticRatio: 1 } };
    const both = { q: 'red 2', vector: [1, 0], hybrid: { embedder: 'e', semanticRatio: 0.8 } };
    const rows: [query: object, paging: object, ids: number[], count: number][] = [
      [semantic, { limit: 2 }, [5, 3], 1],
      [semantic, { limit: 1, offset: 1 }, [3], 0],
      [semantic, { limit: 2, offset: 3 }, [2, 1], 2],
      [semantic, { page: 1, hitsPerPage: 3 }, [5, 3, 4], 2],
      [semantic, {}, [5, 3, 4, 2, 1], 4],
    ];
    for (const [query, paging, ids, count] of rows) {
      const body = { ...query, ...paging };
      const { json } = await server.call('POST', '/indexes/vectors/search', { body });
      assert.deepEqual([json.hits.map(({ id }: any) => id), json.semanticHitCount], [ids, count]);
    }
    // For a hybrid search, the hits of the page found by their vectors.
    const { json } = await server.call('POST', '/indexes/vectors/search', {
      body: { ...both, limit: 3, showRankingScoreDetails: true },
    });
    const byVector = json.hits.filter((hit: any) => 'vectorSort' in hit._rankingScoreDetails);
    assert.equal(json.hits[1].id, 3);
    assert.equal(json.semanticHitCount, byVector.length);
    assert.ok(byVector.length > 0);
  });

  async function multi(federation: object, queries: object[]): Promise<any> {
    const { json } = await server.call('POST', '/multi-search', { body: { federation, queries } });
    assert.ok(json.hits !== undefined, JSON.stringify(json));
    return json;
  }

  interface Query {
    q: string;
    filter?: string[];
    sort?: string[];
    distinct?: string;
    rankingScoreThreshold?: number;
    offset?: number;
    limit?: number;
    page?: number;
    hitsPerPage?: number;
  }
  interface Rule {
    uid: string;
    active: boolean;
    precedence: number | null;
    conditions: any;
    actions: {
      selector: { indexUid?: string; id: string };
      action: Action;
    }[];
  }
  interface Pinned {
    id: number;
    position: number;
  }

  function ruleOf(n: number): Rule {
    const conditions = pick<() => any>([
      () => ({}),
      () => ({ query: { words: pick(['red', 'Hat', 'blue shoe', 'red hat', 'none']) } }),
      () => ({ query: { isEmpty: below(2) === 0 } }),
      () => ({ time: { end: pick(['2020-01-01T00:00:00Z', '2999-01-01T00:00:00Z']) } }),
      () => ({ filter: { values: { kind: `k${below(4)}` } } }),
    ])();
    const actions = Array.from({ length: below(5) }, () => ({
      selector: {
        id: String(below(45)),
        ...pick([{}, { indexUid: 'goods' }, { indexUid: 'other' }]),
      },
      action: pick<() => Action>([
        () => ({ type: 'hide' }),
        () => ({ type: 'pin', position: pick([0, 0, 1, 2, 3, 5, 10, 30, 100]) }),
        () => ({ type: 'pin', position: below(6) }),
      ])(),
    }));
    const precedence = pick([null, 0, 1, 1, 2]);
    return { uid: `rule-${n}`, active: below(5) > 0, precedence, conditions, actions };
  }

  function queryOf(): Query {
    const kinds = pick([undefined, `kind = k${below(4)}`, `kind IN [k0, k${below(4)}]`]);
    const paging = pick<() => object>([
      () => ({ offset: below(8), limit: below(30) }),
      () => ({ page: 1 + below(3), hitsPerPage: 1 + below(15) }),
      () => ({}),
    ])();
    return {
      q: pick(['', 'red', 'red hat', 'blue shoe', 'shoe -red', '"red hat"', 'nothing', '-red']),
      ...(kinds !== undefined && { filter: [kinds] }),
      ...pick([{}, {}, { sort: ['price:asc'] }]),
      ...pick([{}, {}, { distinct: 'kind' }]),
      ...pick([{}, {}, { rankingScoreThreshold: 0.5 }]),
      ...{ facets: ['kind'], showRankingScore: true, showRankingScoreDetails: true },
      ...paging,
    };
  }

  /** The naive model: the remaining pins of a query, by position. */
  function pinsOf(
    rules: Rule[],
    { q, filter = [] }: Query,
    uid = 'goods',
  ): { pinned: Pinned[]; hidden: number[]; filter: string[] } {
    const positive = q.replace(/-\S+/g, '').trim();
    const words = positive
      .replace(/"[^"]*"/g, '')
      .toLowerCase()
      .split(/\s+/);
    const kinds = filter.length === 0 ? null : filter[0]!.match(/k\d/g)!;
    const holds = ({ active, conditions: { query, time, filter: wanted } }: Rule): boolean => {
      if (!active) return false;
      if (query?.isEmpty !== undefined && query.isEmpty !== (positive === '')) return false;
      if (
        query?.words
          ?.toLowerCase()
          .split(' ')
          .some((word: string) => !words.includes(word))
      )
        return false;
      if (time !== undefined && time.end < '2026') return false;
      return wanted === undefined || kinds?.includes(wanted.values.kind) === true;
    };
    const order = (rule: Rule): number => rule.precedence ?? Infinity;
    const pinned: Pinned[] = [];
    const hidden: number[] = [];
    // Sorting is stable, and rules without precedence come last.
    for (const { actions } of rules.filter(holds).toSorted((a, b) => compare(order(a), order(b)))) {
      for (const { selector, action } of actions) {
        const document = documents[Number(selector.id)];
        if ((selector.indexUid ?? uid) !== uid || document === undefined) continue;
        if (kinds !== null && !kinds.includes(document.kind)) continue;
        if (hidden.includes(document.id)) continue;
        if (pinned.some(({ id }) => id === document.id)) continue;
        if (action.position === undefined) hidden.push(document.id);
        else pinned.push({ id: document.id, position: action.position });
      }
    }
    return { pinned: pinned.toSorted((a, b) => a.position - b.position), hidden, filter };
  }

  function compare(a: number, b: number): number {
    return a === b ? 0 : a < b ? -1 : 1;
  }

  function withPinned(ordinary: { id: number }[], pinned: Pinned[]): { id: number }[] {
    const list: { id: number }[] = [];
    const [hits, pins] = [[...ordinary], [...pinned]];
    while (hits.length > 0 || pins.length > 0) {
      const isPin = pins.length > 0 && (pins[0]!.position <= list.length || hits.length === 0);
      list.push(isPin ? pins.shift()! : hits.shift()!);
    }
    return list;
  }
});
