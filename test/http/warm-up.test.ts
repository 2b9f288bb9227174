/**
 * The searches that a server sends itself at its start: they go through all stages, and leave no
 * trace.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { BufferPool } from '../../src/base/buffer-pool.ts';
import { IndexRegistry } from '../../src/engine/registry.ts';
import { Documents, Indexes } from '../../src/search/index-service.ts';
import { SearchQueue } from '../../src/search/search-queue.ts';
import { LocalSearch } from '../../src/search/run/local.ts';
import { warmUp, type WarmUpOptions } from '../../src/parts/warm-up.ts';
import { MemoryEngine } from '../support/memory-engine.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';
import { embedNothing } from '../support/embed-nothing.ts';

const MASTER_KEY = 'MASTER_KEY_OF_TESTS';

for (const transport of ['fastest', 'node'] as const) {
  describe(`warming up (transport ${transport})`, () => {
    let dir: string;
    let engine: MemoryEngine;
    let registry: IndexRegistry;
    let test: TestServer;
    let socketPath: string;
    let options: WarmUpOptions;

    beforeEach(async () => {
      dir = mkdtempSync(join(tmpdir(), 'gannet-own-searches-'));
      engine = new MemoryEngine();
      registry = new IndexRegistry(engine, join(dir, 'indexes'), []);
      const responseBuffers = new BufferPool();
      test = await startTestServer({ masterKey: MASTER_KEY, transport, responseBuffers });
      const { services } = test;
      await services.features.patch({ metrics: true });
      const features = () => services.features.get();
      const queue = new SearchQueue({ permits: 2, waitingMax: 10, waitMsMax: 1000 });
      const search = new LocalSearch(registry, queue, features, embedNothing);
      services.local.search = search.search.bind(search);
      services.local.separate = search.separate.bind(search);
      const documents = new Documents(registry, queue, features);
      const indexes = new Indexes(registry, documents, () => ({ diskBytes: 0, usedBytes: 0 }));
      services.indexes.list = indexes.list.bind(indexes);
      services.indexes.get = indexes.get.bind(indexes);
      services.indexes.allStats = indexes.allStats.bind(indexes);
      socketPath = '';
      options = {
        http: {
          listenWithin(path) {
            socketPath = path;
            return test.server.listenWithin(path);
          },
        },
        registry,
        folder: join(dir, 'warm-up'),
        now: '2025-03-01T09:30:00Z',
        masterKey: MASTER_KEY,
        signal: new AbortController().signal,
        searches: 40,
      };
    });

    afterEach(async () => {
      await test.close();
      registry.closeAll();
      rmSync(dir, { recursive: true, force: true });
    });

    function assertNothingLeft(): void {
      assert.equal(engine.openCount, 0);
      assert.deepEqual(readdirSync(dir), []);
    }

    it('asks the engine and leaves nothing', async () => {
      let searched = 0;
      const search = engine.search.bind(engine);
      engine.search = (...args) => {
        searched++;
        return search(...args);
      };
      assert.equal(await warmUp(options), 40);
      assert.equal(searched, 40);
      assertNothingLeft();
    });

    it('is in no list, no statistics and no metrics', async () => {
      const seen: unknown[] = [];
      const search = engine.search.bind(engine);
      engine.search = async (...args) => {
        seen.push(
          (await test.call('GET', '/indexes')).json,
          (await test.call('GET', '/stats')).json,
        );
        return search(...args);
      };
      await warmUp({ ...options, searches: 2 });
      assert.equal(seen.length, 4);
      for (const response of seen as { total?: number; indexes?: object }[]) {
        assert.ok(response.total === 0 || Object.keys(response.indexes!).length === 0);
      }
      const { text } = await test.call('GET', '/metrics');
      assert.match(text, /path="\/stats"/, 'what clients ask is counted');
      assert.doesNotMatch(text, /path="[^"]*search/);
    });

    it('asks while the server serves others, who cannot reach its socket once it has begun', async () => {
      const search = engine.search.bind(engine);
      let begun = 0;
      engine.search = async (...args) => {
        if (begun++ > 0) assert.equal(existsSync(dirname(socketPath)), false);
        assert.equal((await test.call('GET', '/health')).status, 200);
        return search(...args);
      };
      assert.equal(await warmUp({ ...options, searches: 3 }), 3);
    });

    it('begins again where a process was killed', async () => {
      mkdirSync(join(dir, 'warm-up', 'left'), { recursive: true });
      writeFileSync(join(dir, 'warm-up', 'socket'), '');
      assert.equal(await warmUp({ ...options, searches: 1 }), 1);
      assertNothingLeft();
    });

    it('ends between two searches on request', async () => {
      const ending = new AbortController();
      const search = engine.search.bind(engine);
      let begun = 0;
      engine.search = (...args) => {
        if (++begun === 5) ending.abort();
        return search(...args);
      };
      assert.equal(await warmUp({ ...options, signal: ending.signal }), 5);
      assertNothingLeft();
    });

    it('rejects and leaves nothing where a search fails', async () => {
      await assert.rejects(warmUp({ ...options, masterKey: 'another key' }), /403/);
      assertNothingLeft();
    });

    it('rejects and leaves nothing where the engine cannot write', async () => {
      engine.beforeCommit = () => Promise.reject(new Error('no space left'));
      await assert.rejects(warmUp(options));
      assertNothingLeft();
    });

    for (const [what, path] of [
      ['too long', `/tmp/${'long/'.repeat(40)}socket`],
      ['in no folder', join(tmpdir(), 'gannet-no-folder', 'socket')],
    ] as const) {
      it(`rejects and leaves nothing where the path of the socket is ${what}`, async () => {
        const http = { listenWithin: () => test.server.listenWithin(path) };
        await assert.rejects(warmUp({ ...options, http }));
        assertNothingLeft();
      });
    }
  });
}
