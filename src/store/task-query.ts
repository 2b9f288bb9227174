/**
 * Queries over tasks and batches: one scan over the columns, in slices that leave the thread to
 * others. Each task counts as it is when the scan gets to it.
 */
import { pauser } from '../base/pauser.ts';
import type { IndexVisibility, TaskFilter, TaskPaging } from '../contract/tasks.ts';
import { FLAG } from '../contract/task-types/task-type.ts';
import { type TaskChunk, TASKS_PER_CHUNK, TYPE_CODES } from './task-chunk.ts';
import { Conditions, EXISTS, type TaskTable } from './task-conditions.ts';

const N = TASKS_PER_CHUNK;

/** `uids`: in the order of the page, at most one more than its limit. `total` ignores the page. */
export interface Matches {
  uids: number[];
  total: number;
}

export async function matchTasks(
  table: TaskTable,
  filter: TaskFilter,
  visible: IndexVisibility,
  { limit, from, reverse }: TaskPaging,
): Promise<Matches> {
  const conditions = new Conditions(table, filter, visible);
  const { all, met } = conditions;
  const uids: number[] = [];
  let total = 0;
  await scan(table, filter, reverse, (number, chunk) => {
    conditions.test(number, chunk);
    const count = countAll(met, all);
    total += count;
    const isOnPage = isFrom(number * N + (reverse ? N - 1 : 0), from, reverse);
    if (count > 0 && isOnPage && uids.length <= limit) {
      for (let n = 0; n < N && uids.length <= limit; n++) {
        const i = reverse ? n : N - 1 - n;
        if (met[i] === all && isFrom(number * N + i, from, reverse)) uids.push(number * N + i);
      }
    }
    return all !== EXISTS || uids.length <= limit;
  });
  return { uids, total: all === EXISTS ? table.taskCount : total };
}

/**
 * A batch matches when each condition is met by any of its tasks, not necessarily the same one.
 * `filter.uids` are task uids; the page counts batch uids.
 */
export async function matchBatches(
  table: TaskTable,
  { batchUids, ...filter }: TaskFilter,
  visible: IndexVisibility,
  { limit, from, reverse }: TaskPaging,
): Promise<Matches> {
  const conditions = new Conditions(table, filter, visible);
  const { all } = conditions;
  const { met, left } = conditions.takeOfBatches();
  if (left !== 0) {
    await scan(table, batchUids === undefined ? {} : { batchUids }, true, (number, chunk) => {
      conditions.test(number, chunk);
      unite(met, conditions.met, chunk.batchUid);
      return true;
    });
  }
  const end = met.length - 1;
  const uids: number[] = [];
  let total = 0;
  const given = batchUids && [...new Set(batchUids)].sort((a, b) => a - b);
  const count = given?.length ?? end;
  for (let n = 0; n < count; n++) {
    const at = reverse ? n : count - 1 - n;
    const uid = given === undefined ? at : given[at]!;
    if (uid >= end || table.batches.tasks[uid] === 0 || (met[uid + 1]! | EXISTS) !== all) continue;
    total++;
    if (uids.length <= limit && isFrom(uid, from, reverse)) uids.push(uid);
  }
  return { uids, total };
}

/** Numbers of tasks, by code of the status and of the type, and by number of the index. */
export interface TaskCounts {
  statuses: Uint32Array;
  types: Uint32Array;
  indexes: Uint32Array;
}

/** Counts all tasks, each as a filter with one value finds it. */
export async function countTasks(table: TaskTable): Promise<TaskCounts> {
  const statuses = new Uint32Array(N);
  const types = new Uint32Array(N);
  const indexes = new Uint32Array(table.indexNumberCount);
  await scan(table, {}, true, (number, { status, type, index, flags }) => {
    for (let i = 0; i < N; i++) {
      const code = type[i]!;
      if (code === 0) continue;
      types[code]!++;
      statuses[status[i]!]!++;
      if ((flags[i]! & FLAG.linked) === 0) indexes[index[i]!]!++;
      else {
        const numbers = new Set(table.linked.get(number * N + i));
        // One index alone finds no swap with another.
        if (code === TYPE_CODES.indexSwap && numbers.size > 1) continue;
        for (const linked of numbers) indexes[linked]!++;
      }
    }
    return true;
  });
  return { statuses, types, indexes };
}

