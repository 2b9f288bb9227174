import type { ErrorBody } from './errors.ts';

/** In the order in which a message lists them. */
export const TASK_TYPES = [
  'documentAdditionOrUpdate',
  'documentEdition',
  'documentDeletion',
  'settingsUpdate',
  'indexCreation',
  'indexDeletion',
  'indexUpdate',
  'indexSwap',
  'taskCancelation',
  'taskDeletion',
  'dumpCreation',
  'snapshotCreation',
  'export',
  'databaseUpgrade',
  'indexCompaction',
  'networkTopologyChange',
] as const;
export type TaskType = (typeof TASK_TYPES)[number];

export const TASK_STATUSES = ['enqueued', 'processing', 'succeeded', 'failed', 'canceled'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** Greatest uid of a task or batch. */
export const TASK_UID_MAX = 4_294_967_295;

export type TaskDetails = Record<string, unknown>;

/** A task as the API shows it. Keys in this order; dates are RFC 3339 in UTC. */
export interface TaskView {
  uid: number;
  batchUid: number | null;
  indexUid: string | null;
  status: TaskStatus;
  type: TaskType;
  canceledBy: number | null;
  /** null only for types without details. */
  details: TaskDetails | null;
  error: ErrorBody | null;
  /** ISO 8601, see `isoDuration`. */
  duration: string | null;
  enqueuedAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  network?: Record<string, unknown>;
  customMetadata?: string;
}

/** The body of a 202. Keys in this order. */
export interface TaskSummary {
  taskUid: number;
  indexUid: string | null;
  status: 'enqueued';
  type: TaskType;
  enqueuedAt: string;
  customMetadata?: string;
}

export interface ProgressView {
  steps: { currentStep: string; finished: number; total: number }[];
  percentage: number;
}

export interface BatchStats {
  totalNbTasks: number;
  status: Partial<Record<TaskStatus, number>>;
  types: Partial<Record<TaskType, number>>;
  indexUids: Record<string, number>;
  progressTrace?: Record<string, string>;
  writeChannelCongestion?: Record<string, number>;
  internalDatabaseSizes?: Record<string, string>;
  embedderRequests?: { total: number; failed: number; lastError?: string };
}

/** A batch as the API shows it. Keys in this order. */
export interface BatchView {
  uid: number;
  progress: ProgressView | null;
  details: TaskDetails;
  stats: BatchStats;
  duration: string | null;
  startedAt: string;
  finishedAt: string | null;
  batchStrategy: string;
}

export interface TaskPage<T> {
  results: T[];
  total: number;
  limit: number;
  from: number | null;
  next: number | null;
}

/** Absent: no condition. An empty list matches nothing. Conditions are joined by AND, list elements by OR. */
export interface TaskFilter {
  uids?: number[];
  batchUids?: number[];
  canceledBy?: number[];
  types?: TaskType[];
  statuses?: TaskStatus[];
  indexUids?: string[];
  /** Milliseconds; strict comparisons. */
  afterEnqueuedAt?: number;
  beforeEnqueuedAt?: number;
  afterStartedAt?: number;
  beforeStartedAt?: number;
  afterFinishedAt?: number;
  beforeFinishedAt?: number;
}

export interface TaskPaging {
  limit: number;
  from: number | null;
  reverse: boolean;
}

export type DocumentMethod = 'replace' | 'update';

/** Bytes in memory, or a file on the filesystem of the data folder that the task machine then owns. */
export type TaskPayload = { file: string } | { bytes: Buffer };

export interface IndexSwapPair {
  indexes: [string, string];
  rename: boolean;
}

/**
 * `null` when the caller may see every index; otherwise whether it may see the index of that uid.
 * Global tasks are shown only to callers whose visibility is null (an indexSwap also when all its
 * indexes are visible).
 */
export type IndexVisibility = null | ((indexUid: string) => boolean);

/** What an export is asked to do; stored as it is. */
export interface ExportRequest {
  type: 'export';
  url: string;
  apiKey: string | null;
  payloadSizeBytes: number;
  indexes: Record<string, { filter: unknown; overrideSettings: boolean }>;
}

/** Work to be appended as a task. Everything in it has been validated. */
export type TaskRequest = TaskRequestBody & { customMetadata?: string };

type TaskRequestBody =
  | {
      type: 'documentAdditionOrUpdate';
      indexUid: string;
      method: DocumentMethod;
      payload: TaskPayload;
      format: 'json' | 'ndjson';
      /** Number of documents in the payload. */
      documents: number;
      primaryKey: string | null;
      /** Documents whose id does not exist yet are skipped. */
      skipCreation: boolean;
      allowIndexCreation: boolean;
    }
  | {
      type: 'documentDeletion';
      indexUid: string;
      by: { ids: string[] } | { filter: unknown } | { all: true };
    }
  | {
      type: 'documentEdition';
      indexUid: string;
      function: string;
      context: Record<string, unknown> | null;
      filter: unknown;
    }
  | {
      type: 'settingsUpdate';
      indexUid: string;
      /** Canonical partial settings; null resets one. Secrets in clear: obfuscate them in views. */
      settings: Record<string, unknown>;
      isReset: boolean;
      allowIndexCreation: boolean;
    }
  | { type: 'indexCreation'; indexUid: string; primaryKey: string | null }
  | { type: 'indexUpdate'; indexUid: string; primaryKey?: string; newUid?: string }
  | { type: 'indexDeletion'; indexUid: string }
  | { type: 'indexSwap'; swaps: IndexSwapPair[] }
  | {
      type: 'taskCancelation' | 'taskDeletion';
      filter: TaskFilter;
      /** `?` and the raw query string. */
      originalFilter: string;
      visible: IndexVisibility;
    }
  | { type: 'dumpCreation' }
  | { type: 'snapshotCreation' }
  | ExportRequest;

/**
 * ISO 8601 with days and seconds only: the fraction has the fewest of 3, 6 or 9 digits that are exact.
 * @returns null for a negative difference
 */
export function isoDuration(ms: number): string | null {
  if (!(ms >= 0)) return null;
  const days = Math.floor(ms / 86_400_000);
  const rest = ms - days * 86_400_000;
  if (rest === 0) return days === 0 ? 'PT0S' : `P${days}D`;
  const nanos = Math.round(rest * 1_000_000);
  const seconds = Math.floor(nanos / 1_000_000_000);
  let fraction = String(nanos % 1_000_000_000).padStart(9, '0');
  while (fraction.endsWith('000')) fraction = fraction.slice(0, -3);
  return `P${days === 0 ? '' : `${days}D`}T${seconds}${fraction === '' ? '' : `.${fraction}`}S`;
}
