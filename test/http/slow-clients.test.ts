/** Clients that send and read slowly, over plain sockets: they are served completely. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

/** Longer than the ten seconds after which the socket library closes a silent connection. */
const PAUSE_MS = 13_000;

describe('A slow client', () => {
  let server: BuiltServer;
  // All are slow at the same time.
  let uploaded: ReturnType<typeof upload>;
  let listed: ReturnType<typeof pause>;
  let found: ReturnType<typeof pause>;
  let trickled: ReturnType<typeof trickle>;
  const documents = Array.from({ length: 120 }, (_, id) => ({ id, text: 'y'.repeat(60_000) }));
  before(async () => {
    server = await startBuiltServer();
    await server.finish('POST', '/indexes/texts/documents', { body: documents });
    uploaded = upload();
    listed = pause('/indexes/texts/documents?limit=1000');
    found = pause('/indexes/texts/search?limit=1000');
    trickled = trickle('/indexes/texts/documents?limit=1000');
    await Promise.allSettled([uploaded, listed, found, trickled]);
  });
  after(() => server.close());

  function head(method: string, path: string, more: string[] = []): string {
    const lines = [
      `${method} ${path} HTTP/1.1`,
      'host: localhost',
      `authorization: Bearer ${server.masterKey}`,
      'connection: close',
      ...more,
    ];
    return `${lines.join('\r\n')}\r\n\r\n`;
  }

  function open(): Socket {
    return connect(Number(new URL(server.url).port), '127.0.0.1');
  }

  /** Everything until the other side ends. */
  async function rest(socket: Socket): Promise<Buffer> {
    const parts: Buffer[] = [];
    socket.on('error', () => {});
    for await (const part of socket) parts.push(part as Buffer);
    return Buffer.concat(parts);
  }

  /**
   * Sends a body a little at a time.
   * @returns the response
   */
  async function upload(): Promise<string> {
    const body = JSON.stringify([{ id: 'slow', text: 'x'.repeat(26_000) }]);
    const socket = open();
    const response = rest(socket);
    socket.write(
      head('POST', '/indexes/uploads/documents', [
        'content-type: application/json',
        `content-length: ${body.length}`,
      ]),
    );
    const pieces = 26;
    for (let i = 0; i < pieces; i++) {
      const size = Math.ceil(body.length / pieces);
      socket.write(body.slice(i * size, (i + 1) * size));
      await delay(PAUSE_MS / pieces);
    }
    return (await response).toString();
  }

  /**
   * Sends a request, and waits before it reads.
   * @returns the body of the response
   */
  async function pause(path: string): Promise<{ results?: unknown[]; hits?: unknown[] }> {
    const socket = open();
    socket.write(head('GET', path));
    socket.pause();
    await delay(PAUSE_MS);
    const response = await rest(socket);
    const split = response.indexOf('\r\n\r\n');
    return JSON.parse(plain(response.subarray(0, split).toString(), response.subarray(split + 4)));
  }

  /**
   * Reads a part at intervals.
   * @returns the bytes of the response
   */
  async function trickle(path: string): Promise<number> {
    const socket = open();
    socket.on('error', () => {});
    socket.write(head('GET', path));
    let size = 0;
    const slowUntil = Date.now() + PAUSE_MS;
    for await (const part of socket) {
      size += (part as Buffer).length;
      if (Date.now() < slowUntil) await delay(500);
    }
    return size;
  }

  it('may take its time to send a body', async () => {
    assert.match(await uploaded, /^HTTP\/1.1 202 /);
  });

  it('may pause while it reads a listing of documents', async () => {
    assert.equal((await listed).results!.length, documents.length);
  });

  it('may pause while it reads the response of a search', async () => {
    assert.equal((await found).hits!.length, documents.length);
  });

  it('may read slowly', async () => {
    const size = await trickled;
    assert.ok(size > 120 * 60_000, `${size} bytes`);
  });
});

/** The body, whether it came in chunks or whole. */
function plain(heads: string, body: Buffer): string {
  if (!/transfer-encoding: chunked/i.test(heads)) return body.toString();
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const line = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.subarray(at, line).toString(), 16);
    if (size === 0) return Buffer.concat(parts).toString();
    parts.push(body.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}
