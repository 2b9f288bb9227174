/** Models that run on this machine, with a real one where it is present. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { EmbeddingError } from '../../../src/embedding/embedding-error.ts';
import { LocalModels } from '../../../src/embedding/local-model.ts';
import { pooled, shortenedPair } from '../../../src/embedding/local-model-process.ts';
import { modelFiles, type ModelSource } from '../../../src/embedding/model-files.ts';
import { learnDimensions } from '../../../src/embedding/provider.ts';
import { ConcurrencyLimit } from '../../../src/outbound/concurrency-limit.ts';
import { OutboundClient } from '../../../src/outbound/outbound-client.ts';

const MODEL = resolve(process.env.GANNET_SHARED ?? '../shared', 'models/all-MiniLM-L6-v2');
const installed = existsSync('node_modules/onnxruntime-node');

function cosine(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array): number =>
    x.reduce((sum, v, i) => sum + v * y[i]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

describe('A model that runs here', () => {
  const huggingFace = { source: 'huggingFace', pooling: 'useModel' } as const;
  const call = { limit: new ConcurrencyLimit(1) };
  let client: OutboundClient;
  let folder: string;
  let models: LocalModels;
  let source: ModelSource;

  beforeEach(() => {
    client = new OutboundClient({ denyPrivate: false, allow: [] });
    folder = mkdtempSync(join(tmpdir(), 'gannet-'));
    source = { client, cacheDir: folder, hubUrl: 'http://127.0.0.1:1' };
    models = new LocalModels({ ...source, threads: 1 });
  });
  afterEach(async () => {
    await models.close();
    await client.close();
    rmSync(folder, { recursive: true });
  });

  it('knows which sentences are near each other', async function () {
    if (!installed || !existsSync(MODEL)) this.skip();
    const provider = models.open({ source: 'huggingFace', model: MODEL, pooling: 'useModel' });
    assert.equal(await learnDimensions(provider, call), 384);
    const texts = [
      'a brave dog runs in the park',
      'a courageous puppy',
      'tax law for companies',
      ...Array.from({ length: 40 }, (_, i) => 'word '.repeat(i * 20)),
      'a courageous puppy',
    ];
    const embeddings = await provider.embed(texts, call);
    assert.equal(embeddings.length, texts.length);
    assert.ok(Math.abs(cosine(embeddings[0]!, embeddings[1]!) - 0.479) < 0.01);
    assert.ok(Math.abs(cosine(embeddings[0]!, embeddings[2]!) + 0.021) < 0.01);
    assert.ok(cosine(embeddings[1]!, embeddings.at(-1)!) > 0.9999);
    const first = models.open({ source: 'huggingFace', model: MODEL, pooling: 'forceCls' });
    const [other] = await first.embed(['a courageous puppy'], call);
    assert.ok(cosine(other!, embeddings[1]!) < 0.99);
  });

  it('embeds queries before waiting documents', async function () {
    if (!installed || !existsSync(MODEL)) this.skip();
    const provider = models.open({ source: 'huggingFace', model: MODEL, pooling: 'useModel' });
    const order: string[] = [];
    const ask = (name: string, deadline?: number): Promise<unknown> =>
      provider.embed([name], { ...call, deadline }).then(() => order.push(name));
    await provider.embed(['first'], call);
    await Promise.all([ask('document 1'), ask('document 2'), ask('query', Date.now() + 60_000)]);
    assert.deepEqual(order, ['document 1', 'query', 'document 2']);
  });

  it('that does not exist is reported with what is missing', async () => {
    const cases: [string, RegExp][] = [
      [folder, /has no `config\.json`/],
      ['../nowhere', /has no `config\.json`/],
      ['a/b/c', /neither the name of a model nor/],
      ['../../..x y', /has no|neither/],
      ['owner/..', /neither/],
      ['owner/name', /cannot be downloaded/],
    ];
    for (const [model, message] of cases) {
      const work = models.open({ ...huggingFace, model }).embed(['x'], call);
      await assert.rejects(
        work,
        (error) => error instanceof EmbeddingError && message.test(error.message),
        model,
      );
    }
  });

  it('listens to the signal of a batch only while its texts are embedded', async () => {
    for (const name of ['config.json', 'tokenizer.json', 'model.onnx']) {
      writeFileSync(join(folder, name), '{}');
    }
    const { signal } = new AbortController();
    const provider = models.open({ ...huggingFace, model: folder });
    const work = provider.embed(['x'], { ...call, signal });
    await assert.rejects(work, EmbeddingError);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  it('forgets the documents of a search that has ended', async () => {
    for (const name of ['config.json', 'tokenizer.json', 'model.onnx']) {
      writeFileSync(join(folder, name), '{}');
    }
    const ending = new AbortController();
    const score = (signal?: AbortSignal): Promise<number[]> =>
      models.score({ model: folder }, 'q', ['x', 'y'], { deadline: Infinity, signal });
    const order: string[] = [];
    const running = assert.rejects(score(), EmbeddingError).then(() => order.push('running'));
    const waiting = assert.rejects(score(ending.signal), /ended/).then(() => order.push('waiting'));
    // Both have reached the queue.
    while (getEventListeners(ending.signal, 'abort').length === 0) await setImmediate();
    ending.abort(new Error('the search has ended'));
    await Promise.all([running, waiting]);
    assert.deepEqual(order, ['waiting', 'running']);
    assert.equal(getEventListeners(ending.signal, 'abort').length, 0);
    await assert.rejects(score(ending.signal), /ended/);
  });

  it('runs no query whose deadline has passed', async () => {
    for (const name of ['config.json', 'tokenizer.json', 'model.onnx']) {
      writeFileSync(join(folder, name), '{}');
    }
    const provider = models.open({ ...huggingFace, model: folder });
    const late = provider.embed(['x'], { ...call, deadline: Date.now() - 1 });
    await assert.rejects(late, /was busy for too long/);
  });

  it('is downloaded once, and again if the download was incomplete', async () => {
    const files: Record<string, string> = {
      'config.json': '{}',
      'tokenizer.json': '{}',
      'onnx/model.onnx': 'x'.repeat(100_000),
    };
    const asked: string[] = [];
    let cut = true;
    const hub: Server = createServer((request, response) => {
      asked.push(request.url!);
      const name = /^\/owner\/name\/resolve\/v1\/(.*)$/.exec(request.url!)?.[1];
      if (name === 'onnx/model.onnx') {
        response.writeHead(302, { location: '/elsewhere' }).end();
      } else if (request.url === '/elsewhere') {
        response.writeHead(200, { 'content-length': 100_000 });
        if (cut) response.write('x', () => response.destroy());
        else response.end(files['onnx/model.onnx']);
      } else if (name !== undefined && files[name] !== undefined) response.end(files[name]);
      else response.writeHead(404).end();
    });
    await new Promise<void>((done) => {
      hub.listen(0, '127.0.0.1', done);
    });
    source.hubUrl = `http://127.0.0.1:${(hub.address() as AddressInfo).port}`;
    await assert.rejects(modelFiles('owner/name', 'v1', source, undefined), EmbeddingError);
    cut = false;
    const found = await modelFiles('owner/name', 'v1', source, undefined);
    assert.equal(found.encoder, 'onnx/model.onnx');
    const before = asked.length;
    assert.deepEqual(await modelFiles('owner/name', 'v1', source, undefined), found);
    assert.equal(asked.length, before);
    await assert.rejects(modelFiles('owner/name', '../x', source, undefined), /not a revision/);
    hub.close();
  });

  it('combines the embeddings of tokens in five ways', () => {
    const tokens = Float32Array.from([1, -2, 3, 4, 5, 0, 7, 2]);
    const expected = {
      cls: [1, -2],
      last: [7, 2],
      max: [7, 4],
      mean: [4, 1],
      meanSqrtLength: [8, 2],
    };
    for (const [pooling, embedding] of Object.entries(expected)) {
      assert.deepEqual(
        [...pooled(tokens, 2, pooling as keyof typeof expected)],
        embedding,
        pooling,
      );
    }
  });

  it('shortens the document of a pair, and a query that takes more than half', () => {
    const range = (from: number, count: number): number[] =>
      Array.from({ length: count }, (_, n) => from + n);
    for (const [q, d, max, queryKept, documentKept] of [
      [3, 20, 16, 3, 10],
      [20, 3, 16, 10, 3],
      [20, 20, 16, 6, 7],
      [20, 0, 16, 13, 0],
      [0, 20, 16, 0, 13],
      [5, 5, 3, 0, 0],
    ] as const) {
      const [query, document] = [range(100, q), range(200, d)];
      const pair = {
        ids: [1, ...query, 2, ...document, 2],
        types: [0, ...query.map(() => 0), 0, ...document.map(() => 1), 1],
      };
      const { ids, types } = shortenedPair(pair, [query, document], max);
      const [first, second] = [query.slice(0, queryKept), document.slice(0, documentKept)];
      assert.deepEqual(ids, [1, ...first, 2, ...second, 2], `${q} ${d}`);
      assert.deepEqual(types, [0, ...first.map(() => 0), 0, ...second.map(() => 1), 1]);
    }
  });
});
