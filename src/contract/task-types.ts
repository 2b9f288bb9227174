/** Definitions derived from the entries of `task-types/registry.ts`. */
import type { ExactDates, TaskNetwork } from './task-types/fields.ts';
import { TASK_TYPE_ENTRIES } from './task-types/registry.ts';
import type { DumpForm } from './task-types/dump-form.ts';
import type { InBatch, TaskTypeEntry } from './task-types/task-type.ts';

type Entries = (typeof TASK_TYPE_ENTRIES)[number];

export type TaskType = Entries['name'];

/** In the order in which a message lists them. */
export const TASK_TYPES: readonly TaskType[] = TASK_TYPE_ENTRIES.map(({ name }) => name);

/** What a task of each type does, for people. */
export const TASK_WORDS: Readonly<Record<string, string>> = Object.fromEntries(
  TASK_TYPE_ENTRIES.map(({ name, words }) => [name, words]),
);

type Known<T> = T extends { type: TaskType } ? T : never;
type RequestOfEntry<E> = E extends { draft(request: infer Request): unknown } ? Request : never;
type RowOfEntry<E> = E extends { draft(request: never): { row(context: never): infer Row } }
  ? Row
  : never;

/** Work to be appended as a task. All of it has been validated. */
export type TaskRequest = Known<RequestOfEntry<Entries>> & {
  customMetadata?: string;
  network?: TaskNetwork;
};

/**
 * The request of a task, stored once at registration. It does not contain index uids; these are in
 * the columns, as numbers, so that a swap of two indexes moves their history by exchanging two
 * names.
 */
export type TaskRow = Known<RowOfEntry<Entries>> & {
  customMetadata?: string;
  network?: TaskNetwork;
  exactDates?: ExactDates;
};

export type RowOf<T extends TaskType> = Extract<TaskRow, { type: T }>;

const BY_NAME = new Map<string, TaskTypeEntry<TaskType>>(
  (TASK_TYPE_ENTRIES as unknown as TaskTypeEntry<TaskType>[]).map((entry) => [entry.name, entry]),
);

export function taskTypeEntry(type: TaskType): TaskTypeEntry<TaskType> {
  return BY_NAME.get(type)!;
}

/** How to read a task from a dump, by the name of its kind in the dump. */
export const READ_FROM_DUMP = new Map(
  [...BY_NAME.values()].flatMap(({ dump }) => Object.entries(dump.read)),
) as ReadonlyMap<string, DumpForm<TaskRequest>['read'][string]>;

/** The types that run before anything on an index, by priority. */
export const TYPES_BY_PRIORITY: readonly { type: TaskType; take: 'all' | 'highest' | 'lowest' }[] =
  [...BY_NAME.values()]
    .flatMap(({ name, batching }) => ('priority' in batching ? [{ type: name, ...batching }] : []))
    .sort((a, b) => a.priority - b.priority);

/** How a batch shows each key of the details. */
export const SHOWN_IN_BATCH: Readonly<Record<string, InBatch | undefined>> = Object.assign(
  {},
  ...[...BY_NAME.values()].map(({ inBatch }) => inBatch),
);
