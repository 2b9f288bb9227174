import { fileURLToPath } from 'node:url';
import type { Client } from '../http/kill/support/client.ts';

/** A request to a data folder, and its response. */
export interface Recording {
  method: string;
  path: string;
  body?: unknown;
  answer: unknown;
}

export interface Expected {
  exchanges: Recording[];
  /** Uids of the waiting tasks, and the documents of `books` once they have run. */
  waiting: number[];
  documentsAfter: number;
  /** Requests for after that. Folders from before long settings have none. */
  after?: Recording[];
}

export const FORMATS = fileURLToPath(new URL('.', import.meta.url));

/** Accepts tasks but does not run them. */
export const RUN_NOTHING = ['--experimental-max-number-of-batched-tasks', '0'];

/** Values that differ between runs. */
const VOLATILE = new Set([
  'processingTimeMs',
  'requestUid',
  'databaseSize',
  'indexSize',
  'usedIndexSize',
  'usedDatabaseSize',
  'duration',
  'commitSha',
  'commitDate',
]);

const MOMENT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})\d*Z$/;

export async function ask(
  client: Client,
  { method, path, body }: Omit<Recording, 'answer'>,
): Promise<unknown> {
  const response = await client.call(method, path, body === undefined ? {} : { body });
  return { status: response.status, body: stable(JSON.parse(response.text)) };
}

/** Differences of later versions: new features, times to the microsecond. */
export function asRecorded(
  { path }: { path: string },
  response: unknown,
  recorded: unknown,
): unknown {
  const { status, body } = response as { status: number; body: object };
  // A later version has another number.
  if (path === '/version') return { status, body: (recorded as { body: object }).body };
  if (path !== '/experimental-features') return response;
  const known = new Set(Object.keys((recorded as { body: object }).body));
  return {
    status,
    body: Object.fromEntries(Object.entries(body).filter(([name]) => known.has(name))),
  };
}

export function stable(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(MOMENT, '$1Z');
  if (Array.isArray(value)) return value.map(stable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !VOLATILE.has(key))
      .map(([key, member]) => [key, stable(member)]),
  );
}
