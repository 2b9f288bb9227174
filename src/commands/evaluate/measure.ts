/** Searches for judged queries, on a branch if a way has settings of its own. */
import { randomBytes } from 'node:crypto';
import { exactText, parseJson } from '../../base/json.ts';
import { isObject } from '../../contract/settings/setting.ts';
import type { Depths } from '../../relevance/metrics.ts';
import { jsonBody, RefusedRequest } from '../../outbound/api-peer.ts';
import { CommandFailure } from '../command.ts';
import { type Connection, resultsOf } from '../connection.ts';
import { examples, type JudgedQueries, type JudgedQuery } from './judged-queries.ts';
import type { Way } from './ways.ts';

const RESPONSE_BYTES_MAX = 64 * 2 ** 20;
/** Documents that are looked up at a time. */
const LOOKED_UP = 1000;
const DOCUMENT_ID = /^[\w-]{1,511}$/;

export interface Searching {
  readonly connection: Connection;
  /** Makes and deletes branches, also when the command is interrupted. */
  readonly lasting: Connection;
  readonly primaryKey: string;
  readonly depths: Depths;
  /** How many searches run at a time. */
  readonly parallel: number;
  readonly complain: (message: string) => void;
}

/** The hits of each query, as ids. */
export async function hitsOf(
  way: Way,
  queries: readonly JudgedQuery[],
  searching: Searching,
): Promise<string[][]> {
  const { settings } = way;
  if (settings === null) return searchAll(way, queries, searching);
  return onBranch(way.index, searching, async (branch) => {
    const task = await searching.connection.finish('PATCH', `${pathOf(branch)}/settings`, settings);
    const { uid, error } = task;
    if (error !== null) {
      throw new CommandFailure(`The settings were not changed (task ${uid}): ${error.message}`);
    }
    return searchAll({ ...way, index: branch }, queries, searching);
  });
}

async function searchAll(
  way: Way,
  queries: readonly JudgedQuery[],
  { connection, primaryKey, depths, parallel }: Searching,
): Promise<string[][]> {
  const limit = Math.max(depths.page, depths.recall);
  const found: string[][] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < queries.length) {
      const n = next++;
      const { q, search } = queries[n]!;
      const body = { ...search, ...way.search, q, limit, attributesToRetrieve: [primaryKey] };
      const bytes = await connection.send({
        method: 'POST',
        path: `${pathOf(way.index)}/search`,
        body: jsonBody(body),
        responseBytesMax: RESPONSE_BYTES_MAX,
      });
      found[n] = idsOf(bytes, primaryKey);
    }
  };
  try {
    await Promise.all(Array.from({ length: parallel }, work));
  } finally {
    // The other workers stop too.
    next = queries.length;
  }
  return found;
}

function idsOf(bytes: Buffer, primaryKey: string): string[] {
  const response = parseJson(bytes, { exact: true });
  const hits = response.ok && isObject(response.value) ? response.value.hits : undefined;
  if (!Array.isArray(hits)) {
    throw new RefusedRequest(200, { message: 'the response has no list `hits`' }, null);
  }
  return hits.map((hit: Record<string, unknown>) => {
    const id = hit[primaryKey];
    if (id !== undefined) return exactText(id);
    throw new CommandFailure(
      `Hits have no \`${primaryKey}\`: add it to \`displayedAttributes\`, or name the attribute with the ids as --primary-key.`,
    );
  });
}

/** Makes a branch, and deletes it whatever happens to the work. */
async function onBranch<T>(
  index: string,
  { connection, lasting, complain }: Searching,
  work: (branch: string) => Promise<T>,
): Promise<T> {
  const branch = `${index.slice(0, 300)}-evaluate-${randomBytes(4).toString('hex')}`;
  // Not interrupted: a branch whose request was cut off could come after its deletion.
  const path = `${pathOf(index)}/branch`;
  const uid = await lasting.register({ method: 'POST', path, body: jsonBody({ uid: branch }) });
  let exists = true;
  try {
    const { error } = await connection.finished(uid);
    // A repeated request finds the branch that the first attempt made.
    exists = error === null || error.code === 'index_already_exists';
    if (!exists)
      throw new CommandFailure(`The branch was not made (task ${uid}): ${error!.message}`);
    return await work(branch);
  } finally {
    if (exists) await remove(branch, lasting, complain);
  }
}

/** The task comes after the one that makes the branch, even if that one still waits. */
async function remove(
  branch: string,
  lasting: Connection,
  complain: Searching['complain'],
): Promise<void> {
  try {
    await lasting.register({ method: 'DELETE', path: pathOf(branch) });
  } catch {
    complain(`The index \`${branch}\` could not be deleted: delete it.`);
  }
}

/** The attribute with the ids of documents. */
export async function primaryKeyOf(connection: Connection, index: string): Promise<string> {
  try {
    const { primaryKey } = await connection.get<{ primaryKey?: unknown }>(pathOf(index));
    if (typeof primaryKey === 'string') return primaryKey;
  } catch (error) {
    if (!(error instanceof RefusedRequest && error.status === 403)) throw error;
    throw new CommandFailure(
      `The key may not see the primary key of \`${index}\`: name it with --primary-key, or use a key with \`indexes.get\`.`,
    );
  }
  throw new CommandFailure(`\`${index}\` has no documents.`);
}

/** A note of judged documents that the index does not have; null: it has all. */
export async function missingDocuments(
  { connection, primaryKey }: Searching,
  index: string,
  { documents }: JudgedQueries,
): Promise<string | null> {
  const ids = [...documents.keys()];
  const possible = ids.filter((id) => DOCUMENT_ID.test(id));
  const found = new Set<string>();
  try {
    for (let at = 0; at < possible.length; at += LOOKED_UP) {
      const some = possible.slice(at, at + LOOKED_UP);
      const body = { ids: some, fields: [primaryKey], limit: some.length };
      const path = `${pathOf(index)}/documents/fetch`;
      const bytes = await connection.send({ method: 'POST', path, body: jsonBody(body) });
      const page = parseJson(bytes, { exact: true });
      const results = resultsOf<Record<string, unknown>>(page.ok ? (page.value as object) : {});
      for (const document of results) found.add(exactText(document[primaryKey]));
    }
  } catch (error) {
    if (!(error instanceof RefusedRequest)) throw error;
    return 'the key may not read documents, so whether the index has those judged is unknown';
  }
  const missing = ids.filter((id) => !found.has(id));
  if (missing.length === 0) return null;
  const names = examples(missing.map((id) => `${id} (${documents.get(id)!})`));
  const count = `${missing.length} of ${ids.length} judged documents`;
  return `${count} are not in the index, and count as not found: ${names}`;
}

function pathOf(index: string): string {
  return `/indexes/${encodeURIComponent(index)}`;
}
