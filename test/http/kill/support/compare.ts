import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from './client.ts';
import type { Model, ModelIndex, SeenTask } from './model.ts';
import type { Doc } from './operations.ts';
import type { Random } from './random.ts';
import { GROUP, TEXT_FIELDS, WORDS } from './workload.ts';

/** Compares the server with the model. Everything throws the first difference. */

const SETTLE_MS_MAX = 120_000;
const POLL_MS = 25;
const PAGE = 1000;
const LIMIT = 100_000;
const SEARCHED_WORDS = 3;

interface Page<T> {
  results: T[];
  total: number;
  next: number | null;
}

interface SearchBody {
  hits: Doc[];
  estimatedTotalHits: number;
  facetDistribution?: Record<string, Record<string, number>>;
}

/** Tasks with `from` <= uid, ascending. */
export async function tasksFrom(client: Client, from: number): Promise<SeenTask[]> {
  const tasks: SeenTask[] = [];
  for (let next: number | null = from; next !== null;) {
    const page: Page<SeenTask> = await client.get(`/tasks?reverse=true&limit=${PAGE}&from=${next}`);
    tasks.push(...page.results);
    next = page.next;
  }
  return tasks;
}

/** Waits until no task is unfinished. */
export async function settle(client: Client): Promise<void> {
  const until = performance.now() + SETTLE_MS_MAX;
  for (;;) {
    const { total } = await client.get<Page<SeenTask>>(
      '/tasks?statuses=enqueued,processing&limit=0',
    );
    if (total === 0) return;
    if (performance.now() > until) throw new Error(`${total} tasks do not finish`);
    await sleep(POLL_MS);
  }
}

/**
 * The documents of every index, its settings, its statistics and its searches match the model. No
 * batch may run meanwhile.
 */
export async function compareIndexes(client: Client, model: Model, random: Random): Promise<void> {
  const { results, total } =
    await client.get<Page<{ uid: string; primaryKey: string | null }>>('/indexes?limit=1000');
  const names = [...model.indexes.keys()].sort();
  assert.deepEqual(results.map(({ uid }) => uid).sort(), names, 'the list of indexes');
  assert.equal(total, names.length, 'the number of indexes');
  const shown = await client.get<{ indexes: Record<string, unknown> }>('/stats');
  assert.deepEqual(Object.keys(shown.indexes).sort(), names, 'the indexes of the statistics');
  for (const { uid, primaryKey } of results) {
    const index = model.indexes.get(uid)!;
    assert.equal(primaryKey, index.primaryKey, `the primary key of ${uid}`);
    await compareIndex(client, uid, index, random);
  }
}

async function compareIndex(
  client: Client,
  uid: string,
  index: ModelIndex,
  random: Random,
): Promise<void> {
  const path = `/indexes/${uid}`;
  const { documents, settings } = index;
  const found = await client.get<Page<Doc>>(`${path}/documents?limit=${LIMIT}`);
  const byId = new Map(found.results.map((document) => [document.id, document]));
  assert.equal(byId.size, found.results.length, `${uid}: a document is listed twice`);
  assert.deepEqual([...byId.keys()].sort(), [...documents.keys()].sort(), `${uid}: documents`);
  assert.equal(found.total, documents.size, `${uid}: total of documents`);
  for (const [id, document] of documents) {
    assert.deepEqual(byId.get(id), document, `${uid}: document ${id}`);
  }

  const stored = await client.get<Record<string, unknown>>(`${path}/settings`);
  for (const name of new Set([...Object.keys(stored), ...Object.keys(settings)])) {
    assert.deepEqual(stored[name], settings[name], `${uid}: setting ${name}`);
  }

  const stats = await client.get<Record<string, unknown>>(`${path}/stats`);
  assert.equal(stats['numberOfDocuments'], documents.size, `${uid}: numberOfDocuments`);
  const distribution: Record<string, number> = {};
  for (const document of documents.values()) {
    for (const name of Object.keys(document)) distribution[name] = (distribution[name] ?? 0) + 1;
  }
  assert.deepEqual(stats['fieldDistribution'], distribution, `${uid}: fieldDistribution`);
  const bytes = found.results.map((document) => Buffer.byteLength(JSON.stringify(document)));
  const sum = bytes.reduce((all, one) => all + one, 0);
  assert.equal(stats['rawDocumentDbSize'], sum, `${uid}: rawDocumentDbSize`);
  assert.equal(stats['isIndexing'], false, `${uid}: isIndexing`);
  await compareSearches(client, uid, index, random);
}

