import { fileURLToPath } from 'node:url';
import type { Client } from '../http/kill/support/client.ts';

/** A request that a data folder is asked with, and its answer. */
export interface Exchange {
  method: string;
  path: string;
  body?: unknown;
  answer: unknown;
}

export interface Expected {
  exchanges: Exchange[];
  /** Uids of the tasks that wait, and the documents of `books` once they have run. */
  waiting: number[];
  documentsAfter: number;
}

export const FORMATS = fileURLToPath(new URL('.', import.meta.url));

/** Tasks are accepted and wait. */
export const RUN_NOTHING = ['--experimental-max-number-of-batched-tasks', '0'];

/** What differs from run to run. */
const VOLATILE = new Set([
  'processingTimeMs',
  'requestUid',
  'databaseSize',
  'usedDatabaseSize',
  'duration',
]);

export async function ask(
  client: Client,
  { method, path, body }: Omit<Exchange, 'answer'>,
): Promise<unknown> {
  const answer = await client.call(method, path, body === undefined ? {} : { body });
  return { status: answer.status, body: stable(JSON.parse(answer.text)) };
}

function stable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !VOLATILE.has(key))
      .map(([key, member]) => [key, stable(member)]),
  );
}
