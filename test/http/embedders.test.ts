/**
 * Embedders of a server as its users run it, with an embedding provider on loopback: when documents
 * are embedded (embedders.md 7, 8, 10 and 11), how failures are handled, what a batch counts.
 */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';
import { EmbeddingProvider, wordEmbedding } from '../support/embedding-provider.ts';

type Json = any;

/** Inputs that the tests of composite embedders use. */
const SAMPLES = [
  'test',
  'a brave dog',
  'This is a sample text. It is meant to compare similarity.',
];

describe('Embedders', function () {
  let server: BuiltServer;
  let provider: EmbeddingProvider;
  let number = 0;
  let uid = '';

  before(async () => {
    provider = await EmbeddingProvider.start();
    server = await startBuiltServer();
    await server.call('PATCH', '/experimental-features', {
      body: { multimodal: true, compositeEmbedders: true },
    });
  });
  beforeEach(() => {
    uid = `index-${number++}`;
    provider.next.length = 0;
    provider.always = null;
    provider.dimensions = 4;
    provider.take();
  });
  after(async () => {
    await server.close();
    provider.stop();
  });

  const one = (more: Json = {}): Json => ({
    source: 'rest',
    url: `${provider.url}/rest/one`,
    request: { input: '{{text}}' },
    response: { embedding: '{{embedding}}' },
    dimensions: 4,
    documentTemplate: '{{ doc.title }}',
    ...more,
  });
  const many = (more: Json = {}): Json =>
    one({
      url: `${provider.url}/rest/many`,
      request: { input: ['{{text}}', '{{..}}'] },
      response: { data: [{ embedding: '{{embedding}}' }, '{{..}}'] },
      ...more,
    });

  const patch = (embedders: Json): Promise<Json> =>
    server.finish('PATCH', `/indexes/${uid}/settings/embedders`, { body: embedders });
  const add = (documents: Json[], method = 'POST'): Promise<Json> =>
    server.finish(method, `/indexes/${uid}/documents?primaryKey=id`, { body: documents });

  /** Inputs sent since the last call, ascending. */
  function sent(): unknown[] {
    const inputs = provider.take().flatMap(({ body }) => (body as { input: Json }).input as Json);
    return inputs
      .map((input: Json) => (typeof input === 'string' ? input : JSON.stringify(input)))
      .sort();
  }

  async function vectors(
    id: Json,
    embedder = 'e',
  ): Promise<{ embeddings: number[][]; regenerate: boolean }> {
    const { json } = await server.call(
      'GET',
      `/indexes/${uid}/documents/${id}?retrieveVectors=true`,
    );
    const { embeddings, regenerate } = json._vectors[embedder];
    return { embeddings: embeddings.map((row: number[]) => row.map(Math.fround)), regenerate };
  }

  /** Ids that match a filter; or its error. */
  async function found(filter: string): Promise<Json> {
    const { json } = await server.call('POST', `/indexes/${uid}/documents/fetch`, {
      body: { filter, fields: ['id'], limit: 100 },
    });
    return json.results?.map(({ id }: Json) => id).sort() ?? json.code;
  }

  const made = (...texts: string[]): number[][] =>
    texts.map((text) => wordEmbedding(text, provider.dimensions));
  const OWN = [1, 0, 0, 0];

  async function setUp(embedder: Json = one()): Promise<void> {
    const task = await patch({ e: embedder });
    assert.equal(task.status, 'succeeded', JSON.stringify(task.error));
    provider.take();
  }

  interface Row {
    name: string;
    /** `_vectors.e` at first; undefined: absent. */
    first?: Json;
    later?: { method?: string; document: Json };
    sentFirst: string[];
    sentThen?: string[];
    embeddings: number[][] | (() => number[][]);
    regenerate: boolean;
  }

  // embedders.md 10.1 and 10.2, for an embedder that computes.
  const ROWS: Row[] = [
    { name: 'absent', sentFirst: ['one'], embeddings: () => made('one'), regenerate: true },
    { name: 'an embedding', first: OWN, sentFirst: [], embeddings: [OWN], regenerate: false },
    {
      name: 'embeddings',
      first: [OWN, OWN],
      sentFirst: [],
      embeddings: [OWN, OWN],
      regenerate: false,
    },
    { name: 'an empty list', first: [], sentFirst: [], embeddings: [], regenerate: false },
    { name: 'null', first: null, sentFirst: [], embeddings: [], regenerate: false },
    {
      name: 'regenerate',
      first: { regenerate: true },
      sentFirst: ['one'],
      embeddings: () => made('one'),
      regenerate: true,
    },
    {
      name: 'no regenerate',
      first: { regenerate: false },
      sentFirst: [],
      embeddings: [],
      regenerate: false,
    },
    {
      name: 'no regenerate, then another text',
      first: { regenerate: false },
      later: { document: { title: 'two' } },
      ...{ sentFirst: [], sentThen: [], embeddings: [], regenerate: false },
    },
    {
      name: 'an embedding to be kept, then another text',
      first: { regenerate: false, embeddings: OWN },
      later: { document: { title: 'two' } },
      ...{ sentFirst: [], sentThen: [], embeddings: [OWN], regenerate: false },
    },
    {
      name: 'an embedding to be renewed, then the same text',
      first: { regenerate: true, embeddings: OWN },
      later: { document: { title: 'one', n: 1 } },
      ...{ sentFirst: [], sentThen: [], embeddings: [OWN], regenerate: true },
    },
    {
      name: 'an embedding to be renewed, then another text',
      first: { regenerate: true, embeddings: OWN },
      later: { method: 'PUT', document: { title: 'two' } },
      ...{ sentFirst: [], sentThen: ['two'], embeddings: () => made('two'), regenerate: true },
    },
    {
      name: 'absent, then the same text',
      later: { document: { title: 'one', n: 1 } },
      ...{ sentFirst: ['one'], sentThen: [], embeddings: () => made('one'), regenerate: true },
    },
    {
      name: 'absent, then a change elsewhere',
      later: { method: 'PUT', document: { n: 1 } },
      ...{ sentFirst: ['one'], sentThen: [], embeddings: () => made('one'), regenerate: true },
    },
    {
      name: 'absent, then another text',
      later: { document: { title: 'two' } },
      ...{ sentFirst: ['one'], sentThen: ['two'], embeddings: () => made('two'), regenerate: true },
    },
    {
      name: 'absent, then regenerate with the same text',
      later: { method: 'PUT', document: { _vectors: { e: { regenerate: true } } } },
      ...{ sentFirst: ['one'], sentThen: [], embeddings: () => made('one'), regenerate: true },
    },
    {
      name: 'an embedding, then regenerate',
      first: OWN,
      later: { method: 'PUT', document: { _vectors: { e: { regenerate: true } } } },
      ...{ sentFirst: [], sentThen: ['one'], embeddings: () => made('one'), regenerate: true },
    },
    {
      name: 'absent, then no regenerate and another text',
      later: { method: 'PUT', document: { title: 'two', _vectors: { e: { regenerate: false } } } },
      ...{ sentFirst: ['one'], sentThen: [], embeddings: () => made('one'), regenerate: false },
    },
    {
      name: 'absent, then null',
      later: { method: 'PUT', document: { _vectors: { e: null } } },
      ...{ sentFirst: ['one'], sentThen: [], embeddings: [], regenerate: false },
    },
    {
      name: 'absent, then no embeddings but regenerate',
      later: { method: 'PUT', document: { _vectors: { e: { regenerate: true, embeddings: [] } } } },
      ...{ sentFirst: ['one'], sentThen: [], embeddings: [], regenerate: true },
    },
  ];
  for (const row of ROWS) {
    it(`that compute, and a document with ${row.name}`, async () => {
      await setUp();
      const own = row.first === undefined ? {} : { _vectors: { e: row.first } };
      await add([{ id: 1, title: 'one', ...own }]);
      assert.deepEqual(sent(), row.sentFirst);
      if (row.later !== undefined) {
        await add([{ id: 1, ...row.later.document }], row.later.method);
        assert.deepEqual(sent(), row.sentThen);
      }
      const expected = typeof row.embeddings === 'function' ? row.embeddings() : row.embeddings;
      assert.deepEqual(await vectors(1), { embeddings: expected, regenerate: row.regenerate });
    });
  }

  // embedders.md 11: documents 1 (title one), 2 (own embedding), 3 (title two).
  const CHANGES: [name: string, change: () => Json, expected: string[]][] = [
    ['another template', () => ({ e: { documentTemplate: '{{ doc.text }}' } }), ['same', 'same']],
    ['another spelling of the template', () => ({ e: { documentTemplate: '{{doc.title}}' } }), []],
    ['a larger limit that changes no text', () => ({ e: { documentTemplateMaxBytes: 500 } }), []],
    ['a smaller limit', () => ({ e: { documentTemplateMaxBytes: 1 } }), []],
    ['another request', () => ({ e: { request: { input: '{{text}}', v: 2 } } }), ['one', 'two']],
    [
      'another response',
      () => ({ e: { response: { embedding: '{{embedding}}', x: 1 } } }),
      ['one', 'two'],
    ],
    ['another url', () => ({ e: { url: `${provider.url}/rest/one?x` } }), ['one', 'two']],
    ['another key', () => ({ e: { apiKey: 'k' } }), []],
    ['other headers', () => ({ e: { headers: { a: 'b' } } }), []],
    ['a distribution', () => ({ e: { distribution: { mean: 0.5, sigma: 0.1 } } }), []],
    ['quantization', () => ({ e: { binaryQuantized: true } }), []],
    [
      'a second embedder',
      () => ({ f: one({ documentTemplate: 'f {{ doc.title }}' }) }),
      ['f one', 'f three', 'f two'],
    ],
  ];
  for (const [name, change, expected] of CHANGES) {
    it(`are changed by ${name}`, async () => {
      await setUp();
      await add([
        { id: 1, title: 'one', text: 'same' },
        { id: 2, title: 'three', text: 'same', _vectors: { e: OWN } },
        { id: 3, title: 'two', text: 'same' },
      ]);
      provider.take();
      const task = await patch(change());
      assert.equal(task.status, 'succeeded', JSON.stringify(task.error));
      assert.deepEqual(sent(), expected);
      assert.equal((await vectors(2)).regenerate, false);
    });
  }

  const openAi = (more: Json = {}): Json => ({
    source: 'openAi',
    url: `${provider.url}/v1/embeddings`,
    apiKey: 'k',
    model: 'text-embedding-3-small',
    dimensions: 4,
    documentTemplate: '{{ doc.title }}',
    ...more,
  });
  const ollama = (more: Json = {}): Json => ({
    source: 'ollama',
    url: `${provider.url}/api/embed`,
    model: 'm',
    dimensions: 4,
    documentTemplate: '{{ doc.title }}',
    ...more,
  });
  const composite = (): Json => ({
    source: 'composite',
    searchEmbedder: many({ documentTemplate: undefined }),
    indexingEmbedder: many(),
  });
  const inside = (part: string, more: Json): Json => ({ e: { [part]: more } });

  // embedders.md 11, the rows of other sources. Each embedder makes embeddings of documents 1 (one)
  // and 2 (two).
  const AGAIN = ['one', 'two'];
  const SOURCES: [name: string, first: () => Json, change: () => Json, expected: string[]][] = [
    ['another model of openAi', openAi, () => ({ e: { model: 'text-embedding-3-large' } }), AGAIN],
    ['another url of openAi', openAi, () => ({ e: { url: `${provider.url}/v2` } }), []],
    ['another key of openAi', openAi, () => ({ e: { apiKey: 'other' } }), []],
    ['another model of ollama', ollama, () => ({ e: { model: 'n' } }), AGAIN],
    [
      'another url of ollama',
      ollama,
      () => ({ e: { url: `${provider.url}/again/api/embed` } }),
      AGAIN,
    ],
    ['another key of ollama', ollama, () => ({ e: { apiKey: 'other' } }), []],
    ['another source', ollama, () => ({ e: openAi() }), AGAIN],
    ['the source as it is', ollama, () => ({ e: ollama() }), []],
    ['nothing at all', ollama, () => ({ e: {} }), []],
    [
      'another request inside the part for documents',
      composite,
      () => inside('indexingEmbedder', { request: { input: ['{{text}}', '{{..}}'], v: 2 } }),
      AGAIN,
    ],
    [
      'another url inside the part for documents',
      composite,
      () => inside('indexingEmbedder', { url: `${provider.url}/rest/many?x` }),
      AGAIN,
    ],
    [
      'a key inside the part for documents',
      composite,
      () => inside('indexingEmbedder', { apiKey: 'other' }),
      [],
    ],
    [
      'another url inside the part for queries',
      composite,
      () =>
        inside('searchEmbedder', {
          ...many({ documentTemplate: undefined }),
          url: `${provider.url}/rest/many?x`,
        }),
      [],
    ],
    ['quantization of both parts', composite, () => ({ e: { binaryQuantized: true } }), []],
  ];
  for (const [name, first, change, expected] of SOURCES) {
    it(`are changed by ${name}`, async () => {
      await setUp(first());
      await add([
        { id: 1, title: 'one' },
        { id: 2, title: 'two' },
        { id: 3, title: 'three', _vectors: { e: OWN } },
      ]);
      assert.deepEqual(sent(), AGAIN);
      const task = await patch(change());
      assert.equal(task.status, 'succeeded', JSON.stringify(task.error));
      assert.deepEqual(
        sent().filter((text) => !SAMPLES.includes(text as string)),
        expected,
      );
      assert.equal((await vectors(3)).regenerate, false);
      await add([{ id: 4, title: 'four' }]);
      assert.deepEqual(sent(), ['four']);
    });
  }

  it('of openAi with other dimensions embed again', async () => {
    await setUp(openAi());
    await add([{ id: 1, title: 'one' }]);
    assert.deepEqual(sent(), ['one']);
    assert.equal((await patch({ e: { dimensions: 3 } })).status, 'succeeded');
    assert.deepEqual(sent(), ['one']);
    assert.equal((await vectors(1)).embeddings[0]!.length, 3);
  });

  it('are changed by other searchable attributes if their template asks for these', async () => {
    await setUp(one({ documentTemplate: null }));
    await add([{ id: 1, title: 'one', text: 'same' }]);
    provider.take();
    await server.finish('PUT', `/indexes/${uid}/settings/searchable-attributes`, {
      body: ['title'],
    });
    assert.deepEqual(sent(), ['title: one\n']);
    await server.finish('PUT', `/indexes/${uid}/settings/filterable-attributes`, {
      body: ['text'],
    });
    await server.finish('PUT', `/indexes/${uid}/settings/searchable-attributes`, {
      body: ['text', 'title'],
    });
    assert.deepEqual(sent(), ['title: one\ntext: same\n']);
  });

  it('with a larger limit embed texts that become longer', async () => {
    await setUp(one({ documentTemplateMaxBytes: 3 }));
    await add([
      { id: 1, title: 'abcdef' },
      { id: 2, title: 'xyz' },
    ]);
    assert.deepEqual(sent(), ['abc', 'xyz']);
    await patch({ e: { documentTemplateMaxBytes: 5 } });
    assert.deepEqual(sent(), ['abcde']);
  });

  it('with other dimensions embed again, and refuse embeddings of documents that do not fit', async () => {
    await setUp();
    await add([{ id: 1, title: 'one' }]);
    provider.dimensions = 3;
    provider.take();
    assert.equal((await patch({ e: { dimensions: 3 } })).status, 'succeeded');
    assert.deepEqual(sent(), ['one']);
    assert.deepEqual(await vectors(1), { embeddings: made('one'), regenerate: true });
    await add([{ id: 2, title: 'two', _vectors: { e: [1, 0, 0] } }]);
    provider.dimensions = 4;
    const before = await vectors(1);
    for (const change of [{ dimensions: 4 }, { source: 'userProvided', dimensions: 4 }]) {
      const failed = await patch({ e: change });
      assert.equal(failed.error.code, 'invalid_vector_dimensions');
      assert.deepEqual((await vectors(2)).embeddings, [[1, 0, 0]]);
      assert.deepEqual(await vectors(1), before);
      const { json } = await server.call('GET', `/indexes/${uid}/settings/embedders`);
      assert.deepEqual([json.e.source, json.e.dimensions], ['rest', 3]);
    }
  });

  it('learn their dimensions once', async () => {
    await setUp(one({ dimensions: null }));
    await patch({ e: { apiKey: 'k' } });
    await add([{ id: 1, title: 'one' }]);
    await add([{ id: 2, title: 'two' }]);
    assert.deepEqual(sent(), ['one', 'two']);
    provider.dimensions = 5;
    const failed = await add([{ id: 3, title: 'three' }]);
    assert.equal(failed.error.code, 'vector_embedding_error');
  });

  it('embed each fragment of a document, and again only what changes', async () => {
    const fragments = (indexing: Json): Json =>
      many({
        request: { input: ['{{fragment}}', '{{..}}'] },
        documentTemplate: undefined,
        indexingFragments: indexing,
        searchFragments: { q: { value: '{{ q }}' } },
      });
    await setUp(
      fragments({ b: { value: 'b {{ doc.title }}' }, a: { value: { x: '{{ doc.text }}' } } }),
    );
    await add([
      { id: 1, title: 'one', text: 'same' },
      { id: 2, title: 'two' },
      { id: 3 },
      { id: 4, title: 'own', _vectors: { e: OWN } },
    ]);
    assert.deepEqual(sent(), ['b one', 'b two', '{"x":"same"}']);
    assert.deepEqual((await vectors(1)).embeddings, made('{"x":"same"}', 'b one'));
    assert.deepEqual((await vectors(3)).embeddings, []);
    assert.deepEqual(await found('_vectors EXISTS'), [1, 2, 4]);
    assert.deepEqual(await found('_vectors.e.fragments.a EXISTS'), [1]);
    assert.deepEqual(await found("_vectors.e.fragments.'b' EXISTS"), [1, 2]);
    assert.deepEqual(await found('_vectors.e.fragments.a NOT EXISTS'), [2, 3, 4]);
    assert.deepEqual(
      await found('_vectors.e.fragments.b EXISTS AND _vectors.e.fragments.a NOT EXISTS'),
      [2],
    );
    assert.deepEqual(await found('_vectors.e.userProvided EXISTS'), [4]);
    assert.deepEqual(await found('_vectors.e.documentTemplate EXISTS'), []);
    assert.equal(await found('_vectors.e.fragments.c EXISTS'), 'invalid_document_filter');
    assert.equal(await found('_vectors.f.fragments.a EXISTS'), 'invalid_document_filter');
    await add([{ id: 1, text: 'other' }], 'PUT');
    assert.deepEqual(sent(), ['{"x":"other"}']);
    assert.deepEqual((await vectors(1)).embeddings, made('{"x":"other"}', 'b one'));
    await patch({ e: { indexingFragments: { c: { value: 'c {{ doc.title }}' } } } });
    assert.deepEqual(sent(), ['c one', 'c two']);
    assert.deepEqual((await vectors(1)).embeddings, made('{"x":"other"}', 'b one', 'c one'));
    // Exchanged.
    await patch({
      e: {
        indexingFragments: { b: { value: 'c {{ doc.title }}' }, c: { value: 'b {{ doc.title }}' } },
      },
    });
    assert.deepEqual(sent(), ['b one', 'b two', 'c one', 'c two']);
    assert.deepEqual((await vectors(1)).embeddings, made('{"x":"other"}', 'c one', 'b one'));
    // A freed number is reused.
    await patch({ e: { indexingFragments: { a: null } } });
    assert.deepEqual(sent(), []);
    assert.deepEqual((await vectors(1)).embeddings, made('c one', 'b one'));
    await patch({ e: { indexingFragments: { z: { value: 'z {{ doc.title }}' } } } });
    assert.deepEqual(sent(), ['z one', 'z two']);
    assert.deepEqual((await vectors(1)).embeddings, made('z one', 'c one', 'b one'));
    assert.equal(await found('_vectors.e.fragments.a EXISTS'), 'invalid_document_filter');
    assert.deepEqual(await found('_vectors.e.fragments.z EXISTS'), [1, 2]);
    await patch({ e: { searchFragments: { q: { value: 'search {{ q }}' } } } });
    assert.deepEqual(sent(), []);
    assert.deepEqual(await vectors(4), { embeddings: [OWN], regenerate: false });
    // A template replaces all fragments.
    await patch({
      e: {
        ...{ indexingFragments: null, searchFragments: null, documentTemplate: '{{ doc.id }}' },
        request: { input: ['{{text}}', '{{..}}'] },
      },
    });
    assert.deepEqual(sent(), ['1', '2', '3']);
    assert.deepEqual(await found('_vectors.e.documentTemplate EXISTS'), [1, 2, 3]);
    assert.equal(await found('_vectors.e.fragments.b EXISTS'), 'invalid_document_filter');
  });

  it('of two parts embed documents with one, and must agree', async () => {
    const part = (path: string, more: Json = {}): Json => ({
      ...many({
        url: `${provider.url}/rest/${path}`,
        documentTemplate: undefined,
        dimensions: undefined,
      }),
      ...more,
    });
    const composite = {
      source: 'composite',
      searchEmbedder: part('s'),
      indexingEmbedder: part('i', { documentTemplate: '{{ doc.title }}' }),
    };
    await setUp(composite);
    await add([{ id: 1, title: 'one' }]);
    assert.deepEqual(
      provider.take().map(({ path }) => path),
      ['/rest/i'],
    );
    await patch({ e: { indexingEmbedder: { documentTemplate: 'new {{ doc.title }}' } } });
    assert.deepEqual(sent(), ['new one']);
    await patch({ e: { searchEmbedder: part('s', { apiKey: 'k' }) } });
    assert.deepEqual(sent(), []);
    const different = {
      ...composite,
      searchEmbedder: part('s', { dimensions: 3 }),
      indexingEmbedder: part('i', { dimensions: 4 }),
    };
    assert.equal((await patch({ d: different })).error.code, 'vector_embedding_error');
    const opposite = [1, 2, 3].map(() => ({ embedding: [0, 0, 0, 1] }));
    provider.always = ({ path }) =>
      path === '/rest/s' ? { status: 200, body: { data: opposite } } : 'ok';
    const task = await patch({ d: composite });
    assert.equal(task.error.code, 'vector_embedding_error');
    assert.match(task.error.message, /do not agree/);
  });

  it('fail a batch as a whole, with the documents and the reason', async () => {
    await setUp();
    provider.always = ({ body }) =>
      (body as Json).input === 'bad'
        ? { status: 400, body: { error: { message: 'too rude' } } }
        : 'ok';
    const task = await add([
      { id: 1, title: 'good' },
      { id: 'x', title: 'bad' },
    ]);
    assert.equal(task.status, 'failed');
    assert.equal(task.error.code, 'vector_embedding_error');
    assert.match(task.error.message, /the document "x".*too rude/);
    const { json } = await server.call('GET', `/indexes/${uid}/stats`);
    assert.equal(json.numberOfDocuments, 0);
    const missing = await add([
      { id: 1, title: 'good' },
      { id: 2, name: 'no title' },
    ]);
    assert.equal(missing.error.code, 'invalid_document_fields');
    assert.match(missing.error.message, /"2".*doc\.title.*`doc\.name`/);
  });

  it('embed ten thousand documents through a provider that fails one request in five, each once', async () => {
    await setUp(many());
    let requests = 0;
    const embedded = new Map<string, number>();
    provider.always = ({ body }) => {
      if (requests++ % 5 === 0) return { status: 503 };
      for (const text of (body as Json).input) embedded.set(text, (embedded.get(text) ?? 0) + 1);
      return 'ok';
    };
    const documents = Array.from({ length: 10_000 }, (_, i) => ({ id: i, title: `number ${i}` }));
    const task = await add(documents);
    assert.equal(task.status, 'succeeded');
    assert.equal(embedded.size, 10_000);
    assert.ok([...embedded.values()].every((count) => count === 1));
    const { json } = await server.call('GET', `/indexes/${uid}/stats`);
    assert.deepEqual([json.numberOfEmbeddings, json.numberOfEmbeddedDocuments], [10_000, 10_000]);
    const batch = (await server.call('GET', `/batches/${task.batchUid}`)).json;
    const { total, failed, lastError } = batch.stats.embedderRequests;
    assert.deepEqual(
      [total - failed, total, typeof lastError],
      [1000 + (total - failed - 1000), requests, 'string'],
    );
    assert.ok(total - failed >= 1000 && failed >= 200);
  });

  it('can be canceled while their provider does not respond', async () => {
    await setUp();
    const asked = new Promise<void>((resolve) => {
      provider.always = () => {
        resolve();
        return 'silent';
      };
    });
    const { json } = await server.call('POST', `/indexes/${uid}/documents`, {
      body: [{ id: 1, title: 'one' }],
    });
    await asked;
    const { taskUid } = json;
    const running = (await server.call('GET', `/tasks/${taskUid}`)).json;
    assert.equal(running.status, 'processing');
    const batches = (await server.call('GET', '/batches?statuses=processing')).json.results;
    assert.equal(batches[0].stats.embedderRequests.total, 1);
    assert.ok(
      batches[0].progress.steps.some((step: Json) => step.currentStep === 'embedding documents'),
    );
    await server.call('POST', `/tasks/cancel?uids=${taskUid}`);
    let status = '';
    while (status !== 'canceled') {
      status = (await server.call('GET', `/tasks/${taskUid}`)).json.status;
    }
  });

  it('that run models name the command that installs what is missing, or find the folder empty', async () => {
    const task = await patch({ e: { source: 'huggingFace', model: '/nowhere' } });
    assert.equal(task.error.code, 'vector_embedding_error');
    assert.match(task.error.message, /\/nowhere/);
  });
});