async function compareSearches(
  client: Client,
  uid: string,
  { documents, settings }: ModelIndex,
  random: Random,
): Promise<void> {
  const all = [...documents.values()];
  const search = async (query: Record<string, unknown>): Promise<SearchBody> =>
    client.post<SearchBody>(`/indexes/${uid}/search`, { limit: 1000, ...query });
  const idsOf = (hits: readonly Doc[]): string[] => hits.map(({ id }) => id);
  const same = (hits: readonly Doc[], expected: readonly Doc[], what: string): void => {
    assert.deepEqual(idsOf(hits).sort(), idsOf(expected).sort(), `${uid}: ${what}`);
  };

  same((await search({})).hits, all, 'search for nothing');

  const searchable = settings['searchableAttributes'] as string[];
  for (const word of random.some(WORDS, SEARCHED_WORDS)) {
    const { hits } = await search({ q: `"${word}"` });
    const expected = all.filter((document) => holds(document, word, searchable));
    same(hits, expected, `search for "${word}" in ${searchable.join(', ')}`);
  }

  const filterable = settings['filterableAttributes'] as string[];
  if (filterable.includes('bucket')) {
    const bucket = random.int(0, 7);
    const { hits } = await search({ filter: `bucket = ${bucket}` });
    same(
      hits,
      all.filter((document) => document['bucket'] === bucket),
      `bucket = ${bucket}`,
    );
    const counts: Record<string, number> = {};
    for (const { bucket: value } of all) {
      if (value !== undefined) counts[String(value)] = (counts[String(value)] ?? 0) + 1;
    }
    const { facetDistribution } = await search({ facets: ['bucket'] });
    // An attribute unknown to the index has no key.
    assert.deepEqual(facetDistribution?.['bucket'] ?? {}, counts, `${uid}: facet bucket`);
  }
  if (filterable.includes('price')) {
    const min = random.int(0, 250);
    const { hits } = await search({ filter: `price >= ${min}` });
    same(
      hits,
      all.filter(({ price }) => typeof price === 'number' && price >= min),
      `price >= ${min}`,
    );
  }
  if (filterable.includes('tags')) {
    const tag = random.pick(WORDS);
    const { hits } = await search({ filter: `tags = ${tag}` });
    same(
      hits,
      all.filter(({ tags }) => Array.isArray(tags) && tags.includes(tag)),
      `tags = ${tag}`,
    );
  }
  const sortable = settings['sortableAttributes'] as string[];
  const rules = settings['rankingRules'] as string[];
  if (sortable.includes('price') && rules.includes('sort')) {
    const { hits } = await search({ sort: ['price:asc'] });
    const price = ({ id }: Doc): number => (documents.get(id)!['price'] as number) ?? Infinity;
    const prices = hits.map(price);
    assert.deepEqual(
      prices,
      [...prices].sort((a, b) => a - b || 0),
      `${uid}: sorted by price`,
    );
    same(hits, all, 'search sorted by price');
  }
}

/** Whether a searchable attribute contains the word. */
function holds(document: Doc, word: string, searchable: readonly string[]): boolean {
  const everywhere = searchable.includes('*');
  const leaves = (value: unknown): string[] =>
    value === null || value === undefined
      ? []
      : typeof value === 'object'
        ? Object.values(value).flatMap(leaves)
        : [String(value)];
  const names = everywhere ? Object.keys(document) : TEXT_FIELDS;
  return names
    .filter((name) => everywhere || searchable.includes(name))
    .flatMap((name) => leaves(document[name]))
    .some((text) => text.split(' ').includes(word));
}

/**
 * A reader sees the group of one generation, or none of it.
 * @returns false when there is no index
 */
export async function checkGroup(client: Client, uid: string): Promise<boolean> {
  const received = await client.call('POST', `/indexes/${uid}/documents/fetch`, {
    body: { ids: GROUP, limit: GROUP.length + 1, fields: ['id', 'generation'] },
  });
  if (received.status === 404) return false;
  assert.equal(received.status, 200, received.text);
  const { results } = received.json<Page<Doc>>();
  if (results.length === 0) return true;
  const generations = new Set(results.map(({ generation }) => generation));
  assert.equal(results.length, GROUP.length, `${uid}: a part of the group is there`);
  assert.equal(generations.size, 1, `${uid}: generations ${[...generations].join(', ')}`);
  return true;
}
