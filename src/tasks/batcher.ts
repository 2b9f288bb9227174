import { type TaskType, TYPES_BY_PRIORITY } from '../contract/task-types.ts';
import { BACKUP_TYPES } from '../contract/task-types/server.ts';
import { RULES_INDEX_UID } from '../contract/task-types/search-rules.ts';
import type { PendingTask } from './task.ts';

/** Decides which tasks run together next, and why no more of them do. All functions are pure. */

/** What the merged tasks on one index amount to; for tasks that are not merged, their type. */
export type BatchKind =
  | TaskType
  /** Additions and deletions, in order. */
  | 'documents'
  /** The batch ends with a deletion of all documents, so whatever precedes it has no effect. */
  | 'clear'
  | 'settings'
  | 'clearAndSettings';

export interface Batch {
  kind: BatchKind;
  /** null for kinds that are not about one index. */
  indexUid: string | null;
  /** Ascending; never empty. */
  uids: number[];
  /** One of the tasks may create the index. */
  mayCreateIndex: boolean;
  /** Why the batch ends where it does; shown to people. */
  strategy: string;
}

/** The waiting tasks. All sequences are ascending. */
export interface PendingTasks {
  readonly count: number;
  /** Uids of the waiting tasks of a type in `TYPES_BY_PRIORITY`. */
  ofType(type: TaskType): readonly number[];
  /** The index that the task shows, or null. */
  indexOf(uid: number): string | null;
  /**
   * The lowest uid among tasks on indexes and swaps. `indexUid` is null for a swap of no indexes.
   */
  first(): { uid: number; indexUid: string | null } | null;
  /** All waiting tasks that belong to the index. Read lazily. */
  ofIndex(indexUid: string): Iterable<PendingTask>;
}

/** The waiting tasks as needed to choose a batch that runs concurrently with another. */
export interface PendingConcurrently extends PendingTasks {
  /** The lowest uid of the tasks that belong to several indexes or to none, or Infinity. */
  firstOfSeveral(): number;
  /** Indexes whose first waiting task changes documents, ordered by the uids of those tasks. */
  documentsFirst(): Iterable<string>;
}

export interface KnownIndexes {
  /** undefined: no such index; null: it has no primary key yet. */
  primaryKey(indexUid: string): string | null | undefined;
}

const NONE: ReadonlySet<TaskType> = new Set();

export interface BatchLimits {
  /** Maximum number of tasks in a batch on one index. */
  tasks: number;
  /** Maximum payload of a batch, bytes. The first task is always taken, whatever its size. */
  bytes: number;
}

/**
 * @param full types of which no further batch may run now
 * @returns null when no waiting task may run
 */
export function nextBatch(
  pending: PendingTasks,
  indexes: KnownIndexes,
  limits: BatchLimits,
  full: ReadonlySet<TaskType> = NONE,
): Batch | null {
  for (const { type, take } of TYPES_BY_PRIORITY) {
    if (full.has(type)) continue;
    const waiting = pending.ofType(type);
    if (waiting.length === 0) continue;
    if (take === 'all') {
      const strategy = `tasks of type \`${type}\` are batched only among themselves`;
      return { kind: type, indexUid: null, uids: [...waiting], mayCreateIndex: false, strategy };
    }
    const uid = take === 'highest' ? waiting.at(-1)! : waiting[0]!;
    return single(type, pending.indexOf(uid), { uid, type });
  }
  const first = pending.first();
  if (first === null) return null;
  if (first.indexUid === RULES_INDEX_UID) return ruleBatch(pending, limits);
  if (first.indexUid === null) {
    return single('indexSwap', null, { uid: first.uid, type: 'indexSwap' });
  }
  return indexBatch(first.indexUid, pending, indexes.primaryKey(first.indexUid), limits);
}

/**
 * Separates suspects, the tasks during which the process has crashed. If the batch contains a
 * suspect, the result is either that suspect alone or the tasks before it.
 * @param batch the batch that would run
 * @param shorter the batch that would run with at most this many tasks
 */
