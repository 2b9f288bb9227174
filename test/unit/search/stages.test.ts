import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NO_FEATURES } from '../../../src/contract/features.ts';
import type { FacetSearchRequest, SearchRequest } from '../../../src/contract/search.ts';
import { mergeSettings, type PartialSettings } from '../../../src/contract/settings.ts';
import { loadAddon } from '../../../src/engine/addon.ts';
import { IndexHandle } from '../../../src/engine/handle.ts';
import type { BatchStep } from '../../../src/engine/native.ts';
import type { SearchedIndexes } from '../../../src/engine/searched-index.ts';
import { LocalSearch } from '../../../src/search/run/local.ts';
import { SearchQueue } from '../../../src/search/search-queue.ts';
import { Stages } from '../../../src/search/stages.ts';
import { embedNothing } from '../../support/embed-nothing.ts';
import { mulberry } from '../../support/random.ts';
import { callerOf } from '../../support/search-caller.ts';

const WORDS = ['red', 'blue', 'green', 'house', 'garden', 'gardens', 'horse', 'blau'];
const DOCUMENTS = 20_000;
const SEARCHES = 2000;
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32));

describe(`the stages of a search (SEED=${SEED})`, () => {
  const next = mulberry(SEED);
  const below = (end: number): number => Math.floor(next() * end);
  const pick = (list: readonly string[]): string => list[below(list.length)]!;
  const dir = mkdtempSync(join(tmpdir(), 'gannet-stages-'));
  let handle: IndexHandle;
  let search: LocalSearch;

  const words = (count: number): string =>
    Array.from({ length: count }, () => pick(WORDS)).join(' ');

  before(async () => {
    const native = loadAddon();
    native.configure({
      ...{ searchThreads: 2, indexingThreads: 1, indexingMemoryBytes: 64 << 20 },
      tuning: {},
    });
    handle = new IndexHandle(native, join(dir, 'index'), true);
    const given = {
      filterableAttributes: ['colour', 'price'],
      sortableAttributes: ['price'],
      searchCutoffMs: 3_600_000,
    };
    const merged = mergeSettings(null, given as unknown as PartialSettings);
    assert.ok(merged.ok);
    const settings = { ...merged.value } as Record<string, unknown>;
    const documents = Array.from({ length: DOCUMENTS }, (_, id) => ({
      id,
      text: words(1 + below(12)),
      colour: pick(WORDS),
      price: below(100),
    }));
    const steps = [
      { task: 0, kind: 'settings', settings },
      {
        ...{ task: 0, kind: 'documents', method: 'replace', payload: { buffer: 0 } },
        ...{ format: 'json', primaryKey: 'id', skipCreation: false },
      },
    ] as const satisfies BatchStep[];
    // Documents are indexed for the settings that were there before their batch.
    for (const [batchUid, step] of steps.entries()) {
      const job = { batchUid, taskUids: [], now: '2026-01-01T00:00:00Z', steps: [step] };
      await handle.applyBatch(job, [Buffer.from(JSON.stringify(documents))]);
    }
    const entry = { handle, settings: merged.value, summary: { primaryKey: 'id' } };
    const registry = { native, get: () => entry } as unknown as SearchedIndexes;
    const queue = new SearchQueue({ permits: 2, waitingMax: 10, waitMsMax: 1000 });
    search = new LocalSearch(registry, queue, () => NO_FEATURES, embedNothing);
  });

  after(async () => {
    await handle.close();
    rmSync(dir, { recursive: true });
  });

  function request(): SearchRequest {
    const maybe = <T>(value: T): T | undefined => (below(2) === 0 ? value : undefined);
    return {
      q: maybe(words(1 + below(4))),
      filter: maybe(`price > ${below(100)}`),
      sort: maybe(['price:asc']),
      facets: maybe(['colour']),
      distinct: below(5) === 0 ? 'colour' : undefined,
      limit: below(40),
    } as SearchRequest;
  }

  it('add up to its time, and have names', async () => {
    const seen = new Set<string>();
    let [all, unnamed] = [0, 0];
    for (let n = 0; n < SEARCHES; n++) {
      const from = performance.now();
      const stages = new Stages('resolve', from);
      const asked = request();
      await search.search('a', asked, { ...callerOf(), stages });
      const { list } = stages;
      const whole = performance.now() - from;
      const sum = list.reduce((all, { ms }) => all + ms, 0);
      assert.ok(Math.abs(sum - stages.elapsedMs) < 0.01, JSON.stringify({ asked, list }));
      assert.ok(stages.elapsedMs <= whole);
      for (const { name, ms, cpuMs = 0, unit, size } of list) {
        seen.add(name);
        // Others may have the processor meanwhile.
        all += cpuMs;
        if (name === 'other') unnamed += cpuMs;
        assert.ok(ms >= 0 && cpuMs >= 0);
        assert.equal(unit === undefined, size === undefined);
      }
      const named = list.map(({ name }) => name);
      if (asked.q !== undefined) assert.ok(named.includes('terms'));
      if (asked.filter !== undefined) assert.ok(named.includes('filter'));
      if (asked.facets !== undefined) assert.ok(named.includes('facets'));
    }
    assert.ok(unnamed < all * 0.05, `${unnamed} of ${all} ms of CPU`);
    const rules = ['rule words', 'rule typo', 'rule proximity', 'rule exactness', 'rule price:'];
    const others = [
      ...['resolve', 'permit', 'request', 'handover', 'thread', 'parse', 'plan', 'terms', 'filter'],
      ...['matching', 'distinct', 'facets', 'hits', 'write', 'release'],
    ];
    for (const name of [...rules, ...others]) assert.ok(seen.has(name), `${name}: ${[...seen]}`);
  });

  it('are those of each query where several run at once', async () => {
    const stages = new Stages('resolve', performance.now());
    const queries = Array.from({ length: 5 }, () => ({ indexUid: 'a', q: words(3) }));
    await search.separate(queries, { ...callerOf(), stages });
    for (let n = 0; n < queries.length; n++) {
      const { list } = stages.of(n);
      const sum = list.reduce((all, { ms }) => all + ms, 0);
      assert.ok(Math.abs(sum - stages.of(n).elapsedMs) < 0.01);
      assert.ok(list.some(({ name }) => name === 'permit'));
      const member = JSON.parse(`{${stages.member(n).slice(1)}}`) as Record<string, object>;
      assert.ok(Object.hasOwn(member['performanceDetails']!, 'search > terms > terms'));
    }
  });

  it('of a facet search are there too', async () => {
    const stages = new Stages('resolve', performance.now());
    const asked = { facetName: 'colour', facetQuery: 'b' } as FacetSearchRequest;
    await search.facetSearch('a', asked, { ...callerOf(), stages });
    assert.ok(stages.list.some(({ name, size }) => name === 'facets' && size === undefined));
  });
});
