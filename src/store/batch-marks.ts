import { TASKS_PER_CHUNK } from './task-chunk.ts';
import type { Conditions, IndexMask, TaskTable } from './task-conditions.ts';
import type { KindConditions } from './task-kinds.ts';
import { meetsIndexes } from './task-selection.ts';

const ANY: KindConditions = {
  index: null,
  canceledBy: null,
  batchUid: null,
  started: null,
  finished: null,
};

/**
 * Marks each batch with one bit per condition that any of its tasks meets, not necessarily the same
 * task.
 *
 * Conditions are checked once per kind of tasks, because all tasks of a kind are in one batch.
 * Tasks of several indexes are checked one by one.
 * @param batches by batch uid
 * @param firstBit lowest free bit
 * @returns the bits of a batch that meets all conditions, except those on `uids` and on batches
 */
export function markBatches(
  table: TaskTable,
  conditions: Conditions,
  batches: Uint16Array,
  firstBit: number,
): number {
  const { status, type, index, visible, canceledBy, enqueued, started, finished } = conditions;
  const asked = [status, type, index, visible, canceledBy, enqueued, started, finished];
  if (asked.every((condition) => condition === null)) return 0;
  const { digest } = table;
  digest.refresh();
  const { kinds } = digest.runs;
  let free = firstBit;
  let all = 0;
  const bitOf = (): number => {
    const bit = free;
    free <<= 1;
    all |= bit;
    return bit;
  };
  const tasks = digest.runs.ofKinds();
  const marks = new Uint16Array(kinds.used);
  const markKinds = (bit: number, condition: Partial<KindConditions>): void => {
    const passing = kinds.passing({ ...ANY, ...condition });
    for (let kind = 0; kind < marks.length; kind++) marks[kind]! |= bit & -passing[kind]!;
  };
  const markIndexes = (of: 'index' | 'visible', mask: IndexMask): void => {
    const bit = bitOf();
    const own = mask.slice();
    // Index 0 is the number of `SEVERAL`.
    own[0] = 0;
    markKinds(bit, { index: own });
    markLinked(table, { index: null, visible: null, [of]: mask }, batches, bit);
  };
  if (status !== null) markCodes(marks, bitOf(), tasks.statuses, status);
  if (type !== null) markCodes(marks, bitOf(), tasks.types, type);
  if (enqueued !== null) {
    // The bounds are separate conditions: the latest task decides one, the earliest the other.
    const { after, before } = enqueued;
    const [late, early] = [bitOf(), bitOf()];
    const { earliest, latest } = tasks;
    for (let kind = 0; kind < marks.length; kind++) {
      marks[kind]! |= late & -Number(latest[kind]! > after);
      marks[kind]! |= early & -Number(earliest[kind]! < before);
    }
  }
  if (index !== null) markIndexes('index', index);
  if (visible !== null) markIndexes('visible', visible);
  if (canceledBy !== null) markKinds(bitOf(), { canceledBy });
  if (started !== null) markKinds(bitOf(), { started });
  if (finished !== null) markKinds(bitOf(), { finished });

  const { batchUid } = kinds;
  for (let kind = 0; kind < marks.length; kind++) {
    const batch = batchUid[kind]!;
    if (tasks.statuses[kind] !== 0 && batch < batches.length) batches[batch]! |= marks[kind]!;
  }
  return all;
}

// Avoids branches on the result, because they are seldom predictable.
function markCodes(
  marks: Uint16Array,
  bit: number,
  codes: Uint8Array | Int32Array,
  wanted: number,
): void {
  for (let kind = 0; kind < marks.length; kind++) {
    marks[kind]! |= bit & -Number((codes[kind]! & wanted) !== 0);
  }
}

function markLinked(
  table: TaskTable,
  conditions: Pick<Conditions, 'index' | 'visible'>,
  batches: Uint16Array,
  bit: number,
): void {
  const { linked } = table.digest;
  for (let number = 0; number < table.chunks.length; number++) {
    const positions = linked[number];
    const chunk = table.chunks[number];
    if (positions === undefined || chunk === undefined) continue;
    for (const i of positions) {
      const batch = chunk.batchUid[i]!;
      const numbers = table.linked.get(number * TASKS_PER_CHUNK + i);
      if (batch >= batches.length || numbers === undefined) continue;
      if (meetsIndexes(chunk.type[i]!, numbers, conditions)) batches[batch]! |= bit;
    }
  }
}
