import { headOf } from '../support/result-head.ts';
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import jwt from 'jsonwebtoken';
import { FakeClock } from '../support/fake-clock.ts';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { metered } from '../../src/search/search-meter.ts';
import { type TestResponse, startTestServer, type TestServer } from './support/test-server.ts';

for (const transport of ['fastest', 'node'] as const) {
  describe(`Rate limits (${transport})`, () => {
    let server: TestServer;
    let clock: FakeClock;

    beforeEach(async () => {
      clock = new FakeClock('2025-03-01T09:30:00Z');
      server = await startTestServer({ clock, transport });
      server.services.addIndex('books');
    });
    afterEach(() => server.close());

    const newKey = async (rateLimit: unknown, more: object = {}): Promise<any> => {
      const body = { actions: ['*'], indexes: ['*'], expiresAt: null, rateLimit, ...more };
      const { status, json } = await server.call('POST', '/keys', { body });
      assert.equal(status, 201, JSON.stringify(json));
      return json;
    };
    const version = (key: string): Promise<TestResponse> => server.call('GET', '/version', { key });
    const search = (key: string): Promise<TestResponse> =>
      server.call('POST', '/indexes/books/search', { body: {}, key });

    it('lets a second of requests pass at once, and then as many as the rate', async () => {
      const { key } = await newKey({ requestsPerSecond: 3 });
      for (const remaining of ['2', '1', '0']) {
        const { status, headers } = await version(key);
        assert.equal(status, 200);
        assert.equal(headers.get('ratelimit-limit'), '3');
        assert.equal(headers.get('ratelimit-remaining'), remaining);
        assert.equal(headers.get('ratelimit-policy'), '3;w=1');
        assert.equal(headers.get('ratelimit-reset'), '1');
        assert.equal(headers.get('retry-after'), null);
      }
      const { status, headers, json } = await version(key);
      assert.deepEqual([status, json.code, json.type], [429, 'too_many_requests', 'system']);
      assert.equal(headers.get('retry-after'), '1');
      assert.equal(headers.get('ratelimit-remaining'), '0');
      clock.advance(340);
      assert.equal((await version(key)).status, 200);
      assert.equal((await version(key)).status, 429);
      clock.advance(60_000);
      for (let n = 0; n < 3; n++) assert.equal((await version(key)).status, 200);
      assert.equal((await version(key)).status, 429);
    });

    it('shows the limits to scripts of other pages', async () => {
      const { key } = await newKey({ requestsPerSecond: 1 });
      const headers = { origin: 'http://shop.test' };
      const response = await server.call('GET', '/version', { key, headers });
      assert.match(response.headers.get('access-control-expose-headers')!, /ratelimit-remaining/);
    });

    it('holds for each key alone, and not for the master key', async () => {
      const one = await newKey({ requestsPerSecond: 1 });
      const other = await newKey({ requestsPerSecond: 1 });
      assert.equal((await version(one.key)).status, 200);
      assert.equal((await version(one.key)).status, 429);
      assert.equal((await version(other.key)).status, 200);
      const free = await newKey(null);
      for (const key of [server.services.keys.size.toString(), free.key]) {
        assert.equal((await version(key)).headers.get('ratelimit-limit'), null);
      }
      for (let n = 0; n < 3; n++) assert.equal((await server.call('GET', '/version')).status, 200);
    });

    it('counts tenant tokens with their key', async () => {
      const { key, uid } = await newKey({ requestsPerSecond: 2 });
      const token = (n: number): string =>
        jwt.sign({ apiKeyUid: uid, searchRules: ['*'], n }, key, { noTimestamp: true });
      assert.equal((await search(token(1))).status, 200);
      assert.equal((await search(key)).status, 200);
      assert.equal((await search(token(2))).status, 429);
    });

    it('counts the queries of a multi-search, which passes as a whole', async () => {
      for (const federation of [undefined, null, {}]) {
        const { key } = await newKey({ requestsPerSecond: 10, concurrentSearches: 100 });
        const multi = (count: number): Promise<TestResponse> => {
          const queries = Array.from({ length: count }, () => ({ indexUid: 'books' }));
          return server.call('POST', '/multi-search', { body: { queries, federation }, key });
        };
        const first = await multi(4);
        assert.equal(first.status, 200);
        assert.equal(first.headers.get('ratelimit-remaining'), '6');
        assert.equal((await multi(0)).headers.get('ratelimit-remaining'), '5');
        const large = await multi(50);
        assert.deepEqual([large.status, large.headers.get('ratelimit-remaining')], [200, '0']);
        for (const response of [await multi(1), await search(key), await version(key)]) {
          assert.deepEqual([response.status, response.json.code], [429, 'too_many_requests']);
          assert.equal(response.headers.get('retry-after'), '5', '46 tokens at 10 a second');
        }
        clock.advance(4_500);
        assert.equal((await search(key)).status, 429);
        clock.advance(100);
        assert.equal((await search(key)).status, 200);
        assert.equal((await search(key)).status, 429);
      }
    });

    it('counts a multi-search that is refused as one request', async () => {
      const { key } = await newKey({ requestsPerSecond: 10 });
      const queries = Array.from({ length: 1001 }, () => ({ indexUid: 'books' }));
      const response = await server.call('POST', '/multi-search', { body: { queries }, key });
      assert.deepEqual([response.status, response.json.code], [400, 'bad_request']);
      assert.equal((await search(key)).headers.get('ratelimit-remaining'), '8');
    });

    it('counts the queries of a multi-search that run among the searches under way', async () => {
      const { key } = await newKey({ concurrentSearches: 3 });
      let release = (): void => {};
      const begun = new Promise<void>((begin) => {
        server.services.local.separate = (queries, { meter }) =>
          metered(meter, queries.length, () => {
            begin();
            return new Promise((resolve) => {
              release = () => resolve([nothing, nothing, nothing]);
            });
          });
      });
      const queries = Array.from({ length: 3 }, () => ({ indexUid: 'books' }));
      const multi = server.call('POST', '/multi-search', { body: { queries }, key });
      await begun;
      assert.equal((await search(key)).status, 429);
      assert.equal((await version(key)).status, 200);
      release();
      assert.equal((await multi).status, 200);
      assert.equal((await search(key)).status, 200);
    });

    it('limits the number of concurrent searches', async () => {
      const { key } = await newKey({ concurrentSearches: 2 });
      const held: (() => void)[] = [];
      let begun = (): void => {};
      server.services.local.search = () =>
        new Promise((resolve) => {
          held.push(() => resolve(nothing));
          begun();
        });
      const first = [];
      for (let n = 0; n < 2; n++) {
        const started = new Promise<void>((resolve) => (begun = resolve));
        first.push(search(key));
        await started;
      }
      const { status, headers, json } = await search(key);
      assert.deepEqual([status, json.code], [429, 'too_many_requests']);
      assert.equal(headers.get('retry-after'), '1');
      assert.equal((await version(key)).status, 200, 'what is no search passes');
      for (const release of held.splice(0)) release();
      for (const response of await Promise.all(first)) assert.equal(response.status, 200);
      const again = new Promise<void>((resolve) => (begun = resolve));
      const later = search(key);
      await again;
      held[0]!();
      assert.equal((await later).status, 200);
    });

    it('gives the permit of a search that fails, or whose client goes away, to the next', async () => {
      const { key } = await newKey({ concurrentSearches: 1 });
      const missing = (): Promise<TestResponse> =>
        server.call('POST', '/indexes/missing/search', { body: {}, key });
      assert.equal((await missing()).status, 404);
      assert.equal((await missing()).status, 404);
      const clientLeft = new Promise<void>((resolve) => {
        server.services.local.search = (_, __, { signal }) =>
          new Promise((_done, failed) => {
            abort.abort();
            signal.onAbort(() => {
              failed(new Error('gone'));
              resolve();
            });
          });
      });
      const abort = new AbortController();
      await fetch(`${server.url}/indexes/books/search`, {
        method: 'POST',
        body: '{}',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        signal: abort.signal,
      }).catch(() => {});
      await clientLeft;
      server.services.local.search = () => Promise.resolve(nothing);
      assert.equal((await search(key)).status, 200);
    });

    it('is shown, changed and taken away', async () => {
      const { key, uid, rateLimit } = await newKey({ requestsPerSecond: 1 });
      assert.deepEqual(rateLimit, { requestsPerSecond: 1, concurrentSearches: null });
      await version(key);
      assert.equal((await version(key)).status, 429);
      const patch = (body: object): Promise<TestResponse> =>
        server.call('PATCH', `/keys/${uid}`, { body });
      assert.deepEqual((await patch({ name: 'n' })).json.rateLimit, rateLimit);
      assert.equal((await version(key)).status, 429, 'a change gives nothing back');
      const more = await patch({ rateLimit: { requestsPerSecond: 50, concurrentSearches: 7 } });
      assert.deepEqual(more.json.rateLimit, { requestsPerSecond: 50, concurrentSearches: 7 });
      const none = await patch({ rateLimit: null });
      assert.ok(!('rateLimit' in none.json));
      assert.equal((await version(key)).status, 200);
      const plain = await newKey(undefined);
      assert.ok(!('rateLimit' in plain));
    });

    it('comes with a weight, which is shown only if it is set', async () => {
      const { uid, weight } = await newKey(undefined, { weight: 3 });
      const patch = (body: object): Promise<TestResponse> =>
        server.call('PATCH', `/keys/${uid}`, { body });
      assert.equal(weight, 3);
      assert.equal((await patch({ name: 'n' })).json.weight, 3);
      assert.equal((await patch({ weight: 100 })).json.weight, 100);
      for (const wrong of [0, 101, 1.5, 'x', {}]) {
        const { status, json } = await patch({ weight: wrong });
        assert.deepEqual([status, json.code], [400, 'invalid_api_key_weight'], String(wrong));
      }
      assert.ok(!('weight' in (await patch({ weight: null })).json));
      for (const key of [await newKey(undefined), await newKey(null, { weight: null })]) {
        assert.ok(!('weight' in key));
      }
    });

    it('of a key is refused when it is none', async () => {
      for (const rateLimit of [
        5,
        { requestsPerSecond: 0 },
        { requestsPerSecond: 1.5 },
        { requestsPerSecond: 1_000_001 },
        { perSecond: 1 },
      ]) {
        const body = { actions: ['*'], indexes: ['*'], expiresAt: null, rateLimit };
        const { status, json } = await server.call('POST', '/keys', { body });
        assert.deepEqual([status, json.code], [400, 'invalid_api_key_rate_limit']);
      }
    });
  });
}

