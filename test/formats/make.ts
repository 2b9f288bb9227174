/** Makes the data folder of the current format. See README.md. */
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settle } from '../http/kill/support/compare.ts';
import { ServerProcess } from '../http/kill/support/server-process.ts';
import { asRecorded, ask, type Recording, type Expected, FORMATS, RUN_NOTHING } from './support.ts';

const PORT = 7887;
const BOOKS = 180;
const GENRES = ['poetry', 'Prose', 'drama', 'essay', 'Épopée'];
const SCRIPTS = ['東京の図書館', 'книга о море', 'ספר קטן', 'หนังสือเล่มนี้', 'Straße nach Süden'];

function book(id: number, edition: number): Record<string, unknown> {
  return {
    id,
    title: `The house of the ${['sea', 'river', 'forest', 'city'][id % 4]} part ${id % 12} ${SCRIPTS[id % 40] ?? ''}`,
    summary: `This is the story of the people who live in house ${id} and of the winter of ${1900 + id} edition ${edition}`,
    genres: [GENRES[id % 5], GENRES[(id * 3) % 5]],
    year: 1900 + (id % 90),
    price: id % 7 === 0 ? null : id * 1.25,
    author: { name: `Author ${id % 23}`, born: 1850 + (id % 40) },
    ...(id % 3 === 0 ? { _geo: { lat: (id % 80) - 40 + 0.5, lng: (id * 2) % 180 } } : {}),
    ...(id % 10 === 0 ? { tags: [] } : {}),
  };
}

/** One, two or no embeddings, and a name that is not an embedder. */
function embedded(id: number): Record<string, unknown> {
  const row = (size: number): number[] =>
    Array.from({ length: size }, (_, i) => (((id + 3) * (i + 7) * 31) % 100) / 16 - 3);
  return {
    id,
    name: `thing ${id}`,
    _vectors: {
      singles: id % 5 === 0 ? [row(5), row(5)] : row(5),
      bits: id % 4 === 0 ? null : { embeddings: row(70), regenerate: id % 3 === 0 },
      ...(id % 10 === 0 ? { other: [id] } : {}),
    },
  };
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, n) => from + n);

/** Words whose stored form differs from the one sent; more than 16 KiB of JSON. */
const LONG_STOP_WORDS = range(0, 1400).map((n) => `wörter-${n}`);
const LONG_SYNONYMS = Object.fromEntries(
  range(0, 700).map((n) => [`from-"${n}`, [`into ${n}`, `\u{1d11e}`]]),
);
const LONG_DICTIONARY = range(0, 4000).map((n) => `J. R. ${n}`);

/** Requests whose responses are stored with the folder and compared by the test. */
const REQUESTS: Omit<Recording, 'answer'>[] = [
  { method: 'GET', path: '/version' },
  { method: 'GET', path: '/indexes' },
  { method: 'GET', path: '/stats' },
  { method: 'GET', path: '/tasks?limit=100' },
  { method: 'GET', path: '/batches?limit=100' },
  { method: 'GET', path: '/experimental-features' },
  { method: 'GET', path: '/indexes/books/settings' },
  { method: 'GET', path: '/indexes/notes/settings' },
  { method: 'GET', path: '/indexes/books/documents?limit=1000' },
  { method: 'GET', path: '/indexes/notes/documents?limit=1000' },
  { method: 'GET', path: '/indexes/vectors/documents?limit=1000&retrieveVectors=true' },
  { method: 'GET', path: '/indexes/vectors/settings/embedders' },
  { method: 'GET', path: '/indexes/books/documents/17' },
  { method: 'GET', path: '/indexes/books/documents/5' },
  ...[
    { q: 'house of the sea', showRankingScore: true },
    { q: 'the stroy of', attributesToHighlight: ['*'] },
    { q: '"the people who"', limit: 3 },
    { q: 'winter 19', attributesToRetrieve: ['id'] },
    { q: '図書', limit: 5 },
    { q: 'strasse' },
    { q: 'home', limit: 2 },
    { q: '', filter: 'genres = prose AND year >= 1950', facets: ['genres', 'year'], limit: 3 },
    { q: '', filter: 'price IS NULL', sort: ['year:desc'], limit: 4 },
    { q: '', filter: 'tags IS EMPTY', limit: 50 },
    { q: '', filter: '_geoRadius(0.5, 90, 4000000)', sort: ['_geoPoint(0,90):asc'], limit: 10 },
    { q: '', filter: 'author.born < 1860', distinct: 'author.name', limit: 40 },
  ].map((body) => ({ method: 'POST', path: '/indexes/books/search', body })),
  {
    method: 'POST',
    path: '/indexes/books/facet-search',
    body: { facetName: 'genres', facetQuery: 'ep' },
  },
  { method: 'POST', path: '/indexes/notes/search', body: { q: 'second' } },
  { method: 'GET', path: '/indexes/long/settings' },
  { method: 'GET', path: '/indexes/long/documents' },
  ...['from-"77', 'wörter-5 tale', 'into'].map((q) => ({
    method: 'POST',
    path: '/indexes/long/search',
    body: { q, showRankingScore: true },
  })),
];

/** Requests for after the waiting tasks have run. */
const REQUESTS_AFTER: Omit<Recording, 'answer'>[] = [
  { method: 'GET', path: '/indexes/long/settings' },
  { method: 'GET', path: '/indexes/long/documents' },
];

const EDIT = {
  function: 'doc.weight = context.weight',
  context: { weight: 2.5, list: [1, 'two'] },
  filter: null,
};

