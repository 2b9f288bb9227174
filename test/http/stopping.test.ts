import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.ts';
import { settle } from './kill/support/compare.ts';
import { ADDON, addonIsBuilt, ServerProcess } from './kill/support/server-process.ts';
import { startTestServer } from './support/test-server.ts';

describe('Health', () => {
  for (const transport of ['fastest', 'node'] as const) {
    it(`distinguishes a server that starts from one that is ready and one that stops (${transport})`, async () => {
      const server = await startTestServer({ transport });
      server.services.addIndex('movies');
      const health = (): ReturnType<typeof server.call> =>
        server.call('GET', '/health', { key: null });
      for (const phase of ['starting', 'ready', 'stopping'] as const) {
        server.phase.current = phase;
        const live = await server.call('GET', '/health/live', { key: null });
        assert.deepEqual([live.status, live.json], [200, { status: 'alive' }], phase);
      }
      server.phase.current = 'starting';
      const starting = await health();
      assert.deepEqual([starting.status, starting.json], [503, { status: 'starting' }]);
      assert.equal(starting.headers.get('retry-after'), '10');
      const early = await server.call('GET', '/indexes');
      assert.deepEqual([early.status, early.json.code], [503, 'internal']);
      assert.equal(early.headers.get('retry-after'), '10');
      server.phase.current = 'ready';
      const ready = await health();
      assert.deepEqual([ready.status, ready.json], [200, { status: 'available' }]);
      server.phase.current = 'stopping';
      const stopping = await health();
      assert.deepEqual([stopping.status, stopping.json], [503, { status: 'stopping' }]);
      await server.close();
    });

    it(`of a server that stops comes with the end of the connection, as in all its responses (${transport})`, async () => {
      const server = await startTestServer({ transport });
      server.services.addIndex('movies');
      server.phase.current = 'stopping';
      const agent = new Agent({ keepAlive: true });
      for (const path of ['/health', '/indexes', '/openapi.json']) {
        const options = {
          host: '127.0.0.1',
          port: server.port,
          path,
          agent,
          headers: { authorization: 'Bearer MASTER_KEY_OF_TESTS' },
        };
        const header = await new Promise((resolve, reject) => {
          request(options, (response) => {
            response.resume();
            response.on('end', () => resolve(response.headers['connection']));
          })
            .on('error', reject)
            .end();
        });
        assert.equal(header, 'close', path);
      }
      agent.destroy();
      await server.close();
    });
  }
});