const nothing = { bytes: Buffer.from('{"hits":[]}'), head: headOf(0) };

describe('The rate limit of a key', () => {
  it('stands in a dump, as its weight does', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'gannet-dumps-'));
    const servers: BuiltServer[] = [];
    try {
      const first = await startBuiltServer(['--dump-dir', dir]);
      servers.push(first);
      const rateLimit = { requestsPerSecond: 7, concurrentSearches: null };
      const body = { actions: ['search'], indexes: ['*'], expiresAt: null, rateLimit, weight: 3 };
      const { uid } = (await first.call('POST', '/keys', { body })).json;
      const rotated = (await first.call('POST', `/keys/${uid}/rotate`)).json;
      const { details } = await first.finish('POST', '/dumps');
      const dump = join(dir, `${details.dumpUid}.dump`);
      const second = await startBuiltServer(['--import-dump', dump]);
      servers.push(second);
      const { json } = await second.call('GET', `/keys/${uid}`);
      assert.deepEqual([json.rateLimit, json.weight], [rateLimit, 3]);
      // With the first value again, a rotation because of a leak would be undone.
      assert.equal(json.key, rotated.key);
      assert.equal(json.previousExpiresAt, rotated.previousExpiresAt);
      const { results } = (await second.call('GET', '/keys')).json;
      for (const name of ['rateLimit', 'weight']) {
        assert.equal(results.filter((key: object) => name in key).length, 1);
      }
    } finally {
      for (const server of servers) await server.close();
      rmSync(dir, { recursive: true });
    }
  });
});

describe('The rate limit of the launch options', () => {
  it('holds for keys without one of their own', async () => {
    const server = await startBuiltServer(['--rate-limit', '1', '--rate-limit-searches', '9']);
    try {
      const body = { actions: ['version'], indexes: ['*'], expiresAt: null };
      const statuses = async (rateLimit: object | null): Promise<number[]> => {
        const { key } = (await server.call('POST', '/keys', { body: { ...body, rateLimit } })).json;
        const headers = { authorization: `Bearer ${key}` };
        const responses = Array.from({ length: 20 }, () =>
          fetch(`${server.url}/version`, { headers }),
        );
        return (await Promise.all(responses)).map(({ status }) => status);
      };
      assert.ok((await statuses(null)).includes(429));
      assert.ok(!(await statuses({ requestsPerSecond: 1000 })).includes(429));
    } finally {
      await server.close();
    }
  });
});
