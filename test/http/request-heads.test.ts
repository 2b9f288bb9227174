/** Requests whose line and headers are too long, over plain sockets. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

const LIMIT = 64 * 1024;

for (const transport of ['fastest', 'node'] as const) {
  describe(`A request line with headers (${transport})`, () => {
    let server: BuiltServer;
    before(async () => {
      server = await startBuiltServer(transport === 'node' ? ['--http-transport', 'node'] : []);
    });
    after(() => server.close());

    /** Sends a text and resolves to everything received until the server closes the connection. */
    async function send(text: string): Promise<string> {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
      socket.on('error', () => {});
      socket.write(text);
      let response = '';
      for await (const part of socket) response += String(part);
      return response;
    }

    function assertTooLong(response: string): void {
      assert.match(response, /^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
      assert.match(response, /\r\ncontent-type: application\/json\r\n/i);
      const error = JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4)) as object;
      const { message, ...rest } = error as { message: string };
      assert.match(message, /65536 bytes/);
      assert.deepEqual(rest, {
        code: 'bad_request',
        type: 'invalid_request',
        link: 'https://docs.meilisearch.com/errors#bad_request',
      });
    }

    const long = 'x'.repeat(LIMIT);

    it('of more than 64 KiB get 431 with an error as JSON, and the connection is closed', async () => {
      assertTooLong(await send(`GET /health?q=${long} HTTP/1.1\r\nhost: x\r\n\r\n`));
      assertTooLong(await send(`GET /health HTTP/1.1\r\nhost: x\r\nx-long: ${long}\r\n\r\n`));
      const many = Array.from({ length: 70 }, (_, n) => `x-${n}: ${'y'.repeat(1000)}`).join('\r\n');
      assertTooLong(await send(`GET /health HTTP/1.1\r\nhost: x\r\n${many}\r\n\r\n`));
      assertTooLong(
        await send(
          `POST /indexes HTTP/1.1\r\nhost: x\r\nx: ${long}\r\ncontent-length: 2\r\n\r\n{}`,
        ),
      );
    });

    it('of a little less are accepted', async () => {
      const fits = 'x'.repeat(LIMIT - 200);
      const response = await send(
        `GET /health?q=${fits} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
      );
      assert.match(response, /^HTTP\/1\.1 200 /);
    });
  });
}
