import type { Transaction } from './store.ts';
import { TASKS_PER_CHUNK } from './task-chunk.ts';
import { type TaskRow, taskTypeEntry } from '../contract/task-types.ts';
import type { Stage, TransactionContext, TransactionPart } from './task-transaction.ts';

/** Pairs of index uids that exchange their tasks older than `before`. */
export interface HistorySwap {
  pairs: readonly (readonly [string, string])[];
  before: number;
}

/**
 * Exchanges the histories of two indexes by exchanging the names of their numbers, which costs the
 * same however long the histories are. Tasks beginning with `before` then get the other number, so
 * that they keep their index uid. Throws when an index has no number.
 */
export function exchangeHistories(
  { pairs, before }: HistorySwap,
  { store, table }: TransactionContext,
  stage: Stage,
): Omit<TransactionPart, 'fail'> {
  const names = new Map<number, string>();
  const moved = new Map<number, number>();
  for (const [a, b] of pairs) {
    const [first, second] = [table.indexNumber(a), table.indexNumber(b)];
    if (first === undefined || second === undefined) throw new Error(`no number for ${a}, ${b}`);
    names.set(first, b).set(second, a);
    moved.set(first, second).set(second, first);
  }
  const to = (number: number): number => moved.get(number) ?? number;
  const rows = new Map<number, TaskRow>();
  const links = new Map<number, number[]>();
  for (let uid = before; uid < table.nextTaskUid; uid++) {
    const now = stage.peek(uid);
    const i = uid % TASKS_PER_CHUNK;
    if (now === undefined || now.type[i] === 0) continue;
    if (moved.has(now.index[i]!)) {
      const chunk = stage.edit(uid);
      chunk.index[i] = to(chunk.index[i]!);
    }
    const numbers = table.linked.get(uid);
    if (numbers === undefined || !numbers.some((number) => moved.has(number))) continue;
    links.set(uid, numbers.map(to));
    const row = store.tasks.get(uid);
    if (row === undefined) continue;
    rows.set(uid, (taskTypeEntry(row.type).renumbered?.(row, to) ?? row) as TaskRow);
  }
  return {
    write: (tx: Transaction) => {
      for (const [number, name] of names) tx.put(store.indexNames, number, name);
      for (const [uid, row] of rows) tx.put(store.tasks, uid, row);
    },
    publish: () => {
      for (const [number, name] of names) table.setIndexName(number, name);
      for (const [uid, numbers] of links) table.linked.set(uid, numbers);
    },
  };
}
