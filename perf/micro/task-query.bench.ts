/**
 * Question: how long does any filter of /tasks take over a million tasks?
 * Model: 1 M tasks of 50 indexes, registered first and run index by index, so that dates and
 * batches of neighbouring uids are far apart; all statuses and eight types; one in a thousand
 * belongs to two indexes.
 * Filters: single conditions, then random combinations; seed 7. Times are CPU of this process.
 * Run: npx tsx perf/micro/task-query.bench.ts [tasks] [combinations]
 */
import { TASK_STATUSES, type TaskFilter, type TaskPaging } from '../../src/contract/tasks.ts';
import { FLAG } from '../../src/contract/task-types/task-type.ts';
import {
  NONE,
  STATUS_CODES,
  TaskChunk,
  TASKS_PER_CHUNK,
  TYPE_OF_CODE,
} from '../../src/store/task-chunk.ts';
import type { TaskTable } from '../../src/store/task-conditions.ts';
import { matchBatches, matchTasks } from '../../src/store/task-query.ts';

const COUNT = Number(process.argv[2] ?? 1_000_000);
const COMBINATIONS = Number(process.argv[3] ?? 400);
const INDEXES = 50;
const BATCH = 20;
const CANCELATIONS = 20;
const ROUNDS = 7;
const START = Date.UTC(2026, 0, 1);

let seed = 7;
function random(below: number): number {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
}

function makeTable(): TaskTable {
  const chunks: TaskChunk[] = [];
  const linked = new Map<number, number[]>();
  const names = Array.from({ length: INDEXES }, (_, n) => `index-${n}`);
  const batches = Math.ceil(COUNT / BATCH);
  const columns = {
    tasks: new Uint32Array(batches),
    startedAt: new Float64Array(batches),
    finishedAt: new Float64Array(batches),
  };
  for (let uid = 0; uid < COUNT; uid++) {
    const i = uid % TASKS_PER_CHUNK;
    if (i === 0) chunks.push(TaskChunk.empty());
    const chunk = chunks.at(-1)!;
    const index = random(INDEXES);
    const status = ['succeeded', 'failed', 'canceled', 'enqueued'] as const;
    const state =
      uid > COUNT - 1000 ? 'enqueued' : status[[0, 0, 0, 0, 0, 0, 0, 1, 2][random(9)]!]!;
    const waits = state === 'enqueued';
    const canceledBy = random(CANCELATIONS);
    // Batches of one index after another, with occasional cancelations, which end tasks of any
    // index.
    // index.
    const batch =
      state === 'canceled'
        ? Math.floor((canceledBy / CANCELATIONS) * batches)
        : Math.floor((index / INDEXES + uid / COUNT / INDEXES) * batches);
    chunk.type[i] = 1 + random(8);
    chunk.status[i] = STATUS_CODES[state];
    chunk.index[i] = index;
    if (random(1000) === 0) {
      chunk.flags[i] = FLAG.linked;
      linked.set(uid, [index, random(INDEXES)]);
    }
    chunk.canceledBy[i] = state === 'canceled' ? canceledBy : NONE;
    chunk.batchUid[i] = waits ? NONE : batch;
    if (!waits) columns.tasks[batch]!++;
    chunk.enqueuedAt[i] = START + uid;
    columns.startedAt[batch] = START + COUNT + batch * 10;
    columns.finishedAt[batch] = START + COUNT + batch * 10 + 5;
    chunk.startedAt[i] = waits ? NaN : columns.startedAt[batch]!;
    chunk.finishedAt[i] = waits ? NaN : columns.finishedAt[batch]!;
  }
  return {
    chunks,
    batches: columns,
    taskCount: COUNT,
    nextTaskUid: COUNT,
    nextBatchUid: batches,
    linked,
    indexNumberCount: INDEXES,
    indexNumber: (uid) => {
      const number = names.indexOf(uid);
      return number < 0 ? undefined : number;
    },
    indexName: (number) => names[number] ?? null,
  };
}

