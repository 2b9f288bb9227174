/** Providers against a server on loopback: protocols, retries, validation of responses. */
import assert from 'node:assert/strict';
import { EmbedderRequests } from '../../../src/embedding/embedder-requests.ts';
import { EmbeddingError } from '../../../src/embedding/embedding-error.ts';
import { type EmbedCall, learnDimensions, type Provider } from '../../../src/embedding/provider.ts';
import { openProvider, type ProviderOptions } from '../../../src/embedding/providers.ts';
import { ConcurrencyLimit } from '../../../src/outbound/concurrency-limit.ts';
import { OutboundClient } from '../../../src/outbound/outbound-client.ts';
import {
  EmbeddingProvider,
  type Misbehaviour,
  wordEmbedding,
} from '../../support/embedding-provider.ts';
import { storedEmbedder } from '../../support/stored-embedder.ts';

const OPTIONS: ProviderOptions = {
  timeoutMs: 5_000,
  waitMsMax: 1,
  openAiKey: null,
  ollamaUrl: null,
};

describe('A provider of embeddings', () => {
  let server: EmbeddingProvider;
  let client: OutboundClient;

  before(async () => {
    server = await EmbeddingProvider.start();
  });
  beforeEach(() => {
    client = new OutboundClient({ denyPrivate: false, allow: [] });
    server.dimensions = 4;
    server.next.length = 0;
    server.always = null;
    server.take();
  });
  afterEach(() => client.close());
  after(() => server.stop());

  function open(
    embedder: Record<string, unknown>,
    options: Partial<ProviderOptions> = {},
  ): Provider {
    return openProvider(storedEmbedder(embedder), {
      client,
      options: { ...OPTIONS, ...options },
      shortenText: async (text) => (text.length > 1000 ? [1, 2, 3] : text),
      localModel: () => assert.fail(),
    });
  }

  const rest = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
    source: 'rest',
    url: `${server.url}/rest/many`,
    request: { input: ['{{text}}', '{{..}}'] },
    response: { data: [{ embedding: '{{embedding}}' }, '{{..}}'] },
    dimensions: 4,
    ...more,
  });
  const single = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
    source: 'rest',
    url: `${server.url}/rest/one`,
    request: { input: '{{text}}', model: 'm' },
    response: { embedding: '{{embedding}}' },
    dimensions: 4,
    ...more,
  });

  function call(more: Partial<EmbedCall> = {}): EmbedCall {
    return { limit: new ConcurrencyLimit(40), ...more };
  }

  const texts = (count: number): string[] => Array.from({ length: count }, (_, i) => `text ${i}`);
  const expected = (inputs: readonly string[], dimensions = 4): Float32Array[] =>
    inputs.map((text) => Float32Array.from(wordEmbedding(text, dimensions)));
  const inputsSent = (): unknown[] =>
    server.take().map(({ body }) => (body as { input: unknown }).input);

  async function fails(work: Promise<unknown>, message: RegExp): Promise<EmbeddingError> {
    const error = await work.then(
      () => assert.fail('embedded'),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof EmbeddingError, String(error));
    assert.match(error.message, message);
    return error;
  }

  it('gets ten texts of a list per request, and one where the request takes one', async () => {
    assert.deepEqual(await open(rest()).embed(texts(23), call()), expected(texts(23)));
    assert.deepEqual(
      inputsSent()
        .map((input) => (input as string[]).length)
        .toSorted(),
      [10, 10, 3],
    );
    assert.deepEqual(await open(single()).embed(texts(3), call()), expected(texts(3)));
    assert.deepEqual(inputsSent().toSorted(), texts(3));
  });

  it('gets as many texts and bytes as the embedder specifies', async () => {
    await open(rest({ maxBatchTexts: 7 })).embed(texts(14), call());
    assert.deepEqual(
      inputsSent().map((input) => (input as string[]).length),
      [7, 7],
    );
    // `"text 0"` has eight bytes.
    const long = 'x'.repeat(100);
    const inputs = [...texts(3), long, ...texts(2)];
    assert.deepEqual(
      await open(rest({ maxBatchBytes: 16 })).embed(inputs, call()),
      expected(inputs),
    );
    const sizes = inputsSent().map((input) => (input as string[]).length);
    assert.deepEqual(sizes.toSorted(), [1, 1, 2, 2]);
  });

  it('sends key and headers; a header of the embedder wins', async () => {
    const headers = { 'X-Team': 'search', 'content-type': 'application/vnd.x+json' };
    await open(rest({ apiKey: 'k', headers })).embed(['x'], call());
    const [sent] = server.take();
    assert.equal(sent!.headers.authorization, 'Bearer k');
    assert.equal(sent!.headers['x-team'], 'search');
    assert.equal(sent!.headers['content-type'], 'application/vnd.x+json');
    await open(rest({ apiKey: 'k', headers: { Authorization: 'Basic x' } })).embed(['x'], call());
    assert.equal(server.take()[0]!.headers.authorization, 'Basic x');
  });

  it('speaks the protocol of OpenAI', async () => {
    const embedder = {
      source: 'openAi',
      model: 'text-embedding-3-small',
      url: `${server.url}/v1/embeddings`,
    };
    const provider = open({ ...embedder, dimensions: 6 }, { openAiKey: 'env' });
    assert.deepEqual(await provider.embed(['a', 'b'], call()), expected(['a', 'b'], 6));
    const [sent] = server.take();
    assert.deepEqual(sent!.body, {
      model: 'text-embedding-3-small',
      input: ['a', 'b'],
      dimensions: 6,
    });
    assert.equal(sent!.headers.authorization, 'Bearer env');
    assert.equal(open({ ...embedder, model: 'text-embedding-3-large' }).dimensions, 3072);
  });

  it('sends each text alone to OpenAI after a 400, a long one as tokens, and counts neither', async () => {
    const provider = open({
      ...{ source: 'openAi', model: 'text-embedding-3-small', dimensions: 4 },
      url: `${server.url}/v1/embeddings`,
    });
    const long = 'long '.repeat(300);
    server.next.push({ status: 400, body: { error: { message: 'too long' } } });
    const requests = new EmbedderRequests();
    await provider.embed(['short', long], call({ requests }));
    const [, ...again] = inputsSent();
    assert.deepEqual(
      new Set(again.map((input) => JSON.stringify(input))),
      new Set(['["short"]', '[1,2,3]']),
    );
    assert.deepEqual(requests.view()!.total, 1);
    server.next.push({ status: 400 }, { status: 400, body: { error: { message: 'still bad' } } });
    await fails(provider.embed(['x'], call()), /still bad/);
  });

  it('speaks both protocols of Ollama and no other', async () => {
    const one = open({
      source: 'ollama',
      model: 'm',
      url: `${server.url}/api/embeddings`,
      apiKey: 'k',
    });
    assert.equal(await learnDimensions(one, call()), 4);
    assert.deepEqual(await one.embed(['a', 'b'], call()), expected(['a', 'b']));
    const sent = server.take();
    assert.deepEqual(sent[0]!.body, { model: 'm', prompt: 'test' });
    assert.equal(sent[0]!.headers.authorization, 'Bearer k');
    const many = open({ source: 'ollama', model: 'm' }, { ollamaUrl: `${server.url}/api/embed` });
    assert.deepEqual(await many.embed(['a', 'b'], call()), expected(['a', 'b']));
    assert.deepEqual(server.take()[0]!.body, { model: 'm', input: ['a', 'b'] });
    assert.throws(
      () => open({ source: 'ollama', model: 'm', url: `${server.url}/api/chat` }),
      EmbeddingError,
    );
    server.next.push({ status: 404, body: { error: 'model "m" not found' } });
    await fails(many.embed(['a'], call()), /pull it first/);
  });

  const RETRIED: readonly [string, Misbehaviour][] = [
    ['429', { status: 429 }],
    ['500', { status: 500 }],
    ['503', { status: 503, text: 'busy' }],
    ['302', { status: 302 }],
    ['a broken connection', 'down'],
    ['a response that is cut off', 'cut'],
    ['a body that is not JSON', { status: 200, text: 'not JSON' }],
  ];
  for (const [name, how] of RETRIED) {
    it(`is asked again after ${name}`, async () => {
      const requests = new EmbedderRequests();
      server.next.push(how, how);
      assert.deepEqual(await open(rest()).embed(['x'], call({ requests })), expected(['x']));
      const { total, failed, lastError } = requests.view()!;
      assert.deepEqual([total, failed, typeof lastError], [3, 2, 'string']);
      assert.deepEqual(client.counts.of('embedder'), { requests: 3, failures: 2 });
    });
  }

  it('is asked again after it was silent for too long', async () => {
    server.next.push('silent');
    assert.deepEqual(await open(rest(), { timeoutMs: 100 }).embed(['x'], call()), expected(['x']));
  });

  it('is called at most eleven times', async () => {
    server.always = () => ({ status: 500, body: { message: 'never' } });
    const requests = new EmbedderRequests();
    await fails(open(rest()).embed(['x'], call({ requests })), /500.*never/);
    assert.deepEqual(requests.view()!.total, 11);
  });

  for (const status of [400, 401, 402, 403, 404, 409, 422, 451]) {
    it(`is not asked again after ${status}`, async () => {
      server.next.push({ status, body: { detail: [{ msg: 'no way' }] } });
      const error = await fails(open(rest()).embed(['x'], call()), new RegExp(`${status}.*no way`));
      assert.deepEqual(error.inputs, [0, 1]);
      assert.equal(server.take().length, 1);
    });
  }

  const UNFIT: readonly [string, unknown, RegExp][] = [
    ['a misspelled key', { dta: [{ embedding: [1, 0, 0, 0] }] }, /has no `data`; there is `dta`/],
    ['an error with 200', { error: { message: 'quota' } }, /quota/],
    ['no list', { data: { embedding: [1, 0, 0, 0] } }, /`answer\.data` is not a list/],
    [
      'no number',
      { data: [{ embedding: ['a', 0, 0, 0] }] },
      /`answer\.data\[0\]\.embedding\[0\]` is not a number/,
    ],
    ['null in it', { data: [{ embedding: [1, null, 0, 0] }] }, /is not a number/],
    ['a number too large', { data: [{ embedding: [1e39, 0, 0, 0] }] }, /is not a number/],
    ['an empty embedding', { data: [{ embedding: [] }] }, /is empty/],
    ['a short embedding', { data: [{ embedding: [1, 0, 0] }] }, /has 3 dimensions where 4/],
    ['too few', { data: [] }, /0 embeddings for 1 inputs/],
    [
      'too many',
      { data: [{ embedding: [1, 0, 0, 0] }, { embedding: [1, 0, 0, 0] }] },
      /2 embeddings for 1/,
    ],
    ['null', null, /is not an object/],
  ];
  for (const [name, body, message] of UNFIT) {
    it(`is refused, and not called again, when it sends ${name}`, async () => {
      server.next.push({ status: 200, text: JSON.stringify(body) });
      const requests = new EmbedderRequests();
      await fails(open(rest()).embed(['x'], call({ requests })), message);
      assert.deepEqual([requests.view()!.total, requests.view()!.failed], [1, 1]);
    });
  }

  it('gets a refused request in halves, until single texts remain', async () => {
    server.always = ({ body }) =>
      (body as { input: string[] }).input.length > 2 ? { status: 413 } : 'ok';
    assert.deepEqual(await open(rest()).embed(texts(10), call()), expected(texts(10)));
    server.always = () => ({ status: 400, body: { error: 'batch size 10 exceeds the maximum' } });
    server.take();
    await fails(open(rest()).embed(texts(4), call()), /exceeds/);
    assert.ok(server.take().some(({ body }) => (body as { input: string[] }).input.length === 1));
  });

  it('waits as long as the provider requests, up to the limit', async () => {
    server.next.push({ status: 429, headers: { 'retry-after': '1' } });
    const begin = performance.now();
    await open(rest(), { waitMsMax: 60 }).embed(['x'], call());
    assert.ok(performance.now() - begin >= 59);
  });

  it('is not called once the deadline is too near', async () => {
    server.always = () => ({ status: 500, headers: { 'retry-after': '60' } });
    const deadline = Date.now() + 30_000;
    const provider = open(rest(), { waitMsMax: 60_000 });
    await fails(provider.embed(['x'], call({ deadline })), /500/);
    assert.equal(server.take().length, 1);
  });

  it('can be canceled during a request and during a wait', async () => {
    for (const how of ['silent', { status: 503 }] as const) {
      const cancel = new AbortController();
      server.always = () => {
        setImmediate(() => cancel.abort(new Error('canceled')));
        return how;
      };
      const provider = open(rest(), { waitMsMax: 60_000 });
      server.next.push(...(how === 'silent' ? [] : Array<Misbehaviour>(4).fill(how)));
      await assert.rejects(provider.embed(['x'], call({ signal: cancel.signal })), /canceled/);
    }
  });

  it('is not called again when one of the requests has failed', async () => {
    server.next.push({ status: 401 });
    await fails(open(single()).embed(texts(50), call({ limit: new ConcurrencyLimit(1) })), /401/);
    assert.ok(server.take().length <= 2);
  });

  it('repeats no key in an error', async () => {
    const key = 'sk-0123456789';
    server.next.push({ status: 401, body: { error: { message: `Incorrect key: ${key}` } } });
    const error = await fails(
      open(rest({ apiKey: key })).embed(['x'], call()),
      /Incorrect key: \*\*\*/,
    );
    assert.ok(!error.message.includes(key));
  });

  it('with a forbidden address is refused at once', async () => {
    await client.close();
    client = new OutboundClient({ denyPrivate: true, allow: [] });
    await fails(open(rest()).embed(['x'], call()), /not allowed/);
    assert.equal(server.take().length, 0);
  });

  it('survives one failure in five: every text is embedded', async () => {
    let number = 0;
    server.always = () => (number++ % 5 === 0 ? { status: 503 } : 'ok');
    const many = texts(2_000);
    const requests = new EmbedderRequests();
    assert.deepEqual(await open(rest()).embed(many, call({ requests })), expected(many));
    assert.equal(requests.view()!.total - requests.view()!.failed, 200);
  });
});
