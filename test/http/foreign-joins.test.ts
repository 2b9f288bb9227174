/**
 * Foreign keys compared with a naive model: how hits change, and which documents a filter selects.
 */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Document = { [key: string]: Json };

/** A filter as a tree. `foreign`: the document that the field refers to meets its condition. */
type Tree =
  | { op: 'AND' | 'OR'; left: Tree; right: Tree }
  | { op: 'NOT'; of: Tree }
  | { op: 'own'; value: number }
  | { op: 'foreign'; field: string; of: Condition };

/** A condition on a document of another index. */
type Condition =
  | { op: 'AND' | 'OR'; left: Condition; right: Condition }
  | { op: 'NOT'; of: Condition }
  | { op: '=' | '<'; value: number };

const ROUNDS = 12;
const FILTERS = 8;
/** Fields that may hold references; all of them are filterable. */
const FIELDS = ['one', 'many', 'deep.id', 'deep.list.id', 'unused'];

describe('Foreign keys', () => {
  let server: BuiltServer;
  const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 2 ** 32);
  const random = mulberry(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;

  before(async () => {
    server = await startBuiltServer();
    await server.call('PATCH', '/experimental-features', { body: { foreignKeys: true } });
  });
  after(() => server.close());

  /** Ids as texts and numbers, some of no document, some invalid. */
  const reference = (): Json =>
    pick<() => Json>([
      () => `k${below(12)}`,
      () => below(12),
      () => `${below(12)}`,
      () => pick(['none', 'no id at all', '', 99]),
    ])();

  const optional = <T>(value: () => T): T | undefined => (below(4) === 0 ? undefined : value());

  function documentOf(id: number): Document {
    const list = (): Json[] => Array.from({ length: below(4) }, reference);
    const deep = {
      id: optional(() => (below(5) === 0 ? list() : reference())),
      list: optional(() => Array.from({ length: below(3) }, () => ({ id: reference(), n: 1 }))),
    };
    const document = {
      id,
      own: below(4),
      one: optional(() => pick<() => Json>([reference, () => null, () => true, () => 1.5])()),
      many: optional(list),
      deep: optional(() => deep),
    };
    return JSON.parse(JSON.stringify(document)) as Document;
  }

  /** The naive model: the hit with every reference at the path replaced. */
  function joined(value: Json, path: string[], foreign: Map<string, Document>): Json {
    if (Array.isArray(value)) return value.map((item) => joined(item, path, foreign));
    if (path.length === 0) {
      const isId = typeof value === 'string' || (typeof value === 'number' && value % 1 === 0);
      return isId ? (foreign.get(String(value)) ?? {}) : value;
    }
    if (value === null || typeof value !== 'object') return value;
    const [name, ...rest] = path as [string, ...string[]];
    if (!(name in value)) return value;
    return { ...value, [name]: joined(value[name]!, rest, foreign) };
  }

  /** All scalars at the path. */
  function valuesAt(value: Json | undefined, path: string[]): Json[] {
    if (value === undefined) return [];
    if (Array.isArray(value)) return value.flatMap((item) => valuesAt(item, path));
    if (path.length === 0) return [value];
    if (value === null || typeof value !== 'object') return [];
    return valuesAt(value[path[0]!], path.slice(1));
  }

  function meets(document: Document, condition: Condition): boolean {
    if (condition.op === 'NOT') return !meets(document, condition.of);
    if ('left' in condition) {
      const [left, right] = [meets(document, condition.left), meets(document, condition.right)];
      return condition.op === 'AND' ? left && right : left || right;
    }
    const rank = document['rank'] as number;
    return condition.op === '=' ? rank === condition.value : rank < condition.value;
  }

  function selects(document: Document, tree: Tree, foreign: Map<string, Document>): boolean {
    switch (tree.op) {
      case 'NOT':
        return !selects(document, tree.of, foreign);
      case 'AND':
        return selects(document, tree.left, foreign) && selects(document, tree.right, foreign);
      case 'OR':
        return selects(document, tree.left, foreign) || selects(document, tree.right, foreign);
      case 'own':
        return document['own'] === tree.value;
      case 'foreign':
        return valuesAt(document, tree.field.split('.')).some((value) => {
          const found = foreign.get(String(value));
          return typeof value !== 'boolean' && found !== undefined && meets(found, tree.of);
        });
    }
  }

  function conditionOf(depth: number): Condition {
    const kind = depth === 0 ? 3 : below(5);
    if (kind === 0) return { op: 'NOT', of: conditionOf(depth - 1) };
    if (kind > 2) return { op: pick(['=', '<'] as const), value: below(5) };
    const [left, right] = [conditionOf(depth - 1), conditionOf(depth - 1)];
    return { op: kind === 1 ? 'AND' : 'OR', left, right };
  }

  function treeOf(fields: string[], depth: number): Tree {
    const kind = depth === 0 ? 3 : below(5);
    if (kind === 0) return { op: 'NOT', of: treeOf(fields, depth - 1) };
    if (kind > 2) {
      return below(3) === 0
        ? { op: 'own', value: below(4) }
        : { op: 'foreign', field: pick(fields), of: conditionOf(2) };
    }
    const [left, right] = [treeOf(fields, depth - 1), treeOf(fields, depth - 1)];
    return { op: kind === 1 ? 'AND' : 'OR', left, right };
  }

  function textOf(tree: Tree | Condition): string {
    switch (tree.op) {
      case 'NOT':
        return `NOT (${textOf(tree.of)})`;
      case 'AND':
      case 'OR':
        return `(${textOf(tree.left)}) ${tree.op} (${textOf(tree.right)})`;
      case 'own':
        return `own = ${tree.value}`;
      case 'foreign':
        return `_foreign(${tree.field}, ${textOf(tree.of)})`;
      default:
        return `rank ${tree.op} ${tree.value}`;
    }
  }

  it(`join and select what plain loops do (GANNET_SEED=${seed})`, async () => {
    const foreign = new Map<string, Document>();
    for (let n = 0; n < 12; n++) {
      for (const id of [`k${n}`, n]) {
        foreign.set(String(id), {
          id,
          rank: below(5),
          name: `name ${n}`,
          home: { city: pick(['x', 'y']) },
        });
      }
    }
    await server.finish('PATCH', '/indexes/foreign/settings', {
      body: { filterableAttributes: ['rank'] },
    });
    await server.finish('POST', '/indexes/foreign/documents?primaryKey=id', {
      body: [...foreign.values()],
    });
    for (let round = 0; round < ROUNDS; round++) {
      const fields = FIELDS.filter(() => below(3) > 0);
      const foreignKeys = fields.map((fieldName) => ({ foreignIndexUid: 'foreign', fieldName }));
      await server.finish('DELETE', '/indexes/own/documents');
      await server.finish('PATCH', '/indexes/own/settings', {
        body: { filterableAttributes: [...FIELDS, 'own'], foreignKeys },
      });
      const documents = Array.from({ length: 25 }, (_, id) => documentOf(id));
      await server.finish('POST', '/indexes/own/documents?primaryKey=id', { body: documents });
      const expected = (tree: Tree | null): Json[] =>
        documents
          .filter((document) => tree === null || selects(document, tree, foreign))
          .map((document) =>
            fields.reduce<Json>(
              (hit, field) => joined(hit, field.split('.'), foreign),
              structuredClone(document),
            ),
          );
      for (let n = 0; n < FILTERS; n++) {
        const tree = n === 0 || fields.length === 0 ? null : treeOf(fields, 3);
        const filter = tree === null ? null : textOf(tree);
        const context = `round ${round}, keys ${fields.join(' ')}, filter ${filter}`;
        const query = { filter, limit: 100 };
        const search = await server.call('POST', '/indexes/own/search', { body: query });
        assert.deepEqual(search.json.hits, expected(tree), context);
        const multi = await server.call('POST', '/multi-search', {
          body: { queries: [{ indexUid: 'own', ...query }] },
        });
        assert.deepEqual(multi.json.results[0].hits, expected(tree), context);
        const merged = await server.call('POST', '/multi-search', {
          body: { federation: { limit: 100 }, queries: [{ indexUid: 'own', filter }] },
        });
        for (const hit of merged.json.hits) delete hit['_federation'];
        assert.deepEqual(merged.json.hits, expected(tree), context);
      }
    }
  });

  it('are refused in filters that change documents: first for the feature, then for the location', async () => {
    const edit = { function: 'doc.x = 1' };
    const ways: [string, object][] = [
      ['delete', {}],
      ['edit', edit],
    ];
    const codes = async (filter: unknown): Promise<string[]> => {
      const found: string[] = [];
      for (const [way, body] of ways) {
        const path = `/indexes/people/documents/${way}`;
        found.push((await server.call('POST', path, { body: { ...body, filter } })).json.code);
      }
      return found;
    };
    const both = (code: string): string[] => [code, code];
    await server.call('PATCH', '/experimental-features', {
      body: { editDocumentsByFunction: true },
    });
    const condition = '_foreign(friend, id = a)';
    for (const filter of [condition, `id = 1 AND NOT ${condition}`, ['id = 1', [condition]]]) {
      assert.deepEqual(await codes(filter), both('invalid_document_filter'));
      await server.call('PATCH', '/experimental-features', { body: { foreignKeys: false } });
      assert.deepEqual(await codes(filter), both('feature_not_enabled'));
      await server.call('PATCH', '/experimental-features', { body: { foreignKeys: true } });
    }
    for (const filter of ['_foreign(friend', '_foreign(friend)', '_foreign friend']) {
      assert.deepEqual(await codes(filter), both('invalid_document_filter'));
    }
  });

  it('end where documents point to themselves or in a circle', async () => {
    const people = [
      { id: 'a', friend: 'b' },
      { id: 'b', friend: 'a' },
      { id: 'self', friend: 'self' },
    ];
    await server.finish('PATCH', '/indexes/people/settings', {
      body: {
        filterableAttributes: ['friend', 'id'],
        foreignKeys: [{ foreignIndexUid: 'people', fieldName: 'friend' }],
      },
    });
    await server.finish('POST', '/indexes/people/documents', { body: people });
    const { json } = await server.call('POST', '/indexes/people/search', {
      body: { filter: '_foreign(friend, friend = a OR friend = self)' },
    });
    assert.deepEqual(json.hits, [
      { id: 'a', friend: { id: 'b', friend: 'a' } },
      { id: 'self', friend: { id: 'self', friend: 'self' } },
    ]);
  });
});
