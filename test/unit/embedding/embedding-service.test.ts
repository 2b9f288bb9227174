/** Embeddings of queries: which provider is called, how often, and until when. */
import assert from 'node:assert/strict';
import { EmbeddingError } from '../../../src/embedding/embedding-error.ts';
import { EmbeddingService } from '../../../src/embedding/embedding-service.ts';
import { OutboundClient } from '../../../src/outbound/outbound-client.ts';
import type { PartEmbedder } from '../../../src/contract/embedders/composite.ts';
import { EmbeddingProvider, wordEmbedding } from '../../support/embedding-provider.ts';
import { storedEmbedder } from '../../support/stored-embedder.ts';

describe('The embedding of a query', () => {
  let provider: EmbeddingProvider;
  let client: OutboundClient;
  let service: EmbeddingService;

  before(async () => {
    provider = await EmbeddingProvider.start();
  });
  beforeEach(() => {
    client = new OutboundClient({ denyPrivate: false, allow: [] });
    service = open(0);
    provider.take();
    provider.next.length = 0;
    provider.always = null;
  });
  afterEach(async () => {
    await client.close();
    await service.close();
  });
  after(() => provider.stop());

  function open(cacheEntries: number): EmbeddingService {
    const options = {
      ...{ timeoutMs: 5_000, waitMsMax: 1, openAiKey: null, ollamaUrl: null, cacheEntries },
      ...{ ignoreTemplateFailures: false, ignoreEmbedderFailures: false },
    };
    return new EmbeddingService(client, options, () => assert.fail());
  }

  const embedder = (more: Record<string, unknown> = {}): PartEmbedder =>
    storedEmbedder({
      ...{ source: 'rest', url: `${provider.url}/rest/one`, dimensions: 4 },
      ...{ request: { input: '{{text}}' }, response: { embedding: '{{embedding}}' } },
      ...more,
    });
  const ask = (q: string, more: Record<string, unknown> = {}, ms = 5_000): Promise<Float32Array> =>
    service.embedQuery({
      ...{ embedder: embedder(more), dimensions: 4, scope: { q } },
      deadline: Date.now() + ms,
    });
  const embedding = (q: string): Float32Array => Float32Array.from(wordEmbedding(q, 4));

  it('is that of the unchanged text', async () => {
    assert.deepEqual(await ask('red  Apple'), embedding('red  Apple'));
    assert.deepEqual(
      provider.take().map(({ body }) => body),
      [{ input: 'red  Apple' }],
    );
  });

  it('is requested once for equal concurrent queries, and again later', async () => {
    const all = await Promise.all([ask('red'), ask('red'), ask('green'), ask('red')]);
    assert.deepEqual(all[3], embedding('red'));
    assert.equal(provider.take().length, 2);
    await ask('red');
    assert.equal(provider.take().length, 1);
  });

  it('is cached by embedder if a cache is configured, the most recently used for longest', async () => {
    await service.close();
    service = open(2);
    await ask('red');
    await ask('green');
    await ask('red');
    await ask('blue');
    assert.equal(provider.take().length, 3);
    await ask('red');
    assert.equal(provider.take().length, 0);
    await ask('green');
    await ask('red', { apiKey: 'another' });
    assert.equal(provider.take().length, 2);
    const long = 'x'.repeat(2_001);
    await ask(long);
    await ask(long);
    assert.equal(provider.take().length, 2);
  });

  it('is tried again until the deadline', async () => {
    provider.next.push({ status: 500 }, 'down');
    assert.deepEqual(await ask('red'), embedding('red'));
    provider.always = () => 'silent';
    const begin = performance.now();
    await assert.rejects(ask('green', {}, 100), EmbeddingError);
    assert.ok(performance.now() - begin < 4_000);
  });

  it('that has failed is requested again by the next query', async () => {
    provider.next.push({ status: 400 });
    await assert.rejects(ask('red'), EmbeddingError);
    assert.deepEqual(await ask('red'), embedding('red'));
  });

  it('must have the dimensions of the index', async () => {
    provider.next.push({ status: 200, body: { embedding: [1, 2, 3] } });
    await assert.rejects(ask('red'), /3 dimensions where 4/);
  });

  it('of an embedder with fragments is that of the one that fits', async () => {
    const fragments = {
      ...{ url: `${provider.url}/rest/one`, request: { input: '{{fragment}}' } },
      indexingFragments: { t: { value: '{{ doc.title }}' } },
      searchFragments: {
        text: { value: { text: '{{ q }}' } },
        image: { value: { image: '{{ media.image }}' } },
      },
    };
    const scope = (given: Record<string, unknown>): Promise<Float32Array> =>
      service.embedQuery({
        ...{ embedder: embedder(fragments), dimensions: 4, scope: given },
        deadline: Date.now() + 5_000,
      });
    await scope({ q: 'red' });
    await scope({ media: { image: 'AAAA' } });
    assert.deepEqual(
      provider.take().map(({ body }) => body),
      [{ input: { text: 'red' } }, { input: { image: 'AAAA' } }],
    );
    await assert.rejects(scope({ q: 'red', media: { image: 'AAAA' } }), /`text` and `image`/);
    await assert.rejects(scope({ media: { other: 1 } }), /No search fragment fits/);
    await assert.rejects(
      service.embedQuery({
        ...{ embedder: embedder(), dimensions: 4, scope: { media: { image: 'A' } } },
        deadline: Date.now() + 5_000,
      }),
      /search fragments/,
    );
    assert.equal(provider.take().length, 0);
  });

  it('is made by the search part of a composite embedder', async () => {
    const composite = {
      source: 'composite' as const,
      searchEmbedder: embedder({ url: `${provider.url}/rest/one?search` }),
      indexingEmbedder: embedder(),
    };
    await service.embedQuery({
      ...{ embedder: composite, dimensions: 4, scope: { q: 'x' } },
      deadline: Date.now() + 5_000,
    });
    assert.equal(provider.take()[0]!.path, '/rest/one?search');
  });

  it('is not made by an embedder whose vectors are given', async () => {
    await assert.rejects(ask('x', { source: 'userProvided' }), /`vector` must be given/);
  });
});
