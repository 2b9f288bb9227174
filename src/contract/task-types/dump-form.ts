/**
 * How the tasks of a type are written to a dump and read from one. A line of a dump names what was asked and its details as
 * variants: a name alone, or an object whose only key is the name and whose value is the content. What all lines have in
 * common is in `dump/write-task.ts` and `dump/read-task.ts`.
 */
import type { RawJson } from '../../base/json.ts';
import type { TaskDetails } from './fields.ts';

type Json = Record<string, unknown>;

export type Variant = string | Readonly<Record<string, Json>>;

/** Uid of an index by its number. */
export type NameOf = (index: number) => string | null;

/** A task that is written, beside its row. */
export interface WrittenTask {
  readonly indexUid: string | null;
  /** The details that the task shows. */
  readonly details: TaskDetails;
  readonly mayCreateIndex: boolean;
  /** Of a deletion by ids that waits. */
  readonly ids: readonly string[] | RawJson;
  readonly nameOf: NameOf;
}

/** A line that is read. The contents of variants: nothing in them has been checked. */
export interface TaskLine {
  readonly indexUid: string;
  readonly content: Json;
  readonly details: Json;
  readonly succeeded: boolean;
}

export interface ReadTask<Request> {
  /** An addition has no payload in it. */
  readonly request: Request;
  /** The counter that the task ended with. */
  readonly result?: number | null;
  /** Of a cancelation or deletion of tasks: which, ascending. */
  readonly matched?: number[];
  /** Replace or add keys of the details. */
  readonly details?: TaskDetails;
}

export interface DumpForm<Request = unknown, Row = unknown> {
  write(row: Row, task: WrittenTask): { type: Variant; details: Variant | null };
  /** By the name of what was asked. null: it cannot be read, and is left out like an unknown type. */
  readonly read: Readonly<Record<string, (line: TaskLine) => ReadTask<Request> | null>>;
}

/** `value` if it is a string, or null. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** `value` if it is a number, or null. */
export function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