export function withSuspectsAlone(
  batch: Batch,
  isSuspect: (uid: number) => boolean,
  shorter: (tasks: number) => Batch,
): Batch {
  const before = batch.uids.findIndex(isSuspect);
  if (before < 0) return batch;
  const suspect = batch.uids[before]!;
  const length = Math.max(before, 1);
  const cut = batch.uids.length > length ? shorter(length) : batch;
  const strategy =
    before === 0
      ? `task ${suspect} runs alone: the server died while it ran`
      : `ended before task ${suspect}, which runs alone: the server died while it ran`;
  // Batches by type have no limit on the number of tasks.
  return { ...cut, uids: cut.uids.slice(0, length), strategy };
}

/**
 * Ends a batch where its tasks no longer belong to the same part of a batch that was divided.
 * @param partOf the part of a task; undefined: it was in no such batch
 * @param shorter the batch that would run with at most this many tasks
 */
export function withinPart(
  batch: Batch,
  partOf: (uid: number) => unknown,
  shorter: (tasks: number) => Batch,
): Batch {
  const part = partOf(batch.uids[0]!);
  const length = batch.uids.findIndex((uid) => partOf(uid) !== part);
  if (length < 0) return batch;
  const cut = shorter(length);
  const strategy = `ended before task ${batch.uids[length]}: a task failed in a batch of both`;
  return { ...cut, uids: cut.uids.slice(0, length), strategy };
}

/**
 * Whether other batches may run concurrently with this one. Such a batch may take long, and touches
 * only its own index, or nothing at all once it calls `RunContext.allowConcurrent`.
 */
export function allowsConcurrent({ kind }: Batch): 'at once' | 'later' | 'never' {
  if (kind === 'settings' || kind === 'clearAndSettings') return 'at once';
  return kind === 'snapshotCreation' || kind === 'networkTopologyChange' ? 'later' : 'never';
}

/** Backups leave a turn to tasks on indexes; see the scheduler. */
export function isBackup({ kind }: Batch): boolean {
  return (BACKUP_TYPES as readonly BatchKind[]).includes(kind);
}

/**
 * Whether the batch waits for others that must run concurrently: a move of documents waits for the
 * tasks that delete what has arrived elsewhere.
 */
export function needsConcurrent({ kind }: Batch): boolean {
  return kind === 'networkTopologyChange';
}

/**
 * Chooses a batch to run concurrently with `running`: changes of documents of another index. The
 * visible order of tasks is kept: nothing overtakes a task that concerns other tasks or everything,
 * or a task that belongs to several indexes.
 * @param running its tasks still count as waiting
 * @param full types of which no further batch may run now
 * @returns null when no batch may run
 */
export function nextConcurrentBatch(
  running: Batch,
  pending: PendingConcurrently,
  indexes: KnownIndexes,
  limits: BatchLimits,
  full: ReadonlySet<TaskType> = NONE,
): Batch | null {
  const ours = new Set(running.uids);
  const others = ({ type }: { type: TaskType }): boolean =>
    !full.has(type) && pending.ofType(type).some((uid) => !ours.has(uid));
  if (TYPES_BY_PRIORITY.some(others)) return null;
  const end = pending.firstOfSeveral();
  let cut = false;
  const before: PendingTasks = {
    count: pending.count - running.uids.length,
    ofType: (type) => pending.ofType(type),
    indexOf: (uid) => pending.indexOf(uid),
    first: () => null,
    *ofIndex(indexUid) {
      cut = false;
      for (const task of pending.ofIndex(indexUid)) {
        if (task.uid > end) {
          cut = true;
          return;
        }
        yield task;
      }
    },
  };
  for (const indexUid of pending.documentsFirst()) {
    if (indexUid === running.indexUid) continue;
    const batch = indexBatch(indexUid, before, indexes.primaryKey(indexUid), limits);
    if (batch === null) return null;
    if (batch.kind !== 'documents' && batch.kind !== 'clear') continue;
    if (cut) batch.strategy = `ended before task ${end}: it is about several indexes`;
    return batch;
  }
  return null;
}

function single(
  kind: BatchKind,
  indexUid: string | null,
  task: { uid: number; type: TaskType },
): Batch {
  return { kind, indexUid, uids: [task.uid], mayCreateIndex: false, strategy: notBatchable(task) };
}

function notBatchable({ uid, type }: { uid: number; type: TaskType }): string {
  return `task ${uid} of type \`${type}\` is not batchable with other tasks`;
}

/** Changes of rules in a batch: they are stored, and take effect, at once. */
const RULE_TASKS_MAX = 1_000;