describe('A stop', function () {
  this.timeout(120_000);
  let dir: string;
  let server: ServerProcess;
  /** Accepts requests and never responds. */
  let silent: Server;
  let url: string;
  let asked: Promise<void>;

  before(function () {
    if (!addonIsBuilt()) this.skip();
  });
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-stop-'));
    asked = new Promise((resolve) => (silent = createServer(() => resolve())));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    if (!server.hasExited) await server.kill();
    silent.closeAllConnections();
    silent.close();
    rmSync(dir, { recursive: true, force: true });
  });

  /** Even on a busy machine a stop must finish by itself. */
  const patient = ['--shutdown-seconds', '50'];
  const start = async (...args: string[]): Promise<void> => {
    server = await ServerProcess.start({ dir, port: await freePort(), args });
  };

  it('takes a batch back that waits for an embedder, and the next start runs it', async () => {
    await start(...patient);
    const embedder = {
      source: 'rest',
      url,
      dimensions: 2,
      request: '{{text}}',
      response: '{{embedding}}',
    };
    await server.client.call('PATCH', '/indexes/a/settings', {
      body: { embedders: { e: embedder } },
    });
    await settle(server.client);
    const { status } = await server.client.call('POST', '/indexes/a/documents', {
      body: [{ id: 1, title: 'one' }],
    });
    assert.equal(status, 202);
    await asked;
    assert.equal(await server.stop(), 0);
    assert.doesNotMatch(server.stderr, /cut short/);
    await start();
    const { results } = await server.client.get<{ results: any[] }>('/tasks?indexUids=a');
    assert.ok(['enqueued', 'processing'].includes(results[0].status), results[0].status);
    await server.client.call('POST', '/tasks/cancel?uids=1', {});
    await settle(server.client);
  });

  it('takes an edit back whose function does not come to its end', async () => {
    await start(...patient);
    await server.client.call('PATCH', '/experimental-features', {
      body: { editDocumentsByFunction: true },
    });
    const documents = Array.from({ length: 500 }, (_, id) => ({ id, n: 0 }));
    await server.client.call('POST', '/indexes/a/documents', { body: documents });
    await settle(server.client);
    const slow = 'let x = 0; while x < 200000 { x += 1; } doc.n = x;';
    const edit = await server.client.call('POST', '/indexes/a/documents/edit', {
      body: { function: slow },
    });
    const { taskUid } = edit.json<{ taskUid: number }>();
    const status = async (): Promise<string> =>
      (await server.client.get<{ status: string }>(`/tasks/${taskUid}`)).status;
    while ((await status()) !== 'processing');
    assert.equal(await server.stop(), 0);
    assert.doesNotMatch(server.stderr, /cut short/);
    await start('--experimental-max-number-of-batched-tasks', '0');
    assert.equal(await status(), 'enqueued');
    const { n } = await server.client.get<{ n: number }>('/indexes/a/documents/1');
    assert.equal(n, 0);
  });

  it('takes an export back whose target does not respond', async () => {
    await start(...patient);
    await server.client.call('POST', '/indexes/a/documents', { body: [{ id: 1 }] });
    await settle(server.client);
    await server.client.call('POST', '/export', { body: { url } });
    await asked;
    assert.equal(await server.stop(), 0);
    assert.doesNotMatch(server.stderr, /cut short/);
    await start('--experimental-max-number-of-batched-tasks', '0');
    const { results } = await server.client.get<{ results: any[] }>('/tasks?types=export');
    assert.deepEqual(
      results.map(({ status }) => status),
      ['enqueued'],
    );
  });

  it('waits for running requests no longer than it may take', async () => {
    await start('--shutdown-seconds', '1');
    await server.client.call('PATCH', '/experimental-features', {
      body: { chatCompletions: true },
    });
    const settings = { source: 'vLlm', baseUrl: url };
    await server.client.call('PATCH', '/chats/c/settings', { body: settings });
    const received = fetch(`http://127.0.0.1:${server.port}/chats/c/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
    }).then((response) => response.text());
    const broken = assert.rejects(received);
    await asked;
    assert.equal(await server.stop(), 0);
    await broken;
  });

  it('with 0 seconds ends at once, and what was acknowledged is there after it', async () => {
    await start('--shutdown-seconds', '0');
    const { status } = await server.client.call('POST', '/indexes/a/documents', {
      body: [{ id: 1, title: 'one' }],
    });
    assert.equal(status, 202);
    assert.equal(await server.stop(), 0);
    await start();
    await settle(server.client);
    assert.equal((await server.client.call('GET', '/indexes/a/documents/1')).status, 200);
  });

  describe('ends in its time', () => {
    const hold = fileURLToPath(new URL('./support/hold.cjs', import.meta.url));

    /**
     * A server of one index with an embedder and an acknowledged task, part of whose work is
     * blocked.
     */
    const held = async (part: 'loop' | 'engine', ...args: string[]): Promise<void> => {
      server = await ServerProcess.start({
        ...{ dir, port: await freePort(), args },
        env: { NODE_OPTIONS: `--require=${hold}`, HOLD: part, GANNET_ADDON: ADDON },
      });
      const embedder = { source: 'rest', url, request: '{{text}}', response: '{{embedding}}' };
      await server.client.call('PATCH', '/indexes/a/settings', {
        body: { embedders: { e: { ...embedder, dimensions: 2 } } },
      });
      await settle(server.client);
      await server.client.call('POST', '/indexes/b/documents', { body: [{ id: 1 }] });
      process.kill(server.pid, 'SIGUSR2');
      while (!server.stderr.includes('held\n')) await new Promise((done) => setTimeout(done, 10));
    };
    const isKept = async (): Promise<void> => {
      await start();
      await settle(server.client);
      assert.equal((await server.client.call('GET', '/indexes/b/documents/1')).status, 200);
    };

    it('while the event loop is blocked', async () => {
      await held('loop', '--shutdown-seconds', '1');
      assert.equal(await server.stop(), 0);
      assert.match(server.stderr, /cut short after 1000 ms/);
      await isKept();
    });

    it('while the event loop is blocked, after a second signal at once', async () => {
      await held('loop', '--shutdown-seconds', '1000000');
      // Signals that are pending at once count as one, and arrive in any order.
      const asking = setInterval(() => {
        if (!server.hasExited) process.kill(server.pid, 'SIGINT');
      }, 50);
      assert.equal(await server.exited, 130);
      clearInterval(asking);
      await isKept();
    });

    it('while a thread of the engine is busy with an index', async () => {
      await held('engine', '--shutdown-seconds', '2');
      assert.equal(await server.stop(), 0);
      assert.match(server.stderr, /cut short after 2000 ms/);
      await isKept();
    });
  });
});
