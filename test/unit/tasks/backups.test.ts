/** Backups that a schedule registers, while tasks on indexes wait. */
import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { scheduleBackups } from '../../../src/parts/backups.ts';
import type { TaskRequest } from '../../../src/contract/tasks.ts';
import type { RunContext, RunResult } from '../../../src/tasks/run/run.ts';
import { mulberry } from '../../support/random.ts';
import { silentLogger } from '../../support/silent-logger.ts';
import { add, TestTaskSystem } from '../../support/task-system.ts';

const SEED = Number(process.env.SEED ?? Date.now() % 1e6);
const HOURS = 3;

describe('Scheduled backups', () => {
  let test: TestTaskSystem;
  /** The type of each batch that has begun, and the uids of its tasks. */
  let begun: { type: string; uids: number[] }[];
  let during: () => Promise<void>;

  beforeEach(async () => {
    mock.timers.enable({ apis: ['setInterval'] });
    begun = [];
    during = () => Promise.resolve();
    const backup = async ({ batch: { kind, uids } }: RunContext): Promise<RunResult> => {
      begun.push({ type: kind, uids });
      await during();
      return { ends: uids.map((uid) => ({ uid, status: 'succeeded', result: null })) };
    };
    test = await TestTaskSystem.open({
      started: false,
      runners: { snapshotCreation: backup, dumpCreation: backup },
    });
  });
  afterEach(async () => {
    mock.timers.reset();
    await test.remove();
  });

  const waiting = (type: 'snapshotCreation' | 'dumpCreation'): Promise<number> =>
    test.system.queue.countMatching({ types: [type], statuses: ['enqueued', 'processing'] }, null);
  const schedule = (snapshot: number | null, dump: number | null): (() => void) =>
    scheduleBackups(
      { scheduleSnapshotSeconds: snapshot, scheduleDumpSeconds: dump },
      test.system.queue,
      silentLogger(),
      () => true,
    );
  /** Waits for the registrations of before: they are stored in order. */
  const registered = (): Promise<number> => test.register(add('any', [{ id: 1 }]));

  it('are not registered while one of the kind waits or runs', async () => {
    const end = schedule(1, 2);
    for (let second = 0; second < 100; second++) {
      mock.timers.tick(1000);
      // Without a pause, a registration may not have ended before the next one is due.
      if (second % 3 === 0) await registered();
    }
    await registered();
    assert.deepEqual([await waiting('snapshotCreation'), await waiting('dumpCreation')], [1, 1]);
    during = async () => {
      mock.timers.tick(10_000);
      await registered();
      assert.ok((await waiting('snapshotCreation')) <= 1 && (await waiting('dumpCreation')) <= 1);
      if (begun.length === 6) end();
    };
    await test.start();
    await test.settle();
    const types = new Set(begun.map(({ type }) => type));
    assert.deepEqual([begun.length >= 6, types.size], [true, 2]);
  });

  it('never delay an addition by more than one of each kind', async function () {
    console.log(`      SEED=${SEED}`);
    const random = mulberry(SEED);
    const before = new Map<number, number>();
    let now = 0;
    const end = schedule(1, 2);
    const additions = async (): Promise<void> => {
      for (let n = Math.floor(random() * 4); n > 0; n--) {
        const uid = await test.register(add(`i${Math.floor(random() * 5)}`, [{ id: 1 }]));
        // A backup that runs already when an addition arrives does not count.
        before.set(uid, begun.length);
      }
    };
    during = async () => {
      const seconds = Math.ceil(random() * 600);
      for (let second = 0; second < seconds; second += 10) mock.timers.tick(10_000);
      now += seconds;
      await additions();
      await registered();
      if (now > HOURS * 3600) end();
    };
    await additions();
    mock.timers.tick(2000);
    await registered();
    await test.start();
    await test.settle();
    assert.ok(begun.length > 10);
    assert.ok(before.size > 10);
    for (const [uid, count] of before) {
      const after = begun.slice(count, startOf(uid)).map(({ type }) => type);
      assert.equal(new Set(after).size, after.length, `task ${uid} waited for ${after.join()}`);
    }
  });

  /** How many backups had begun before the task. */
  function startOf(uid: number): number {
    const { startedAt } = test.task(uid);
    return begun.filter(({ uids }) => test.task(uids[0]!).startedAt! < startedAt!).length;
  }

  it('that people ask for leave turns to tasks on indexes, and get theirs', async () => {
    const dumps = Array.from({ length: 5 }, (): TaskRequest => ({ type: 'dumpCreation' }));
    const uids = await test.together([...dumps, add('a', [{ id: 1 }]), add('b', [{ id: 1 }])]);
    const order = uids.toSorted((a, b) =>
      test.task(a).startedAt! < test.task(b).startedAt! ? -1 : 1,
    );
    assert.deepEqual(order, [0, 5, 6, 1, 2, 3, 4]);
  });

  it('are not put off for ever by tasks on indexes', async () => {
    const many = Array.from({ length: 300 }, (_, n) => add(`i${n}`, [{ id: 1 }]));
    const dumps = Array.from({ length: 3 }, (): TaskRequest => ({ type: 'dumpCreation' }));
    await test.together([...many, ...dumps]);
    const before = [300, 301, 302].map((uid) => startedBefore(uid));
    assert.deepEqual(before, [0, 100, 200]);
  });

  /** How many additions ran before the task. */
  function startedBefore(uid: number): number {
    const { startedAt } = test.task(uid);
    return Array.from({ length: 300 }, (_, n) => test.task(n)).filter(
      (task) => task.startedAt! < startedAt!,
    ).length;
  }
});
