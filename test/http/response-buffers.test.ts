/** Responses whose memory is reused: none may change while a client still reads it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { BufferPool } from '../../src/base/buffer-pool.ts';
import { headOf } from '../support/result-head.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

const BODY_BYTES = 60_000;
const SEARCHES = 300;

/** The response to the search for `q`. */
function bodyOf(q: string): string {
  return JSON.stringify({
    hits: [],
    query: q,
    filler: `${q} `.repeat(BODY_BYTES / (q.length + 1)),
  });
}

function requestOf(q: string): string {
  const body = JSON.stringify({ q });
  return (
    'POST /indexes/a/search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n' +
    `content-length: ${body.length}\r\n\r\n${body}`
  );
}

/** The bodies of the responses received on a connection; the last one may be incomplete. */
function bodiesIn(received: Buffer): string[] {
  const bodies: string[] = [];
  for (let at = 0; ;) {
    const end = received.indexOf('\r\n\r\n', at);
    if (end < 0) return bodies;
    const length = /content-length: (\d+)/i.exec(received.toString('latin1', at, end))![1]!;
    at = end + 4 + Number(length);
    if (at > received.length) return bodies;
    bodies.push(received.toString('utf8', end + 4, at));
  }
}

for (const transport of ['fastest', 'node'] as const) {
  describe(`responses in memory that is reused (transport ${transport})`, () => {
    let test: TestServer;
    let pool: BufferPool;
    const searched = new Set<string>();

    before(async () => {
      pool = new BufferPool();
      test = await startTestServer({ masterKey: null, transport, responseBuffers: pool });
      test.services.addIndex('a');
      test.services.local.search = async (_, { q }) => {
        const body = bodyOf(q!);
        // Like an engine: results come a little later, several at once.
        await new Promise((resolve) => setImmediate(resolve));
        const buffer = pool.take(Buffer.byteLength(body));
        buffer.write(body);
        searched.add(q!);
        return { bytes: buffer, head: headOf(0) };
      };
    });

    after(() => test.close());

    it('reach a client that reads slowly unchanged, while others are served', async () => {
      const socket = connect(test.port, '127.0.0.1');
      await once(socket, 'connect');
      socket.pause();
      // Until the buffers of the system are full: then responses stay in the server.
      const asked: string[] = [];
      for (let full = false; !full && asked.length < SEARCHES;) {
        const q = `slow ${asked.length}`;
        asked.push(q);
        socket.write(requestOf(q));
        for (let waited = 0; !searched.has(q) && !full; waited++) {
          await sleep(1);
          full = waited === 200;
        }
        await sleep(1);
      }
      const quick = Array.from({ length: SEARCHES }, (_, n) => `quick ${n}`);
      for (let n = 0; n < SEARCHES; n += 20) {
        const responses = await Promise.all(
          quick.slice(n, n + 20).map((q) =>
            test.call('POST', '/indexes/a/search', {
              body: { q },
              headers: { 'accept-encoding': 'identity' },
            }),
          ),
        );
        responses.forEach(({ text }, i) => assert.ok(text === bodyOf(quick[n + i]!), quick[n + i]));
      }
      const parts: Buffer[] = [];
      let bytes = 0;
      const expected = asked.reduce((sum, q) => sum + bodyOf(q).length, 0);
      socket.on('data', (part: Buffer) => {
        parts.push(part);
        bytes += part.length;
      });
      socket.resume();
      while (bytes < expected || bodiesIn(Buffer.concat(parts)).length < asked.length) {
        await once(socket, 'data');
      }
      const bodies = bodiesIn(Buffer.concat(parts));
      bodies.forEach((body, n) => assert.ok(body === bodyOf(asked[n]!), asked[n]));
      socket.destroy();
      assert.ok(pool.free > 0, 'nothing was given back');
    });

    it('are compressed whole before their memory is used again', async () => {
      const asked = Array.from({ length: 40 }, (_, n) => `packed ${n}`);
      const responses = await Promise.all(
        asked.map(async (q) => {
          const response = await fetch(`${test.url}/indexes/a/search`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
            body: JSON.stringify({ q }),
          });
          return response.text();
        }),
      );
      responses.forEach((text, n) => assert.ok(text === bodyOf(asked[n]!), asked[n]));
    });

    it('of clients that went away are given back or forgotten', async () => {
      for (let n = 0; n < 30; n++) {
        const socket = connect(test.port, '127.0.0.1');
        await once(socket, 'connect');
        socket.write(requestOf(`gone ${n}`));
        await new Promise((resolve) => setImmediate(resolve));
        socket.destroy();
      }
      const { text } = await test.call('POST', '/indexes/a/search', { body: { q: 'still here' } });
      assert.ok(text === bodyOf('still here'));
    });
  });
}
