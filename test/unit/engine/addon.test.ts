import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAddon } from '../../../src/engine/addon.ts';
import type { BatchJob, IndexState, NativeAddon } from '../../../src/engine/native.ts';
import { addonIsBuilt } from '../../http/kill/support/server-process.ts';

/** Segments of so many documents are above what the lane of small merges takes. */
const LARGE = 6_000;
const WORDS = 120;

describe('an index of the addon', function () {
  this.timeout(120_000);

  let native: NativeAddon;
  let dir: string;
  let batches = 0;

  before(function () {
    if (!addonIsBuilt()) this.skip();
    native = loadAddon();
    dir = mkdtempSync(join(tmpdir(), 'gannet-addon-'));
  });

  after(() => {
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
  });

  async function add(handle: number, documents: object[]): Promise<void> {
    const job: BatchJob = {
      batchUid: ++batches,
      taskUids: [batches],
      now: '2024-01-01T00:00:00Z',
      steps: [
        {
          task: batches,
          kind: 'documents',
          method: 'replace',
          payload: { buffer: 0 },
          format: 'json',
          primaryKey: 'id',
          skipCreation: false,
        },
      ],
    };
    const outcome = await native.applyBatch(handle, JSON.stringify(job), [
      Buffer.from(JSON.stringify(documents)),
    ]);
    assert.equal((JSON.parse(outcome) as { results: object[] }).results.length, 1);
  }

  const documentsOf = (handle: number): number =>
    (JSON.parse(native.indexState(handle)) as IndexState).numberOfDocuments;

  it('can be closed and opened again while its merges wait behind those of another one', async () => {
    const busy = native.openIndex(join(dir, 'busy'));
    const path = join(dir, 'closed');
    let closed = native.openIndex(path);
    const text = (seed: number): string =>
      Array.from(
        { length: WORDS },
        (_, i) => `word${(seed * 7919 + i * i * 104729) % 50_000}`,
      ).join(' ');
    const large = Array.from({ length: LARGE }, (_, id) => ({ id, text: text(id) }));
    // Alike ones are merged four at a time: the fourth batch of each begins a merge.
    for (let n = 0; n < 4; n++) {
      await add(
        busy,
        large.map(({ id, text: words }) => ({ id: id + n * LARGE, text: words })),
      );
    }
    for (let id = 0; id < 8; id++) await add(closed, [{ id }]);
    assert.ok(native.isMerging(busy), 'the merge of the other index is over too soon');
    native.closeIndex(closed);
    closed = native.openIndex(path);
    while (native.isMerging(busy)) await new Promise((done) => setTimeout(done, 10));
    // Whoever still had it open the first time has let go of it by now, and taken its locks along.
    for (let id = 8; id < 16; id++) await add(closed, [{ id }]);
    assert.equal(documentsOf(closed), 16);
    native.closeIndex(closed);
    native.closeIndex(closed);
    closed = native.openIndex(path);
    assert.equal(documentsOf(closed), 16);
    native.closeIndex(closed);
    native.closeIndex(busy);
  });
});
