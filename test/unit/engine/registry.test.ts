import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BatchCanceled, fromEngine } from '../../../src/engine/errors.ts';
import {
  type IndexEntry,
  IndexRegistry,
  OPEN_INDEXES_MAX,
  openIndexesMax,
  REST_MS,
} from '../../../src/engine/registry.ts';
import { MemoryEngine } from '../../support/memory-engine.ts';

describe('openIndexesMax', () => {
  it('is a share of the files that the process may have open, within its bound', () => {
    assert.equal(openIndexesMax(256), 32);
    assert.equal(openIndexesMax(1024), 224);
    assert.equal(openIndexesMax(1_000_000), OPEN_INDEXES_MAX);
  });
});

describe('the registry of indexes', () => {
  let dir: string;
  let engine: MemoryEngine;
  let registry: IndexRegistry;
  /** Time of the clock, which advances by one on each read. */
  let now: number;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-registry-'));
    engine = new MemoryEngine();
    now = 0;
    registry = new IndexRegistry(engine, dir, [], { open: 3, resting: 1, now: () => now++ });
  });

  afterEach(() => {
    registry.closeAll();
    rmSync(dir, { recursive: true, force: true });
  });

  function named(...uids: string[]): IndexEntry[] {
    return uids.map((uid) => {
      const entry = registry.create('2025-01-01T00:00:00Z');
      registry.apply(new Map([[uid, entry]]));
      return entry;
    });
  }

  it('lists by uid, in the order of bytes', () => {
    named('b', 'a', 'B', '_');
    assert.deepEqual(
      registry.list().map(([uid]) => uid),
      ['B', '_', 'a', 'b'],
    );
  });

  it('a new index has no uid before it is applied', () => {
    const entry = registry.create('2025-01-01T00:00:00Z');
    assert.deepEqual(registry.list(), []);
    registry.apply(new Map([['a', entry]]));
    assert.equal(registry.get('a'), entry);
    registry.apply(new Map([['a', null]]));
    assert.equal(registry.has('a'), false);
  });

  it('an unlisted index is found by its uid, and is in no list', () => {
    const [listed] = named('b');
    const entry = registry.create('2025-01-01T00:00:00Z');
    registry.publishUnlisted('a', entry);
    assert.equal(registry.get('a'), entry);
    assert.deepEqual(registry.list(), [['b', listed]]);
    registry.withdrawUnlisted('a');
    assert.equal(registry.get('a'), undefined);
    registry.apply(new Map([['a', entry]]));
    assert.deepEqual(
      registry.list().map(([uid]) => uid),
      ['a', 'b'],
      'the uid is free for a listed one again',
    );
  });

  it('keeps a bounded number open and opens the others again when asked', () => {
    const entries = named('a', 'b', 'c', 'd', 'e');
    assert.equal(engine.openCount, 3);
    assert.equal(entries[0]!.openHandle, null);
    assert.equal(entries[0]!.settings.searchCutoffMs, null, 'known without opening');
    assert.equal(entries[0]!.handle.state().numberOfDocuments, 0);
    assert.equal(engine.openCount, 3);
    assert.equal(entries[2]!.openHandle, null, 'the one used longest ago gave way');
  });

  it('never closes an index that is in use', async () => {
    const entries = named('a', 'b', 'c');
    let release = (): void => {};
    const busy = entries.map((entry) =>
      entry.handle.track(
        new Promise<void>((done) => {
          const before = release;
          release = () => (before(), done());
        }),
      ),
    );
    named('d');
    assert.equal(engine.openCount, 4);
    assert.ok(entries.every(({ openHandle }) => openHandle !== null));
    release();
    await Promise.all(busy);
    named('e');
    assert.equal(engine.openCount, 3, 'and falls back to the bound');
  });

  it('closes what is at rest, but neither the last used nor what is at work', async () => {
    const [a, b, c] = named('a', 'b', 'c') as [IndexEntry, IndexEntry, IndexEntry];
    const open = (): boolean[] => [a, b, c].map(({ openHandle }) => openHandle !== null);
    registry.closeResting();
    assert.deepEqual(open(), [true, true, true], 'all were used lately');
    now += REST_MS;
    let release = (): void => {};
    const busy = a.handle.track(new Promise<void>((done) => (release = done)));
    now += REST_MS;
    engine.merging.add(b.openHandle!.number);
    assert.ok(c.handle);
    now += 2 * REST_MS;
    registry.closeResting();
    assert.deepEqual(open(), [true, true, true], 'searching, merging, and the last used');
    release();
    await busy;
    registry.closeResting();
    assert.deepEqual(open(), [false, true, true]);
    engine.merging.clear();
    registry.closeResting();
    assert.deepEqual(open(), [false, false, true]);
    assert.equal(a.handle.state().numberOfDocuments, 0, 'opened again when it is asked for');
  });

  it('reports once for each open index why its merges failed', () => {
    const [a, b] = named('a', 'b') as [IndexEntry, IndexEntry];
    assert.deepEqual(registry.takeMergeFaults(), []);
    engine.mergeFaults.set(b.openHandle!.number, 'no space left');
    assert.deepEqual(registry.takeMergeFaults(), [{ uuid: b.uuid, fault: 'no space left' }]);
    assert.deepEqual(registry.takeMergeFaults(), []);
    assert.ok(a.openHandle);
  });

  it('merges at rest in each open index', () => {
    const entries = named('a', 'b');
    for (const { handle } of entries) assert.ok(handle);
    registry.mergeAtRest();
    assert.deepEqual(
      engine.lookedAfter,
      entries.map(({ openHandle }) => openHandle!.number),
    );
  });

  it('discards folder and handle', async () => {
    const [entry] = named('a');
    await registry.discard(entry!);
    assert.throws(() => entry!.handle, { code: 'index_not_found' });
    assert.equal(engine.openCount, 0);
    assert.deepEqual(readdirSync(dir), []);
  });

  it('sweeps folders that nothing names', () => {
    const [entry] = named('a');
    mkdirSync(join(dir, 'orphan'));
    registry.sweep();
    assert.deepEqual(readdirSync(dir), [entry!.uuid]);
  });

  it('opens an index that is a microsecond newer than the store knows, and no older one', () => {
    const updatedAt = (micros: string): string => `2026-01-01T00:00:00.${micros}Z`;
    const state = engine.indexState.bind(engine);
    const stored = registry.create('2026-01-01T00:00:00Z');
    const summary = { ...stored.summary, updatedAt: updatedAt('000005'), numberOfDocuments: 7 };
    const open = (micros: string): unknown => {
      const uuid = `1234567${micros.at(-1)}-1111-1111-1111-111111111111`;
      const records = [['a', { ...stored.record, uuid, summary }]] as const;
      engine.indexState = (handle) =>
        JSON.stringify({ ...JSON.parse(state(handle)), updatedAt: updatedAt(micros) });
      return new IndexRegistry(engine, dir, records).get('a')!.handle;
    };
    assert.ok(open('000006'));
    assert.throws(() => open('000004'), { code: 'invalid_store_file' });
    assert.throws(() => open('000005'), { code: 'invalid_store_file' });
  });

  it('comes back from its records', async () => {
    const [entry] = named('a');
    await registry.closeAll();
    const again = new IndexRegistry(engine, dir, [['a', entry!.record]]);
    assert.deepEqual(again.get('a')!.record, entry!.record);
    assert.equal(again.get('a')!.handle.state().numberOfDocuments, 0);
    await again.closeAll();
  });
});

describe('errors of the engine', () => {
  const thrown = (code?: string): Error => Object.assign(new Error('why'), code ? { code } : {});
  const ROWS: [string, Error, string, string][] = [
    ['a code of the catalogue', thrown('invalid_search_filter'), 'invalid_search_filter', 'why'],
    ['an unknown code', thrown('strange'), 'internal', 'The engine failed: why'],
    ['no code', thrown(), 'internal', 'The engine failed: why'],
  ];
  for (const [name, error, code, message] of ROWS) {
    it(`${name} becomes ${code}`, () => {
      const known = fromEngine(error) as Error & { code: string };
      assert.deepEqual([known.code, known.message], [code, message]);
    });
  }

  it('a canceled batch is no failure', () => {
    assert.ok(fromEngine(thrown('canceled')) instanceof BatchCanceled);
  });
});
