import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { Meilisearch } from 'meilisearch';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

const DOCUMENTS = '/indexes/things/documents';

/**
 * Vectors of documents through the HTTP interface of the built server; `embedders.md` 10 and 11.
 */
describe('Vectors of documents', () => {
  let server: BuiltServer;
  before(async function () {
    if (!existsSync('dist/main.cjs') || !existsSync('build/Release/gannet.node')) this.skip();
    server = await startBuiltServer();
  });
  after(() => server?.close());
  beforeEach(async () => {
    await server.finish('DELETE', '/indexes/things');
    await embedders({ e: { source: 'userProvided', dimensions: 3 } });
  });

  const embedders = (body: unknown): Promise<any> =>
    server.finish('PATCH', '/indexes/things/settings/embedders', { body });
  const send = (method: string, ...body: unknown[]): Promise<any> =>
    server.finish(method, `${DOCUMENTS}?primaryKey=id`, { body });
  const vectors = async (id: number): Promise<any> =>
    (await server.call('GET', `${DOCUMENTS}/${id}?retrieveVectors=true`)).json._vectors;
  const counts = async (): Promise<[number, number]> => {
    const { json } = await server.call('GET', '/indexes/things/stats');
    return [json.numberOfEmbeddings, json.numberOfEmbeddedDocuments];
  };

  const accepted: [name: string, value: unknown, embeddings: number[][], regenerate: boolean][] = [
    ['one embedding', [1, 2, 3], [[1, 2, 3]], false],
    [
      'several embeddings',
      [
        [1, 2, 3],
        [-0.5, 0, 1e-7],
      ],
      [
        [1, 2, 3],
        [-0.5, 0, 1e-7],
      ],
      false,
    ],
    ['null', null, [], false],
    ['an empty list', [], [], false],
    [
      'an object with one embedding',
      { embeddings: [1, 2, 3], regenerate: true },
      [[1, 2, 3]],
      true,
    ],
    ['an object without embeddings', { regenerate: false }, [], false],
    ['an object with an empty list', { embeddings: [], regenerate: true }, [], true],
    ['an object with null', { embeddings: null, regenerate: false }, [], false],
  ];
  for (const [name, value, embeddings, regenerate] of accepted) {
    it(`take ${name}`, async () => {
      const task = await send('POST', { id: 1, _vectors: { e: value } });
      assert.equal(task.status, 'succeeded', JSON.stringify(task.error));
      assert.deepEqual(await vectors(1), { e: { embeddings, regenerate } });
      assert.deepEqual(await counts(), [embeddings.length, embeddings.length > 0 ? 1 : 0]);
    });
  }

  const refused: [name: string, vectors: unknown, code: string, mentions: string][] = [
    ['a text', { e: 'text' }, 'invalid_vectors_type', '._vectors.e'],
    ['a text among numbers', { e: [1, '2', 3] }, 'invalid_vectors_type', '._vectors.e[1]'],
    ['a number among lists', { e: [[1, 2, 3], 4] }, 'invalid_vectors_type', '._vectors.e[1]'],
    [
      'null among numbers of a list',
      {
        e: {
          embeddings: [
            [1, 2, 3],
            [1, null, 3],
          ],
          regenerate: false,
        },
      },
      'invalid_vectors_type',
      '._vectors.e.embeddings[1][1]',
    ],
    ['no `regenerate`', { e: { embeddings: [1, 2, 3] } }, 'invalid_vectors_type', 'regenerate'],
    [
      'another member',
      { e: { regenerate: true, embeddings: [1, 2, 3], model: 'm' } },
      'invalid_vectors_type',
      'model',
    ],
    ['a number beyond single precision', { e: [1e39, 0, 0] }, 'invalid_vectors_type', 'single'],
    ['a list as `_vectors`', [[1, 2, 3]], 'invalid_vectors_type', '._vectors'],
    ['too few numbers', { e: [1, 2] }, 'invalid_vector_dimensions', '3'],
    [
      'one embedding of two too long',
      {
        e: [
          [1, 2, 3],
          [1, 2, 3, 4],
        ],
      },
      'invalid_vector_dimensions',
      'Embedding 1',
    ],
    [
      'a wrong type after a wrong length',
      { e: [[1, 2], ['a']] },
      'invalid_vectors_type',
      '._vectors.e[1][0]',
    ],
    [
      'a wrong type under another name after a wrong length',
      { e: [1, 2], other: { regenerate: 1 } },
      'invalid_vectors_type',
      '._vectors.other',
    ],
    [
      'too many embeddings',
      { e: Array.from({ length: 257 }, () => [1, 2, 3]) },
      'too_many_vectors',
      '257',
    ],
    ['nothing for the embedder', {}, 'vector_embedding_error', '_vectors'],
    ['a misspelt name', { ee: [1, 2, 3] }, 'vector_embedding_error', '`ee`'],
    ['a wish that nobody can fulfil', { e: { regenerate: true } }, 'vector_embedding_error', '`e`'],
    ['a wrong shape under another name', { e: null, other: 7 }, 'invalid_vectors_type', 'other'],
  ];
  for (const [name, value, code, mentions] of refused) {
    it(`refuse ${name}, and store nothing of that task`, async () => {
      const task = await send(
        'POST',
        { id: 1, _vectors: { e: [1, 1, 1] } },
        { id: 2, _vectors: value },
      );
      assert.equal(task.error?.code, code, JSON.stringify(task.error));
      assert.ok(task.error.message.includes(mentions), task.error.message);
      assert.equal((await server.call('GET', DOCUMENTS)).json.total, 0);
    });
  }

  it('let a bad vector fail its own task alone', async () => {
    const sent: number[] = [];
    for (const vector of [
      [1, 2, 3],
      [1, 2],
      [3, 2, 1],
    ]) {
      const { json } = await server.call('POST', `${DOCUMENTS}?primaryKey=id`, {
        body: [{ id: sent.length, _vectors: { e: vector } }],
      });
      sent.push(json.taskUid);
    }
    const last = await send('POST', { id: 9, _vectors: { e: null } });
    assert.equal(last.status, 'succeeded');
    const statuses = await Promise.all(
      sent.map(async (uid) => (await server.call('GET', `/tasks/${uid}`)).json.status),
    );
    assert.deepEqual(statuses, ['succeeded', 'failed', 'succeeded']);
    assert.deepEqual(await counts(), [2, 2]);
  });

  it('stay when a document is replaced or updated without them, and go when they are removed', async () => {
    await send('POST', { id: 1, name: 'a', _vectors: { e: [1, 2, 3], other: [1] } });
    await send('POST', { id: 1, name: 'b' });
    assert.deepEqual(await vectors(1), { e: { embeddings: [[1, 2, 3]], regenerate: false } });
    await send('PUT', { id: 1, _vectors: { other: { regenerate: true } } });
    await send('PUT', { id: 1, size: 3, _vectors: { more: null } });
    assert.deepEqual(await vectors(1), {
      e: { embeddings: [[1, 2, 3]], regenerate: false },
      other: { regenerate: true, embeddings: null },
      more: [],
    });
    await send('PUT', { id: 1, _vectors: { e: { regenerate: true, embeddings: [] } } });
    assert.deepEqual((await vectors(1)).e, { embeddings: [], regenerate: true });
    assert.deepEqual(await counts(), [0, 0]);
    await send('PUT', { id: 1, _vectors: { e: [0, 0, 1] } });
    await server.finish('DELETE', `${DOCUMENTS}/1`);
    assert.deepEqual(await counts(), [0, 0]);
  });

  it('go back into documents when their embedder goes, and are taken from there when it comes', async () => {
    await send(
      'POST',
      { id: 1, _vectors: { e: [1, 2, 3] } },
      { id: 2, _vectors: { e: null } },
      { id: 3, _vectors: { e: { regenerate: true, embeddings: [1, 1, 1] } } },
    );
    await embedders({ e: null });
    assert.deepEqual(await vectors(1), { e: { regenerate: false, embeddings: [[1, 2, 3]] } });
    assert.deepEqual(await vectors(2), { e: { regenerate: false, embeddings: [] } });
    assert.deepEqual(await vectors(3), {});
    assert.deepEqual(await counts(), [0, 0]);

    let task = await embedders({ e: { source: 'userProvided', dimensions: 3 } });
    assert.equal(task.error.code, 'vector_embedding_error');
    await send('PUT', { id: 3, _vectors: { e: [3, 3, 3, 3] } });
    task = await embedders({ e: { source: 'userProvided', dimensions: 3 } });
    assert.equal(task.error.code, 'invalid_vector_dimensions');
    assert.deepEqual(await vectors(1), { e: { regenerate: false, embeddings: [[1, 2, 3]] } });
    await send('PUT', { id: 3, _vectors: { e: [3, 3, 3] } });
    task = await embedders({ e: { source: 'userProvided', dimensions: 3 } });
    assert.equal(task.status, 'succeeded');
    assert.deepEqual(await counts(), [2, 2]);
  });

  it('do not fit other dimensions, and become bits for good', async () => {
    await send('POST', { id: 1, _vectors: { e: [-1.2, -2.3, 3.2] } });
    let task = await embedders({ e: { dimensions: 4 } });
    assert.equal(task.error.code, 'invalid_vector_dimensions');
    await embedders({ e: { binaryQuantized: true } });
    assert.deepEqual(await vectors(1), { e: { embeddings: [[0, 0, 1]], regenerate: false } });
    task = await embedders({ e: { binaryQuantized: false } });
    assert.equal(task.error.code, 'invalid_settings_embedders');
    await send('POST', { id: 2, _vectors: { e: [5, -1, 0] } });
    assert.deepEqual((await vectors(2)).e.embeddings, [[1, 0, 0]]);
  });

  it('come with search results where they are displayed', async () => {
    await send('POST', { id: 1, name: 'a', _vectors: { e: [1, 2, 3] } });
    const hit = async (): Promise<any> =>
      (await server.call('POST', '/indexes/things/search', { body: { retrieveVectors: true } }))
        .json.hits[0];
    assert.deepEqual((await hit())._vectors, { e: { embeddings: [[1, 2, 3]], regenerate: false } });
    const show = (names: string[]): Promise<any> =>
      server.finish('PUT', '/indexes/things/settings/displayed-attributes', { body: names });
    await show(['name']);
    assert.deepEqual(await hit(), { name: 'a' });
    await show(['name', '_vectors']);
    assert.deepEqual((await hit())._vectors, { e: { embeddings: [[1, 2, 3]], regenerate: false } });
  });

  it('have 1,536 and 3,072 dimensions, through the client of the reference', async () => {
    const client = new Meilisearch({ host: server.url, apiKey: server.masterKey });
    const index = client.index('things');
    await index.updateEmbedders({
      e: null as never,
      small: { source: 'userProvided', dimensions: 1536 },
      large: { source: 'userProvided', dimensions: 3072 },
    });
    const row = (size: number, seed: number): number[] =>
      Array.from({ length: size }, (_, i) => Math.fround(Math.sin(i * seed)));
    await index
      .addDocuments(
        Array.from({ length: 40 }, (_, id) => ({
          id,
          _vectors: {
            small: row(1536, id + 1),
            large: { embeddings: [row(3072, id + 2), row(3072, id + 3)], regenerate: false },
          },
        })),
        { primaryKey: 'id' },
      )
      .waitTask({ timeout: 60_000 });
    const { results } = await index.getDocuments({ retrieveVectors: true, offset: 7, limit: 1 });
    const document: any = results[0];
    const singles = (name: string): number[][] =>
      document._vectors[name].embeddings.map((one: number[]) => one.map(Math.fround));
    assert.deepEqual(singles('small'), [row(1536, 8)]);
    assert.deepEqual(singles('large'), [row(3072, 9), row(3072, 10)]);
    const stats = await index.getStats();
    assert.equal(stats.numberOfEmbeddings, 120);
    assert.equal(stats.numberOfEmbeddedDocuments, 40);
  });

  it('leave a folder in which nothing is wrong', async () => {
    await send('POST', { id: 1, _vectors: { e: [1, 2, 3] } });
    const { valid, text } = await server.verify();
    assert.ok(valid, text);
  });
});
