import assert from 'node:assert/strict';
import { MalformedJson } from '../../../src/base/json-scanner.ts';
import { type AnsweredHit, readFederatedAnswer } from '../../../src/network/federated-answer.ts';
import { readFacetHits } from '../../../src/network/facet-hits.ts';
import { keyOfText } from '../../../src/network/document-key.ts';
import {
  facetsJson,
  joinFacets,
  mergeFacets,
  mergeValues,
} from '../../../src/network/merge-facets.ts';
import { KeptHits, mergedHits } from '../../../src/network/merge-hits.ts';
import {
  areScoreValues,
  compareScored,
  type ScoreValue,
} from '../../../src/network/score-values.ts';
import { mulberry } from '../../support/random.ts';

const SEED = 36;

const scored = (values: ScoreValue[], global = 1, position = 0) => ({ values, global, position });
const sort = (value: string | number | null, asc = true): ScoreValue => ({ sort: { asc, value } });

function hitOf(values: ScoreValue[], global = 1, position = 0): AnsweredHit {
  const empty = Buffer.alloc(0);
  return {
    values,
    global,
    position,
    indexUid: 'a',
    documentKey: null,
    distinctKeys: [],
    before: empty,
    after: empty,
  };
}

describe('Hits of several servers', () => {
  it('are compared part by part', () => {
    const before = (a: ScoreValue[], b: ScoreValue[]): void => {
      assert.ok(compareScored(scored(a), scored(b)) < 0);
      assert.ok(compareScored(scored(b), scored(a)) > 0);
    };
    before([{ weightedScore: 0.9 }], [{ weightedScore: 0.8 }]);
    before([{ weightedScore: 0.9 }], [{ vectorSort: 0.8 }]);
    before([{ weightedScore: 0.9 }, sort(1)], [{ weightedScore: 0.9 }, sort(2)]);
    before([sort(2, false)], [sort(1, false)]);
    before([sort(2)], [sort('a')]);
    before([sort(2, false)], [sort('a', false)]);
    before([sort('z')], [sort(null)]);
    before([sort('z', false)], [sort(null, false)]);
    before([sort(1), { weightedScore: 0.1 }], [sort(1)]);
    before([{ geoSort: { asc: true, distance: 5 } }], [{ geoSort: { asc: true, distance: 6 } }]);
    before(
      [{ geoSort: { asc: false, distance: 6 } }],
      [{ geoSort: { asc: false, distance: null } }],
    );
  });

  it('that are equal within one step of a double go by the position of their query', () => {
    const a = scored([{ weightedScore: 0.9848484848484849 }], 1, 1);
    const b = scored([{ weightedScore: 0.9848484848484848 }], 1, 0);
    assert.ok(compareScored(b, a) < 0);
  });

  it('that cannot be compared go by how much is left, then by their score', () => {
    const sorted = scored([sort(1), { weightedScore: 0.1 }], 0.1);
    assert.ok(compareScored(sorted, scored([{ weightedScore: 0.9 }], 0.9)) < 0);
    assert.ok(compareScored(scored([sort(1)], 0.1), scored([{ weightedScore: 0.9 }], 0.9)) > 0);
    assert.ok(compareScored(scored([sort(1)], 0.1), scored([sort(1, false)], 0.9)) > 0);
  });

  it(`merge into the order of one sorted list (seed ${SEED})`, () => {
    const random = mulberry(SEED);
    for (let round = 0; round < 200; round++) {
      const lists = Array.from({ length: 1 + Math.floor(random() * 4) }, () =>
        Array.from({ length: Math.floor(random() * 12) }, () =>
          hitOf([{ weightedScore: Math.floor(random() * 4) / 4 }, sort(Math.floor(random() * 3))]),
        ).sort(compareScored),
      );
      const merged = [...mergedHits(lists.map((hits) => ({ hits })))].map(({ hit }) => hit);
      // Sorting keeps the order of equals, which is that of the lists.
      assert.deepEqual(merged, lists.flat().sort(compareScored));
    }
  });

  it('are kept once for a document, and once for a value of the distinct attribute', () => {
    const kept = new KeptHits(false);
    const hit = (documentKey: string | null, distinctKeys: string[], position = 0) =>
      kept.add({ ...hitOf([], 1, position), documentKey, distinctKeys });
    assert.ok(hit('a', ['red', 'blue']));
    assert.ok(!hit('a', []));
    assert.ok(!hit('b', ['green', 'blue']));
    assert.ok(hit('c', ['green']));
    assert.ok(hit('d', ['red'], 1), 'another query');
    assert.ok(hit(null, []) && hit(null, []));
    assert.equal(kept.refused, 2);
    const list = new KeptHits(true);
    const ofQuery = (position: number) =>
      list.add({ ...hitOf([], 1, position), documentKey: `${position}`, distinctKeys: ['red'] });
    assert.ok(ofQuery(0) && !ofQuery(1));
    assert.ok(!list.addValues({ position: 2, distinctKeys: ['red'] }));
    assert.ok(list.addValues({ position: 2, distinctKeys: ['blue'] }));
  });

  it('tell score values from anything else', () => {
    assert.ok(areScoreValues([{ weightedScore: 1 }, sort(null), sort('x')]));
    for (const bad of [null, {}, [1], [{}], [{ weightedScore: '1' }], [{ sort: { value: 1 } }]]) {
      assert.ok(!areScoreValues(bad), JSON.stringify(bad));
    }
  });
});

