/**
 * How the tasks of a type are written to a dump and read from one. A line of a dump holds the
 * request and its details as variants: a name alone, or an object whose only key is the name and
 * whose value is the content. Code common to all lines is in `dump/write-task.ts` and
 * `dump/read-task.ts`.
 */
import type { RawJson } from '../../base/json.ts';
import type { TaskDetails } from './fields.ts';

type Json = Record<string, unknown>;

export type Variant = string | Readonly<Record<string, Json>>;

/** Uid of an index by its number. */
export type NameOf = (index: number) => string | null;

/** A task to be written, without its row. */
export interface WrittenTask {
  readonly indexUid: string | null;
  /** The details of the task as shown. */
  readonly details: TaskDetails;
  readonly mayCreateIndex: boolean;
  /** Ids of a pending deletion by ids. */
  readonly ids: readonly string[] | RawJson;
  readonly nameOf: NameOf;
}

/** A parsed line. The contents of the variants have not been checked. */
export interface TaskLine {
  readonly indexUid: string;
  readonly content: Json;
  readonly details: Json;
  readonly succeeded: boolean;
}

export interface ReadTask<Request> {
  /** An addition without its payload. */
  readonly request: Request;
  /** The counter with which the task ended. */
  readonly result?: number | null;
  /** Matched tasks of a cancelation or deletion of tasks, ascending. */
  readonly matched?: number[];
  /** Keys that replace or extend the details. */
  readonly details?: TaskDetails;
}

export interface DumpForm<Request = unknown, Row = unknown> {
  write(row: Row, task: WrittenTask): { type: Variant; details: Variant | null };
  /** By the name of the kind. null: it cannot be read, and is omitted like an unknown type. */
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
