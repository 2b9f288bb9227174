/** Tasks and batches as the server shows them. */

export const TASK_STATUSES = ['enqueued', 'processing', 'succeeded', 'failed', 'canceled'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

export interface Task {
  readonly uid: number;
  readonly batchUid: number | null;
  readonly indexUid: string | null;
  readonly status: TaskStatus;
  readonly type: string;
  readonly details: Readonly<Record<string, unknown>> | null;
  readonly error: {
    readonly message: string;
    readonly code: string;
    readonly type: string;
    readonly link: string;
  } | null;
  readonly duration: string | null;
  readonly enqueuedAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** For a write that was sent to other servers of a network, or came from one. */
  readonly network?: {
    readonly remotes?: Readonly<
      Record<string, { readonly task_uid?: number; readonly error?: string }>
    >;
    readonly origin?: { readonly remoteName: string };
  };
}

export interface Batch {
  readonly uid: number;
  readonly progress: {
    readonly steps: readonly {
      readonly currentStep: string;
      readonly finished: number;
      readonly total: number;
    }[];
    readonly percentage: number;
  } | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly stats: {
    readonly totalNbTasks: number;
    readonly status: Readonly<Record<string, number>>;
    readonly types: Readonly<Record<string, number>>;
    readonly indexUids: Readonly<Record<string, number>>;
  };
  readonly duration: string | null;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly batchStrategy: string;
}

export interface TaskPage<T> {
  readonly results: readonly T[];
  readonly total: number;
  readonly next: number | null;
}