/** Changes of dynamic search rules, in order. A deletion of all rules ends the batch. */
function ruleBatch(pending: PendingTasks, limits: BatchLimits): Batch {
  const tasksMax = Math.min(limits.tasks, RULE_TASKS_MAX);
  const uids: number[] = [];
  let kind: BatchKind = 'dsrClear';
  const done = (strategy: string): Batch => {
    return { kind, indexUid: RULES_INDEX_UID, uids, mayCreateIndex: false, strategy };
  };
  for (const { uid, type } of pending.ofIndex(RULES_INDEX_UID)) {
    if (uids.length >= tasksMax) return done(`limit of ${tasksMax} tasks per batch reached`);
    uids.push(uid);
    if (type === 'dsrClear') return done(`ended after task ${uid}: it deletes all rules`);
    kind = 'dsrUpdate';
  }
  return done('all enqueued tasks of dynamic search rules were taken');
}

type State =
  'operations' | 'deletions' | 'clear' | 'settings' | 'clearAndSettings' | 'indexDeletion';

/** The effect of a task on a batch: the next state, or the reason to end the batch before it. */
type Step = { state: State } | { stop: string };

const DOCUMENTS_THEN_SETTINGS = 'document and settings changes are not mixed';
const CLEAR_THEN_ADDITIONS = 'a deletion of all documents is not mixed with later additions';
const SETTINGS_THEN_DOCUMENTS = 'settings and document changes are not mixed';

const START: Readonly<Record<Exclude<PendingTask['kind'], 'alone'>, State>> = {
  add: 'operations',
  deleteIds: 'deletions',
  deleteFilter: 'deletions',
  clear: 'clear',
  settings: 'settings',
  indexDeletion: 'indexDeletion',
};

const merge = (state: State): Step => ({ state });
const stop = (reason: string): Step => ({ stop: reason });

/** Row: state of the batch; column: kind of the next task. */
const TRANSITIONS: Readonly<
  Record<Exclude<State, 'indexDeletion'>, Readonly<Record<keyof typeof START, Step>>>
> = {
  operations: {
    add: merge('operations'),
    deleteIds: merge('operations'),
    deleteFilter: stop('a deletion by filter is not mixed with earlier document changes'),
    clear: merge('clear'),
    settings: stop(DOCUMENTS_THEN_SETTINGS),
    indexDeletion: merge('indexDeletion'),
  },
  deletions: {
    add: merge('operations'),
    deleteIds: merge('deletions'),
    deleteFilter: merge('deletions'),
    clear: merge('clear'),
    settings: stop(DOCUMENTS_THEN_SETTINGS),
    indexDeletion: merge('indexDeletion'),
  },
  clear: {
    add: stop(CLEAR_THEN_ADDITIONS),
    deleteIds: merge('clear'),
    deleteFilter: merge('clear'),
    clear: merge('clear'),
    settings: stop(DOCUMENTS_THEN_SETTINGS),
    indexDeletion: merge('indexDeletion'),
  },
  settings: {
    add: stop(SETTINGS_THEN_DOCUMENTS),
    deleteIds: stop(SETTINGS_THEN_DOCUMENTS),
    deleteFilter: stop(SETTINGS_THEN_DOCUMENTS),
    clear: merge('clearAndSettings'),
    settings: merge('settings'),
    indexDeletion: merge('indexDeletion'),
  },
  clearAndSettings: {
    add: stop(SETTINGS_THEN_DOCUMENTS),
    deleteIds: merge('clearAndSettings'),
    deleteFilter: merge('clearAndSettings'),
    clear: merge('clearAndSettings'),
    settings: merge('clearAndSettings'),
    indexDeletion: merge('indexDeletion'),
  },
};

const KIND_OF_STATE: Readonly<Record<State, BatchKind>> = {
  operations: 'documents',
  deletions: 'documents',
  clear: 'clear',
  settings: 'settings',
  clearAndSettings: 'clearAndSettings',
  indexDeletion: 'indexDeletion',
};

/** What the additions of a batch say about the primary key. */
interface BatchKey {
  /** Whether there is an addition. */
  any: boolean;
  /** The key that the additions name; null: it is guessed, or that of the index. */
  key: string | null;
}

/** A batch under construction. */
interface Growing {
  state: State;
  /** They are writes to another index, repeated here. */
  followed: boolean;
  uids: number[];
  bytes: number;
  mayCreateIndex: boolean;
  key: BatchKey;
}

