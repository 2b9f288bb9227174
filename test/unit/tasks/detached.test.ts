import assert from 'node:assert/strict';
import type { TaskRequest } from '../../../src/contract/tasks.ts';
import type { RunContext, RunResult } from '../../../src/tasks/run/run.ts';
import { mulberry } from '../../support/random.ts';
import { add, cancel, settings, TestTaskSystem } from '../../support/task-system.ts';

const EXPORT: TaskRequest = {
  ...{ type: 'export', url: 'http://other.test', apiKey: null },
  ...{ payloadSizeBytes: null, indexes: { '*': { filter: null, overrideSettings: false } } },
};

const CREATION: TaskRequest = { type: 'indexCreation', indexUid: 'z', primaryKey: null };

describe('A batch that waits for another server', () => {
  let test: TestTaskSystem;
  /** Functions that end the export of a task, by uid. */
  let running: Map<number, () => void>;

  /** Detaches at once, and ends when it is released or asked to stop. */
  const waiting = async ({ batch, detach, cancel: stop }: RunContext): Promise<RunResult> => {
    const [uid] = batch.uids;
    detach();
    await new Promise<void>((done) => {
      running.set(uid!, done);
      stop.listen(done);
    });
    running.delete(uid!);
    stop.check();
    return { ends: [{ uid: uid!, status: 'succeeded', result: null }] };
  };

  beforeEach(async () => {
    running = new Map();
    test = await TestTaskSystem.open({ started: false, runners: { export: waiting } });
  });
  afterEach(() => test.remove());

  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise((done) => setImmediate(done));
  }
  const statuses = (): string[] => test.tasks().map(({ status }) => status);
  const ended = (uid: number) => (): boolean => test.finished.flat().includes(uid);

  it('lets batches of every kind run meanwhile, in their order', async () => {
    for (const request of [
      EXPORT,
      add('a', [{ id: 1 }]),
      settings('a', { stopWords: ['x'] }),
      { type: 'indexCreation', indexUid: 'b', primaryKey: null },
      { type: 'indexSwap', swaps: [{ indexes: ['a', 'b'], rename: false }] },
      { type: 'indexDeletion', indexUid: 'a' },
      add('c', [{ id: 1 }]),
      cancel({ uids: [6] }),
    ] as TaskRequest[]) {
      await test.register(request);
    }
    await test.start();
    await until(ended(5));
    assert.deepEqual(statuses(), [
      'processing',
      ...['succeeded', 'succeeded', 'succeeded', 'succeeded', 'succeeded'],
      ...['canceled', 'succeeded'],
    ]);
    assert.deepEqual(test.indexUids, ['b']);
    const view = test.system.queue.getBatch(test.task(0).batchUid!, null);
    assert.deepEqual(view?.stats.status, { processing: 1 });
    running.get(0)!();
    await test.settle();
    assert.equal(test.task(0).status, 'succeeded');
    const batches = test.tasks().map(({ batchUid }) => batchUid);
    assert.equal(new Set(batches).size, 7, 'each has its own, but what was canceled');
  });

  it('runs with a few others of its type; further ones wait and delay nothing', async () => {
    for (let n = 0; n < 6; n++) await test.register(EXPORT);
    await test.register(add('a', [{ id: 1 }]));
    await test.start();
    await until(ended(6));
    const five = ['processing', 'processing', 'processing', 'processing', 'enqueued'];
    assert.deepEqual(statuses(), [...five, 'enqueued', 'succeeded']);
    running.get(2)!();
    await until(() => running.has(4));
    assert.equal(test.task(5).status, 'enqueued');
    await test.register(settings('a', { stopWords: ['x'] }));
    await until(ended(7));
    for (const uid of [5, 4, 3, 1, 0]) {
      await until(() => running.has(uid) || uid === 5);
      running.get(uid)?.();
    }
    await until(() => running.has(5));
    running.get(5)!();
    await test.settle();
    assert.deepEqual(new Set(statuses()), new Set(['succeeded']));
  });

  it('is canceled with its cancelation, also after a swap has changed all uids', async () => {
    await test.register(EXPORT);
    await test.register(add('a', [{ id: 1 }]));
    await test.register(add('b', [{ id: 1 }]));
    await test.start();
    await until(ended(2));
    await test.register({ type: 'indexSwap', swaps: [{ indexes: ['a', 'b'], rename: false }] });
    await until(ended(3));
    await test.register(cancel({ uids: [0] }));
    await test.settle();
    const [task, , , , cancelation] = test.tasks();
    assert.deepEqual([task!.status, task!.canceledBy], ['canceled', 4]);
    assert.equal(task!.batchUid, cancelation!.batchUid);
    assert.deepEqual(cancelation!.details, {
      ...{
        matchedTasks: 1,
        canceledTasks: 1,
        originalFilter: cancelation!.details!.originalFilter,
      },
    });
    assert.equal((await test.run(CREATION)).status, 'succeeded');
  });

  it('is rolled back by a stop, and runs again after a start', async () => {
    await test.register(EXPORT);
    await test.register(add('a', [{ id: 1 }]));
    await test.start();
    await until(ended(1));
    await test.system.scheduler.stop();
    assert.deepEqual(statuses(), ['enqueued', 'succeeded']);
    await test.restart();
    await until(() => running.has(0));
    running.get(0)!();
    await test.settle();
    assert.deepEqual(statuses(), ['succeeded', 'succeeded']);
  });

  it('that fails after it has detached fails only its task', async () => {
    await test.restart({
      started: false,
      runners: {
        export: async (context) => {
          context.detach();
          await new Promise((done) => setImmediate(done));
          throw new Error('broken');
        },
      },
    });
    await test.register(EXPORT);
    await test.register(add('a', [{ id: 1 }]));
    await test.start();
    await test.settle();
    assert.deepEqual(statuses(), ['failed', 'succeeded']);
    assert.equal(test.task(0).error?.code, 'internal');
  });

  it('keeps its state consistent in any order of events', async function () {
    this.timeout(60_000);
    const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 1e6);
    const random = mulberry(seed);
    const below = (n: number): number => Math.floor(random() * n);
    await test.start();
    let registered = 0;
    for (let n = 0; n < 150; n++) {
      const requests: (() => TaskRequest)[] = [
        () => EXPORT,
        () => EXPORT,
        () => add(`i${below(3)}`, [{ id: n }]),
        () => settings(`i${below(3)}`, { stopWords: [`w${n}`] }),
        () => ({ type: 'indexSwap', swaps: [{ indexes: ['i0', 'i1'], rename: false }] }),
        () => cancel({ uids: [below(registered + 1)] }),
      ];
      const what = below(9);
      if (what < requests.length) {
        await test.register(requests[what]!());
        registered++;
      } else if (what < 8) {
        const uids = [...running.keys()];
        running.get(uids[below(uids.length)]!)?.();
      } else for (let rounds = below(20); rounds > 0; rounds--) await new Promise(setImmediate);
    }
    // As many run at a time as may; each that ends lets the next one begin.
    const open = (): boolean => test.tasks().some(({ finishedAt }) => finishedAt === null);
    while (open()) {
      for (const end of running.values()) end();
      await new Promise((done) => setImmediate(done));
    }
    await test.settle();
    for (const task of test.tasks()) {
      assert.notEqual(task.batchUid, null, `task ${task.uid}, seed ${seed}`);
      assert.ok(['succeeded', 'canceled', 'failed'].includes(task.status), `seed ${seed}`);
    }
    const uids = test.finished.flat();
    assert.equal(new Set(uids).size, uids.length, `no task ends twice, seed ${seed}`);
    assert.equal(uids.length, registered, `seed ${seed}`);
  });
});
