import assert from 'node:assert/strict';
import type { IndexVisibility, TaskFilter, TaskPaging } from '../../../src/contract/tasks.ts';
import { FLAG } from '../../../src/contract/task-types/task-type.ts';
import {
  NONE,
  STATUS_CODES,
  STATUS_OF_CODE,
  TaskChunk,
  TASKS_PER_CHUNK,
  TYPE_CODES,
  TYPE_OF_CODE,
} from '../../../src/store/task-chunk.ts';
import { mulberry } from '../../support/random.ts';
import type { TaskTable } from '../../../src/store/task-conditions.ts';
import { Batches } from '../../../src/store/memory-table.ts';
import {
  countTasks,
  isBatchVisible,
  isVisible,
  matchBatches,
  matchTasks,
  tasksOf,
} from '../../../src/store/task-query.ts';

type Random = (below: number) => number;

/** Compares the column filters with plain loops over a list of tasks. */

interface Model {
  uid: number;
  type: string;
  status: string;
  indexes: string[];
  canceledBy: number | null;
  batchUid: number | null;
  enqueuedAt: number;
  startedAt: number | null;
  finishedAt: number | null;
}

const NAMES = ['a', 'b', 'c', 'd'];

/**
 * Whether a batch is running. Depends on its uid alone, because chunks of different queues are
 * mixed.
 */
function isRunning(batchUid: number): boolean {
  return batchUid % 4 === 3;
}

/** A queue with gaps, missing chunks, chunks of one kind, and tasks of several indexes. */
function randomTable(random: Random): { table: TaskTable; models: Model[] } {
  const chunks: (TaskChunk | undefined)[] = [];
  const models: Model[] = [];
  const linked = new Map<number, number[]>();
  let batchUid = 0;
  let time = 1000;
  const chunkCount = 1 + random(5);
  for (let c = 0; c < chunkCount; c++) {
    if (random(5) === 0) continue;
    const uniform = random(3) === 0;
    const chunk = TaskChunk.empty();
    chunks[c] = chunk;
    for (let i = 0; i < TASKS_PER_CHUNK; i++) {
      if (!uniform && random(4) === 0) continue;
      const uid = c * TASKS_PER_CHUNK + i;
      // Also makes blocks of batch uids without any task left.
      if (random(3) === 0) batchUid += random(40) === 0 ? 300 : 1;
      if (uniform && isRunning(batchUid)) batchUid++;
      let status = uniform ? 'succeeded' : STATUS_OF_CODE[random(5)]!;
      if (status !== 'enqueued' && isRunning(batchUid)) status = 'processing';
      else if (status === 'processing') status = 'failed';
      const types = [
        'documentAdditionOrUpdate',
        'settingsUpdate',
        'indexSwap',
        'dumpCreation',
        'indexUpdate',
      ] as const;
      const type = uniform ? types[0] : types[random(types.length)]!;
      const own = type === 'indexSwap' || type === 'dumpCreation' ? NONE : random(NAMES.length);
      let numbers = own === NONE ? [] : [own];
      if (type === 'indexSwap' && random(4) > 0) {
        numbers = [random(NAMES.length), random(NAMES.length)];
      } else if (type === 'indexUpdate') numbers = [own, random(NAMES.length)];
      if (numbers.length > 1) {
        linked.set(uid, numbers);
        chunk.flags[i] = FLAG.linked;
      }
      time += random(3);
      const waits = status === 'enqueued';
      const ended = !waits && status !== 'processing';
      const model: Model = {
        uid,
        type,
        status,
        indexes: numbers.map((number) => NAMES[number]!),
        canceledBy: status === 'canceled' ? random(6) : null,
        batchUid: waits ? null : batchUid,
        enqueuedAt: time,
        // As in a queue, the tasks of one batch have the same dates.
        startedAt: waits ? null : 1005 + batchUid * 3,
        finishedAt: ended ? 1006 + batchUid * 3 : null,
      };
      models.push(model);
      chunk.type[i] = TYPE_CODES[type];
      chunk.status[i] = STATUS_CODES[status];
      chunk.index[i] = own;
      chunk.canceledBy[i] = model.canceledBy ?? NONE;
      chunk.batchUid[i] = model.batchUid ?? NONE;
      chunk.enqueuedAt[i] = time;
      chunk.startedAt[i] = model.startedAt ?? NaN;
      chunk.finishedAt[i] = model.finishedAt ?? NaN;
    }
  }
  return { table: tableOf(models, chunks, linked), models };
}

