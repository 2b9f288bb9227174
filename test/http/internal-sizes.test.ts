/** Sizes of the parts of an index, in statistics and batches. */
import assert from 'node:assert/strict';
import { useServer } from './support/real-server.ts';

describe('The sizes of internal databases', function () {
  this.timeout(60_000);
  const { send, done } = useServer();

  it('are listed when asked for, as numbers or for people', async () => {
    const { body: plain } = await send('GET', '/indexes/i/stats');
    assert.ok(!('internalDatabaseSizes' in plain));
    const { body: raw } = await send('GET', '/indexes/i/stats?showInternalDatabaseSizes=true');
    assert.deepEqual(Object.keys(raw.internalDatabaseSizes), ['main', 'segments']);
    for (const part of ['main', 'segments']) assert.ok(raw.internalDatabaseSizes[part] > 0, part);
    const query = 'showInternalDatabaseSizes=true&sizeFormat=human';
    const { body: human } = await send('GET', `/stats?${query}`);
    assert.match(human.indexes.i.internalDatabaseSizes.main, /^[\d.]+ [KM]iB$/);
  });

  it('and their changes are reported by batches', async () => {
    const task = await done('POST', '/indexes/i/documents', [{ id: 7, text: 'more words' }]);
    const { body: batch } = await send('GET', `/batches/${task.batchUid}`);
    assert.match(batch.stats.internalDatabaseSizes.segments, / \(\+[\d.]+ (B|KiB)\)$/);
    for (const [method, path, body] of [
      // Nothing is written for these.
      ['POST', '/indexes/i/documents', [{ id: 7, text: 'more words' }]],
      ['PUT', '/indexes/i/documents', [{ id: 7 }]],
      ['DELETE', '/indexes/i/documents/unknown', undefined],
      ['POST', '/indexes/i/documents', [{ text: 'without an id' }]],
      ['PATCH', '/indexes/i/settings', { filterableAttributes: ['text'] }],
      ['POST', '/indexes', { uid: 'another' }],
      ['DELETE', '/indexes/another', undefined],
    ] as const) {
      const other = await done(method, path, body);
      const { body: without } = await send('GET', `/batches/${other.batchUid}`);
      assert.ok(!('internalDatabaseSizes' in without.stats), other.type);
    }
  });
});
