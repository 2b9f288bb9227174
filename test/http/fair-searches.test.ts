/** The searches of one key do not hold up those of another. */
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { Agent, fetch } from 'undici';
import jwt from 'jsonwebtoken';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

const DOCUMENTS = 20_000;
const HEAVY_AT_ONCE = 30;
const ORDINARY = 9;
/**
 * What runs already when an ordinary search comes: two searches per search thread and key. More may
 * end before the test sees its response.
 */
const AHEAD_MAX = 6 * Math.max(2, availableParallelism());

const WORDS = ['amber', 'birch', 'cedar', 'daisy', 'elder', 'fennel', 'ginger', 'hazel'];
const documents = Array.from({ length: DOCUMENTS }, (_, id) => ({
  ...{ id, sales: id % 977, stock: id % 13 },
  title: Array.from({ length: 6 }, (_word, n) => WORDS[(id * 7 + n * n + (id >> n)) % 8]).join(' '),
  items: [
    { price: id % 31, colour: WORDS[id % 8] },
    { price: id % 17, colour: WORDS[(id >> 3) % 8] },
  ],
}));

/** Queries that take long, and how many of them make one search. No two are equal. */
const HEAVY: Record<string, { queries: number; query: (n: number) => object }> = {
  formula: {
    queries: 60,
    query: (n) => ({ q: WORDS[n % 8], sort: [`log(1 + sales + id / ${n + 1}) * stock:desc`] }),
  },
  element: {
    queries: 60,
    query: (n) => ({ filter: `items[price < ${n % 31} AND NOT colour = ${WORDS[n % 8]}]` }),
  },
  natural: {
    queries: 12,
    query: (n) => ({
      q: `why does ${WORDS.join(' ')} of ${n} grow near ${WORDS.join(' or ')}`,
      matchingStrategy: 'natural',
    }),
  },
};

for (const threads of [1, 3]) {
  describe(`Searches of several keys, with ${threads} HTTP threads`, function () {
    this.timeout(120_000);

    let server: BuiltServer;
    let heavy: { uid: string; key: string };
    let ordinary: { uid: string; key: string };
    const agent = new Agent({ connections: 64 });

    before(async () => {
      server = await startBuiltServer(['--http-threads', String(threads)]);
      const elements = { attributePatterns: ['items'], features: { filter: { elements: true } } };
      await server.finish('PATCH', '/indexes/a/settings', {
        body: {
          filterableAttributes: ['stock', elements],
          sortableAttributes: ['id', 'sales', 'stock'],
        },
      });
      await server.finish('POST', '/indexes/a/documents', { body: documents });
      const newKey = async (): Promise<{ uid: string; key: string }> => {
        const body = { actions: ['search'], indexes: ['*'], expiresAt: null };
        return (await server.call('POST', '/keys', { body })).json;
      };
      heavy = await newKey();
      ordinary = await newKey();
    });
    after(async () => {
      await agent.close();
      await server?.close();
    });

    const send = async (path: string, key: string, body: object): Promise<number> => {
      const response = await fetch(server.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        dispatcher: agent,
      });
      await response.text();
      return response.status;
    };
    const search = (key: string, body: object): Promise<number> =>
      send('/indexes/a/search', key, body);
    /** Many queries, merged: one search of the engine. */
    const searchHeavily = (key: string, kind: string, n: number): Promise<number> => {
      const { queries: count, query } = HEAVY[kind]!;
      const queries = Array.from({ length: count }, (_, m) => ({
        indexUid: 'a',
        ...query(n * count + m),
      }));
      return send('/multi-search', key, { queries, federation: { limit: 1 } });
    };

    /** Keeps many heavy searches under way; the others come one after the other. */
    async function mixed(
      [heavyKey, otherKey]: readonly [string, string],
      kind: string,
    ): Promise<{ statuses: number[]; ahead: number[] }> {
      let [ended, isOver] = [0, false];
      let enough = (): void => {};
      const busy = new Promise<void>((resolve) => (enough = resolve));
      const loops = Array.from({ length: HEAVY_AT_ONCE }, async (_, n) => {
        for (let round = 0; !isOver; round++) {
          const status = await searchHeavily(heavyKey, kind, n + round * HEAVY_AT_ONCE);
          if (status === 200 && ++ended >= HEAVY_AT_ONCE) enough();
        }
      });
      await busy;
      const statuses: number[] = [];
      const ahead: number[] = [];
      for (let n = 0; n < ORDINARY; n++) {
        const before = ended;
        statuses.push(await search(otherKey, { q: WORDS[n % 8], limit: 1, offset: n }));
        ahead.push(ended - before);
      }
      isOver = true;
      await Promise.all(loops);
      return { statuses, ahead };
    }

    function check({ statuses, ahead }: { statuses: number[]; ahead: number[] }): void {
      assert.deepEqual(statuses, Array(ORDINARY).fill(200));
      const middle = [...ahead].sort((x, y) => x - y)[ORDINARY >> 1]!;
      assert.ok(middle <= AHEAD_MAX, `heavy searches that ended meanwhile: ${ahead.join(' ')}`);
    }

    for (const kind of Object.keys(HEAVY)) {
      it(`of which one sends heavy ones by ${kind}`, async () => {
        assert.equal(await searchHeavily(heavy.key, kind, 1e6), 200);
        check(await mixed([heavy.key, ordinary.key], kind));
      });
    }

    it('or of several tenants of one key', async () => {
      const token = (tenant: number): string =>
        jwt.sign({ apiKeyUid: heavy.uid, searchRules: ['*'], tenant }, heavy.key);
      check(await mixed([token(1), token(2)], 'formula'));
    });
  });
}
