import type { IndexVisibility, TaskFilter, TaskPaging } from '../contract/tasks.ts';
import { markBatches } from './batch-marks.ts';
import { TASKS_PER_CHUNK } from './task-chunk.ts';
import { conditionsOf, type TaskTable } from './task-conditions.ts';
import { Selection } from './task-selection.ts';

/** `uids`: in the order of the page, at most one more than its limit. `total` ignores the page. */
export interface Matches {
  uids: number[];
  total: number;
}

export function matchTasks(
  table: TaskTable,
  filter: TaskFilter,
  visible: IndexVisibility,
  page: TaskPaging,
): Matches {
  const { reverse } = page;
  const conditions = conditionsOf(table, filter, visible);
  const selection = new Selection(table, conditions);
  const everything = Object.values(conditions).every((condition) => condition === null);
  const from = page.from ?? (reverse ? 0 : Infinity);
  const wanted = page.limit + 1;
  const uids: number[] = [];
  let total = 0;

  const chunkCount = table.chunks.length;
  for (let n = 0; n < chunkCount; n++) {
    if (everything && uids.length === wanted) break;
    const number = reverse ? n : chunkCount - 1 - n;
    const count = selection.count(number);
    total += count;
    const base = number * TASKS_PER_CHUNK;
    const onPage = uids.length < wanted && (reverse ? base + TASKS_PER_CHUNK > from : base <= from);
    if (count === 0 || !onPage) continue;
    const positions = selection.positions(number);
    if (!reverse) positions.reverse();
    for (const i of positions) {
      if (uids.length === wanted) break;
      if (reverse ? base + i >= from : base + i <= from) uids.push(base + i);
    }
  }
  return { uids, total: everything ? table.taskCount : total };
}

/**
 * A batch matches when each condition is met by any of its tasks, not necessarily the same one.
 * `filter.uids` are task uids; the page counts batch uids.
 */
export function matchBatches(
  table: TaskTable,
  filter: TaskFilter,
  visible: IndexVisibility,
  page: TaskPaging,
): Matches {
  const whole = conditionsOf(table, filter, visible);
  const size = table.nextBatchUid;
  const matched = new Uint16Array(size);
  let all = 0;
  if (filter.uids !== undefined) {
    all = 1;
    for (const uid of filter.uids) {
      const chunk = table.chunks[Math.floor(uid / TASKS_PER_CHUNK)];
      const i = uid % TASKS_PER_CHUNK;
      if (chunk === undefined || chunk.type[i] === 0) continue;
      const batch = chunk.batchUid[i]!;
      if (batch < size) matched[batch] = 1;
    }
  }
  all |= markBatches(table, whole, matched, all + 1);

  const from = page.from ?? (page.reverse ? 0 : Infinity);
  const wanted = page.limit + 1;
  const uids: number[] = [];
  let total = 0;
  const consider = (uid: number): void => {
    if (uid >= size || table.batchTasks[uid] === 0 || matched[uid] !== all) return;
    total++;
    if (uids.length < wanted && (page.reverse ? uid >= from : uid <= from)) uids.push(uid);
  };
  if (whole.batchUid !== null) {
    const ascending = [...new Set(filter.batchUids)].sort((a, b) => a - b);
    (page.reverse ? ascending : ascending.reverse()).forEach(consider);
  } else if (page.reverse) for (let uid = 0; uid < size; uid++) consider(uid);
  else for (let uid = size - 1; uid >= 0; uid--) consider(uid);
  return { uids, total };
}

/** Whether a caller may see the task. */
export function isVisible(table: TaskTable, uid: number, visible: IndexVisibility): boolean {
  const chunk = table.chunks[Math.floor(uid / TASKS_PER_CHUNK)];
  const i = uid % TASKS_PER_CHUNK;
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
  if (uid >= table.nextBatchUid || table.batchTasks[uid] === 0) return false;
  if (visible === null) return true;
  const page = { limit: 1, from: null, reverse: false };
  return matchTasks(table, { batchUids: [uid] }, visible, page).total > 0;
}
