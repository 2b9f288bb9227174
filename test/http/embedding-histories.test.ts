/**
 * Random histories of one index with an embedder, beside a twin that is told step by step what embedders.md 10 and 11
 * say: after every task the embeddings are those of the twin, and the provider was asked for exactly what the twin expects.
 */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';
import { EmbeddingProvider, wordEmbedding } from '../support/embedding-provider.ts';
import { mulberry } from '../support/random.ts';

type Json = any;

const ROUNDS = Number(process.env.GANNET_ROUNDS ?? 120);
const IDS = 6;

interface Twin {
  fields: Record<string, Json>;
  regenerate: boolean;
  embeddings: number[][];
  /** The text that the embeddings are made of; null: they were given, or there are none. */
  madeOf: string | null;
}

describe('Histories of embeddings', () => {
  let server: BuiltServer;
  let provider: EmbeddingProvider;

  before(async () => {
    provider = await EmbeddingProvider.start();
    server = await startBuiltServer();
  });
  after(async () => {
    await server.close();
    provider.stop();
  });

  it('are those of the twin', async () => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    console.log(`      histories: SEED=${seed} GANNET_ROUNDS=${ROUNDS}`);
    const next = mulberry(seed);
    const below = (end: number): number => Math.floor(next() * end);
    const oneOf = <T>(...list: T[]): T => list[below(list.length)]!;
    const word = (): string => oneOf('red', 'green', 'blue', 'red apple', '');

    const twins = new Map<number, Twin>();
    let field = 'title';
    let version = 0;
    let expected: string[] = [];
    const textOf = ({ fields }: Twin): string => `${field === 'title' ? '' : 'x '}${fields[field]}`;
    const embed = (twin: Twin): void => {
      const text = textOf(twin);
      expected.push(text);
      twin.embeddings = [wordEmbedding(text, 4)];
      twin.madeOf = text;
    };

    const embedderOf = (): Json => ({
      ...{ source: 'rest', url: `${provider.url}/rest/one`, dimensions: 4 },
      request: { input: '{{text}}', version },
      response: { embedding: '{{embedding}}' },
      documentTemplate: field === 'title' ? '{{ doc.title }}' : 'x {{ doc.text }}',
    });

    function apply(document: Json, replace: boolean): void {
      const { _vectors, ...sent } = document;
      const old = twins.get(sent.id);
      const before = old === undefined ? null : textOf(old);
      const twin: Twin = {
        regenerate: old?.regenerate ?? true,
        embeddings: old?.embeddings ?? [],
        madeOf: old?.madeOf ?? null,
        fields: replace || old === undefined ? sent : { ...old.fields, ...sent },
      };
      twins.set(sent.id, twin);
      const changed = before !== textOf(twin);
      const value = _vectors === undefined ? undefined : _vectors.e;
      if (value === undefined) {
        if (old === undefined || (old.regenerate && changed)) embed(twin);
        return;
      }
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      const given = isObject ? value.embeddings : (value ?? []);
      twin.regenerate = isObject ? value.regenerate : false;
      if (given !== undefined && given !== null) {
        const list = given.length === 0 || Array.isArray(given[0]) ? given : [given];
        twin.embeddings = list;
        twin.madeOf = null;
      } else if (!twin.regenerate) {
        // What there is stays.
      } else if (old === undefined || !old.regenerate || changed) embed(twin);
    }

    const vectorsOf = (): Json =>
      oneOf<Json>(
        ...[undefined, undefined, undefined, undefined, null, [], [1, 0, 0, 0]],
        ...[
          [
            [1, 0, 0, 0],
            [0, 1, 0, 0],
          ],
          { regenerate: true },
          { regenerate: false },
        ],
        ...[
          { regenerate: true, embeddings: [0, 0, 1, 0] },
          { regenerate: true, embeddings: [] },
        ],
        ...[
          { regenerate: false, embeddings: [0, 0, 1, 0] },
          { regenerate: true, embeddings: null },
        ],
      );

    async function step(): Promise<string> {
      const kind = below(20);
      if (kind < 15) {
        const replace = below(2) === 0;
        const ids = new Set(Array.from({ length: below(3) + 1 }, () => below(IDS)));
        const documents = [...ids].map((id) => {
          const e = vectorsOf();
          const whole = replace || !twins.has(id);
          return {
            id,
            ...(whole || below(2) === 0 ? { title: word() } : {}),
            ...(whole || below(2) === 0 ? { text: word() } : {}),
            ...(below(2) === 0 ? { n: below(3) } : {}),
            ...(e === undefined ? {} : { _vectors: { e } }),
          };
        });
        for (const document of documents) apply(document, replace);
        const method = replace ? 'POST' : 'PUT';
        const task = await server.finish(method, '/indexes/i/documents?primaryKey=id', {
          body: documents,
        });
        assert.equal(task.status, 'succeeded', JSON.stringify(task));
        return `${method} ${JSON.stringify(documents)}`;
      }
      if (kind < 17) {
        const id = below(IDS);
        twins.delete(id);
        await server.finish('DELETE', `/indexes/i/documents/${id}`);
        return `DELETE ${id}`;
      }
      const all = kind === 17;
      if (all) version++;
      else field = field === 'title' ? 'text' : 'title';
      for (const twin of twins.values()) {
        if (twin.regenerate && (all || twin.madeOf !== textOf(twin))) embed(twin);
      }
      const task = await server.finish('PATCH', '/indexes/i/settings/embedders', {
        body: { e: embedderOf() },
      });
      assert.equal(task.status, 'succeeded', JSON.stringify(task));
      return `embed ${field}, version ${version}`;
    }

    await server.finish('PATCH', '/indexes/i/settings/embedders', { body: { e: embedderOf() } });
    const history: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      expected = [];
      provider.take();
      history.push(await step());
      const place = `\n${history.join('\n')}`;
      const asked = provider.take().map(({ body }) => (body as { input: string }).input);
      assert.deepEqual(asked.sort(), expected.sort(), place);
      const { json } = await server.call('GET', '/indexes/i/documents?retrieveVectors=true');
      const seen = new Map<number, Json>(
        json.results.map((document: Json) => [document.id, document]),
      );
      assert.deepEqual([...seen.keys()].sort(), [...twins.keys()].sort(), place);
      for (const [id, twin] of twins) {
        const { _vectors, ...fields } = seen.get(id);
        assert.deepEqual(fields, twin.fields, place);
        const { embeddings, regenerate } = _vectors.e;
        const found = {
          regenerate,
          embeddings: embeddings.map((row: number[]) => row.map(Math.fround)),
        };
        const wanted = { regenerate: twin.regenerate, embeddings: twin.embeddings };
        assert.deepEqual(found, wanted, `document ${id}${place}`);
      }
    }
  });
});
