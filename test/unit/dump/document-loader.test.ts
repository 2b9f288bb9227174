import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadDocuments } from '../../../src/dump/document-loader.ts';
import { DumpError } from '../../../src/dump/dump-error.ts';
import { type IndexEntry, IndexRegistry } from '../../../src/engine/registry.ts';
import { MemoryEngine } from '../../support/memory-engine.ts';
import { mulberry } from '../../support/random.ts';

describe('documents of a dump', () => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  const now = '2024-01-01T00:00:00Z';
  let dir: string;
  let engine: MemoryEngine;
  let registry: IndexRegistry;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-loader-'));
    mkdirSync(join(dir, 'spool'));
    mkdirSync(join(dir, 'indexes'));
    engine = new MemoryEngine();
    registry = new IndexRegistry(engine, join(dir, 'indexes'), []);
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  async function newIndex(): Promise<IndexEntry> {
    const entry = registry.create(now);
    const steps = [{ task: 0, kind: 'primaryKey' as const, primaryKey: 'id' }];
    await entry.handle.applyBatch({ batchUid: 0, taskUids: [], now, steps }, []);
    return entry;
  }

  async function* cut(text: string, random: () => number): AsyncGenerator<Buffer, undefined> {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length;) {
      const end = at + 1 + Math.floor(random() * 300);
      yield bytes.subarray(at, end);
      at = end;
    }
  }

  it(`are all in the index, however they are split (seed ${seed})`, async () => {
    const random = mulberry(seed);
    for (let round = 0; round < 40; round++) {
      const entry = await newIndex();
      const documents = Array.from({ length: Math.floor(random() * 60) }, (_, id) => ({
        id,
        text: 'é'.repeat(Math.floor(random() * 40)),
      }));
      const lines = documents.map((document) => JSON.stringify(document)).join('\n');
      const text = random() < 0.5 ? lines : `${lines}\n`;
      const commitBytes = 1 + Math.floor(random() * 2000);
      const target = { uid: 'a', entry, now };
      const checked: number[] = [];
      const count = await loadDocuments(
        ...([target, cut(text, random), join(dir, 'spool')] as const),
        async (_, first) => checked.push(first),
        commitBytes,
      );
      if (documents.length > 0) assert.equal(checked[0], 1);
      const stored = JSON.parse(
        (await entry.handle.fetchAllDocuments('{"offset":0,"limit":1000}')).toString(),
      ) as { results: unknown[] };
      assert.deepEqual(stored.results, documents);
      if (documents.length > 0) assert.equal(count, documents.length);
      assert.equal(entry.handle.state().updatedAt, now);
    }
    assert.deepEqual(readdirSync(join(dir, 'spool')), []);
  });

  it('that an index refuses end the import, with their position', async () => {
    const entry = await newIndex();
    const lines = Array.from({ length: 50 }, (_, id) =>
      id === 30 ? '{"x":1}\n' : `{"id":${id}}\n`,
    );
    await assert.rejects(
      loadDocuments(
        { uid: 'books', entry, now },
        cut(lines.join(''), () => 0.1),
        join(dir, 'spool'),
        async () => {},
        100,
      ),
      (error: Error) => {
        assert.ok(error instanceof DumpError);
        const line = Number(/index `books`, at or after line (\d+) of/.exec(error.message)?.[1]);
        assert.ok(line > 15 && line <= 31, error.message);
        return true;
      },
    );
    assert.deepEqual(readdirSync(join(dir, 'spool')), []);
  });
});
