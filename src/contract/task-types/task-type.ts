/**
 * The declaration of a type of task: one entry of the registry. The stored row of a task, its
 * details, its batching, the indexes it concerns, its form in dumps, and its cancelation follow
 * from it. What a batch does is in `tasks/runners.ts`.
 */
import type { FilterOfTasks, IndexVisibility, TaskDetails, TaskStatus } from './fields.ts';
import type { DumpForm, NameOf } from './dump-form.ts';

/**
 * Bits in the columns of a task, so that tasks can be batched without reading rows. Stored numbers:
 * never changed, never given another meaning.
 */
export const FLAG = {
  mayCreateIndex: 1,
  /** The row has a `primaryKey`. */
  primaryKey: 2,
  /** The task belongs to further indexes, or to several. */
  linked: 4,
  byFilter: 8,
  all: 16,
  /** The payload is a file, otherwise a row of the store. */
  payloadFile: 32,
  /** For an addition: documents are merged, not replaced. */
  update: 64,
  /** A write to the origin of a branch, repeated there. */
  followed: 128,
} as const;

/** Kinds of tasks on one index, for the rules that merge them into batches (`tasks/batcher.ts`). */
export type TaskKind =
  | 'add'
  | 'deleteIds'
  | 'deleteFilter'
  | 'clear'
  | 'settings'
  | 'indexDeletion'
  /** In a batch of its own. */
  | 'alone';

/**
 * How a task is batched. With `priority`: before anything on an index, the lowest priority number
 * first, and with it all tasks of the type or the one with the highest or lowest uid. With `kind`:
 * in the order of the uids of the tasks on its index, merged with adjacent tasks.
 */
export type Batching =
  | { readonly priority: number; readonly take: 'all' | 'highest' | 'lowest' }
  | { readonly kind: (flags: number) => TaskKind };

/** How a batch shows a key of its tasks' details. Default: the value of the last task. */
export type InBatch = 'sum' | 'first' | 'concatenated' | 'joined';

/** A task about to be stored. */
export interface TaskDraft<Row> {
  /** null: it belongs to no index, or shows none. */
  readonly indexUid: string | null;
  /** Further indexes that the task belongs to. */
  readonly alsoIndexes?: readonly string[];
  /** Bits of `FLAG`, but `linked` and `payloadFile`. */
  readonly flags?: number;
  readonly payload?: { readonly bytes: Buffer };
  /** `row` reads the tasks registered before, so they must be in the store when it is made. */
  readonly late?: boolean;
  /** The row to store, as JSON. */
  row(context: DraftContext): Row | Promise<Row>;
}

export interface DraftContext {
  /** The number of an index uid in rows, so that a swap of indexes changes no row. */
  numberOf(indexUid: string): number;
  /** Uids of the tasks that match now and are visible, ascending. */
  matching(filter: FilterOfTasks<string>, visible: IndexVisibility): Promise<number[]>;
}

/** The progress of a task, as far as its details depend on it. */
export interface Progressed {
  readonly status: TaskStatus;
  /** The counter with which it ended; null while it has not ended, or if it has none. */
  readonly result: number | null;
}

/**
 * @typeParam Request the request of routes; never: the type is known, but not stored yet
 * @typeParam Row the stored part, as JSON; contains no index uid that a swap could change
 */
export interface TaskTypeEntry<Name extends string = string, Request = unknown, Row = unknown> {
  readonly name: Name;
  /** What a task of the type does, for people. Published. */
  readonly words: string;
  /** Stored number, from 1 to 31: never changed, never given to another type. */
  readonly code: number;
  readonly batching: Batching;
  /**
   * Whether the task ends with a counter, which is 0 when it fails, is canceled, or has nothing to
   * do.
   */
  readonly counts?: boolean;
  /** By key of the details. */
  readonly inBatch?: Readonly<Record<string, InBatch>>;
  /** A running batch of this type can no longer be stopped. */
  readonly runsToItsEnd?: boolean;
  /**
   * How many batches of this type may run detached. A detached batch has opened everything that it
   * reads and changes nothing here, so the scheduler runs other batches while it waits for other
   * servers; see `RunContext.detach`.
   */
  readonly detachedMax?: number;
  /** Accepted in a full store when it matches tasks: it frees space. */
  readonly freesSpace?: boolean;
  /** Whether the request must name an index itself. Default: an alias stands for its index. */
  refusesAlias?(request: Request): boolean;
  draft(request: Request): TaskDraft<Row>;
  /** The details without what the result adds; null: none. Secrets are hidden here. */
  details(row: Row, progressed: Progressed, nameOf: NameOf): TaskDetails | null;
  /** For a task of several indexes: their numbers in the row. */
  indexesIn?(row: Row): number[];
  /** Filters by index match the task only when they name all its indexes. Default: any. */
  readonly foundByAllIndexes?: boolean;
  /** The row with different index numbers. */
  renumbered?(row: Row, to: (index: number) => number): Row;
  readonly dump: DumpForm<Request, Row>;
}

/** Preserves the literal name; the methods determine `Request` and `Row`. */
export function taskType<const Name extends string, Request, Row>(
  entry: TaskTypeEntry<Name, Request, Row>,
): TaskTypeEntry<Name, Request, Row> {
  return entry;
}

/** A type of the interface that this server neither creates nor runs. Filters accept it. */
export function reservedType<const Name extends string>(
  name: Name,
  words: string,
  code: number,
  batching: Batching,
): TaskTypeEntry<Name, never, never> {
  const unused = (): never => {
    throw new Error(`tasks of type ${name} are not made here`);
  };
  const dump = { write: unused, read: {} };
  return { name, words, code, batching, draft: unused, details: () => null, dump };
}

export const ALONE: Batching = { kind: () => 'alone' };