/**
 * The tasks of a batch, ascending.
 * @param numbers the chunks to search
 */
export function tasksOf(
  { chunks }: TaskTable,
  batchUid: number,
  numbers: Iterable<number> = chunks.keys(),
): number[] {
  const uids: number[] = [];
  for (const number of numbers) {
    const chunk = chunks[number];
    if (chunk === undefined || !overlaps(chunk, [batchUid])) continue;
    for (let i = 0; i < N; i++) {
      if (chunk.batchUid[i] === batchUid && chunk.type[i] !== 0) uids.push(number * N + i);
    }
  }
  return uids;
}

/** Whether a caller may see the task. */
export function isVisible(table: TaskTable, uid: number, visible: IndexVisibility): boolean {
  const chunk = table.chunks[Math.floor(uid / N)];
  const i = uid % N;
  if (chunk === undefined || chunk.type[i] === 0) return false;
  if (visible === null) return true;
  const numbers = table.linked.get(uid) ?? [chunk.index[i]!];
  return numbers.every((number) => {
    const name = table.indexName(number);
    return name !== null && visible(name);
  });
}

/** Whether a caller may see the batch. */
export function isBatchVisible(table: TaskTable, uid: number, visible: IndexVisibility): boolean {
  if (uid >= table.nextBatchUid || table.batches.tasks[uid] === 0) return false;
  return visible === null || tasksOf(table, uid).some((task) => isVisible(table, task, visible));
}

/**
 * Visits the chunks that may have tasks with these uids or batches, until `visit` returns false.
 */
async function scan(
  { chunks }: TaskTable,
  { uids, batchUids }: Pick<TaskFilter, 'uids' | 'batchUids'>,
  isAscending: boolean,
  visit: (number: number, chunk: TaskChunk) => boolean,
): Promise<void> {
  const given = uids && [...new Set(uids.map((uid) => Math.floor(uid / N)))].sort((a, b) => a - b);
  const batches = batchUids?.toSorted((a, b) => a - b);
  const count = given?.length ?? chunks.length;
  const pause = pauser();
  for (let n = 0; n < count; n++) {
    const at = isAscending ? n : count - 1 - n;
    const number = given === undefined ? at : given[at]!;
    const chunk = chunks[number];
    const isIn = chunk !== undefined && (batches === undefined || overlaps(chunk, batches));
    if (isIn && !visit(number, chunk)) return;
    const pausing = pause();
    if (pausing !== false) await pausing;
  }
}

/** Whether a chunk may have tasks of these batches, which are ascending. */
function overlaps({ summary }: TaskChunk, ascending: readonly number[]): boolean {
  const { first, last } = summary.batchUid;
  // The position of the first uid that is not less than the chunk's first.
  let [begin, end] = [0, ascending.length];
  while (begin < end) {
    const middle = (begin + end) >>> 1;
    if (ascending[middle]! < first) begin = middle + 1;
    else end = middle;
  }
  return begin < ascending.length && ascending[begin]! <= last;
}

function isFrom(uid: number, from: number | null, reverse: boolean): boolean {
  return from === null || (reverse ? uid >= from : uid <= from);
}

function countAll(met: Int32Array, all: number): number {
  let count = 0;
  for (let i = 0; i < N; i += 4) {
    count += Number(met[i] === all) + Number(met[i + 1] === all);
    count += Number(met[i + 2] === all) + Number(met[i + 3] === all);
  }
  return count;
}

/** Adds the conditions that the tasks of a chunk meet to those of their batches. */
function unite(batches: Int32Array, met: Int32Array, batchUid: Uint32Array): void {
  for (let i = 0; i < N; i += 4) {
    batches[(batchUid[i]! + 1) | 0]! |= met[i]! & -(met[i]! & EXISTS);
    batches[(batchUid[i + 1]! + 1) | 0]! |= met[i + 1]! & -(met[i + 1]! & EXISTS);
    batches[(batchUid[i + 2]! + 1) | 0]! |= met[i + 2]! & -(met[i + 2]! & EXISTS);
    batches[(batchUid[i + 3]! + 1) | 0]! |= met[i + 3]! & -(met[i + 3]! & EXISTS);
  }
}
