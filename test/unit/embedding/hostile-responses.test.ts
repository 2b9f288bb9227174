/** Invalid responses of embedding providers: each gives an embedding error or valid embeddings. */
import assert from 'node:assert/strict';
import { EmbeddingError } from '../../../src/embedding/embedding-error.ts';
import { learnDimensions } from '../../../src/embedding/provider.ts';
import { openProvider } from '../../../src/embedding/providers.ts';
import { ConcurrencyLimit } from '../../../src/outbound/concurrency-limit.ts';
import { OutboundCounts } from '../../../src/outbound/outbound-counts.ts';
import type { OutboundClient } from '../../../src/outbound/outbound-client.ts';
import { mulberry } from '../../support/random.ts';
import { storedEmbedder } from '../../support/stored-embedder.ts';

const SEED = Number(process.env['GANNET_SEED'] ?? 1);
const RIGHT = [0.5, -1, 0, 2e-3];

type Embedder = Record<string, unknown>;

const url = 'http://127.0.0.1:9/x';
/** For each protocol: an embedder, and the response for embeddings. */
const PROTOCOLS: [
  name: string,
  embedder: Embedder,
  responseWith: (embeddings: unknown[]) => unknown,
][] = [
  [
    'openAi',
    { source: 'openAi', url, model: 'text-embedding-3-small' },
    (all) => ({ data: all.map((embedding, index) => ({ index, embedding })), usage: {} }),
  ],
  [
    'ollama, many',
    { source: 'ollama', model: 'm', url: `${url}/api/embed` },
    (all) => ({ embeddings: all }),
  ],
  [
    'ollama, one',
    { source: 'ollama', model: 'm', url: `${url}/api/embeddings` },
    ([one]) => ({ embedding: one }),
  ],
  [
    'rest, a list of objects',
    {
      ...{ source: 'rest', url, request: { input: ['{{text}}', '{{..}}'] } },
      response: { data: [{ embedding: '{{embedding}}' }, '{{..}}'] },
    },
    (all) => ({ data: all.map((embedding) => ({ embedding })) }),
  ],
  [
    'rest, a list of embeddings deep inside',
    {
      ...{ source: 'rest', url, request: { texts: ['{{text}}', '{{..}}'] } },
      response: { embeddings: { float: ['{{embedding}}', '{{..}}'] } },
    },
    (all) => ({ embeddings: { float: all } }),
  ],
  [
    'rest, one',
    {
      ...{ source: 'rest', url, request: { input: '{{text}}' } },
      response: { result: [{ vector: '{{embedding}}' }] },
    },
    ([one]) => ({ result: [{ vector: one }] }),
  ],
];

/** The outcome of embedding a text when the provider sends this response. */
async function embedded(
  embedder: Embedder,
  text: string,
  dimensions: number | null = 4,
): Promise<Float32Array[]> {
  const client = {
    counts: new OutboundCounts(),
    fetch: () =>
      Promise.resolve({
        ...{ status: 200, headers: {}, body: Buffer.from(text) },
        hide: (said: string) => said,
      }),
  } as unknown as OutboundClient;
  const provider = openProvider(
    storedEmbedder(dimensions === null ? embedder : { ...embedder, dimensions }),
    {
      client,
      options: { timeoutMs: 1000, waitMsMax: 0, openAiKey: null, ollamaUrl: null },
      shortenText: (whole) => Promise.resolve(whole),
      localModel: () => assert.fail(),
    },
  );
  const call = { limit: new ConcurrencyLimit(1) };
  if (dimensions === null) await learnDimensions(provider, call);
  return provider.embed(['a text'], call);
}

