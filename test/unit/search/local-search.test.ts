import assert from 'node:assert/strict';
import { ApiError } from '../../../src/contract/errors.ts';
import { NO_FEATURES } from '../../../src/contract/features.ts';
import type { NativeAddon, PendingSearch } from '../../../src/engine/native.ts';
import { Documents, Indexes } from '../../../src/search/index-service.ts';
import { SearchQueue } from '../../../src/search/search-queue.ts';
import { type EmbedQuery, LocalSearch, uuidV7 } from '../../../src/search/run/local.ts';
import {
  planFacetSearch,
  planFederated,
  planSearch,
  planSimilar,
} from '../../../src/search/plan.ts';
import { add, settings, TestTaskSystem } from '../../support/task-system.ts';
import type { SearchResponse } from '../../../src/search/response.ts';
import { headOf } from '../../support/result-head.ts';
import { callerOf } from '../../support/search-caller.ts';
import { embedNothing } from '../../support/embed-nothing.ts';

const MARKS = {
  highlightPreTag: '<em>',
  highlightPostTag: '</em>',
  cropLength: 10,
  cropMarker: '…',
};

describe('searches and reads', () => {
  let test: TestTaskSystem;
  let search: LocalSearch;
  let indexes: Indexes;
  const plain = callerOf();

  before(async () => {
    test = await TestTaskSystem.open();
    await test.run(
      add('a', [
        { id: 1, t: 'red' },
        { id: 2, t: 'blue' },
      ]),
    );
    await test.run(add('b', [{ id: 3, t: 'red' }]));
    await test.run(settings('a', { filterableAttributes: ['t'] }));
    const queue = new SearchQueue({ permits: 1, waitingMax: 10, waitMsMax: 1000 });
    const { registry } = test.system;
    const features = (): typeof NO_FEATURES => NO_FEATURES;
    search = new LocalSearch(registry, queue, features, embedNothing);
    const size = (): { diskBytes: number; usedBytes: number } => ({
      diskBytes: 100,
      usedBytes: 10,
    });
    indexes = new Indexes(registry, new Documents(registry, queue, features), size);
  });

  after(() => test.remove());

  async function json(result: Promise<SearchResponse>): Promise<Record<string, unknown>> {
    return JSON.parse(String((await result).bytes)) as Record<string, unknown>;
  }

  it('respond with the body of the engine', async () => {
    const body = await json(search.search('a', { q: 'red' }, plain));
    assert.deepEqual(body.hits, [{ id: 1, t: 'red' }]);
    assert.match(body.requestUid as string, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    assert.equal('metadata' in body, false);
    const response = await json(search.search('a', {}, { ...plain, includeMetadata: true }));
    const { indexUid, primaryKey } = response.metadata as Record<string, unknown>;
    assert.deepEqual([indexUid, primaryKey], ['a', 'id']);
  });

  it('count as cut when the engine took all the time that it has', async () => {
    const { native } = test.system.registry;
    const run = native.search.bind(native);
    const taking = (degraded: boolean) => async (): Promise<SearchResponse> => ({
      bytes: Buffer.from('{"hits":[]}'),
      head: headOf(0, 0, degraded),
    });
    const before = search.load().degraded;
    native.search = taking(false);
    await search.search('a', {}, plain);
    assert.equal(search.load().degraded, before);
    native.search = taking(true);
    await search.search('a', {}, plain);
    await search.separate([{ indexUid: 'a' }, { indexUid: 'b' }], plain);
    native.search = run;
    assert.equal(search.load().degraded, before + 3);
  });

  it('of one request alternate with those of others', async () => {
    const ended: string[] = [];
    const queries = Array.from({ length: 50 }, () => ({ indexUid: 'a' }));
    const many = search.separate(queries, plain).then(() => ended.push('many'));
    const other = search.search('b', {}, plain).then(() => ended.push('other'));
    await Promise.all([many, other]);
    assert.deepEqual(ended, ['other', 'many']);
  });

  it('of a request whose client has disconnected are not begun any more', async () => {
    let leave = (): void => {};
    const queries = Array.from({ length: 50 }, () => ({ indexUid: 'a' }));
    const onAbort = (listener: () => void): void => {
      const before = leave;
      leave = () => (before(), listener());
    };
    const { native } = test.system.registry;
    const run = native.search.bind(native);
    let begun = 0;
    native.search = (handle, request) => {
      if (++begun === 3) leave();
      return run(handle, request);
    };
    await assert.rejects(search.separate(queries, { ...plain, signal: { onAbort } }));
    native.search = run;
    assert.equal(begun, 3);
  });

  it('are ended in the engine when their client goes away', async () => {
    const { native } = test.system.registry;
    const engine = {
      cancelSearch: native.cancelSearch.bind(native),
      search: native.search.bind(native),
      facetSearch: native.facetSearch.bind(native),
      similar: native.similar.bind(native),
    };
    for (const kind of ['search', 'facetSearch', 'similar'] as const) {
      let leave = (): void => {};
      const onAbort = (listener: () => void): void => {
        leave = listener;
      };
      let cancelId: number | undefined;
      let canceled: number | undefined;
      let end = (): void => {};
      native.cancelSearch = (given) => {
        canceled = given;
      };
      native[kind] = (_handle, _request, given) => {
        cancelId = given;
        return new Promise((resolve) => {
          end = () => resolve({ bytes: Buffer.from('{}'), head: headOf(0) });
        });
      };
      const caller = { ...plain, signal: { onAbort } };
      const result = {
        search: () => search.search('a', {}, caller),
        facetSearch: () => search.facetSearch('a', { facetName: 't' }, caller),
        similar: () => search.similar('a', { id: '1', embedder: 'e' }, caller),
      }[kind]();
      leave();
      end();
      await result;
      Object.assign(native, engine);
      assert.equal(typeof cancelId, 'number', kind);
      assert.equal(canceled, cancelId, kind);
    }
  });

  describe('by words and vectors', () => {
    const params = { q: 'red', hybrid: { embedder: 'e' } };
    const vector = Float32Array.of(1, 2);
    const pending = {} as PendingSearch;
    let calls: unknown[];
    let engine: Pick<NativeAddon, 'search' | 'resumeSearch' | 'dropSearch'>;

    beforeEach(() => {
      const { native } = test.system.registry;
      const { search, resumeSearch, dropSearch } = native;
      engine = { search, resumeSearch, dropSearch };
      calls = [];
      native.search = () => {
        calls.push('search');
        return Promise.resolve({
          bytes: Buffer.alloc(0),
          head: { ...headOf(0), needsVector: pending },
        });
      };
      native.resumeSearch = (one, given) => {
        calls.push(one === pending, given);
        return Promise.resolve({ bytes: Buffer.from('{}'), head: headOf(0) });
      };
      native.dropSearch = (one) => void calls.push(one === pending ? 'drop' : 'another');
    });

    afterEach(() => void Object.assign(test.system.registry.native, engine));

    const searching = (embed: EmbedQuery): LocalSearch =>
      new LocalSearch(
        test.system.registry,
        new SearchQueue({ permits: 1, waitingMax: 10, waitMsMax: 1000 }),
        () => NO_FEATURES,
        embed,
      );

    it('rank the words once, and go on with the vector', async () => {
      await searching(() => Promise.resolve(vector)).search('a', params, plain);
      assert.deepEqual(calls, ['search', true, vector]);
    });

    it('go on with the words where the embedder fails', async () => {
      const failing = (): Promise<never> =>
        Promise.reject(new ApiError('vector_embedding_error', 'gone'));
      await searching(failing).search('a', params, plain);
      assert.deepEqual(calls, ['search', true, null]);
    });

    it('end when their index is deleted meanwhile', async () => {
      const { registry } = test.system;
      const { get } = registry;
      const embed = (): Promise<Float32Array> => {
        registry.get = () => undefined;
        return Promise.resolve(vector);
      };
      const result = searching(embed).search('a', params, plain);
      await assert.rejects(result, { code: 'index_not_found' });
      registry.get = get;
      assert.deepEqual(calls, ['search', 'drop']);
    });
  });

  it('of a missing index: 404, of several: 400 with the position', async () => {
    await assert.rejects(search.search('x', {}, plain), { code: 'index_not_found', status: 404 });
    await assert.rejects(search.facetSearch('x', { facetName: 't' }, plain), {
      code: 'index_not_found',
    });
    const queries = [{ indexUid: 'a' }, { indexUid: 'x' }, { indexUid: 'y' }];
    const kinds = [
      () => search.separate(queries, plain),
      () => search.federated(queries, {}, plain),
    ];
    for (const kind of kinds) {
      await assert.rejects(kind, (error: Error) => {
        assert.equal((error as Error & { status: number }).status, 400);
        assert.match(error.message, /queries\[1\].*`x`/);
        return true;
      });
    }
  });

  it('of several indexes: results in order, one permit', async () => {
    const queries = [
      { indexUid: 'b', q: 'red' },
      { indexUid: 'a', q: 'blue' },
    ];
    const bodies = await search.separate(queries, plain);
    const results = bodies.map(({ bytes }) => JSON.parse(String(bytes)) as Record<string, unknown>);
    assert.deepEqual(
      results.map(({ indexUid }) => indexUid),
      ['b', 'a'],
    );
    assert.deepEqual(
      results.map(({ hits }) => hits),
      [[{ id: 3, t: 'red' }], [{ id: 2, t: 'blue' }]],
    );
    assert.deepEqual(await search.separate([], plain), []);
    const merged = await json(search.federated(queries, {}, plain));
    assert.equal((merged.hits as unknown[]).length, 2);
  });

  it('the error of the engine carries the position of its query', async () => {
    const queries = [{ indexUid: 'a' }, { indexUid: 'a', filter: 'nope = 1' }];
    await assert.rejects(search.separate(queries, plain), (error: Error) => {
      assert.equal((error as Error & { code: string }).code, 'invalid_search_filter');
      assert.match(error.message, /queries\[1\]/);
      return true;
    });
  });

  it('what the engine is asked is what came, and what only we know', () => {
    const off = { containsFilter: false, multimodal: false };
    const page = { offset: 1, limit: 3 };
    const { q, offset, limit } = planSearch({ q: 'x', ...page }, off, {});
    assert.deepEqual({ q, offset, limit }, { q: 'x', ...page });
    assert.deepEqual(
      planSearch({ q: '世界', ...page }, { ...off, containsFilter: true }, { requestUid: 'u' }),
      { q: '世界', requestUid: 'u', segmentation: [0], containsFilter: true, ...page, ...MARKS },
    );
  });

  it('the engine gets the defaults of what is absent or null', () => {
    const off = { containsFilter: false, multimodal: false };
    const page = { offset: 0, limit: 20 };
    assert.deepEqual(planSearch({ offset: null, limit: null }, off, {}), { ...page, ...MARKS });
    assert.deepEqual(planSearch({ page: 3 }, off, {}), { page: 3, hitsPerPage: 20, ...MARKS });
    assert.deepEqual(planSearch({ hitsPerPage: 7 }, off, {}), {
      page: 1,
      hitsPerPage: 7,
      ...MARKS,
    });
    assert.deepEqual(planSearch({ highlightPreTag: '<b>', cropLength: 4 }, off, {}), {
      ...page,
      ...MARKS,
      highlightPreTag: '<b>',
      cropLength: 4,
    });
    const asked = { q: 'x', hybrid: { embedder: 'e' } };
    const hybrid = { embedder: 'e', semanticRatio: 0.5 };
    assert.deepEqual(planSearch(asked, off, {}).hybrid, hybrid);
    const facet = { ...asked, facetName: 'f' };
    assert.deepEqual(planFacetSearch(facet, off, { responseBytesMax: 9 }).hybrid, hybrid);
    const similar = { id: '1', embedder: 'e' };
    assert.deepEqual(planSimilar(similar, off, null, { responseBytesMax: 9 }), {
      ...similar,
      ...page,
      responseBytesMax: 9,
    });
    const more = { requestUid: 'u', responseBytesMax: 9, otherIndexes: [] };
    const networkGroups = { attribute: 'a' };
    const queries = [
      { indexUid: 'a', ...asked },
      { indexUid: 'b', federationOptions: {} },
    ];
    assert.deepEqual(planFederated({ networkGroups, distinct: 'd' }, queries, off, more), {
      federation: { distinct: 'd', ...page, networkGroups: { attribute: 'a', hits: 3 } },
      queries: [
        { indexUid: 'a', q: 'x', hybrid, federationOptions: { weight: 1 }, ...MARKS },
        { indexUid: 'b', federationOptions: { weight: 1 }, ...MARKS },
      ],
      ...more,
    });
  });

  it('documents are listed without waiting for searches where that is asked for', async () => {
    const { registry } = test.system;
    const queue = new SearchQueue({ permits: 1, waitingMax: 10, waitMsMax: 1000 });
    const features = { ...NO_FEATURES };
    const documents = new Documents(registry, queue, () => features);
    let end = (): void => {};
    void queue.run(() => new Promise<void>((resolve) => (end = resolve)), callerOf());
    const all = { offset: 0, limit: 20, fields: null, filter: null, sort: null, ids: null };
    const list = (): Promise<unknown> =>
      documents.fetch('a', { ...all, retrieveVectors: false }, callerOf());
    const waits = list();
    assert.equal(queue.waiting, 1);
    features.disableDocumentsFetchQueue = true;
    await list();
    assert.equal(queue.waiting, 1);
    end();
    await waits;
  });

  it('indexes are listed, described and summed up without opening them', async () => {
    await test.restart();
    const { registry } = test.system;
    const size = (): { diskBytes: number; usedBytes: number } => ({
      diskBytes: 100,
      usedBytes: 10,
    });
    const queue = new SearchQueue({ permits: 1, waitingMax: 10, waitMsMax: 1000 });
    const features = (): typeof NO_FEATURES => NO_FEATURES;
    indexes = new Indexes(registry, new Documents(registry, queue, features), size);
    assert.deepEqual(
      indexes.list().map(({ uid, primaryKey }) => [uid, primaryKey]),
      [
        ['a', 'id'],
        ['b', 'id'],
      ],
    );
    assert.equal(indexes.get('x'), undefined);
    const stats = indexes.stats('a')!;
    assert.equal(stats.numberOfDocuments, 2);
    assert.deepEqual(stats.fieldDistribution, { id: 2, t: 2 });
    assert.equal(stats.avgDocumentSize, Math.floor(stats.rawDocumentDbSize / 2));
    assert.ok(stats.usedIndexSize > 0 && stats.usedIndexSize <= stats.indexSize);
    const all = await indexes.allStats();
    assert.deepEqual(Object.keys(all.indexes), ['a', 'b']);
    assert.ok(all.databaseSize > 100 + 2 * 4096);
    assert.equal(test.engine.openCount, 0);
    assert.deepEqual(indexes.settings('a')!.filterableAttributes, ['t']);
    assert.deepEqual(indexes.settings('b')!.filterableAttributes, []);
    assert.equal(indexes.settings('x'), undefined);
    const one = await indexes.documents.getDocument('a', '1', {
      fields: ['t'],
      retrieveVectors: false,
    });
    assert.equal(one!.toString(), '{"t":"red"}');
  });
});

describe('a request uid', () => {
  it('is a UUID of version 7 that grows with time', () => {
    const uids = [1, 1_700_000_000_000, 1_800_000_000_000].map((time) => uuidV7(time));
    for (const uid of uids) {
      assert.match(uid, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
    assert.deepEqual([...uids].sort(), uids);
    assert.equal(new Set(Array.from({ length: 2000 }, () => uuidV7())).size, 2000);
  });
});