describe('The key of a document', () => {
  it('is the hash that the engine computes', () => {
    // Published values of FNV-1a with 64 bits.
    assert.equal(keyOfText(''), 'cbf29ce484222325');
    assert.equal(keyOfText('a'), 'af63dc4c8601ec8c');
    assert.equal(keyOfText('foobar'), '85944171f73967e8');
  });
});

describe('An answer of another server', () => {
  const read = (value: unknown) => readFederatedAnswer(Buffer.from(JSON.stringify(value)));
  const federation = {
    indexUid: 'a',
    queriesPosition: 2,
    weightedRankingScore: 0.5,
    weightedScoreValues: [{ weightedScore: 0.5 }],
  };

  it('keeps its hits as bytes around their place in the list', async () => {
    const answer = await read({
      hits: [{ id: 1, _federation: federation, _rankingScore: 0.5 }],
      processingTimeMs: 3,
      totalHits: 7,
    });
    const [hit] = answer.hits;
    assert.equal(`${hit!.before}X${hit!.after}`, '{"id":1,"_federation":X,"_rankingScore":0.5}');
    assert.equal(answer.total, 7);
    assert.equal(hit!.position, 2);
  });

  it('tells what hits behind its list share with others', async () => {
    const keys = {
      furtherDistinctKeys: [
        [0, 'a'],
        [3, 'b', 'c'],
      ],
    };
    const { further } = await read({ hits: [], totalHits: 2, ...keys });
    assert.deepEqual(further, [
      { position: 0, distinctKeys: ['a'] },
      { position: 3, distinctKeys: ['b', 'c'] },
    ]);
  });

  it('is refused when it is none', async () => {
    const total = { estimatedTotalHits: 1 };
    for (const bad of [
      null,
      [],
      {},
      { hits: 'none', ...total },
      { hits: [] },
      { hits: [{ id: 1 }], ...total },
      { hits: [{ _federation: { ...federation, weightedScoreValues: 1 } }], ...total },
      { hits: [{ _federation: { ...federation, distinctKeys: [1] } }], ...total },
      { hits: [], estimatedTotalHits: 'x' },
      { hits: [], ...total, facetsByIndex: { a: { distribution: {} } } },
      { hits: [], ...total, furtherDistinctKeys: 1 },
      { hits: [], ...total, furtherDistinctKeys: [['a']] },
      { hits: [], ...total, furtherDistinctKeys: [[1, 2]] },
      { hits: [], ...total, facetsByIndex: { a: { distribution: { f: { v: 'x' } }, stats: {} } } },
      // What is shown as an integer must be one.
      { hits: [], ...total, facetsByIndex: { a: { distribution: { f: { v: 0.5 } }, stats: {} } } },
      { hits: [], ...total, processingTimeMs: 1.5 },
      { hits: [], estimatedTotalHits: 1.5 },
      { hits: [], estimatedTotalHits: 1e300 },
    ]) {
      await assert.rejects(read(bad), MalformedJson, JSON.stringify(bad));
    }
    await assert.rejects(readFederatedAnswer(Buffer.from([0xff, 0xfe])), MalformedJson);
    await assert.rejects(readFederatedAnswer(Buffer.from('{"hits":[]} x')), MalformedJson);
    const endless =
      '{"hits":[],"totalHits":0,"facetsByIndex":{"a":{"distribution":{},"stats":{"f":{"min":1,"max":1e999}}}}}';
    await assert.rejects(readFederatedAnswer(Buffer.from(endless)), MalformedJson);
  });
});