function tableOf(
  models: readonly Model[],
  chunks: (TaskChunk | undefined)[],
  linked: Map<number, readonly number[]>,
): TaskTable {
  const batches = new Batches();
  for (const { batchUid, startedAt, finishedAt } of models) {
    if (batchUid !== null) batches.add(batchUid, 1, startedAt ?? NaN, finishedAt ?? NaN);
  }
  return {
    chunks,
    batches,
    taskCount: models.length,
    nextTaskUid: (models.at(-1)?.uid ?? -1) + 1,
    nextBatchUid: batches.tasks.findLastIndex((n) => n > 0) + 1,
    linked,
    indexNumberCount: NAMES.length,
    indexNumber: (uid) => (NAMES.includes(uid) ? NAMES.indexOf(uid) : undefined),
    indexName: (number) => NAMES[number] ?? null,
  };
}

/** Replaces some chunks with those of another queue, as registrations, ends and deletions do. */
function changedTable(
  random: Random,
  table: TaskTable,
  models: readonly Model[],
): { table: TaskTable; models: Model[] } {
  const other = randomTable(random);
  const chunks = table.chunks as (TaskChunk | undefined)[];
  const linked = new Map(table.linked);
  const chunkOf = (uid: number): number => Math.floor(uid / TASKS_PER_CHUNK);
  const replaced = new Set<number>();
  for (let c = 0; c < Math.max(chunks.length, other.table.chunks.length); c++) {
    if (random(2) === 0) continue;
    replaced.add(c);
    chunks[c] = other.table.chunks[c];
  }
  for (const uid of table.linked.keys()) if (replaced.has(chunkOf(uid))) linked.delete(uid);
  for (const [uid, numbers] of other.table.linked) {
    if (replaced.has(chunkOf(uid))) linked.set(uid, numbers);
  }
  const left = [
    ...models.filter(({ uid }) => !replaced.has(chunkOf(uid))),
    ...other.models.filter(({ uid }) => replaced.has(chunkOf(uid))),
  ].sort((a, b) => a.uid - b.uid);
  return { table: tableOf(left, chunks, linked), models: left };
}

function randomFilter(random: Random, models: readonly Model[], table: TaskTable): TaskFilter {
  const filter: TaskFilter = {};
  const some = <T>(values: readonly T[], countMax: number): T[] =>
    Array.from({ length: random(countMax + 1) }, () => values[random(values.length)]!);
  const uid = (): number => random((models.at(-1)?.uid ?? 0) + 3);
  const time = (): number => 1000 + random(2 * Math.max(500, 3 * table.nextBatchUid));
  const add: (() => void)[] = [
    () => (filter.uids = Array.from({ length: random(40) }, uid)),
    () =>
      (filter.batchUids = Array.from({ length: random(6) }, () =>
        random(2 * table.nextBatchUid),
      ).concat(NONE)),
    () => (filter.canceledBy = Array.from({ length: random(3) }, () => random(8)).concat(NONE)),
    () => (filter.types = some(TYPE_OF_CODE.slice(1) as NonNullable<TaskFilter['types']>, 5)),
    () => (filter.statuses = some(STATUS_OF_CODE, 3)),
    () => (filter.indexUids = some([...NAMES, 'unknown'], 3)),
    () => (filter.afterEnqueuedAt = time()),
    () => (filter.beforeEnqueuedAt = time()),
    () => (filter.afterStartedAt = time()),
    () => (filter.beforeStartedAt = time()),
    () => (filter.afterFinishedAt = time()),
    () => (filter.beforeFinishedAt = time()),
  ];
  // From none to all of the conditions.
  const chosen = random(3) === 0 ? random(add.length + 1) : random(4);
  for (const one of shuffled(add, random).slice(0, chosen)) one();
  return filter;
}

function shuffled<T>(values: readonly T[], random: Random): T[] {
  const keys = values.map((value) => ({ value, at: random(1000) }));
  return keys.sort((a, b) => a.at - b.at).map(({ value }) => value);
}

