/** Records of a cluster have what a transaction changes, not the values that it changes in part. */
import assert from 'node:assert/strict';
import { decodeDelta, encodeDelta } from '../../../src/cluster/delta.ts';
import { DamagedError } from '../../../src/cluster/errors.ts';
import { ApiError } from '../../../src/contract/errors.ts';
import type { StoreLog } from '../../../src/store/store.ts';
import { patched, patchOf } from '../../../src/cluster/patch.ts';
import { TASKS_PER_CHUNK } from '../../../src/store/task-chunk.ts';
import { mulberry } from '../../support/random.ts';
import { add, TestTaskSystem } from '../../support/task-system.ts';

const SEED = Number(process.env.GANNET_TEST_SEED ?? 1);
const TASK_BYTES_MAX = 2000;

describe('A patch', () => {
  it('makes one value of another of its length', () => {
    const random = mulberry(SEED);
    const whole = (max: number): number => Math.floor(random() * max);
    for (let n = 0; n < 2000; n++) {
      const before = Buffer.from(Array.from({ length: whole(400) }, () => whole(3)));
      const after = Buffer.from(before);
      for (let left = before.length === 0 ? 0 : whole(12); left > 0; left--) {
        after.fill(whole(256), whole(after.length), whole(after.length));
      }
      const patch = patchOf(before, after);
      const message = `seed ${SEED}, value ${n}`;
      if (patch === null) continue;
      assert.ok(patch.length <= before.length / 2, message);
      assert.ok(patched(before, patch).equals(after), message);
    }
  });

  it('is none if the lengths differ, or most of the value', () => {
    const [zeros, ones] = [Buffer.alloc(2000), Buffer.alloc(2000, 1)];
    assert.equal(patchOf(zeros, Buffer.alloc(2001)), null);
    assert.equal(patchOf(zeros, ones), null);
    assert.equal(patchOf(zeros, zeros)?.length, 0);
  });

  it('of any bytes is applied or refused, and nothing else happens', () => {
    const random = mulberry(SEED);
    for (let n = 0; n < 5000; n++) {
      const length = Math.floor(random() * 8);
      const bytes = Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
      try {
        assert.equal(patched(Buffer.alloc(30), bytes).length, 30);
      } catch (error) {
        assert.ok(error instanceof DamagedError, `${bytes.toString('hex')}: ${String(error)}`);
      }
    }
  });
});

describe('The records of small tasks', () => {
  let test: TestTaskSystem;
  let other: TestTaskSystem;
  let applied: number;
  let deltas: Buffer[];

  beforeEach(async () => {
    test = await TestTaskSystem.open({ started: false });
    other = await TestTaskSystem.open({ started: false });
    [applied, deltas] = [0, []];
    test.system.store.useLog(both);
  });

  afterEach(async () => {
    await test.remove();
    await other.remove();
  });

  const apply = async (delta: Buffer, systems: readonly TestTaskSystem[]): Promise<void> => {
    for (const { system } of systems) {
      const { taskStore, store } = system;
      const state = { id: 'cluster', applied };
      if (store.isOwn(delta)) await store.applyRecord(state, delta);
      else await taskStore.exclusively(() => store.applyRecord(state, delta));
    }
  };
  const both: StoreLog = {
    commit: async (_, build) => {
      const delta = build();
      deltas.push(delta);
      applied++;
      await apply(delta, [test, other]);
    },
  };
  const chunksOf = ({ system }: TestTaskSystem): string[] =>
    [...system.store.chunks.getRange()].map(({ value }) => value.toString('hex'));

  it('take less than 2 kB for each, and make the same of each node', async () => {
    // All but the last ones of a chunk at once.
    const first = TASKS_PER_CHUNK - 5;
    const document = (id: number): object => ({ id, title: `a small document ${id}` });
    await test.together(Array.from({ length: first }, (_, n) => add('books', [document(n)])));
    for (let n = first; n < first + 10; n++) {
      const before = deltas.length;
      await test.run(add('books', [document(n)]));
      const bytes = deltas.slice(before).reduce((sum, { length }) => sum + length, 0);
      // The first one also removes the payloads of those before, the first of a chunk makes it.
      const isFirst = n === first || n === TASKS_PER_CHUNK;
      if (!isFirst) assert.ok(bytes < TASK_BYTES_MAX, `task ${n}: ${bytes} bytes`);
    }
    assert.deepEqual(chunksOf(other), chunksOf(test));
    assert.equal(chunksOf(test).length, 2);
    await other.restart({ started: false });
    assert.deepEqual(other.tasks(), test.tasks());
  });

  it('are refused where the value is another one, and show a value that is damaged', async () => {
    await test.start();
    await test.run(add('books', [{ id: 1 }]));
    const isPatch = (delta: Buffer): boolean =>
      decodeDelta(delta, () => true).some(({ kind }) => kind === 'patch');
    const found = deltas.findLast(isPatch)!;
    const writes = decodeDelta(found, () => true).filter(({ kind }) => kind === 'patch');
    const patch = encodeDelta(writes);
    const { store } = other.system;
    const chunk = store.chunks.get(0)!;
    const state = { id: 'cluster', applied: applied + 1 };
    await store.applyRecord(state, patch);
    assert.ok(store.chunks.get(0)!.equals(chunk), 'what has the bytes already keeps them');
    const without = encodeDelta([{ kind: 'remove', table: 'chunks', key: Buffer.alloc(4) }]);
    await store.applyRecord(state, without);
    await assert.rejects(store.applyRecord(state, patch), DamagedError);
    const key = Buffer.alloc(4);
    const value = Buffer.alloc(chunk.length + 4);
    const sealedAsOther = encodeDelta([{ kind: 'put', table: 'chunks', key, value }]);
    await assert.rejects(store.applyRecord(state, sealedAsOther), DamagedError);
    store.chunks.apply({ key: 0, value }).catch(() => {});
    await store.setCluster(state);
    await assert.rejects(
      store.applyRecord(state, patch),
      (error: ApiError) => error.code === 'invalid_store_file',
    );
  });
});
