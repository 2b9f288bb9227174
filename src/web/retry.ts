/** How a task that failed or was canceled is sent once more. Pure functions. */
import type { Task } from './task.ts';

export interface Retry {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

type Details = Readonly<Record<string, unknown>>;

/**
 * By task type, from the index and the details that the server keeps. null: not possible. The uid
 * of an index has no character that a path would encode.
 */
const RETRIES: Readonly<Record<string, (uid: string, details: Details) => Retry | null>> = {
  dumpCreation: () => ({ method: 'POST', path: '/dumps' }),
  snapshotCreation: () => ({ method: 'POST', path: '/snapshots' }),
  indexCreation: (uid, { primaryKey = null }) => ({
    method: 'POST',
    path: '/indexes',
    body: { uid, primaryKey },
  }),
  indexDeletion: (uid) => ({ method: 'DELETE', path: `/indexes/${uid}` }),
  indexCompaction: (uid) => ({ method: 'POST', path: `/indexes/${uid}/compact` }),
  indexSwap: (_, { swaps }) =>
    Array.isArray(swaps) ? { method: 'POST', path: '/swap-indexes', body: swaps } : null,
  // The details of settings show secrets shortened: these cannot be sent back.
  settingsUpdate: (uid, details) =>
    'embedders' in details
      ? null
      : { method: 'PATCH', path: `/indexes/${uid}/settings`, body: details },
  documentDeletion: (uid, { originalFilter }) => {
    const filter = parsedFilter(originalFilter);
    const path = `/indexes/${uid}/documents/delete`;
    return filter === undefined ? null : { method: 'POST', path, body: { filter } };
  },
  documentEdition: (uid, { function: text, context, originalFilter }) => {
    const filter = parsedFilter(originalFilter) ?? null;
    const body = { function: text, context: context ?? null, filter };
    return typeof text === 'string'
      ? { method: 'POST', path: `/indexes/${uid}/documents/edit`, body }
      : null;
  },
};

/** undefined: there is none. */
function parsedFilter(text: unknown): unknown {
  if (typeof text !== 'string') return undefined;
  try {
    return (JSON.parse(text) as unknown) ?? undefined;
  } catch {
    return undefined;
  }
}

/**
 * The request that runs the task again; null: the task was not refused, or what it needs, such as
 * its documents, is no longer kept.
 */
export function retryOf({ status, type, indexUid, details }: Task): Retry | null {
  if (status !== 'failed' && status !== 'canceled') return null;
  return RETRIES[type]?.(indexUid ?? '', details ?? {}) ?? null;
}