/** One predicate per condition of the filter; batches are matched condition by condition. */
function conditionsOf(filter: TaskFilter): ((task: Model) => boolean)[] {
  const after = (time: number | null, bound: number): boolean => time !== null && time > bound;
  const before = (time: number | null, bound: number): boolean => time !== null && time < bound;
  const { uids, canceledBy, types, statuses, indexUids } = filter;
  const tests: ((task: Model) => boolean)[] = [];
  if (uids) tests.push((task) => uids.includes(task.uid));
  if (canceledBy) tests.push((t) => t.canceledBy !== null && canceledBy.includes(t.canceledBy));
  if (types) tests.push((task) => (types as string[]).includes(task.type));
  if (statuses) tests.push((task) => (statuses as string[]).includes(task.status));
  if (indexUids) {
    tests.push(({ type, indexes }) => {
      if (type !== 'indexSwap') return indexes.some((index) => indexUids.includes(index));
      return indexes.length > 0 && indexes.every((index) => indexUids.includes(index));
    });
  }
  const {
    afterEnqueuedAt,
    beforeEnqueuedAt,
    afterStartedAt,
    beforeStartedAt,
    afterFinishedAt,
    beforeFinishedAt,
  } = filter;
  if (afterEnqueuedAt) tests.push((t) => after(t.enqueuedAt, afterEnqueuedAt));
  if (beforeEnqueuedAt) tests.push((t) => before(t.enqueuedAt, beforeEnqueuedAt));
  if (afterStartedAt) tests.push((t) => after(t.startedAt, afterStartedAt));
  if (beforeStartedAt) tests.push((t) => before(t.startedAt, beforeStartedAt));
  if (afterFinishedAt) tests.push((t) => after(t.finishedAt, afterFinishedAt));
  if (beforeFinishedAt) tests.push((t) => before(t.finishedAt, beforeFinishedAt));
  return tests;
}

function mayBeSeen(task: Model, visible: IndexVisibility): boolean {
  return (
    visible === null || (task.indexes.length > 0 && task.indexes.every((index) => visible(index)))
  );
}

function pageOf(matching: number[], page: TaskPaging): { uids: number[]; total: number } {
  const from = page.from ?? (page.reverse ? 0 : Infinity);
  const ordered = [...matching].sort((a, b) => (page.reverse ? a - b : b - a));
  const onPage = ordered.filter((uid) => (page.reverse ? uid >= from : uid <= from));
  return { uids: onPage.slice(0, page.limit + 1), total: matching.length };
}

