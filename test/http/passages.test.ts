import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import jwt from 'jsonwebtoken';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { passagesOf } from '../../src/embedding/passages.ts';
import { EmbeddingProvider, wordEmbedding } from '../support/embedding-provider.ts';
import { mulberry } from '../support/random.ts';

type Json = any;

const FILLER = 'Nothing of interest is said in this sentence of the report at all.';
const WHALE = 'The blue whale sings below the ice of the southern ocean.';
const CAT = 'A tabby cat sleeps upon the warm windowsill of our kitchen.';

/** Embedders that cut documents into passages, and what finds these; the built server. */
describe('Passages', function () {
  let server: BuiltServer;
  let provider: EmbeddingProvider;
  let number = 0;
  let uid = '';

  before(async function () {
    if (!existsSync('dist/main.cjs') || !existsSync('build/Release/gannet.node')) this.skip();
    provider = await EmbeddingProvider.start();
    provider.dimensions = 64;
    server = await startBuiltServer();
    await server.call('PATCH', '/experimental-features', {
      body: { multimodal: true, compositeEmbedders: true },
    });
  });
  beforeEach(() => {
    uid = `index-${number++}`;
    provider.take();
  });
  after(async () => {
    await server?.close();
    provider?.stop();
  });

  const CHUNKS = { attribute: 'text', maxTokens: 20, overlap: 0 };
  const embedder = (more: object = {}): Json =>
    provider.embedder('{{ doc.title }} {{ doc.text }}', {
      dimensions: 64,
      chunks: CHUNKS,
      ...more,
    });
  const patch = (settings: Json): Promise<Json> =>
    server.finish('PATCH', `/indexes/${uid}/settings`, { body: settings });
  const setUp = async (more: object = {}): Promise<void> => {
    const task = await patch({ embedders: { e: embedder(more) }, filterableAttributes: ['kind'] });
    assert.equal(task.status, 'succeeded', JSON.stringify(task.error));
    provider.take();
  };
  const add = async (documents: Json[], method = 'POST'): Promise<void> => {
    const path = `/indexes/${uid}/documents?primaryKey=id`;
    const task = await server.finish(method, path, { body: documents });
    assert.equal(task.status, 'succeeded', JSON.stringify(task.error));
  };
  const sent = (): Json[] =>
    provider.take().flatMap(({ body }) => (body as { input: Json }).input as Json);
  const embeddings = async (id: number): Promise<number> => {
    const path = `/indexes/${uid}/documents/${id}?retrieveVectors=true`;
    return (await server.call('GET', path)).json._vectors.e.embeddings.length;
  };
  const passages = (body: Json, key?: string): Promise<Json> => ask(body, key, 'passages');
  const ask = async (body: Json, key: string | undefined, path: string): Promise<Json> => {
    const response = await send(body, path, key);
    return { status: response.status, ...((await response.json()) as object) };
  };
  const send = (body: Json, path: string, key = server.masterKey): Promise<Response> =>
    fetch(`${server.url}/indexes/${uid}/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  /** A key for searches, and a token of it that sees a part of the documents. */
  const keyAndToken = async (): Promise<{ key: string; token: string }> => {
    const { json } = await server.call('POST', '/keys', {
      body: { actions: ['search'], indexes: [uid], expiresAt: null },
    });
    const searchRules = { [uid]: { filter: 'kind = b' } };
    return { key: json.key, token: jwt.sign({ searchRules, apiKeyUid: json.uid }, json.key) };
  };

  const SEA = { id: 1, title: 'Sea', kind: 'a', text: `${FILLER} ${WHALE} ${FILLER}` };
  const HOME = { id: 2, title: 'Home', kind: 'b', text: `${CAT} ${FILLER}` };

  const refused: [name: string, given: () => Json, code: string, mentions: RegExp][] = [
    [
      'vectors that come with documents',
      () => ({ source: 'userProvided', dimensions: 3, chunks: CHUNKS }),
      'invalid_settings_embedders',
      /`chunks` is not available for the source `userProvided`/,
    ],
    [
      'fragments',
      () => ({
        ...embedder(),
        documentTemplate: null,
        request: { input: ['{{fragment}}', '{{..}}'] },
        indexingFragments: { a: { value: '{{ doc.text }}' } },
        searchFragments: { a: { value: '{{ q }}' } },
      }),
      'invalid_settings_embedders',
      /`chunks` cannot be given together with fragments/,
    ],
    [
      'the search side of a composite embedder',
      () => ({
        source: 'composite',
        searchEmbedder: { ...embedder(), documentTemplate: undefined },
        indexingEmbedder: embedder(),
      }),
      'invalid_settings_embedders',
      /searchEmbedder.*`chunks` is not available here/,
    ],
    ['no attribute', () => embedder({ chunks: {} }), 'invalid_settings_embedders', /attribute/],
    [
      'short passages',
      () => embedder({ chunks: { attribute: 'text', maxTokens: 15 } }),
      'invalid_settings_embedders',
      /maxTokens/,
    ],
  ];
  for (const [name, given, code, mentions] of refused) {
    it(`are refused for ${name}`, async () => {
      const { status, json } = await server.call('PATCH', `/indexes/${uid}/settings`, {
        body: { embedders: { e: given() } },
      });
      assert.equal(status, 400, JSON.stringify(json));
      assert.equal(json.code, code);
      assert.match(json.message, mentions);
    });
  }

  it('have an embedding each, made again only where the text changes', async () => {
    await setUp();
    await add([SEA, HOME]);
    assert.deepEqual(
      sent().sort(),
      [`Home ${CAT}`, `Home ${FILLER}`, `Sea ${FILLER}`, `Sea ${FILLER}`, `Sea ${WHALE}`].sort(),
    );
    assert.deepEqual([await embeddings(1), await embeddings(2)], [3, 2]);
    const { json } = await server.call('GET', `/indexes/${uid}/settings`);
    assert.deepEqual(json.embedders.e.chunks, { ...CHUNKS, max: 64 });
    // Another attribute, a partial update, and the same settings change no passage.
    await add([{ id: 1, kind: 'c' }], 'PUT');
    await patch({ embedders: { e: { chunks: CHUNKS } } });
    assert.deepEqual(sent(), []);
    await add([{ id: 1, text: `${FILLER} ${CAT} ${FILLER}` }], 'PUT');
    assert.deepEqual(sent(), [`Sea ${CAT}`]);
    await add([{ id: 2, text: CAT }], 'PUT');
    assert.deepEqual(sent(), []);
    assert.equal(await embeddings(2), 1);
    // A function leaves the text alone, and then changes it.
    const edit = (script: string): Promise<Json> =>
      server.finish('POST', `/indexes/${uid}/documents/edit`, { body: { function: script } });
    await server.call('PATCH', '/experimental-features', {
      body: { editDocumentsByFunction: true },
    });
    await edit('doc.kind = "d"');
    assert.deepEqual(sent(), []);
    await edit(`if doc.id == 2 { doc.text = "${WHALE}" }`);
    assert.deepEqual(sent(), [`Home ${WHALE}`]);
  });

  it('are made again when the setting changes', async () => {
    await setUp();
    await add([SEA]);
    sent();
    await patch({ embedders: { e: { chunks: { ...CHUNKS, maxTokens: 200 } } } });
    assert.deepEqual(sent(), [`Sea ${SEA.text}`]);
    assert.equal(await embeddings(1), 1);
    await patch({ embedders: { e: { chunks: { ...CHUNKS, max: 2 } } } });
    assert.equal(sent().length, 2);
    await patch({ embedders: { e: { chunks: null } } });
    assert.deepEqual(sent(), [`Sea ${SEA.text}`]);
    assert.equal((await passages({ q: 'whale' })).passages[0].score, undefined);
  });

  it('in the background are all or none of a document', async () => {
    await setUp({ mode: 'background' });
    await add([SEA, HOME]);
    await server.idle();
    for (;;) {
      const { json } = await server.call('GET', `/indexes/${uid}/embedders/e`);
      assert.equal(json.failed, 0);
      if (json.waiting === 0) break;
    }
    assert.deepEqual([await embeddings(1), await embeddings(2)], [3, 2]);
  });

  it('are cited by the bytes of their attribute', async () => {
    await setUp();
    const text = `Là. ${FILLER} ${WHALE} ${FILLER}`;
    await add([{ ...SEA, text }, HOME]);
    const found = await passages({ q: 'blue whale below ice', maxTokens: 40 });
    assert.equal(found.status, 200, JSON.stringify(found));
    const [first] = found.passages;
    assert.deepEqual([first.id, first.attribute, first.text], [1, 'text', WHALE]);
    const { start, length } = first;
    assert.equal(Buffer.from(text).toString('utf8', start, start + length), WHALE);
    assert.equal(first.tokens, Math.ceil(length / 4));
    assert.ok(first.score > 0.6 && first.score < 1, JSON.stringify(first));
    assert.ok(found.tokens <= 40);
    // The filler is in both documents, and returned once.
    const all = (await passages({ q: 'blue whale below ice', maxTokens: 2_000 })).passages;
    assert.equal(all.filter((one: Json) => one.text.includes(FILLER)).length, 1);
  });

  it('of documents with long numbers name the exact id', async () => {
    await setUp();
    const path = `/indexes/${uid}/documents`;
    const body = `[{"id":9007199254740993,"score":0.30000000000000004,"title":"Sea","text":"${WHALE}"}]`;
    const task = await server.finish('POST', path, { text: body });
    assert.equal(task.status, 'succeeded', JSON.stringify(task.error));
    const found = await send({ q: 'whale' }, 'passages');
    assert.match(await found.text(), /"id":9007199254740993,/);
  });

  it('are found by a vector alone', async () => {
    await setUp();
    await add([SEA, HOME]);
    const { json } = await server.call('GET', `/indexes/${uid}/documents/1?retrieveVectors=true`);
    const found = await passages({ vector: json._vectors.e.embeddings[1] });
    assert.equal(found.passages?.[0].text, WHALE, JSON.stringify(found));
    assert.equal((await passages({ vector: [1] })).code, 'invalid_vector_dimensions');
  });

  it('are chosen by words without an embedder', async () => {
    await patch({ filterableAttributes: ['kind'] });
    const pages = Array.from({ length: 30 }, () => FILLER).join(' ');
    await add([{ ...SEA, text: `${pages} ${WHALE} ${pages}` }, HOME]);
    const found = await passages({ q: 'whale ice', documents: 5, maxTokens: 250 });
    assert.ok(found.passages[0].text.includes(WHALE), JSON.stringify(found.passages));
    assert.equal(found.passages[0].id, 1);
    const none = await passages({ q: 'zebra' });
    assert.deepEqual([none.passages, none.tokens], [[], 0]);
  });

  it('are found with what a key and a token may search', async () => {
    await setUp();
    await add([SEA, HOME]);
    const { key, token } = await keyAndToken();
    const ids = (found: Json): number[] => found.passages.map((one: Json) => one.id);
    assert.ok(ids(await passages({ q: 'whale' }, key)).includes(1));
    assert.deepEqual([...new Set(ids(await passages({ q: 'whale' }, token)))], [2]);
    assert.deepEqual(ids(await passages({ q: 'whale', filter: 'kind = a' }, token)), []);
    const { json: other } = await server.call('POST', '/keys', {
      body: { actions: ['documents.get'], indexes: [uid], expiresAt: null },
    });
    assert.equal((await passages({ q: 'whale' }, other.key)).code, 'invalid_api_key');
  });

  it('of an attribute that is not displayed are never returned', async () => {
    await setUp();
    await add([SEA, HOME]);
    await patch({ displayedAttributes: ['id', 'title', '_vectors'] });
    const found = await passages({ q: 'whale ocean' });
    assert.deepEqual(
      [...new Set(found.passages.map((one: Json) => one.attribute))],
      ['title'],
      JSON.stringify(found),
    );
    await patch({ displayedAttributes: ['kind'] });
    const anonymous = await passages({ q: 'whale ocean' });
    assert.ok(anonymous.passages.every((one: Json) => one.id === null && one.attribute === 'kind'));
  });

  it('say what is wrong with a request', async () => {
    await setUp();
    const code = async (body: Json): Promise<Json> => (await passages(body)).code;
    assert.equal(await code({ q: 'a', maxTokens: 0 }), 'invalid_passages_max_tokens');
    assert.equal(await code({ q: 'a', maxTokens: 32_001 }), 'invalid_passages_max_tokens');
    assert.equal(await code({ q: 'a', documents: 101 }), 'invalid_passages_documents');
    assert.equal(await code({ q: 'a', filter: 'kind ~ 1' }), 'invalid_search_filter');
    assert.equal(await code({ q: 'a', hybrid: { embedder: 'x' } }), 'invalid_search_embedder');
    assert.equal(await code({ q: 'a', limit: 1 }), 'bad_request');
    uid = 'absent';
    assert.equal(await code({ q: 'a' }), 'index_not_found');
  });

  it('are chosen by words while the provider is down, which the response says', async () => {
    await setUp();
    await add([SEA, HOME]);
    provider.always = () => ({ status: 503 });
    try {
      const found = await passages({ q: 'whale' });
      assert.deepEqual([found.degraded, found.passages[0].id], [['embedding'], 1]);
      assert.equal(found.passages[0].score, undefined);
    } finally {
      provider.always = null;
    }
  });

  it('survive a dump', async () => {
    await setUp();
    await add([SEA, HOME]);
    const before = (await passages({ q: 'whale ice' })).passages;
    const { json } = await server.call('POST', `/indexes/${uid}/documents/fetch`, {
      body: { retrieveVectors: true },
    });
    // As a dump and an export write documents: with the embeddings that the server has made.
    const copy = `${uid}-copy`;
    const from = uid;
    uid = copy;
    await setUp();
    await add(json.results);
    assert.deepEqual(sent(), []);
    assert.deepEqual((await passages({ q: 'whale ice' })).passages, before, from);
  });

  describe('that hits name', () => {
    const search = (body: Json, key?: string): Promise<Json> => ask(body, key, 'search');
    const WHALES = { q: 'blue whale below ice', hybrid: { embedder: 'e' }, showPassages: 1 };
    const named = async (more: Json = {}, key?: string): Promise<Json[]> => {
      const found = await search({ ...WHALES, ...more }, key);
      assert.equal(found.status, 200, JSON.stringify(found));
      return found.hits;
    };
    const textsOf = (hits: Json[]): Json[] =>
      hits.map(({ _passages }) => _passages?.map((one: Json) => one.text));

    it('are the nearest that a plain loop finds, after any history', async () => {
      const seed = Number(process.env['GANNET_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
      const random = mulberry(seed);
      const below = (end: number): number => Math.floor(random() * end);
      const words = ['whale', 'ice', 'été', 'cat', '漢字', 'sea', 'bird', '😀', 'stone', 'river'];
      const line = (): string =>
        Array.from({ length: 4 + below(6) }, () => words[below(words.length)]).join(' ');
      const text = (): string => Array.from({ length: 1 + below(5) }, () => `${line()}.`).join(' ');
      await setUp();
      const documents = new Map<number, Json>();
      const given = new Set<number>();
      for (let batch = 0; batch < 5; batch++) {
        const changed: Json[] = [];
        for (let id = below(4); id < 30; id += 1 + below(6)) {
          const before = documents.get(id);
          const document: Json = { id, title: line(), text: null };
          // What moves in its text keeps its embedding, but not its place.
          if (typeof before?.text === 'string' && random() < 0.5)
            document.text = `${line()}. ${before.text}`;
          else if (random() < 0.9) document.text = text();
          if (random() < 0.1) document._vectors = { e: wordEmbedding(line(), 64) };
          // Embeddings that came with a document stay.
          if (document._vectors !== undefined) given.add(id);
          documents.set(id, document);
          changed.push(document);
        }
        await add(changed);
        const removed = below(30);
        documents.delete(removed);
        given.delete(removed);
        await server.finish('DELETE', `/indexes/${uid}/documents/${removed}`);
      }
      await server.finish('POST', `/indexes/${uid}/compact`);

      const vectorsOf = ({ title, text: whole }: Json): Json[] =>
        passagesOf(whole ?? '', { ...CHUNKS, max: 64 }).map((passage) => ({
          ...passage,
          vector: wordEmbedding(`${title} ${passage.text}`, 64),
        }));
      const similarity = (a: number[], b: number[]): number =>
        (1 + a.reduce((sum, x, n) => sum + x * b[n]!, 0) / Math.hypot(...a) / Math.hypot(...b)) / 2;
      const check = (hits: Json[], targets: number[][], count: number, context: string): void => {
        assert.ok(hits.length > 0, context);
        for (const { id, _passages } of hits) {
          const document = documents.get(id);
          const message = `${context}, seed ${seed}: ${JSON.stringify({ document, _passages })}`;
          const known = given.has(id) ? [] : vectorsOf(document);
          const scores = known.map(({ vector }) =>
            Math.max(...targets.map((target) => similarity(vector, target))),
          );
          assert.equal(_passages.length, Math.min(count, known.length), message);
          const best = scores.toSorted((a, b) => b - a);
          _passages.forEach(({ attribute, start, length, text: part, score }: Json, n: number) => {
            const own = known.findIndex((one) => one.start === start && one.length === length);
            assert.ok(Math.abs(score - best[n]!) < 1e-5, message);
            assert.ok(Math.abs(score - scores[own]!) < 1e-5, message);
            assert.deepEqual([attribute, part], ['text', known[own]!.text], message);
          });
        }
      };
      for (let round = 0; round < 12; round++) {
        const q = line();
        const count = 1 + below(3);
        const hybrid = { embedder: 'e', semanticRatio: [0.1, 0.5, 1][round % 3] };
        const body = { q, hybrid, showPassages: count, limit: 50 };
        const target = wordEmbedding(q, 64);
        check((await search(body)).hits, [target], count, JSON.stringify(body));
        const federated = await server.call('POST', '/multi-search', {
          body: {
            federation: { limit: 50 },
            queries: [{ ...body, limit: undefined, indexUid: uid }],
          },
        });
        check(federated.json.hits, [target], count, 'federated');
        const of = [...documents.values()].find((one) => one.text && !given.has(one.id));
        const similar = { id: of.id, embedder: 'e', showPassages: count, limit: 50 };
        const targets = vectorsOf(of).map(({ vector }) => vector);
        const { hits } = await ask(similar, undefined, 'similar');
        check(hits, targets, count, JSON.stringify(similar));
      }
    });

    it('are asked for with a number, also by GET, and else left out', async () => {
      await setUp();
      await add([SEA, HOME]);
      assert.deepEqual(textsOf(await named({ attributesToRetrieve: ['id'] })), [[WHALE], [CAT]]);
      assert.deepEqual(textsOf(await named({ showPassages: 10 }))[1]?.length, 2);
      for (const showPassages of [0, null]) {
        assert.deepEqual(textsOf(await named({ showPassages })), [undefined, undefined]);
      }
      const get = async (query: string): Promise<Json> =>
        (await server.call('GET', `/indexes/${uid}/${query}`)).json;
      const query = 'search?q=blue+whale+below+ice&hybridEmbedder=e&showPassages=';
      assert.deepEqual(textsOf((await get(`${query}1`)).hits), [[WHALE], [CAT]]);
      assert.equal((await get(`${query}11`)).code, 'invalid_search_show_passages');
      const similar = 'similar?id=1&embedder=e&showPassages=';
      // The filler is in both.
      assert.deepEqual(textsOf((await get(`${similar}1`)).hits), [[FILLER]]);
      assert.equal((await get(`${similar}a`)).code, 'invalid_similar_show_passages');
      for (const showPassages of [-1, 1.5, 11, true]) {
        const { code } = await search({ ...WHALES, showPassages });
        assert.equal(code, 'invalid_search_show_passages');
      }
      // Words alone are near to no embedding.
      const plain = await search({ q: 'whale', showPassages: 1 });
      assert.deepEqual(textsOf(plain.hits), [undefined]);
    });

    it('are those of hits that words find, even if words are enough', async () => {
      await setUp();
      await add([SEA, HOME]);
      const hybrid = { embedder: 'e', semanticRatio: 0.1 };
      const body = { ...WHALES, hybrid, limit: 1 };
      const found = await search(body);
      assert.deepEqual([textsOf(found.hits), found.semanticHitCount], [[[WHALE]], 0]);
      const without = await search({ ...body, showPassages: 0 });
      assert.deepEqual(
        without.hits,
        found.hits.map(({ _passages, ...hit }: Json) => hit),
      );
    });

    it('are none of an attribute that is not displayed', async () => {
      await setUp({
        chunks: { ...CHUNKS, attribute: 'body.text' },
        documentTemplate: '{{ doc.body.text }}',
      });
      await add([{ id: 1, body: { text: SEA.text, other: 1 } }]);
      const shown = async (displayedAttributes: string[]): Promise<Json> => {
        await patch({ displayedAttributes });
        return textsOf(await named())[0];
      };
      assert.equal(await shown(['id', 'body.other']), undefined);
      assert.equal(await shown(['id']), undefined);
      assert.deepEqual(await shown(['body.text']), [WHALE]);
      assert.deepEqual(await shown(['body']), [WHALE]);
      assert.deepEqual(await shown(['*']), [WHALE]);
    });

    it('are found with what a key and a token may search', async () => {
      await setUp();
      await add([SEA, HOME]);
      const { key, token } = await keyAndToken();
      assert.deepEqual(textsOf(await named({}, key)), [[WHALE], [CAT]]);
      assert.deepEqual(textsOf(await named({}, token)), [[CAT]]);
    });

    it('are none where an embedding came with the document', async () => {
      await setUp();
      const vector = wordEmbedding('blue whale', 64);
      const [one, two] = [false, true].map((regenerate, n) => ({
        ...SEA,
        id: 3 + n,
        kind: 'z',
        _vectors: { e: { embeddings: [vector, vector, vector], regenerate } },
      }));
      await add([SEA, one, two]);
      const hits = await named();
      const texts = Object.fromEntries(hits.map(({ id }, n) => [id, textsOf(hits)[n]]));
      assert.deepEqual(texts, { 1: [WHALE], 3: [], 4: [] });
      // Unless it says from which passages they are.
      const passages = [0, 1, 2].map((start) => ({ start, length: 3 }));
      await add([{ ...two, _vectors: { e: { ...two!._vectors.e, passages } } }]);
      const [, again] = await named({ filter: 'kind = z' });
      assert.deepEqual([again.id, textsOf([again])], [4, [['Not']]]);
      const task = await server.finish('POST', `/indexes/${uid}/documents`, {
        body: [{ ...two, _vectors: { e: { ...two!._vectors.e, passages: [{ start: 'a' }] } } }],
      });
      assert.equal(task.error.code, 'invalid_vectors_type');
    });

    it('survive a dump and a change of the embedder', async () => {
      await setUp();
      await add([SEA, HOME]);
      const before = textsOf(await named());
      assert.deepEqual(before, [[WHALE], [CAT]]);
      const { json } = await server.call('POST', `/indexes/${uid}/documents/fetch`, {
        body: { retrieveVectors: true },
      });
      uid = `${uid}-copy`;
      await setUp();
      await add(json.results);
      assert.deepEqual(sent(), []);
      assert.deepEqual(textsOf(await named()), before);
      await patch({ embedders: { e: { binaryQuantized: true } } });
      assert.deepEqual(textsOf(await named()), before);
      await patch({ embedders: { e: { chunks: null } } });
      assert.deepEqual(textsOf(await named()), [undefined, undefined]);
    });

    it('come with the hits of other servers', async () => {
      await setUp();
      await add([SEA, HOME]);
      // This one, by another name.
      const { url, masterKey: searchApiKey } = server;
      const remotes = { a: { url, searchApiKey }, b: { url, searchApiKey } };
      await server.call('PATCH', '/experimental-features', { body: { network: true } });
      await server.call('PATCH', '/network', { body: { self: 'a', remotes } });
      const federationOptions = { remote: 'b' };
      const { json } = await server.call('POST', '/multi-search', {
        body: { federation: {}, queries: [{ ...WHALES, indexUid: uid, federationOptions }] },
      });
      assert.deepEqual(textsOf(json.hits), [[WHALE], [CAT]], JSON.stringify(json));
      assert.equal(json.hits[0]._federation.remote, 'b');
      await server.call('PATCH', '/network', { body: { self: null, remotes: null } });
    });
  });
});
