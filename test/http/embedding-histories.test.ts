/**
 * Random histories of one index with an embedder, compared with a reference model that implements
 * embedders.md 10 and 11 step by step: after every task the embeddings match the model, and the
 * provider got exactly the inputs that the model expects.
 */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';
import { EmbeddingProvider, wordEmbedding } from '../support/embedding-provider.ts';
import { mulberry } from '../support/random.ts';

type Json = any;

const ROUNDS = Number(process.env.GANNET_ROUNDS ?? 120);
const IDS = 6;

interface Model {
  fields: Record<string, Json>;
  regenerate: boolean;
  embeddings: number[][];
  /** The text of the embeddings; null: they were given, or there are none. */
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

  it('are those of the model', async () => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    console.log(`      histories: SEED=${seed} GANNET_ROUNDS=${ROUNDS}`);
    const next = mulberry(seed);
    const below = (end: number): number => Math.floor(next() * end);
    const oneOf = <T>(...list: T[]): T => list[below(list.length)]!;
    const word = (): string => oneOf('red', 'green', 'blue', 'red apple', '');

    const models = new Map<number, Model>();
    let field = 'title';
    let version = 0;
    let expected: string[] = [];
    const textOf = ({ fields }: Model): string =>
      `${field === 'title' ? '' : 'x '}${fields[field]}`;
    const embed = (model: Model): void => {
      const text = textOf(model);
      expected.push(text);
      model.embeddings = [wordEmbedding(text, 4)];
      model.madeOf = text;
    };

    const embedderOf = (): Json => ({
      ...{ source: 'rest', url: `${provider.url}/rest/one`, dimensions: 4 },
      request: { input: '{{text}}', version },
      response: { embedding: '{{embedding}}' },
      documentTemplate: field === 'title' ? '{{ doc.title }}' : 'x {{ doc.text }}',
    });

    function apply(document: Json, replace: boolean): void {
      const { _vectors, ...sent } = document;
      const old = models.get(sent.id);
      const before = old === undefined ? null : textOf(old);
      const model: Model = {
        regenerate: old?.regenerate ?? true,
        embeddings: old?.embeddings ?? [],
        madeOf: old?.madeOf ?? null,
        fields: replace || old === undefined ? sent : { ...old.fields, ...sent },
      };
      models.set(sent.id, model);
      const changed = before !== textOf(model);
      const value = _vectors === undefined ? undefined : _vectors.e;
      if (value === undefined) {
        if (old === undefined || (old.regenerate && changed)) embed(model);
        return;
      }
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      const given = isObject ? value.embeddings : (value ?? []);
      model.regenerate = isObject ? value.regenerate : false;
      if (given !== undefined && given !== null) {
        const list = given.length === 0 || Array.isArray(given[0]) ? given : [given];
        model.embeddings = list;
        model.madeOf = null;
      } else if (!model.regenerate) {
        // Existing ones stay.
      } else if (old === undefined || !old.regenerate || changed) embed(model);
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
          const whole = replace || !models.has(id);
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
        models.delete(id);
        await server.finish('DELETE', `/indexes/i/documents/${id}`);
        return `DELETE ${id}`;
      }
      const all = kind === 17;
      if (all) version++;
      else field = field === 'title' ? 'text' : 'title';
      for (const model of models.values()) {
        if (model.regenerate && (all || model.madeOf !== textOf(model))) embed(model);
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
      const context = `\n${history.join('\n')}`;
      const asked = provider.take().map(({ body }) => (body as { input: string }).input);
      assert.deepEqual(asked.sort(), expected.sort(), context);
      const { json } = await server.call('GET', '/indexes/i/documents?retrieveVectors=true');
      const seen = new Map<number, Json>(
        json.results.map((document: Json) => [document.id, document]),
      );
      assert.deepEqual([...seen.keys()].sort(), [...models.keys()].sort(), context);
      for (const [id, model] of models) {
        const { _vectors, ...fields } = seen.get(id);
        assert.deepEqual(fields, model.fields, context);
        const { embeddings, regenerate } = _vectors.e;
        const found = {
          regenerate,
          embeddings: embeddings.map((row: number[]) => row.map(Math.fround)),
        };
        const wanted = { regenerate: model.regenerate, embeddings: model.embeddings };
        assert.deepEqual(found, wanted, `document ${id}${context}`);
      }
    }
  });
});