/** Returns the state of the batch after adding the task, or why the batch ends before it. */
function stateWith(
  { state, followed, uids, bytes, mayCreateIndex, key }: Growing,
  task: PendingTask,
  indexKey: string | null | undefined,
  limits: BatchLimits,
): { state: State } | { end: string } {
  if (uids.length >= limits.tasks)
    return { end: `limit of ${limits.tasks} tasks per batch reached` };
  const total = bytes + task.payloadBytes;
  if (total > limits.bytes) {
    return {
      end: `limit of ${limits.bytes} bytes per batch reached (${total} bytes with the next task)`,
    };
  }
  if (task.kind === 'alone') return { end: notBatchable(task) };
  const before = `ended before task ${task.uid}: `;
  // Repeated writes fail together when the index follows no other.
  if (task.followed !== followed && task.kind !== 'indexDeletion') {
    return { end: `${before}it is not a write to the same index` };
  }
  // A batch that ends with the deletion of the index has returned already.
  const step: Step = TRANSITIONS[state as Exclude<State, 'indexDeletion'>][task.kind];
  if ('stop' in step) return { end: before + step.stop };
  if (indexKey === undefined && !mayCreateIndex && task.mayCreateIndex) {
    return { end: `${before}it has other rights to create the index` };
  }
  const conflict = task.kind === 'add' ? keyConflict(key, task, indexKey ?? null) : null;
  return conflict === null ? step : { end: before + conflict };
}

function indexBatch(
  indexUid: string,
  pending: PendingTasks,
  indexKey: string | null | undefined,
  limits: BatchLimits,
): Batch | null {
  let growing: Growing | null = null;
  const done = ({ state, uids, mayCreateIndex }: Growing, strategy: string): Batch => ({
    kind: KIND_OF_STATE[state],
    indexUid,
    uids,
    mayCreateIndex,
    strategy,
  });

  for (const task of pending.ofIndex(indexUid)) {
    if (growing === null) {
      if (task.kind === 'alone') {
        // A task of several indexes is found by any of them, and is about the one that it shows.
        return single(task.type, pending.indexOf(task.uid) ?? indexUid, task);
      }
      growing = {
        state: START[task.kind],
        followed: task.followed,
        uids: [],
        bytes: 0,
        mayCreateIndex: false,
        key: { any: false, key: null },
      };
    } else {
      const next = stateWith(growing, task, indexKey, limits);
      if ('end' in next) return done(growing, next.end);
      growing.state = next.state;
    }
    const { uids, key } = growing;
    uids.push(task.uid);
    growing.bytes += task.payloadBytes;
    growing.mayCreateIndex ||= task.mayCreateIndex;
    if (task.kind === 'add') {
      if (!key.any) growing.key = { any: true, key: task.primaryKey };
      if (uids.length === 1 && contradicts(task, indexKey ?? null))
        return done(growing, notBatchable(task));
    }
    if (growing.state === 'indexDeletion')
      return done(growing, `ended after task ${task.uid}: it deletes the index`);
  }
  if (growing === null) return null;
  const { uids } = growing;
  return done(
    growing,
    uids.length === pending.count
      ? 'all enqueued tasks were taken'
      : `all enqueued tasks of index \`${indexUid}\` were taken`,
  );
}

/**
 * Whether the addition will fail because the index has another key. For a POST the parameter is
 * ignored instead.
 */
function contradicts(task: PendingTask, indexKey: string | null): boolean {
  return (
    task.update && indexKey !== null && task.primaryKey !== null && task.primaryKey !== indexKey
  );
}

/** Why the addition may not join the batch, or null. */
function keyConflict(batch: BatchKey, task: PendingTask, indexKey: string | null): string | null {
  const { primaryKey } = task;
  if (primaryKey === null) return null;
  if (indexKey !== null) {
    if (!contradicts(task, indexKey)) return null;
    return `its primary key \`${primaryKey}\` is not that of the index, \`${indexKey}\``;
  }
  if (!batch.any) return null;
  if (batch.key === null) {
    return `setting primary key \`${primaryKey}\` would change the guessing of the key`;
  }
  if (batch.key === primaryKey) return null;
  return `its primary key \`${primaryKey}\` is not that of the batch, \`${batch.key}\``;
}
