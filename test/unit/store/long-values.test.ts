/** Long values of tasks and batches, and the form of a store. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { jsonString, RawJson } from '../../../src/base/json.ts';
import { DataFolderError } from '../../../src/store/data-folder.ts';
import { Store } from '../../../src/store/store.ts';
import { Table } from '../../../src/store/table.ts';
import { addonIsBuilt } from '../../http/kill/support/server-process.ts';

const MAP = 2 ** 30;

describe('A store', () => {
  let dir: string;
  let file: string;

  beforeEach(function () {
    if (!addonIsBuilt()) this.skip();
    dir = mkdtempSync(join(tmpdir(), 'gannet-long-'));
    file = join(dir, 'store');
  });

  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  it('stores long values under separate keys until their owner is removed', async () => {
    const store = new Store(file, MAP);
    const words = new RawJson(JSON.stringify(Array.from({ length: 5000 }, (_, n) => `é${n}`)));
    const row = {
      type: 'settingsUpdate' as const,
      settings: { stopWords: words, synonyms: null, dictionary: ['a'] },
      stored: { stopWords: new RawJson('["b"]') },
    };
    await store.commit((tx) => {
      for (const uid of [7, 70]) tx.put(store.tasks, uid, row);
      tx.put(store.tasks, 8, { ...row, settings: {}, stored: {} });
    });
    assert.equal(jsonString(store.tasks.get(7)), jsonString(row));
    assert.ok(store.tasks.sizeOf(7) > words.bytes.length);
    assert.ok(store.tasks.sizeOf(8) < 100);
    await store.commit((tx) => {
      for (const uid of [7, 8, 9]) tx.remove(store.tasks, uid);
    });
    assert.equal(store.tasks.get(7), undefined);
    assert.deepEqual(
      [...store.long.getKeys()],
      ['tasks/70/settings/stopWords', 'tasks/70/stored/stopWords'],
    );
    await store.commit((tx) => tx.remove(store.long, 'tasks/70/stored/stopWords'));
    assert.throws(() => store.tasks.get(70), { code: 'invalid_store_file' });
    await store.close();
  });

  it('of another form is refused', async () => {
    await new Store(file, MAP).close();
    const root = open<Buffer, string>({ path: file, encoding: 'binary', maxDbs: 64 });
    const sums = root.openDB<Buffer, string>({ name: 'sums', encoding: 'binary' });
    const table = new Table<Buffer, string>('sums', sums, 'binary');
    await table.put('form', Buffer.from('3'));
    await root.close();
    assert.throws(() => new Store(file, MAP), DataFolderError);
  });
  it('that has lost its form is refused when it has records, and gets one when it has none', async () => {
    for (const isEmpty of [true, false]) {
      const store = new Store(file, MAP);
      if (!isEmpty) await store.commit((tx) => tx.put(store.table('keys'), 'a', {}));
      await store.close();
      const root = open<Buffer, string>({ path: file, encoding: 'binary', maxDbs: 64 });
      await root.openDB<Buffer, string>({ name: 'sums', encoding: 'binary' }).drop();
      await root.close();
      if (isEmpty) await new Store(file, { readOnly: true }).close();
      else assert.throws(() => new Store(file, MAP), DataFolderError);
    }
  });
});
