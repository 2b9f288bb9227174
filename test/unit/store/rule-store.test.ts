import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SearchRule } from '../../../src/contract/search-rules.ts';
import { bytesOf, RuleStore } from '../../../src/store/rule-store.ts';
import { Store } from '../../../src/store/store.ts';
import { mulberry } from '../../support/random.ts';

describe('The store of dynamic search rules', () => {
  let dir: string;
  let store: Store;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-rules-'));
    store = new Store(dir, 2 ** 30);
  });
  afterEach(async () => {
    await store.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it('lists the rules by their last update, also when the clock goes back', async () => {
    const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 2 ** 32);
    const random = mulberry(seed);
    const below = (n: number): number => Math.floor(random() * n);
    let rules = new RuleStore(store);
    const model = new Map<string, SearchRule>();
    for (let round = 0; round < 60; round++) {
      const draft = rules.draft();
      if (below(20) === 0) {
        assert.equal(draft.clear(), model.size);
        model.clear();
      }
      for (let n = below(6); n > 0; n--) {
        const uid = `r${below(15)}`;
        if (below(4) === 0) {
          draft.remove(uid);
          model.delete(uid);
          continue;
        }
        // Distinct moments, at times earlier than the one before.
        const moment = (round < 40 ? 0 : -500) + round * 10 + n + random() / 2;
        const rule: SearchRule = {
          ...{ uid, active: true, conditions: {}, actions: [], createdAt: '' },
          lastUpdatedAt: new Date(1e12 + moment * 1000).toISOString(),
        };
        draft.put(rule);
        model.set(uid, rule);
      }
      const bytes = [...model.values()].reduce((sum, rule) => sum + bytesOf(rule), 0);
      assert.deepEqual([draft.size, draft.bytes], [model.size, bytes], `seed ${seed}`);
      await draft.store();
      if (below(10) === 0) rules = new RuleStore(store);
      const dates = [...model.values()].map(({ lastUpdatedAt }) => lastUpdatedAt);
      assert.deepEqual(
        rules.list().map(({ lastUpdatedAt }) => lastUpdatedAt),
        dates.sort().reverse(),
        `seed ${seed}`,
      );
      assert.deepEqual([rules.size, rules.bytes], [model.size, bytes], `seed ${seed}`);
    }
  });
});
