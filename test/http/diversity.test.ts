/**
 * `diversity`: at most a number of hits with one value of an attribute on each page. And
 * `interleave`: the same random searches of two indexes.
 */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { EmbeddingProvider } from '../support/embedding-provider.ts';
import { mulberry } from '../support/random.ts';

const SEED = Number(process.env['GANNET_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const DOCUMENTS = 90;
const SEARCHES = 30;
/** Fewer than there are documents. */
const TOTAL_MAX = 70;
const WORDS = ['red', 'blue', 'green', 'apple', 'pear'];

const random = mulberry(SEED);
const number = (end: number): number => Math.floor(random() * end);
const pick = <T>(list: readonly T[]): T => list[number(list.length)]!;
const chance = (share: number): boolean => random() < share;
const vector = (): number[] => [random() - 0.5, random() - 0.5, random() - 0.5];
const words = (count: number): string => Array.from({ length: count }, () => pick(WORDS)).join(' ');

interface Doc {
  id: number;
  brand?: string | number;
  tags: string[];
}

/** Most are of one brand. Case does not distinguish brands; a number is none of the texts. */
const documents = Array.from({ length: DOCUMENTS }, (_, id): Doc & Record<string, unknown> => ({
  ...{ id, title: words(1 + number(3)), size: number(5), kind: `k${number(60)}` },
  ...(chance(0.15) ? {} : { brand: chance(0.5) ? pick(['a', 'A']) : pick(['b', 'c', '7', 7]) }),
  tags: Array.from({ length: number(4) }, () => `t${number(8)}`),
  _vectors: { e: chance(0.1) ? null : vector() },
}));

function valuesOf(document: Doc, attribute: 'brand' | 'tags'): Set<string> {
  const values = [document[attribute] ?? []].flat();
  return new Set(values.map((value) => JSON.stringify(value).toLowerCase()));
}

interface Pin {
  id: number;
  position: number;
}

/**
 * The definition: a page takes the best hits that are left, passing over those with a value that
 * `max` hits of the page have; then, if slots are left, the best of these.
 * @param ranked without pins
 */
function diversePages(
  ranked: readonly number[],
  { attribute, max }: { attribute: 'brand' | 'tags'; max: number },
  size: number,
  pins: readonly Pin[] = [],
): number[] {
  const left = [...ranked];
  const fixed = [...pins];
  const ordered: number[] = [];
  for (let begin = 0; left.length > 0; begin += size) {
    const counts = new Map<string, number>();
    const count = (id: number): void => {
      for (const value of valuesOf(documents[id]!, attribute))
        counts.set(value, (counts.get(value) ?? 0) + 1);
    };
    let slots = 0;
    for (let position = begin; position < begin + size; position++) {
      if ((fixed[0]?.position ?? Infinity) <= position) count(fixed.shift()!.id);
      else slots += 1;
    }
    const fits = (id: number): boolean =>
      [...valuesOf(documents[id]!, attribute)].every((value) => (counts.get(value) ?? 0) < max);
    const taken: number[] = [];
    for (const id of left) {
      if (taken.length === slots) break;
      if (!fits(id)) continue;
      count(id);
      taken.push(id);
    }
    for (const id of left) {
      if (taken.length === slots) break;
      if (!taken.includes(id)) taken.push(id);
    }
    for (const id of taken) left.splice(left.indexOf(id), 1);
    ordered.push(...taken);
  }
  return withPins(ordered, pins);
}

/** Pins at their positions, and those that are left after the last hit. */
function withPins(hits: readonly number[], pins: readonly Pin[]): number[] {
  const [ordinary, fixed, shown] = [[...hits], [...pins], [] as number[]];
  while (ordinary.length + fixed.length > 0) {
    const isPinned = ordinary.length === 0 || (fixed[0]?.position ?? Infinity) <= shown.length;
    shown.push(isPinned ? fixed.shift()!.id : ordinary.shift()!);
  }
  return shown;
}

function search(): Record<string, unknown> {
  const isHybrid = chance(0.4);
  return {
    q: words(number(3)),
    ...(isHybrid && {
      vector: vector(),
      hybrid: {
        ...{ embedder: 'e', semanticRatio: pick([0.3, 0.5, 0.7, 1]) },
        ...(chance(0.4) && { fusion: 'rrf' }),
      },
    }),
    ...(chance(0.2) && { matchingStrategy: 'natural' }),
    ...(chance(0.3) && { sort: [pick(['size:asc', 'size:desc'])] }),
    ...(chance(0.2) && { distinct: 'kind' }),
    ...(chance(0.2) && { rankingScoreThreshold: 0.3 }),
    ...(chance(0.2) && { filter: 'size != 2' }),
    showRankingScore: true,
  };
}

describe('diversity and interleaving', function () {
  this.timeout(120_000);

  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer(['--analytics-retention-days', '1']);
    const body = {
      searchableAttributes: ['title'],
      filterableAttributes: ['brand', 'tags', 'size', 'kind', 'id'],
      sortableAttributes: ['size'],
      pagination: { maxTotalHits: TOTAL_MAX },
      embedders: { e: { source: 'userProvided', dimensions: 3 } },
    };
    await server.finish('PATCH', '/indexes/things/settings', { body });
    // Several segments.
    for (let begin = 0; begin < DOCUMENTS; begin += 30) {
      const some = documents.slice(begin, begin + 30);
      const { status } = await server.finish('POST', '/indexes/things/documents?primaryKey=id', {
        body: some,
      });
      assert.equal(status, 'succeeded');
    }
  });
  after(() => server?.close());

  type Found = Record<string, any> & { hits: { id: number; _rankingScore: number }[] };
  async function found(body: Record<string, unknown>, uid = 'things'): Promise<Found> {
    const { status, json } = await server.call('POST', `/indexes/${uid}/search`, { body });
    assert.equal(status, 200, JSON.stringify([body, json]));
    return json as Found;
  }

  /** All hits, page by page: how many a page has decides how a hybrid search ranks. */
  async function ranked(
    body: Record<string, unknown>,
    size: number,
    uid = 'things',
  ): Promise<Found['hits']> {
    const all: Found['hits'] = [];
    for (let offset = 0; ; offset += size) {
      const { hits } = await found({ ...body, offset, limit: size }, uid);
      all.push(...hits);
      if (hits.length < size) return all;
    }
  }

  it(`orders pages as the naive model does (GANNET_SEED=${SEED})`, async () => {
    for (let n = 0; n < SEARCHES; n++) {
      const body = search();
      const size = 2 + number(20);
      const diversity = { attribute: pick(['brand', 'tags'] as const), max: 1 + number(3) };
      const context = JSON.stringify({ body, size, diversity });
      const plain = await ranked(body, size);
      const wanted = diversePages(
        plain.map(({ id }) => id),
        diversity,
        size,
      );
      const shown = await ranked({ ...body, diversity }, size);
      const ids = shown.map(({ id }) => id);
      assert.deepEqual(ids, wanted, context);
      const scores = new Map(plain.map(({ id, _rankingScore }) => [id, _rankingScore]));
      for (const hit of shown) assert.equal(hit._rankingScore, scores.get(hit.id), context);

      const page = 1 + number(3);
      const numbered = await found({ ...body, diversity, page, hitsPerPage: size });
      const ofPage = numbered.hits.map(({ id }) => id);
      // Numbered pages of a hybrid search rank by more hits.
      const same = await found({ ...body, page, hitsPerPage: size });
      assert.equal(numbered.totalHits, same.totalHits, context);
      if (body['hybrid'] === undefined)
        assert.deepEqual(ofPage, wanted.slice((page - 1) * size, page * size), context);

      // Positions count from the first hit, wherever a window begins.
      const offset = number(TOTAL_MAX);
      const window = await found({ ...body, diversity, offset, limit: size });
      assert.deepEqual(
        window.hits.map(({ id }) => id),
        wanted.slice(offset, offset + size),
        context,
      );
      const { facetDistribution } = await found({
        ...body,
        diversity,
        facets: ['brand'],
        limit: 0,
      });
      const without = await found({ ...body, facets: ['brand'], limit: 0 });
      assert.deepEqual(facetDistribution, without['facetDistribution'], context);
    }
  });

  it(`counts pinned hits, which keep their positions (GANNET_SEED=${SEED})`, async () => {
    const pins: Pin[] = [
      { id: 3, position: 0 },
      { id: 11, position: 2 },
      { id: 40, position: 2 },
      { id: 77, position: 9 },
      { id: 5, position: 500 },
    ];
    const plain = { q: '', filter: `id NOT IN [${pins.map(({ id }) => id).join()}]` };
    await server.call('PATCH', '/experimental-features', { body: { dynamicSearchRules: true } });
    const actions = pins.map(({ id, position }) => ({
      selector: { id: String(id) },
      action: { type: 'pin', position },
    }));
    for (const filter of ['id >= 0', 'id IN [3, 5, 11, 40, 41, 77]']) {
      const others = await ranked({ ...plain, filter: [plain.filter, filter] }, 100);
      await server.finish('PATCH', '/dynamic-search-rules/r', { body: { active: true, actions } });
      for (const size of [4, 7, 20]) {
        const diversity = { attribute: 'brand', max: 1 } as const;
        const shown: number[] = [];
        for (let offset = 0; offset < TOTAL_MAX; offset += size) {
          const { hits } = await found({ q: '', filter, diversity, offset, limit: size });
          shown.push(...hits.map(({ id }) => id));
        }
        const ids = others.map(({ id }) => id);
        const wanted = diversePages(ids, diversity, size, pins).slice(0, TOTAL_MAX);
        assert.deepEqual(shown.slice(0, TOTAL_MAX), wanted, `${filter}, ${size}`);
      }
      await server.finish('DELETE', '/dynamic-search-rules');
    }
  });

  it(`waits for the embedding of a query, or does without (GANNET_SEED=${SEED})`, async () => {
    const provider = await EmbeddingProvider.start();
    try {
      const embedder = {
        ...{ source: 'rest', url: `${provider.url}/rest/one`, dimensions: 4 },
        ...{ request: { input: '{{text}}' }, response: { embedding: '{{embedding}}' } },
        documentTemplate: '{{doc.title}}',
      };
      const body = { filterableAttributes: ['brand'], embedders: { p: embedder } };
      await server.finish('PATCH', '/indexes/made/settings', { body });
      const some = documents.slice(0, 40).map(({ _vectors, ...plain }) => plain);
      const path = '/indexes/made/documents?primaryKey=id';
      assert.equal((await server.finish('POST', path, { body: some })).status, 'succeeded');
      const diversity = { attribute: 'brand', max: 1 } as const;
      for (const always of [null, () => ({ status: 400 })]) {
        provider.always = always;
        for (const semanticRatio of [0.3, 0.8]) {
          // A provider that fails is not asked again for the same text.
          const q = `${words(2)} ${always === null ? '' : 'pears'}`;
          const asked = { q, hybrid: { embedder: 'p', semanticRatio } };
          const plain = await ranked(asked, 6, 'made');
          const wanted = diversePages(
            plain.map(({ id }) => id),
            diversity,
            6,
          );
          const shown = await ranked({ ...asked, diversity }, 6, 'made');
          assert.deepEqual(
            shown.map(({ id }) => id),
            wanted,
            JSON.stringify(asked),
          );
          if (semanticRatio < 0.5) continue; // words may be enough
          const { degraded } = await found({ ...asked, diversity, limit: 6 }, 'made');
          assert.deepEqual(degraded, always === null ? undefined : ['embedding']);
        }
      }
    } finally {
      provider.stop();
    }
  });

  it(`drafts two indexes as the naive model does (GANNET_SEED=${SEED})`, async () => {
    await server.call('PATCH', '/experimental-features', {
      body: { dynamicSearchRules: true, foreignKeys: true },
    });
    const kinds = Array.from({ length: 60 }, (_, n) => ({ id: `k${n}`, name: `kind ${n % 7}` }));
    await server.finish('PATCH', '/indexes/kinds/settings', {
      body: { filterableAttributes: ['name', 'id'] },
    });
    await server.finish('POST', '/indexes/kinds/documents?primaryKey=id', { body: kinds });
    const foreignKeys = [{ fieldName: 'kind', foreignIndexUid: 'kinds' }];
    await server.finish('PATCH', '/indexes/things/settings', { body: { foreignKeys } });
    const draft = {
      searchableAttributes: ['title', 'brand'],
      filterableAttributes: ['brand', 'tags', 'size', 'kind', 'id'],
      sortableAttributes: ['size'],
      ...{ rankingRules: ['words', 'sort', 'size:desc', 'typo'], distinctAttribute: 'kind' },
      ...{ pagination: { maxTotalHits: 40 }, foreignKeys },
      embedders: { e: { source: 'userProvided', dimensions: 3 } },
    };
    await server.finish('PATCH', '/indexes/draft/settings', { body: draft });
    const shared = documents.filter(({ id }) => id % 5 > 0);
    await server.finish('POST', '/indexes/draft/documents?primaryKey=id', { body: shared });
    const actions = [3, 50].map((id, position) => ({
      selector: { indexUid: 'things', id: String(id) },
      action: { type: 'pin', position: 3 * position },
    }));
    for (let n = 0; n < SEARCHES; n++) {
      const isPinned = n * 2 >= SEARCHES;
      if (isPinned && n * 2 < SEARCHES + 2) {
        await server.finish('PATCH', '/dynamic-search-rules/pins', {
          body: { active: true, actions },
        });
      }
      const { showRankingScore: _, distinct, ...plain } = search();
      const body: Record<string, unknown> = {
        ...plain,
        // Pinned hits may share a value of `distinct` with others.
        ...(distinct !== undefined && !isPinned && { distinct }),
        ...(chance(0.2) && { filter: `_foreign(kind, name = "kind ${number(7)}")` }),
      };
      const size = 2 + number(20);
      const interleave = { with: 'draft', showIndex: true };
      const context = JSON.stringify({ body, size });
      const lists = { things: [] as number[], draft: [] as number[] };
      for (const uid of ['things', 'draft'] as const) {
        lists[uid] = (await ranked(body, size, uid)).map(({ id }) => id);
      }
      const drafted = (await ranked({ ...body, interleave }, size)) as any[];
      const taken: number[] = [];
      // A value of `distinct` is in the list once; that of a setting concerns its index only.
      const keyOf = (id: number): unknown => (body['distinct'] ? documents[id]!['kind'] : id);
      const left = (uid: 'things' | 'draft'): number | undefined =>
        lists[uid].find((id) => !taken.some((one) => keyOf(one) === keyOf(id)));
      for (const [position, { id, _federation }] of drafted.entries()) {
        const uid = _federation.indexUid as 'things' | 'draft';
        assert.equal(id, left(uid), `${context}, hit ${position}`);
        const other = uid === 'things' ? 'draft' : 'things';
        // Both give one of every two hits, unless one has no other left.
        if (position % 2 === 1 && drafted[position - 1]._federation.indexUid === uid)
          assert.equal(left(other), undefined, `${context}, hit ${position}`);
        taken.push(id as number);
      }
      const isWhole = left('things') === undefined && left('draft') === undefined;
      assert.ok(isWhole || taken.length === TOTAL_MAX, context);

      const page = 1 + number(3);
      const numbered = await found({ ...body, interleave, page, hitsPerPage: size });
      const last = numbered.hits.length < size;
      assert.ok(numbered['totalHits'] >= (page - 1) * size * Number(!last), context);
      if (body['hybrid'] === undefined) {
        const ids = numbered.hits.map(({ id }) => id);
        assert.deepEqual(ids, taken.slice((page - 1) * size, page * size), context);
      }
    }
    await server.finish('DELETE', '/dynamic-search-rules');
  });

  it('is given by parameters, and in each query of a multi-search', async () => {
    const diversity = { attribute: 'brand' };
    const whole = await found({ q: 'red', diversity, limit: 5 });
    const path = '/indexes/things/search?q=red&limit=5&diversityAttribute=brand';
    for (const more of ['', '&diversityMax=2']) {
      const { json } = await server.call('GET', path + more);
      assert.deepEqual(json.hits, whole.hits);
    }
    const queries = [{ indexUid: 'things', q: 'red', diversity, limit: 5 }];
    const { json } = await server.call('POST', '/multi-search', { body: { queries } });
    assert.deepEqual(json.results[0].hits, whole.hits);
    assert.deepEqual((await found({ diversity, limit: 0 })).hits, []);
  });

  it('is refused where it has no meaning', async () => {
    await server.call('PATCH', '/experimental-features', { body: { network: true } });
    const diversity = { attribute: 'brand', max: 1 };
    const code = 'invalid_search_diversity';
    for (const [body, wanted] of [
      [{ diversity: { attribute: 'title' } }, code],
      [{ diversity: { attribute: 'title' }, limit: 0 }, code],
      [{ diversity: { max: 2 } }, code],
      [{ diversity: { attribute: 'brand', max: 0 } }, code],
      [{ diversity: { attribute: 'brand', of: 1 } }, code],
      [{ diversity: 'brand' }, code],
      [{ diversity, rerank: { model: 'm' } }, code],
      [{ diversity, useNetwork: true }, code],
      [{ diversity, groupBy: { attribute: 'brand' } }, 'invalid_search_group_by'],
    ] as const) {
      const { status, json } = await server.call('POST', '/indexes/things/search', { body });
      assert.equal(status, 400, JSON.stringify(body));
      assert.equal(json.code, wanted, JSON.stringify(body));
    }
    const federated = { federation: {}, queries: [{ indexUid: 'things', diversity }] };
    const refused = await server.call('POST', '/multi-search', { body: federated });
    assert.equal(refused.json.code, code);
    const alone = await server.call('GET', '/indexes/things/search?diversityMax=2');
    assert.equal(alone.json.code, code);
  });
});