describe('Values of a facet of another server', () => {
  it('have counts that are integers', async () => {
    const answer = (count: unknown): Buffer =>
      Buffer.from(JSON.stringify({ facetHits: [{ value: 'a', count }] }));
    assert.deepEqual(await readFacetHits(answer(2)), [['a', 2]]);
    for (const bad of [1.5, -1, 1e300, '1', null]) {
      await assert.rejects(readFacetHits(answer(bad)), MalformedJson, String(bad));
    }
  });
});

describe('Facets of several servers', () => {
  it('are counted together, spellings of one value as one', async () => {
    const parts = [
      { Action: 2, '10': 1, drama: 1 },
      { action: 3, '9': 1 },
    ].map((counts): [string, number][] => Object.entries(counts));
    assert.deepEqual(await mergeValues(parts, false, 3), [
      { value: '9', count: 1 },
      { value: '10', count: 1 },
      { value: 'Action', count: 5 },
    ]);
    assert.deepEqual(await mergeValues(parts, false, 1, true), [{ value: '10', count: 1 }]);
    assert.deepEqual(await mergeValues(parts, true, 3), [
      { value: '10', count: 1 },
      { value: '9', count: 1 },
      { value: 'Action', count: 5 },
    ]);
  });

  it('keep the order of the values in JSON, and the widest range', async () => {
    const part = (values: Record<string, number>, min: number, max: number) => ({
      distribution: { n: Object.entries(values) },
      stats: { n: { min, max } },
      candidates: null,
    });
    const order = { byCount: () => true, valuesMax: 10 };
    const parts = [part({ '1': 1, b: 3 }, 1, 1), part({ b: 1, '2': 2, a: 5 }, 2, 2)];
    const merged = await mergeFacets(parts, order);
    assert.deepEqual(await facetsJson(merged), {
      distribution: '{"n":{"2":2,"1":1,"a":5,"b":4}}',
      stats: '{"n":{"min":1.0,"max":2.0}}',
    });
    assert.deepEqual(
      await mergeFacets(parts, { ...order, valuesMax: 0 }),
      merged,
      'no limit by count',
    );
  });

  it('put numbers in the order of their text, as the engine does, where there are few documents', async () => {
    const part = (candidates: number | null) => ({
      ...{ distribution: { n: Object.entries({ '2': 1, '10': 1 }) }, stats: {}, candidates },
    });
    const order = { byCount: () => false, valuesMax: 1 };
    const first = async (...counts: (number | null)[]) =>
      (await mergeFacets(counts.map(part), order)).values.get('n')![0]!.value;
    assert.equal(await first(1000, 2000), '10');
    assert.equal(await first(1000, 2001), '2');
    assert.equal(await first(1000, null), '2');
  });

  it('of several indexes are joined as they are spelled, those of equal place in the order of their text', async () => {
    const part = (values: Record<string, number>) =>
      mergeFacets([{ distribution: { n: Object.entries(values) }, stats: {}, candidates: 1 }], {
        byCount: () => true,
        valuesMax: 10,
      });
    const parts = [await part({ b: 2, '1': 2 }), await part({ B: 2, c: 4 })];
    const joined = async (byCount: boolean, valuesMax: number) => {
      const facets = await joinFacets(parts, { byCount: () => byCount, valuesMax });
      return (await facetsJson(facets)).distribution;
    };
    assert.equal(await joined(true, 3), '{"n":{"c":4,"1":2,"B":2}}');
    assert.equal(await joined(false, 3), '{"n":{"1":2,"B":2,"b":2}}');
  });

  it(`of many values are the first of one sorted list, and other work comes between (seed ${SEED})`, async () => {
    const random = mulberry(SEED);
    const count = 30_000;
    const values = Array.from({ length: count }, (_, n) => [
      n % 3 === 0 ? `${n}` : `Value ${n}`,
      Math.floor(random() * 1000),
    ]) as [string, number][];
    const isText = ([value]: [string, number]) => Number(!/^\d+$/.test(value));
    const wanted = values
      .toSorted((a, b) => {
        const order = isText(a) - isText(b) || b[1] - a[1];
        if (order !== 0) return order;
        return isText(a) === 0 ? Number(b[0]) - Number(a[0]) : a[0] < b[0] ? 1 : -1;
      })
      .slice(0, 12_000);
    const parts = [0, 1].map((rest) => values.filter((_, n) => n % 2 === rest));
    let turns = 0;
    let isDone = false;
    const counting = (async () => {
      while (!isDone) {
        await new Promise((resolve) => setImmediate(resolve));
        turns++;
      }
    })();
    const merged = await mergeValues(parts, true, 12_000);
    isDone = true;
    await counting;
    assert.deepEqual(
      merged,
      wanted.map(([value, of]) => ({ value, count: of })),
    );
    assert.ok(turns > 3, `${turns} turns`);
  });

  it('of 200,000 values hold the event loop for a part of what it takes to read them at once', async () => {
    const distribution = (values: Record<string, number>): Buffer => {
      const facetsByIndex = { a: { distribution: { f: values }, stats: {} } };
      return Buffer.from(JSON.stringify({ hits: [], totalHits: 0, facetsByIndex }));
    };
    const values = Array.from({ length: 200_000 }, (_, n): [string, number] => [
      `Value ${(n * 7919) % 200_000}`,
      n % 100,
    ]);
    const bytes = distribution(Object.fromEntries(values));
    const cpuMs = (): number => process.cpuUsage().user / 1000;
    const begin = cpuMs();
    for (const [value] of Object.entries(
      JSON.parse(bytes.toString()).facetsByIndex.a.distribution.f,
    ))
      value.normalize('NFKD').toLowerCase();
    const plain = cpuMs() - begin;
    let longest = 0;
    let last = cpuMs();
    let isDone = false;
    const watching = (async () => {
      while (!isDone) {
        await new Promise((resolve) => setImmediate(resolve));
        longest = Math.max(longest, cpuMs() - last);
        last = cpuMs();
      }
    })();
    const { facetsByIndex } = await readFederatedAnswer(bytes);
    const order = { byCount: () => true, valuesMax: Infinity };
    const merged = await mergeFacets([facetsByIndex['a']!], order);
    const joined = await joinFacets([merged, merged], order);
    const text = (await facetsJson(joined)).distribution;
    isDone = true;
    await watching;
    assert.equal(Object.keys(JSON.parse(text).f).length, 200_000);
    assert.ok(longest < plain, `${longest} ms, all at once ${plain} ms`);
  });

  it('of an answer have any name', async () => {
    const text =
      '{"hits":[],"totalHits":0,"facetsByIndex":{"__proto__":{"distribution":{"__proto__":{"a":1}},"stats":{}}}}';
    const { facetsByIndex } = await readFederatedAnswer(Buffer.from(text));
    const facets = facetsByIndex['__proto__']!;
    assert.equal(
      (await mergeFacets([facets], { byCount: () => true, valuesMax: 5 })).values.size,
      1,
    );
  });
});
