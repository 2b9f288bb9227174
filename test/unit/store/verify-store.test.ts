import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Store } from '../../../src/store/store.ts';
import { STATUS_CODES, TaskChunk } from '../../../src/store/task-chunk.ts';
import { verifyStore } from '../../../src/store/verify-store.ts';
import { add, cancel, forget, settings, TestTaskSystem } from '../../support/task-system.ts';

const JSON_TEXT = Buffer.from('{}');

describe('verifyStore', () => {
  let dir: string;

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-verify-'));
    const system = await TestTaskSystem.open({ dir, batchedTasksMax: 1 });
    await system.run(add('movies', [{ id: 1 }, { id: 2 }]));
    await system.run(settings('movies', { stopWords: ['a'] }));
    await system.run(add('books', [{ title: 'without id' }]));
    await system.run(forget({ uids: [0] }));
    await system.restart({ started: false });
    await system.register(add('movies', [{ id: 3, text: 'small' }]));
    await system.register(add('movies', [{ id: 4, text: 'large '.repeat(20_000) }]));
    await system.register(cancel({ uids: [4] }));
    await system.close();
  });

  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  async function change(write: (store: Store) => Promise<unknown>): Promise<void> {
    const store = new Store(join(dir, 'store'), 2 ** 30);
    await write(store);
    await store.close();
  }

  async function structures(): Promise<string[]> {
    return (await verifyStore(dir)).faults.map(({ structure }) => structure);
  }

  it('finds no fault in what the server has written', async () => {
    const { faults, tasks, indexes } = await verifyStore(dir);
    assert.deepEqual(faults, []);
    assert.equal(tasks, 6);
    assert.deepEqual(
      indexes.map(([uid]) => uid),
      ['books', 'movies'],
    );
  });

  const damages: Record<string, [structure: string, (store: Store) => Promise<unknown>]> = {
    'a task without row': ['tasks', (store) => store.tasks.remove(1)],
    'a row without task': ['tasks', async (store) => store.tasks.put(99, store.tasks.get(1)!)],
    'a batch without row': ['batches', (store) => store.batches.remove(1)],
    'a batch without tasks': [
      'batches',
      async (store) => store.batches.put(70, store.batches.get(1)!),
    ],
    'an outcome of a task that waits': ['outcomes', (store) => store.outcomes.put(4, {})],
    'a payload that is gone': ['payloads', (store) => store.payloads.remove(4)],
    'an index number without name': ['chunks', (store) => store.indexNames.remove(0)],
    'two indexes of one folder': [
      'indexes',
      async (store) => store.indexes.put('other', store.indexes.get('movies')!),
    ],
    'an index without folder': [
      'folder',
      async (store) =>
        store.indexes.put('gone', {
          ...store.indexes.get('movies')!,
          uuid: '00000000-0000-4000-8000-000000000000',
        }),
    ],
    'a chunk of the wrong size': ['chunks', (store) => store.chunks.put(0, Buffer.alloc(100))],
    'a task that is stored as processing': [
      'chunks',
      async (store) => {
        const chunk = TaskChunk.decode(store.chunks.get(0)!);
        chunk.status[4] = STATUS_CODES.processing;
        // The bytes as they are in memory, because `encode` would repair them.
        await store.chunks.put(0, Buffer.from(chunk.buffer));
      },
    ],
    'a long value of nothing': ['long', (store) => store.long.put('tasks/99/context', JSON_TEXT)],
    'a long value that is no JSON': [
      'long',
      (store) => store.long.put('tasks/1/context', Buffer.from('{')),
    ],
    'a record of something unknown': ['meta', (store) => store.meta.put('other', 1)],
    ...Object.fromEntries(
      ['keys', 'search-rules', 'network', 'chats', 'aliases', 'notifications', 'later'].map(
        (part) => [
          `a record of ${part} that is not an object`,
          [`x-${part}`, (store: Store) => store.table<unknown>(part).put('k', 1)],
        ],
      ),
    ),
  };
  for (const [name, [structure, damage]] of Object.entries(damages)) {
    it(`reports ${name}`, async () => {
      await change(damage);
      assert.ok((await structures()).includes(structure), (await structures()).join());
    });
  }

  it('reports a payload file that is truncated', async () => {
    writeFileSync(join(dir, 'payloads', '5'), 'short');
    const { faults } = await verifyStore(dir);
    assert.deepEqual(
      faults.map(({ file, structure }) => [file, structure]),
      [['payloads/5', 'payloads']],
    );
  });
});