async function make(name: string): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'gannet-format-'));
  const data = join(dir, 'data');
  let server = await ServerProcess.start({ dir: data, port: PORT });
  const run = async (method: string, path: string, body?: unknown): Promise<void> => {
    const { status, text } = await server.client.call(
      method,
      path,
      body === undefined ? {} : { body },
    );
    if (status >= 300) {
      await server.kill();
      throw new Error(`${method} ${path}: ${text}`);
    }
    await settle(server.client);
  };
  await run('PATCH', '/indexes/books/settings', {
    filterableAttributes: ['genres', 'year', 'price', 'author', '_geo'],
    sortableAttributes: ['year', '_geo'],
    synonyms: { home: ['house'] },
    stopWords: ['an'],
    rankingRules: ['words', 'typo', 'proximity', 'attribute', 'sort', 'exactness', 'year:desc'],
    localizedAttributes: [{ attributePatterns: ['title'], locales: ['jpn', 'deu'] }],
  });
  await run(
    'POST',
    '/indexes/books/documents?primaryKey=id',
    range(0, BOOKS).map((id) => book(id, 1)),
  );
  // Columns of attributes that were not filterable when the segment was written.
  await run('PATCH', '/indexes/books/settings', {
    filterableAttributes: ['genres', 'year', 'price', 'author', '_geo', 'tags'],
  });
  await run(
    'PUT',
    '/indexes/books/documents',
    range(20, 40).map((id) => ({ id, summary: `changed ${id}` })),
  );
  await run(
    'POST',
    '/indexes/books/documents',
    range(BOOKS, BOOKS + 20).map((id) => book(id, 2)),
  );
  await run('POST', '/indexes/books/documents/delete-batch', [3, 4, 5]);
  await run('POST', '/indexes/books/documents/delete', { filter: 'year = 1989' });
  await run('POST', '/indexes', { uid: 'notes', primaryKey: 'meta.key' });
  await run('POST', '/indexes/notes/documents', [
    { meta: { key: 'a-1' }, text: 'the first note' },
    { meta: { key: 'b_2' }, text: 'the second note', 'a.b': 1 },
  ]);
  await run('PATCH', '/indexes/vectors/settings', {
    embedders: {
      singles: { source: 'userProvided', dimensions: 5 },
      bits: { source: 'userProvided', dimensions: 70, binaryQuantized: true },
    },
  });
  await run('POST', '/indexes/vectors/documents?primaryKey=id', range(0, 60).map(embedded));
  await run('PUT', '/indexes/vectors/documents', [
    { id: 3, _vectors: { singles: null } },
    { id: 4, _vectors: { singles: [[0.5, 0, 0, 0, 1]] } },
  ]);
  await run('POST', '/indexes/vectors/documents/delete-batch', [7, 8]);
  await run('PATCH', '/experimental-features', { editDocumentsByFunction: true });
  await run('PATCH', '/indexes/long/settings', {
    stopWords: LONG_STOP_WORDS,
    synonyms: LONG_SYNONYMS,
    dictionary: ['a. b.'],
  });
  await run('POST', '/indexes/long/documents', [
    { id: 1, text: 'into 77 a tale' },
    { id: 2, text: 'wörter-5 \u{1d11e}' },
  ]);
  await run('POST', '/indexes/long/documents/edit', EDIT);
  await run('POST', '/indexes', { uid: 'empty' });
  await run('POST', '/indexes/books/documents', [{ title: 'without id' }]);
  await run('PATCH', '/experimental-features', { containsFilter: true });
  await run('POST', '/webhooks', { url: 'http://127.0.0.1:9/hook', headers: {} });
  await run('DELETE', '/tasks?uids=0');
  await server.stop();

  // Waiting tasks, one of them canceled and one with a payload too large for the store.
  server = await ServerProcess.start({ dir: data, port: PORT, args: RUN_NOTHING });
  const waiting: number[] = [];
  const enqueue = async (
    body: unknown,
    method = 'POST',
    path = '/indexes/books/documents',
  ): Promise<void> => {
    const { json } = await server.client.call(method, path, { body });
    waiting.push((json() as { taskUid: number }).taskUid);
  };
  await enqueue([{ id: 1000, title: 'waiting in the store' }]);
  await enqueue(range(1001, 1301).map((id) => book(id, 3)));
  await enqueue(LONG_DICTIONARY, 'PUT', '/indexes/long/settings/dictionary');
  await enqueue({ ...EDIT, context: { weight: 7 } }, 'POST', '/indexes/long/documents/edit');
  const expected: Expected = { exchanges: [], waiting, documentsAfter: 0, after: [] };
  for (const request of REQUESTS) {
    const response = await ask(server.client, request);
    expected.exchanges.push({ ...request, answer: asRecorded(request, response, response) });
  }
  const { numberOfDocuments } = await server.client.get<{ numberOfDocuments: number }>(
    '/indexes/books/stats',
  );
  expected.documentsAfter = numberOfDocuments + 301;
  await server.stop();

  const target = join(FORMATS, name);
  rmSync(target, { recursive: true, force: true });
  cpSync(data, join(target, 'data'), { recursive: true });
  for (const file of readdirSync(target, { recursive: true, encoding: 'utf8' })) {
    // Lock files, which are created again.
    if (/lock\.mdb$|\.mdb-lock$/.test(file)) rmSync(join(target, file));
  }
  server = await ServerProcess.start({ dir: data, port: PORT });
  await settle(server.client);
  for (const request of REQUESTS_AFTER) {
    expected.after!.push({ ...request, answer: await ask(server.client, request) });
  }
  await server.stop();
  writeFileSync(join(target, 'expected.json'), `${JSON.stringify(expected, null, 1)}\n`);
  rmSync(dir, { recursive: true });
}

await make(process.argv[2] ?? '1.0.0');
