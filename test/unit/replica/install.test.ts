import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from '../../../src/cluster/bytes.ts';
import { encodeCheckpoint } from '../../../src/cluster/checkpoint.ts';
import { LogHold } from '../../../src/cluster/log-hold.ts';
import { systemRuntime } from '../../../src/cluster/system-runtime.ts';
import { installIfBehind } from '../../../src/replica/install.ts';
import { Store } from '../../../src/store/store.ts';
import { MemoryBlobs } from '../../support/memory-blobs.ts';
import { MemoryLog, MemoryLogState } from '../../support/memory-log.ts';

const BLOB = 'checkpoints/0000000000000032-0000000000000001-other-1';
const COPY = 'files/0000000000000001-other-1';
const MAP_BYTES = 2 ** 24;

describe('A checkpoint of the cluster', () => {
  let root: string;
  let shared: MemoryLogState;
  const objects = new Map<string, Buffer>();
  before(async () => {
    root = mkdtempSync(join(tmpdir(), 'gannet-install-'));
    const bytes = await storeAt(50, 'origin');
    const sum = sha256(bytes);
    const copy = { name: 'data.mdb', size: bytes.length, sha256: sum, blob: COPY };
    const databases = [{ name: 'store', copies: [copy], files: [] }];
    const checkpoint = { sequence: 50, epoch: 1, at: 0, databases, passed: [] };
    objects.set(COPY, bytes);
    objects.set(BLOB, encodeCheckpoint(checkpoint));
  });
  beforeEach(() => {
    shared = new MemoryLogState();
    shared.found({ id: 'id', salt: 'salt', proof: 'proof' }, 0);
    const { settings } = shared.state;
    // The log has all entries.
    const newest = { sequence: 50, blob: BLOB };
    shared.change({ head: 60, settings: { ...settings, checkpoint: newest } });
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  /** The bytes of a store that has applied the log up to a position, in a folder of this name. */
  async function storeAt(applied: number, name: string): Promise<Buffer> {
    const dir = join(root, name, 'store');
    for (const part of ['payloads', 'indexes', 'store']) {
      mkdirSync(join(root, name, part), { recursive: true });
    }
    const store = new Store(dir, MAP_BYTES);
    await store.setCluster({ id: 'id', applied });
    await store.close();
    return readFileSync(join(dir, 'data.mdb'));
  }

  async function install(name: string): Promise<number | null> {
    const dir = join(root, name);
    const log = new MemoryLog(shared);
    const runtime = systemRuntime(() => {});
    const blobs = new MemoryBlobs(objects);
    const hold = new LogHold(log, runtime, name);
    await installIfBehind(dir, { log, blobs, runtime, token: name, hold });
    await hold.release();
    if (!existsSync(join(dir, 'store', 'data.mdb'))) return null;
    const store = new Store(join(dir, 'store'), { readOnly: true });
    const { applied } = store.cluster!;
    await store.close();
    return applied;
  }

  it('is taken by a new node, though the log reaches back to its beginning', async () => {
    mkdirSync(join(root, 'new', 'store'), { recursive: true });
    assert.equal(await install('new'), 50);
    // It goes on from there.
    assert.equal(await install('new'), 50);
  });

  it('is not taken by a node that the log can bring up to date', async () => {
    await storeAt(7, 'behind');
    assert.equal(await install('behind'), 7);
  });
});