const some = (count: number, below: number): number[] =>
  Array.from({ length: count }, () => random(below));

/** Conditions that each match many tasks but decide few chunks as a whole. */
const CONDITIONS: Readonly<Record<string, () => TaskFilter>> = {
  statuses: () => ({ statuses: TASK_STATUSES.filter(() => random(2) === 0) }),
  types: () => ({ types: TYPE_OF_CODE.slice(1, 9).filter(() => random(3) > 0) as never }),
  indexUids: () => ({ indexUids: some(1 + random(INDEXES), INDEXES).map((n) => `index-${n}`) }),
  uids: () => ({ uids: some(1 + random(8000), COUNT) }),
  canceledBy: () => ({ canceledBy: some(1 + random(CANCELATIONS), CANCELATIONS) }),
  batchUids: () => ({ batchUids: some(1 + random(8000), COUNT / BATCH) }),
  enqueuedAt: () => ({
    afterEnqueuedAt: START + random(COUNT / 4),
    beforeEnqueuedAt: START + COUNT - random(COUNT / 4),
  }),
  startedAt: () => ({
    afterStartedAt: START + COUNT + random(COUNT / 10),
    beforeStartedAt: START + 1.5 * COUNT - random(COUNT / 10),
  }),
  finishedAt: () => ({
    afterFinishedAt: START + COUNT + random(COUNT / 10),
    beforeFinishedAt: START + 1.5 * COUNT - random(COUNT / 10),
  }),
};

function randomPage(): TaskPaging {
  return {
    limit: [0, 20, 1000][random(3)]!,
    from: random(2) === 0 ? null : random(COUNT),
    reverse: random(2) === 0,
  };
}

/** Milliseconds of CPU, the median of several runs. */
async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  return times.sort((a, b) => a - b)[ROUNDS >> 1]!;
}

interface Slowest {
  ms: number;
  name: string;
}

function report(what: string, times: Slowest[]): void {
  times.sort((a, b) => a.ms - b.ms);
  const at = (share: number): string =>
    times[Math.floor((times.length - 1) * share)]!.ms.toFixed(2);
  console.log(`${what}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, slowest ${at(1)} ms CPU`);
  for (const { ms, name } of times.slice(-3).reverse())
    console.log(`  ${ms.toFixed(2)} ms  ${name}`);
}

const table = makeTable();
const first: TaskPaging = { limit: 20, from: null, reverse: false };
const half = (uid: string): boolean => Number(uid.slice(6)) % 2 === 0;
const names = Object.keys(CONDITIONS);
// Warm up, so that the compiler has seen every kind of filter.
for (let n = 0; n < 300; n++) {
  await matchTasks(
    table,
    CONDITIONS[names[n % names.length]!]!(),
    n % 3 === 0 ? half : null,
    randomPage(),
  );
}
for (const name of names) {
  const filter = CONDITIONS[name]!();
  const tasks = await cpuOf(() => matchTasks(table, filter, null, first));
  const batches = await cpuOf(() => matchBatches(table, filter, null, first));
  console.log(`${name}: tasks ${tasks.toFixed(2)} ms, batches ${batches.toFixed(2)} ms CPU`);
}
const ofTasks: Slowest[] = [];
const ofBatches: Slowest[] = [];
for (let n = 0; n < COMBINATIONS; n++) {
  const chosen = names.filter(() => random(2) === 0);
  const filter: TaskFilter = Object.assign({}, ...chosen.map((name) => CONDITIONS[name]!()));
  const page = randomPage();
  const visible = random(3) === 0 ? half : null;
  const name = `${chosen.join(' ')}${visible === null ? '' : ' restricted'} ${JSON.stringify(page)}`;
  ofTasks.push({ ms: await cpuOf(() => matchTasks(table, filter, visible, page)), name });
  if (n % 4 === 0)
    ofBatches.push({ ms: await cpuOf(() => matchBatches(table, filter, visible, page)), name });
}
report('tasks, random combinations', ofTasks);
report('batches, random combinations', ofBatches);
