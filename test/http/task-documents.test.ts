/** The documents of a task that has not ended, as they are streamed. */
import assert from 'node:assert/strict';
import { startTestServer, type TestServer } from './support/test-server.ts';

const LINES = Array.from({ length: 2000 }, (_, id) => `${JSON.stringify({ id })}\n`);

for (const transport of ['fastest', 'node'] as const) {
  describe(`The documents of a task (${transport})`, () => {
    let server: TestServer;
    let path: string;

    before(async () => {
      server = await startTestServer({ transport });
      await server.call('PATCH', '/experimental-features', {
        body: { getTaskDocumentsRoute: true },
      });
      const { json } = await server.call('DELETE', '/indexes/books/documents');
      path = `/tasks/${json.taskUid}/documents`;
    });
    after(() => server.close());

    function serve(pieces: () => AsyncIterable<Buffer>): void {
      Object.assign(server.services.tasks, { documents: pieces });
    }

    it('are lines of JSON, compressed for who takes it', async () => {
      serve(async function* () {
        for (const line of LINES) yield Buffer.from(line);
      });
      for (const coding of ['identity', 'gzip']) {
        const response = await server.call('GET', path, { headers: { 'accept-encoding': coding } });
        assert.equal(response.status, 200);
        assert.equal(response.headers.get('content-type'), 'application/x-ndjson');
        assert.equal(response.headers.get('content-encoding'), coding === 'gzip' ? coding : null);
        assert.equal(response.text, LINES.join(''));
      }
    });

    it('break off when they cannot be read any more', async () => {
      serve(async function* () {
        yield Buffer.from(LINES.join(''));
        throw new Error('the disk failed');
      });
      await assert.rejects(server.call('GET', path));
    });
  });
}
