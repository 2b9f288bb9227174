import assert from 'node:assert/strict';
import { NEVER_CANCELED } from '../../../src/base/cancel-signal.ts';
import { MalformedJson } from '../../../src/base/json-scanner.ts';
import { loadAddon } from '../../../src/engine/addon.ts';
import { ResponseMerger } from '../../../src/engine/response-merger.ts';
import { addonIsBuilt } from '../../http/kill/support/server-process.ts';

const VALUES = 200_000;

describe('responses of servers of a network', function () {
  this.timeout(60_000);
  let merger: ResponseMerger;

  before(function () {
    if (!addonIsBuilt()) this.skip();
    const native = loadAddon();
    native.configure({ searchThreads: 1, indexingThreads: 1, indexingMemoryBytes: 2 ** 26 });
    merger = new ResponseMerger(native);
  });

  const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
  const about = {
    servers: [{ name: 'a', isHere: false, positions: [0] }],
    remoteErrors: {},
    window: { offset: 0, limit: 20 },
  };

  it('are not understood when they are something else', async () => {
    for (const bad of [Buffer.from([0xff]), Buffer.alloc(0), json({ hits: [] })]) {
      await assert.rejects(merger.read(bad), MalformedJson);
      await assert.rejects(merger.readFacetHits(bad), MalformedJson);
    }
    await assert.rejects(
      merger.read(json({ hits: [{ id: 1 }], totalHits: 1 })),
      new MalformedJson('a hit without the scores that merging needs'),
    );
  });

  it('are merged once', async () => {
    const response = await merger.read(json({ hits: [], estimatedTotalHits: 3 }));
    const { estimatedTotalHits } = JSON.parse(
      (await merger.merge(about, [response], NEVER_CANCELED)).bytes.toString(),
    );
    assert.equal(estimatedTotalHits, 3);
    await assert.rejects(merger.merge(about, [response], NEVER_CANCELED), /merged already/);
  });

  it(`of ${VALUES} facet values leave the event loop free`, async () => {
    const names = Array.from({ length: VALUES }, (_, n) => `Value ${(n * 7919) % VALUES}`);
    const n = Object.fromEntries(names.map((name, count) => [name, count + 1]));
    const federated = json({
      ...{ hits: [], totalHits: 0 },
      facetsByIndex: { i: { distribution: { n }, stats: {} } },
    });
    const facetHits = json({ facetHits: names.map((value) => ({ value, count: 1 })) });
    let iterations = 0;
    let isDone = false;
    const counting = (async () => {
      while (!isDone) {
        await new Promise((resolve) => setImmediate(resolve));
        iterations++;
      }
    })();
    const iterationsOf = async <T>(work: Promise<T>): Promise<{ value: T; passed: number }> => {
      const from = iterations;
      const value = await work;
      return { value, passed: iterations - from };
    };
    const faceting = { sortFacetValuesBy: { '*': 'count' }, maxValuesPerFacet: 2 };
    const read = await iterationsOf(merger.read(federated));
    const request = { ...about, faceting: { i: faceting } };
    const merged = await iterationsOf(merger.merge(request, [read.value], NEVER_CANCELED));
    const readHits = await iterationsOf(merger.readFacetHits(facetHits));
    const facets = { facetName: 'n', facetQuery: null, faceting, processingTimeMs: 0 };
    const mergedHits = await iterationsOf(
      merger.mergeFacetHits({ ...facets, remoteErrors: {} }, [readHits.value]),
    );
    isDone = true;
    await counting;
    const [last, next] = names.toReversed() as [string, string];
    const { facetsByIndex } = JSON.parse(merged.value.bytes.toString());
    assert.deepEqual(facetsByIndex.i.distribution.n, { [last]: VALUES, [next]: VALUES - 1 });
    const { facetHits: given } = JSON.parse(mergedHits.value.bytes.toString());
    assert.deepEqual(
      given.map(({ value }: { value: string }) => value),
      ['Value 99999', 'Value 99998'],
    );
    for (const { passed } of [read, merged, readHits, mergedHits]) {
      assert.ok(passed > 3, `${passed} iterations`);
    }
  });
});