async function refused(work: Promise<unknown>, about: string): Promise<string> {
  const error = await work.then(
    (value) => assert.fail(`${about}: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof EmbeddingError, `${about}: ${String(error)}`);
  assert.ok(error.message.length < 1000, error.message);
  return error.message;
}

const deep = (levels: number, open: string, close: string): string =>
  open.repeat(levels) + close.repeat(levels);

describe('Hostile responses of an embedding provider', () => {
  const wrong: [name: string, embedding: unknown][] = [
    ['null', null],
    ['a text', 'AACAPwAAAEA='],
    ['a number', 1],
    ['a Boolean', true],
    ['an object', { 0: 1, 1: 1, 2: 1, 3: 1, length: 4 }],
    ['an empty list', []],
    ['too few numbers', [1, 2, 3]],
    ['too many numbers', [1, 2, 3, 4, 5]],
    ['texts', ['1', '2', '3', '4']],
    ['a null among numbers', [1, null, 3, 4]],
    ['NaN as a text', [1, 'NaN', 3, 4]],
    ['a number beyond single precision', [1, 2, 3, 1e39]],
    ['a number beyond double precision', 'infinite'],
    ['a list in the list', [[1, 2, 3, 4]]],
    ['lists as numbers', [[1], [2], [3], [4]]],
    ['objects as numbers', [{}, {}, {}, {}]],
    ['Booleans', [true, false, true, false]],
  ];
  for (const [protocol, embedder, responseWith] of PROTOCOLS) {
    it(`${protocol}: a valid one is accepted`, async () => {
      const text = JSON.stringify(responseWith([RIGHT]));
      // The dimensions of OpenAI's models are known.
      for (const dimensions of embedder['source'] === 'openAi' ? [4] : [4, null]) {
        const [embedding, ...more] = await embedded(embedder, text, dimensions);
        assert.deepEqual([embedding, more], [Float32Array.from(RIGHT), []]);
      }
    });

    for (const [name, embedding] of wrong) {
      it(`${protocol}: ${name} is refused`, async () => {
        const text = JSON.stringify(responseWith([embedding])).replace(
          '"infinite"',
          '[1,2,3,1e999]',
        );
        await refused(embedded(embedder, text), text);
      });
    }

    it(`${protocol}: other shapes and other things than JSON are refused`, async () => {
      const shapes = ['', 'null', '1', '"x"', '[]', '{}', '[[]]', '{"data":null}', '{"data":{}}'];
      const more = ['{"data":[null]}', '{"data":[[]]}', '{"embeddings":[null]}', '{"result":[]}'];
      const deeper = [deep(100_000, '[', ']'), deep(100_000, '{"error":', '}').replace('}', '1}')];
      for (const text of [...shapes, ...more, ...deeper, '<html>', '{"embedding":[1,2', '\u0000']) {
        await refused(embedded(embedder, text), text.slice(0, 100));
      }
    });

    it(`${protocol}: more dimensions than any embedder may have are not learned`, async () => {
      const text = JSON.stringify(responseWith([Array.from({ length: 65_537 }, () => 1)]));
      assert.match(await refused(embedded(embedder, text, null), 'long'), /65537 dimensions/);
    });

    it(`${protocol}: one changed anywhere is refused, or gives valid embeddings (seed ${SEED})`, async () => {
      const random = mulberry(SEED);
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
      const values = [
        null,
        true,
        0,
        -1,
        1e300,
        '',
        '1',
        'x',
        [],
        {},
        [1, 2, 3, 4],
        [[]],
        { a: [] },
      ];
      const changed = (value: unknown): unknown => {
        const isInner = typeof value === 'object' && value !== null && random() < 0.85;
        if (!isInner) return pick(values);
        const keys = Object.keys(value);
        const key = pick(keys);
        if (Array.isArray(value)) {
          const list = [...(value as unknown[])];
          const kind = random();
          if (kind < 0.15) list.splice(Number(key), 1);
          else if (kind < 0.3) list.push(pick(values));
          else list[Number(key)] = changed(list[Number(key)]);
          return list;
        }
        const { [key]: inner, ...others } = value as Record<string, unknown>;
        return random() < 0.15 ? others : { ...others, [key]: changed(inner) };
      };
      for (let n = 0; n < 300; n++) {
        const text = JSON.stringify(changed(responseWith([RIGHT])));
        const outcome = await embedded(embedder, text).catch((error: unknown) => error);
        if (outcome instanceof EmbeddingError) continue;
        assert.ok(Array.isArray(outcome), `${text}: ${String(outcome)}`);
        assert.deepEqual([outcome.length, outcome[0].length], [1, 4], text);
        assert.ok((outcome[0] as Float32Array).every(Number.isFinite), text);
      }
    });
  }
});
