/**
 * The server is killed while embeddings are made: nothing is lost or duplicated, and stored
 * embeddings are not requested again.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddingProvider } from '../../support/embedding-provider.ts';
import { freePort } from '../../support/free-port.ts';
import { settle } from './support/compare.ts';
import { addonIsBuilt, ServerProcess } from './support/server-process.ts';

const COUNT = 300;

describe('A kill while embeddings are made', function () {
  this.timeout(120_000);

  let dir: string;
  let server: ServerProcess;
  let provider: EmbeddingProvider;

  before(function () {
    if (!addonIsBuilt()) this.skip();
  });
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-embedding-'));
    provider = await EmbeddingProvider.start();
    await start();
  });
  afterEach(async () => {
    if (!server.hasExited) await server.kill();
    provider.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  async function start(): Promise<void> {
    server = await ServerProcess.start({ dir, port: await freePort() });
  }

  async function send(method: string, path: string, body: unknown): Promise<void> {
    const received = await server.client.call(method, path, { body });
    assert.equal(received.status, 202, received.text);
  }

  const add = (kind: string): Promise<void> =>
    send(
      'POST',
      '/indexes/i/documents?primaryKey=id',
      Array.from({ length: COUNT }, (_, n) => ({ id: `${kind}-${n}`, text: `${kind} ${n}` })),
    );

  const texts = (): string[] =>
    provider.take().flatMap(({ body }) => (body as { input: string[] }).input);

  // Number of requests served before the server is killed; 31 are all.
  for (const served of [0, 1, 17, 30, 31]) {
    it(`after ${served} of 31 requests`, async () => {
      await send('PATCH', '/indexes/i/settings/embedders', {
        e: provider.embedder('{{ doc.text }}'),
      });
      await add('first');
      await settle(server.client);
      assert.equal(new Set(texts()).size, COUNT);

      let requests = 0;
      const reached = new Promise<void>((resolve) => {
        provider.always = () => {
          requests++;
          if (requests === Math.max(served, 1)) resolve();
          return requests > served ? 'silent' : 'ok';
        };
      });
      await add('second');
      await reached;
      await server.kill();
      provider.always = null;
      provider.take();

      await start();
      await settle(server.client);
      const again = texts();
      assert.ok(
        again.every((text) => text.startsWith('second')),
        'what is stored was asked for again',
      );
      assert.equal(new Set(again).size, again.length);
      const received = await server.client.call('GET', '/indexes/i/stats');
      const stats = received.json<Record<string, number>>();
      assert.equal(stats.numberOfDocuments, 2 * COUNT);
      assert.equal(stats.numberOfEmbeddings, 2 * COUNT);
      assert.equal(stats.numberOfEmbeddedDocuments, 2 * COUNT);
    });
  }
});
