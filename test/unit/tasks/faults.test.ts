/**
 * Makes each write of the task queue fail, one per run. Nothing acknowledged is lost, nothing
 * refused exists, tasks report why they failed, reads continue, and everything recovers once the
 * fault is over. For faults in the engine's own writes see test/native/indexing/fault_test.cc.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiError, toApiError } from '../../../src/contract/errors.ts';
import { verifyStore } from '../../../src/store/verify-store.ts';
import { Faults, FAULTS } from '../../support/faults.ts';
import { add, settings, TestTaskSystem } from '../../support/task-system.ts';

const CODES = ['no_space_left_on_device', 'io_error', 'too_many_open_files'];
/** The pause before the store is tried again. */
const RETRY_MS = 10_000;

describe('the task queue', function () {
  this.timeout(120_000);

  let dir: string;
  const realTimeout = globalThis.setTimeout;

  before(() => {
    const hurried = (work: () => void, ms?: number, ...rest: []): NodeJS.Timeout =>
      realTimeout(work, ms === RETRY_MS ? 1 : ms, ...rest);
    globalThis.setTimeout = Object.assign(hurried, realTimeout) as typeof setTimeout;
  });
  after(() => {
    globalThis.setTimeout = realTimeout;
  });
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-faults-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  /**
   * Sends requests one after the other, each with the next document id: small, large, in a file.
   */
  async function ask(test: TestTaskSystem): Promise<number[]> {
    const acknowledged: number[] = [];
    const large = 'large '.repeat(20_000);
    const file = test.system.taskStore.payloadPath('upload-1');
    const bytes = Buffer.from(JSON.stringify([{ id: 3, text: 'file' }]));
    for (const request of [
      () => add('a', [{ id: 1, text: 'small' }]),
      () => add('a', [{ id: 2, text: large }]),
      () => {
        writeFileSync(file, bytes);
        return add('a', [], { payload: { file }, documents: 1 });
      },
      () => settings('a', { stopWords: ['the'] }),
      () => add('b', [{ id: 4 }]),
      () => ({ type: 'indexDeletion' as const, indexUid: 'b' }),
    ]) {
      try {
        acknowledged.push(await test.register(request()));
      } catch (error) {
        assert.ok(CODES.includes(toApiError(error).code), String(error));
      }
      // Reads continue.
      assert.equal(test.tasks().length, acknowledged.length);
    }
    return acknowledged;
  }

  async function check(test: TestTaskSystem, acknowledged: readonly number[]): Promise<void> {
    const tasks = test.tasks();
    assert.deepEqual(
      tasks.map(({ uid }) => uid),
      acknowledged,
    );
    let documents = 0;
    for (const { uid, type, indexUid, status, error } of tasks) {
      if (status === 'failed') {
        // A task that depends on an index that could not be created reports that the index is
        // missing.
        const depends = error!.code === 'index_not_found' && indexUid === 'b';
        assert.ok(depends || CODES.includes(error!.code), `${uid}: ${JSON.stringify(error)}`);
      } else assert.equal(status, 'succeeded', `task ${uid}`);
      if (status === 'succeeded' && type === 'documentAdditionOrUpdate' && indexUid === 'a')
        documents++;
    }
    if (test.indexUids.includes('a')) assert.equal((await test.documents('a')).length, documents);
  }

  for (const [name, fault] of Object.entries(FAULTS)) {
    for (const once of [true, false]) {
      it(`survives ${name} at any call${once ? '' : ', and from there on for a while'}`, async () => {
        let calls = 0;
        for (let call = 1; ; call++) {
          const folder = join(dir, String(call));
          const test = await TestTaskSystem.open({ dir: folder });
          const faults = new Faults(folder, fault);
          try {
            faults.arm(call, once);
            const acknowledged = await ask(test);
            if (!once) setTimeout(() => faults.disarm(), 20);
            await test.settle();
            const { fired } = faults;
            faults.disarm();
            await test.settle();
            await check(test, acknowledged);
            const next = await test.run(add('a', [{ id: 5 }]));
            assert.equal(next.status, 'succeeded', JSON.stringify(next.error));
            await check(test, [...acknowledged, next.uid]);
            await test.restart();
            await check(test, [...acknowledged, next.uid]);
            assert.deepEqual(readdirSync(join(folder, 'payloads')), []);
            await test.close();
            assert.deepEqual((await verifyStore(folder)).faults, []);
            if (!fired) break;
            calls++;
          } catch (error) {
            throw new Error(`at call ${call}`, { cause: error });
          } finally {
            faults.remove();
            await test.remove();
          }
        }
        assert.ok(calls >= 2, `${calls} calls failed`);
      });
    }
  }

  for (const code of ['no_leader', 'cluster_unavailable'] as const) {
    it(`runs a batch again when the cluster refused its commit with ${code}`, async () => {
      const test = await TestTaskSystem.open({ dir });
      let refusals = 2;
      test.engine.beforeCommit = () => {
        if (refusals-- > 0) throw new ApiError(code, 'The cluster takes no writes.');
      };
      await test.register(add('a', [{ id: 1 }]));
      await test.settle();
      assert.deepEqual(
        test.tasks().map(({ status, error }) => [status, error]),
        [['succeeded', null]],
      );
      assert.equal(refusals, -1);
      await test.close();
    });
  }
});
