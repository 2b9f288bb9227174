/** Settings stored by versions in which the engine knew the models of providers. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SearchRequest } from '../../../src/contract/search.ts';
import { loadAddon } from '../../../src/engine/addon.ts';
import { completeStates } from '../../../src/engine/embedder-states.ts';
import { type IndexEntry, IndexRegistry } from '../../../src/engine/registry.ts';
import { planSearch } from '../../../src/search/plan.ts';
import { addonIsBuilt } from '../../http/kill/support/server-process.ts';

const SETTINGS = {
  embedders: {
    e: { source: 'openAi', model: 'text-embedding-ada-002', dimensions: 2 },
    u: { source: 'userProvided', dimensions: 2 },
  },
  embedderStates: { e: { dimensions: 2 }, u: { dimensions: 2 } },
};
const DOCUMENTS = [{ id: 1, _vectors: { e: { embeddings: [1, 0], regenerate: false }, u: null } }];

describe('what the engine knows of embedders', () => {
  it('follows from their sources: dimensions, and how similarities are spread', () => {
    const embedders = {
      large: { source: 'openAi', model: 'text-embedding-3-large' },
      own: { source: 'openAi', model: 'x', dimensions: 3, distribution: { mean: 0.1, sigma: 0.2 } },
      rest: { source: 'rest' },
      parts: {
        source: 'composite',
        searchEmbedder: { source: 'rest' },
        indexingEmbedder: { source: 'openAi', model: 'text-embedding-ada-002' },
      },
    };
    const embedderStates = { own: { dimensions: 3, fragments: { a: 0 } } };
    assert.deepEqual(completeStates({ embedders, embedderStates }).embedderStates, {
      large: { dimensions: 3072, distribution: { mean: 0.7, sigma: 0.1 }, computes: true },
      own: {
        dimensions: 3,
        fragments: { a: 0 },
        distribution: { mean: 0.1, sigma: 0.2 },
        computes: true,
      },
      parts: { dimensions: 1536, distribution: { mean: 0.9, sigma: 0.08 }, computes: true },
    });
  });

  it('is completed when an index is opened that an older version has written', async function () {
    if (!addonIsBuilt()) this.skip();
    const dir = mkdtempSync(join(tmpdir(), 'gannet-older-'));
    const registry = new IndexRegistry(loadAddon(), dir, []);
    try {
      const entry = registry.create('2026-01-01T00:00:00Z');
      registry.apply(new Map([['a', entry]]));
      await entry.close();
      await writeOlder(dir, entry);
      for (let n = 0; n < 2; n++) {
        const states = entry.handle.settings()!.embedderStates as typeof SETTINGS.embedderStates;
        assert.deepEqual(states.e, {
          dimensions: 2,
          distribution: { mean: 0.9, sigma: 0.08 },
          computes: true,
        });
        assert.deepEqual(states.u, { dimensions: 2, distribution: null, computes: false });
        assert.equal(await scoreOf(entry), 0.268);
        await entry.close();
      }
    } finally {
      registry.closeAll();
      rmSync(dir, { recursive: true, force: true });
    }
  });
});

async function writeOlder(dir: string, entry: IndexEntry): Promise<void> {
  const addon = loadAddon();
  const handle = addon.openIndex(join(dir, entry.uuid), true);
  const documents = { task: 0, kind: 'documents', method: 'replace', payload: { buffer: 0 } };
  const steps = [
    { task: 0, kind: 'settings', settings: SETTINGS },
    { ...documents, format: 'json', primaryKey: 'id', skipCreation: false },
  ];
  const payload = Buffer.from(JSON.stringify(DOCUMENTS));
  for (const [batchUid, step] of steps.entries()) {
    const job = { batchUid, taskUids: [batchUid], now: '2026-01-01T00:00:01Z', steps: [step] };
    const outcome = await addon.applyBatch(handle, JSON.stringify(job), [payload], () =>
      assert.fail(),
    );
    assert.ok(!outcome.includes('error'), outcome);
  }
  await addon.closeIndex(handle);
}

/** The score of the one document for a vector at 45 degrees: cosine 0.707, similarity 0.854. */
async function scoreOf(entry: IndexEntry): Promise<number> {
  const request = { vector: [1, 1], hybrid: { embedder: 'e', semanticRatio: 1 } };
  const plan = planSearch(
    { ...request, showRankingScore: true } as SearchRequest,
    { containsFilter: true, multimodal: true },
    {},
  );
  const { bytes } = await entry.handle.search(JSON.stringify(plan));
  const { hits } = JSON.parse(String(bytes)) as { hits: { _rankingScore: number }[] };
  return Math.round(hits[0]!._rankingScore * 1000) / 1000;
}
