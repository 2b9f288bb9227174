/** What clients of a cluster have seen, as data. Times are those of one clock, ms. */

interface Request {
  /** The node that was asked. */
  readonly node: string;
  /** Before the request was sent. */
  readonly begin: number;
  /** After the response was received. */
  readonly end: number;
}

/**
 * What became of a write: it was done; it was refused, so it is never done; or the client cannot
 * know.
 */
export type Outcome =
  | { readonly kind: 'accepted'; readonly uid: number; readonly commit: number }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unknown' };

/** A request that makes a task. */
export interface TaskWrite extends Request {
  readonly kind: 'task';
  /** The type of the task. */
  readonly type: string;
  /** The task shows it and no other task does; null: this type of task shows none. */
  readonly tag: string | null;
  /** What a cancelation selects: tasks with these uids, additions, or all. null: it is none. */
  readonly selected: readonly number[] | 'everything' | 'additions' | null;
  readonly outcome: Outcome;
}

/** The creation or the deletion of a key. Names of keys are not used again. */
export interface KeyWrite extends Request {
  readonly kind: 'key';
  readonly method: 'create' | 'delete';
  readonly name: string;
  /** `uid` is not used. */
  readonly outcome: Outcome;
}

/** The newest tasks, as one node shows them. */
export interface TasksRead extends Request {
  readonly kind: 'tasks';
  /** The request waited for this commit. */
  readonly waitedFor: number | null;
  readonly tasks: readonly { readonly uid: number; readonly status: string }[];
}

/** The names of all keys, as one node shows them. */
export interface KeysRead extends Request {
  readonly kind: 'keys';
  readonly waitedFor: number | null;
  readonly names: readonly string[];
}

/** The document that each write of its index replaces; it holds the tag of the write. */
export interface MarkRead extends Request {
  readonly kind: 'mark';
  readonly tag: string;
}

export type HistoryEvent = TaskWrite | KeyWrite | TasksRead | KeysRead | MarkRead;

export interface FinalTask {
  readonly uid: number;
  readonly type: string;
  readonly status: string;
  readonly tag: string | null;
  readonly batchUid: number | null;
  readonly canceledBy: number | null;
}

/** What a node shows after all faults and all work have ended. */
export interface FinalNode {
  readonly name: string;
  /** Ascending. */
  readonly tasks: readonly FinalTask[];
  readonly keys: readonly string[];
  /** Digests of everything else that must be the same on all nodes, by what it is. */
  readonly digests: Readonly<Record<string, string>>;
}
