/**
 * Question: how fast is the task store, and is it still as fast with a million tasks?
 * Model: 1 M document additions over 50 indexes, one tenth failed, batches of 20; seed 7.
 * Run: npx tsx perf/micro/task-store.bench.ts [tasks] [folder]
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import type { TaskFilter, TaskPaging } from '../../src/contract/tasks.ts';
import type { NewTask } from '../../src/store/append-tasks.ts';
import { Store } from '../../src/store/store.ts';
import { FLAG } from '../../src/contract/task-types/task-type.ts';
import { TaskStore } from '../../src/store/task-store.ts';
import { taskView } from '../../src/tasks/view.ts';

const COUNT = Number(process.argv[2] ?? 1_000_000);
const DIR = process.argv[3] ?? '/tmp/gannet-bench-task-store';
const INDEXES = 50;
const BATCH = 20;
const CONNECTIONS = 32;

let seed = 7;
function random(): number {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  return seed / 0x7fffffff;
}

function addition(indexUid: string, payload: Buffer | null): NewTask {
  return {
    type: 'documentAdditionOrUpdate',
    indexUid,
    alsoIndexes: [],
    flags: FLAG.mayCreateIndex,
    payload: payload === null ? null : { bytes: payload },
    late: false,
    row: () => ({
      type: 'documentAdditionOrUpdate',
      method: 'replace',
      format: 'json',
      documents: 1,
      primaryKey: null,
      skipCreation: false,
    }),
  };
}

function open(): { store: Store; tasks: TaskStore } {
  mkdirSync(join(DIR, 'store'), { recursive: true });
  mkdirSync(join(DIR, 'payloads'), { recursive: true });
  const store = new Store(join(DIR, 'store'), 20 * 2 ** 30);
  return { store, tasks: new TaskStore(store, join(DIR, 'payloads'), systemClock) };
}

async function close({ store, tasks }: { store: Store; tasks: TaskStore }): Promise<void> {
  await tasks.close();
  await store.close();
}

/** Milliseconds of CPU: more reliable than the clock on a shared machine. */
async function cpuOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function median(times: number[]): string {
  times.sort((a, b) => a - b);
  return `p50 ${times[times.length >> 1]!.toFixed(2)} ms, max ${times.at(-1)!.toFixed(2)} ms`;
}

rmSync(DIR, { recursive: true, force: true });
let opened = open();

// 1. One document per request from 32 connections, each waiting for its response.
{
  const total = 20_000;
  const payload = Buffer.from('[{"id":1,"title":"A document of an ordinary size"}]');
  const started = performance.now();
  let left = total;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (left-- > 0) await opened.tasks.append(addition('registered', payload));
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  console.log(`register, ${CONNECTIONS} connections: ${Math.round(total / seconds)} tasks/s`);
}

// 2. Fill.
{
  const started = performance.now();
  const { tasks } = opened;
  while (tasks.table.nextTaskUid < COUNT) {
    const many = Math.min(10_000, COUNT - tasks.table.nextTaskUid);
    const group = Array.from({ length: many }, () =>
      addition(`index-${Math.floor(random() * INDEXES)}`, null),
    );
    await Promise.all(group.map((task) => tasks.append(task)));
  }
  const waiting = tasks.enqueued();
  // The last thousand stay enqueued.
  for (let at = 0; at < waiting.length - 1000; at += BATCH) {
    const uids = waiting.slice(at, at + BATCH);
    const { batchUid, startedAt } = await tasks.begin(uids);
    await tasks.finish({
      batchUid,
      startedAt,
      strategy: 'bench',
      details: {},
      ends: uids.map((uid) => {
        const failed = random() < 0.1;
        return { uid, status: failed ? 'failed' : 'succeeded', result: failed ? 0 : 1 } as const;
      }),
    });
  }
  const seconds = (performance.now() - started) / 1000;
  console.log(`fill to ${COUNT} tasks in batches of ${BATCH}: ${seconds.toFixed(1)} s`);
  const { diskBytes, usedBytes } = opened.store.size();
  console.log(`file ${diskBytes >> 20} MiB, live ${usedBytes >> 20} MiB`);
}

// 3. Start.
await close(opened);
{
  const times: number[] = [];
  for (let n = 0; n < 5; n++) {
    const started = performance.now();
    opened = open();
    times.push(performance.now() - started);
    if (n < 4) await close(opened);
  }
  console.log(`start with ${COUNT} tasks: ${median(times)}`);
}

// 4. Pages, in CPU time.
const first: TaskPaging = { limit: 20, from: null, reverse: false };
const hour = 3_600_000;
const CASES: [string, TaskFilter, TaskPaging, boolean][] = [
  ['no filter', {}, first, false],
  ['no filter, from the middle', {}, { ...first, from: COUNT / 2 }, false],
  ['no filter, reverse', {}, { ...first, reverse: true }, false],
  ['status failed', { statuses: ['failed'] }, first, false],
  ['status canceled (none)', { statuses: ['canceled'] }, first, false],
  ['type', { types: ['documentAdditionOrUpdate', 'settingsUpdate'] }, first, false],
  ['index', { indexUids: ['index-7'] }, first, false],
  [
    'index, status, type',
    {
      indexUids: ['index-7', 'index-8'],
      statuses: ['failed'],
      types: ['documentAdditionOrUpdate'],
    },
    first,
    false,
  ],
  ['batchUids', { batchUids: [1, 1000, 5000] }, first, false],
  ['canceledBy', { canceledBy: [12345] }, first, false],
  ['uids', { uids: Array.from({ length: 100 }, (_, n) => n * 1000) }, first, false],
  [
    'finishedAt',
    { beforeFinishedAt: Date.now(), afterFinishedAt: Date.now() - hour },
    first,
    false,
  ],
  [
    'enqueuedAt and status',
    { afterEnqueuedAt: Date.now() - hour, statuses: ['failed'] },
    first,
    false,
  ],
  ['a key limited to one index', {}, first, true],
];
for (const [name, filter, page, restricted] of CASES) {
  const visible = restricted ? (uid: string): boolean => uid === 'index-3' : null;
  const [tasks, batches]: number[][] = [[], []];
  for (let n = 0; n < 20; n++) {
    tasks!.push(
      await cpuOf(async () => {
        const { uids } = await opened.tasks.list(filter, page, visible);
        for (const uid of uids) taskView(opened.tasks, uid);
      }),
    );
    batches!.push(await cpuOf(() => opened.tasks.listBatches(filter, page, visible)));
  }
  console.log(`${name}: tasks ${median(tasks!.slice(2))}; batches ${median(batches!.slice(2))}`);
}
await close(opened);
rmSync(DIR, { recursive: true, force: true });
