/** A machine that is busy or pauses fails no document. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { EmbeddingProvider } from '../support/embedding-provider.ts';

/** Longer than the renderings of a chunk take, and as often as they come. */
const PAUSE_MS = 700;
const RUN_MS = 40;

describe('A machine that pauses again and again', function () {
  this.timeout(300_000);

  let server: BuiltServer;
  let provider: EmbeddingProvider;

  before(async () => {
    provider = await EmbeddingProvider.start();
    server = await startBuiltServer();
  });
  after(async () => {
    await server?.close();
    provider?.stop();
  });

  /** Pauses the server again and again until the work is done. */
  async function withPauses<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const done = work.finally(() => (isDone = true));
    while (!isDone) {
      process.kill(server.pid, 'SIGSTOP');
      try {
        await pause(PAUSE_MS);
      } finally {
        process.kill(server.pid, 'SIGCONT');
      }
      await Promise.race([pause(RUN_MS), done.catch(() => {})]);
    }
    return done;
  }

  it('fails no document whose template is rendered', async () => {
    const body = { embedders: { e: provider.embedder('{{doc.t}}') } };
    const set = await server.finish('PATCH', '/indexes/a/settings', { body });
    assert.equal(set.status, 'succeeded', JSON.stringify(set.error));
    const documents = Array.from({ length: 3_000 }, (_, id) => ({ id, t: `text ${id}` }));
    const task = await withPauses(
      server.finish('POST', '/indexes/a/documents', { body: documents }),
    );
    assert.equal(task.status, 'succeeded', JSON.stringify(task.error));
    const { json } = await server.call('GET', '/indexes/a/stats');
    assert.equal(json.numberOfEmbeddings, 3_000);
  });
});
