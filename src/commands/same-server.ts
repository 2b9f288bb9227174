/**
 * Finds out whether two addresses lead to the same server, based on its data, not on the addresses.
 */
import { randomUUID } from 'node:crypto';
import { RefusedRequest } from '../outbound/api-peer.ts';
import { CommandFailure } from './command.ts';
import type { Connection } from './connection.ts';
import type { IndexInfo } from '../contract/responses.ts';

/**
 * Number of checks per address. They run concurrently on separate connections, so that a load
 * balancer distributes them.
 */
const LOOKS = 8;

export type KnownIndex = Pick<IndexInfo, 'uid'> & Partial<Pick<IndexInfo, 'createdAt'>>;

/**
 * Creates a mark, an empty index with a random name, on `target` and looks for it on both servers.
 * This works with any server with this API, and through proxies. If the keys do not allow it, the
 * dates of the indexes decide. Throws `CommandFailure` if both are the same server, replicate to
 * each other, or cannot be distinguished.
 * @param indexes the indexes of `source`
 * @param say prints a line for the user
 */
export async function refuseSameServer(
  source: Connection,
  target: Connection,
  indexes: readonly KnownIndex[],
  say: (line: string) => void,
): Promise<void> {
  const mark = `gannet-mark-${randomUUID()}`;
  const made = await unlessForbidden(() => target.finish('POST', '/indexes', { uid: mark }));
  if (made === null) {
    await requireOtherDates(source, target, indexes);
    return;
  }
  // A retried request may have created it in its first attempt.
  if (made.status !== 'succeeded' && made.error?.code !== 'index_already_exists') {
    throw new CommandFailure(
      `${target.address} cannot create an index: ${made.error?.message ?? made.status}`,
    );
  }
  try {
    const there = await looksFor(target, mark);
    if (there?.includes(false) === true) {
      throw new CommandFailure(
        `Several servers respond at ${target.address}: an index that one has created does not exist on another. Name one of them with --url.`,
      );
    }
    const here = await looksFor(source, mark);
    if (here === null) await requireOtherDates(source, target, indexes);
    else if (here.includes(true)) {
      throw new CommandFailure(
        `${source.address} and ${target.address} are the same server, or forward writes to each other: what is written to one appears on the other. Nothing was copied or deleted. Name another server with --url.`,
      );
    }
  } finally {
    await removeMark(target, mark, say);
  }
}

async function removeMark(
  target: Connection,
  mark: string,
  say: (line: string) => void,
): Promise<void> {
  const path = `/indexes/${mark}`;
  const task = await unlessForbidden(() => target.register({ method: 'DELETE', path }));
  if (task !== null) await target.waitFor([task], () => {});
  else {
    say(
      `The key of ${target.address} may not delete indexes, so the empty index \`${mark}\` remains.`,
    );
  }
}

/** The result of each check; null: the key does not allow it. */
function looksFor(connection: Connection, uid: string): Promise<boolean[] | null> {
  return unlessForbidden(() =>
    Promise.all(
      Array.from({ length: LOOKS }, async () => (await indexOf(connection, uid)) !== null),
    ),
  );
}

/** null: there is no such index. */
async function indexOf(connection: Connection, uid: string): Promise<KnownIndex | null> {
  try {
    return await connection.get<KnownIndex>(`/indexes/${encodeURIComponent(uid)}`);
  } catch (error) {
    if (error instanceof RefusedRequest && error.body.code === 'index_not_found') return null;
    throw error;
  }
}

/**
 * Throws unless an index of the source is missing on the target or was created at another time
 * there, which proves that the servers differ.
 */
async function requireOtherDates(
  source: Connection,
  target: Connection,
  indexes: readonly KnownIndex[],
): Promise<void> {
  if (indexes.length === 0) return;
  for (const { uid, createdAt } of indexes) {
    const there = await unlessForbidden(async () => ({ index: await indexOf(target, uid) }));
    if (there === null) continue;
    if (there.index === null || there.index.createdAt !== createdAt) return;
  }
  throw new CommandFailure(
    `These keys cannot show whether ${source.address} and ${target.address} are the same server, so nothing was copied or deleted. ` +
      'Give --key the right to create and delete indexes, and --from-key that to read all indexes.',
  );
}

/** null: the key does not allow the request. */
async function unlessForbidden<T>(request: () => Promise<T>): Promise<T | null> {
  try {
    return await request();
  } catch (error) {
    if (error instanceof RefusedRequest && error.status === 403) return null;
    throw error;
  }
}