describe('filters over tasks and batches', () => {
  const VISIBILITIES: IndexVisibility[] = [null, (uid) => uid !== 'b', () => true, () => false];

  it('match the same as a plain loop on random queues', async () => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    const uniform = mulberry(seed);
    const random: Random = (below) => Math.floor(uniform() * below);
    for (let round = 0; round < 60; round++) {
      let { table, models } = randomTable(random);
      for (let n = 0; n < 25; n++) {
        if (n % 7 === 6) ({ table, models } = changedTable(random, table, models));
        const filter = randomFilter(random, models, table);
        const visible = VISIBILITIES[random(VISIBILITIES.length)]!;
        const page: TaskPaging = {
          limit: [0, 1, 5, 1000][random(4)]!,
          from: random(2) === 0 ? null : random(table.nextTaskUid + 2),
          reverse: random(2) === 0,
        };
        const what = `seed ${seed}, round ${round}.${n}: ${JSON.stringify({ filter, page })}`;
        const tests = conditionsOf(filter);
        const inBatches = (task: Model): boolean =>
          filter.batchUids === undefined ||
          (task.batchUid !== null && filter.batchUids.includes(task.batchUid));
        const tasks = models.filter(
          (task) =>
            mayBeSeen(task, visible) && inBatches(task) && tests.every((test) => test(task)),
        );
        assert.deepEqual(
          await matchTasks(table, filter, visible, page),
          pageOf(
            tasks.map(({ uid }) => uid),
            page,
          ),
          what,
        );

        const batches = [...new Set(models.map(({ batchUid }) => batchUid))].filter((batchUid) => {
          if (batchUid === null) return false;
          if (filter.batchUids !== undefined && !filter.batchUids.includes(batchUid)) return false;
          const members = models.filter((task) => task.batchUid === batchUid);
          return (
            members.some((task) => mayBeSeen(task, visible)) &&
            tests.every((test) => members.some(test))
          );
        }) as number[];
        assert.deepEqual(
          await matchBatches(table, filter, visible, page),
          pageOf(batches, page),
          what,
        );

        const uid = random(table.nextTaskUid + 3);
        const model = models.find((task) => task.uid === uid);
        assert.equal(
          isVisible(table, uid, visible),
          model !== undefined && mayBeSeen(model, visible),
          what,
        );
        const batchUid = random(table.nextBatchUid + 3);
        assert.equal(
          isBatchVisible(table, batchUid, visible),
          models.some((task) => task.batchUid === batchUid && mayBeSeen(task, visible)),
          what,
        );
        const members = models.filter((task) => task.batchUid === batchUid).map(({ uid }) => uid);
        assert.deepEqual(tasksOf(table, batchUid), members, what);
      }
      const { statuses, types, indexes } = await countTasks(table);
      const counted = (filter: TaskFilter): number =>
        models.filter((task) => conditionsOf(filter).every((test) => test(task))).length;
      for (const status of STATUS_OF_CODE) {
        assert.equal(statuses[STATUS_CODES[status]], counted({ statuses: [status] }), status);
      }
      for (const type of TYPE_OF_CODE.filter((known) => known !== undefined)) {
        assert.equal(types[TYPE_CODES[type]], counted({ types: [type] }), type);
      }
      NAMES.forEach((name, n) => {
        assert.equal(indexes[n], counted({ indexUids: [name] }), `seed ${seed}, ${name}`);
      });
    }
  });
});

describe('a query over ten million tasks', () => {
  // All chunks are one, which the scan does not know.
  const chunk = TaskChunk.empty();
  chunk.type.fill(TYPE_CODES.settingsUpdate);
  chunk.status.fill(STATUS_CODES.succeeded);
  chunk.enqueuedAt.forEach((_, i) => (chunk.enqueuedAt[i] = 1000 + i));
  const chunks = Array.from({ length: 40_000 }, () => chunk);
  const table: TaskTable = { ...tableOf([], chunks, new Map()), nextBatchUid: 1 };
  const filter: TaskFilter = { statuses: ['failed'], afterEnqueuedAt: 1100 };
  const page: TaskPaging = { limit: 1, from: null, reverse: false };
  // As many as a request line holds.
  const batchUids = Array.from({ length: 5000 }, (_, uid) => uid);
  chunk.batchUid.fill(1_000_000);
  const queries: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['of tasks', () => matchTasks(table, filter, null, page)],
    ['of batches', () => matchBatches(table, filter, null, page)],
    ['that counts', () => countTasks(table)],
    ['of batches that no chunk has', () => matchTasks(table, { batchUids }, null, page)],
  ];
  for (const [name, query] of queries) {
    it(`${name} lets other work of the thread go on`, async () => {
      const { now } = performance;
      let [time, iterations] = [0, 0];
      // However quick the machine is.
      performance.now = () => ++time;
      const next = setImmediate(() => iterations++);
      try {
        await query();
      } finally {
        performance.now = now;
        clearImmediate(next);
      }
      assert.equal(iterations, 1);
    });
  }
});

describe('a chunk of tasks', () => {
  it('stores tasks that are being processed as enqueued', () => {
    const chunk = TaskChunk.empty();
    chunk.type[3] = TYPE_CODES.settingsUpdate;
    chunk.batchUid[3] = NONE;
    chunk.startedAt[3] = NaN;
    const before = Buffer.from(chunk.encode());
    chunk.mark(3, 7, 123);
    assert.deepEqual(TaskChunk.decode(chunk.encode()).status[3], STATUS_CODES.enqueued);
    assert.deepEqual(chunk.encode(), before);
    assert.equal(chunk.status[3], STATUS_CODES.processing);
    chunk.unmark(3);
    assert.deepEqual(Buffer.from(chunk.buffer), before);
  });

  it('refuses bytes of another size', () => {
    assert.throws(() => TaskChunk.decode(Buffer.alloc(100)), /100 bytes/);
  });
});
