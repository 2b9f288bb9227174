import { Counts } from '../base/counts.ts';
import type { ErrorBody } from '../contract/errors.ts';
import type { TaskDetails, TaskStatus, TaskType } from '../contract/tasks.ts';
import type { BatchStats } from '../contract/responses.ts';
import type { IndexRecord } from '../engine/registry.ts';
import { exchangeHistories, type HistorySwap } from './history-exchange.ts';
import type { MemoryTable } from './memory-table.ts';
import { FLAG } from '../contract/task-types/task-type.ts';
import type { StagedRecords } from './records.ts';
import { TASKS_PER_CHUNK, TYPE_OF_CODE } from './task-chunk.ts';
import type { BatchRow, TaskOutcome } from './task-row.ts';
import type { Stage, TransactionContext, TransactionPart } from './task-transaction.ts';

export interface TaskEnd {
  uid: number;
  status: 'succeeded' | 'failed' | 'canceled';
  result: number | null;
  canceledBy?: number;
  error?: ErrorBody;
  /** Keys that replace or extend the details. */
  details?: TaskDetails;
}

/** The end of a batch, stored in one transaction. */
export interface BatchEnd {
  batchUid: number;
  startedAt: number;
  strategy: string;
  details: TaskDetails;
  /** Not empty. */
  ends: readonly TaskEnd[];
  /** Measurements of the run; absent after a crash. */
  measured?: {
    progressTrace?: Record<string, string>;
    internalDatabaseSizes?: Record<string, string> | undefined;
    embedderRequests?: BatchStats['embedderRequests'] | null;
  };
  /** Finished tasks to delete. */
  remove?: readonly number[];
  history?: HistorySwap;
  /** Rows of the list of indexes; null removes a row. */
  indexes?: ReadonlyMap<string, IndexRecord | null>;
  /** Changes of other tables. */
  records?: readonly StagedRecords[];
}

/** A requested end of a batch. */
export interface Finish {
  kind: 'finish';
  end: BatchEnd;
  resolve: (finishedAt: number) => void;
  reject: (error: unknown) => void;
}

/** Prepares the end of a batch. If it throws, only `stage` has changed. */
export function prepareFinish(
  context: TransactionContext,
  { end, resolve, reject }: Finish,
  stage: Stage,
): TransactionPart {
  const { store, table, payloads, sweeper } = context;
  const finishedAt = context.now();
  const ended = endTasks(end, finishedAt, table, stage);
  const batch: BatchRow = {
    startedAt: end.startedAt,
    finishedAt,
    strategy: end.strategy,
    details: end.details,
    stats: ended.stats,
  };
  const removed = end.remove ?? [];
  const lost = removeTasks(removed, stage);
  const emptied = [...lost]
    .filter(([uid, n]) => table.batches.tasks[uid] === n)
    .map(([uid]) => uid);
  emptied.sort((a, b) => a - b);
  const garbage = removed.length === 0 ? null : sweeper.garbageWith(removed, emptied);
  const storedBatchUids = Math.max(table.storedBatchUids, end.batchUid + 1);
  const more = context.finished(end.batchUid);
  const history = end.history === undefined ? null : exchangeHistories(end.history, context, stage);
  return {
    fail: reject,
    write: (tx) => {
      tx.put(store.batches, end.batchUid, batch);
      tx.put(store.meta, 'nextBatchUid', storedBatchUids);
      for (const { uid, outcome } of ended.outcomes) tx.put(store.outcomes, uid, outcome);
      if (garbage !== null) tx.put(store.meta, 'garbage', garbage);
      history?.write(tx);
      more?.write(tx);
      for (const [uid, record] of end.indexes ?? []) {
        if (record === null) tx.remove(store.indexes, uid);
        else tx.put(store.indexes, uid, record);
      }
      for (const change of end.records ?? []) change.write(tx);
    },
    publish: () => {
      table.storedBatchUids = storedBatchUids;
      table.addToBatch(end.batchUid, ended.joined, end.startedAt, finishedAt);
      table.taskCount -= removed.length;
      for (const [uid, n] of lost) table.batches.remove(uid, n);
      for (const uid of removed) table.linked.delete(uid);
      history?.publish();
      for (const uid of ended.payloadFiles) payloads.remove(uid);
      sweeper.add(garbage, ended.payloadRows);
      more?.publish();
      for (const change of end.records ?? []) change.publish();
      resolve(finishedAt);
    },
  };
}

/** What the ends of the tasks of a batch amount to. */
interface EndedTasks {
  stats: BatchStats;
  outcomes: { uid: number; outcome: TaskOutcome }[];
  /** Uids of the tasks whose payloads are files, and of those whose payloads are rows. */
  payloadFiles: number[];
  payloadRows: number[];
  /** Number of tasks that newly belong to the batch. */
  joined: number;
}

function endTasks(end: BatchEnd, finishedAt: number, table: MemoryTable, stage: Stage): EndedTasks {
  const outcomes: EndedTasks['outcomes'] = [];
  const payloadFiles: number[] = [];
  const payloadRows: number[] = [];
  const statuses = new Counts<TaskStatus>();
  const types = new Counts<TaskType>();
  const indexUids = new Counts();
  const batch = { batchUid: end.batchUid, startedAt: end.startedAt, finishedAt };
  let joined = 0;
  for (const task of end.ends) {
    const { uid } = task;
    const chunk = stage.edit(uid);
    const i = uid % TASKS_PER_CHUNK;
    // `begin` does not mark canceled tasks.
    if (chunk.batchUid[i] !== end.batchUid) joined++;
    chunk.end(i, task, batch);
    const outcome = outcomeOf(task);
    if (outcome !== null) outcomes.push({ uid, outcome });
    if ((chunk.flags[i]! & FLAG.payloadFile) !== 0) payloadFiles.push(uid);
    else if (chunk.payloadBytes[i]! > 0) payloadRows.push(uid);
    statuses.add(task.status);
    types.add(TYPE_OF_CODE[chunk.type[i]!]!);
    const indexUid = table.indexName(chunk.index[i]!);
    if (indexUid !== null) indexUids.add(indexUid);
  }
  const stats: BatchStats = {
    totalNbTasks: end.ends.length,
    status: statuses.toObject(),
    types: types.toObject(),
    indexUids: indexUids.toObject(),
  };
  const { progressTrace, internalDatabaseSizes, embedderRequests } = end.measured ?? {};
  if (progressTrace !== undefined) stats.progressTrace = progressTrace;
  if (internalDatabaseSizes !== undefined) stats.internalDatabaseSizes = internalDatabaseSizes;
  if (embedderRequests !== undefined && embedderRequests !== null) {
    stats.embedderRequests = embedderRequests;
  }
  return { stats, outcomes, payloadFiles, payloadRows, joined };
}

function outcomeOf({ error, details }: TaskEnd): TaskOutcome | null {
  if (error === undefined && details === undefined) return null;
  const outcome: TaskOutcome = {};
  if (error !== undefined) outcome.error = error;
  if (details !== undefined) outcome.details = details;
  return outcome;
}

/** Removes tasks. @returns the number of tasks that each batch loses, by batch uid */
function removeTasks(uids: readonly number[], stage: Stage): Map<number, number> {
  const lost = new Map<number, number>();
  for (const uid of uids) {
    const chunk = stage.edit(uid);
    const i = uid % TASKS_PER_CHUNK;
    chunk.remove(i);
    lost.set(chunk.batchUid[i]!, (lost.get(chunk.batchUid[i]!) ?? 0) + 1);
  }
  return lost;
}
