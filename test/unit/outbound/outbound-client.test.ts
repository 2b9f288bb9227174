/** The outbound client against a server on loopback that behaves badly. */
import assert from 'node:assert/strict';
import type { lookup } from 'node:dns';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import {
  OutboundClient,
  type OutboundOptions,
  type OutboundRequest,
} from '../../../src/outbound/outbound-client.ts';
import { OutboundError, type OutboundFailure } from '../../../src/outbound/outbound-error.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const OPEN: OutboundOptions = { denyPrivate: false, allow: [] };
/** As much as a body holds while nobody reads it. */
const LATE_BYTES = 64 * 1024;
const POST = { method: 'POST', timeoutMs: 10_000 } as const;

async function readAll(stream: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Name resolution that always returns these addresses. */
function resolvesTo(...addresses: readonly string[]): typeof lookup {
  const resolveName = (_: string, __: unknown, callback: (...args: unknown[]) => void): void =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  return resolveName as unknown as typeof lookup;
}

describe('The outbound client', () => {
  let handle: Handler = (_, response) => response.end();
  let server: Server;
  let base: string;
  let connections = 0;
  const clients: OutboundClient[] = [];

  before(async () => {
    server = createServer((request, response) => handle(request, response));
    server.on('connection', () => connections++);
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    connections = 0;
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  function open(options: Partial<OutboundOptions> = {}): OutboundClient {
    const client = new OutboundClient({ ...OPEN, ...options });
    clients.push(client);
    return client;
  }

  async function fails(work: Promise<unknown>, failure: OutboundFailure): Promise<OutboundError> {
    const error = await work.then(
      () => assert.fail('answered'),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof OutboundError, inspect(error));
    assert.equal(error.failure, failure, error.message);
    return error;
  }

  it('sends the request as given and returns status, headers and body', async () => {
    let seen: unknown;
    handle = (request, response) => {
      void readAll(request).then((body) => {
        const { method, url, headers } = request;
        seen = { method, url, key: headers['x-key'], length: headers['content-length'], body };
        response.writeHead(418, { 'x-kept': 'yes' }).end('short and stout');
      });
    };
    const response = await open().fetch({
      ...POST,
      url: `${base}/a/b?c=d`,
      headers: { 'X-Key': 'k' },
      body: '{"a":"ä"}',
    });
    assert.deepEqual(seen, {
      ...{ method: 'POST', url: '/a/b?c=d' },
      ...{ key: 'k', length: '10', body: '{"a":"ä"}' },
    });
    assert.equal(response.status, 418);
    assert.equal(response.headers['x-kept'], 'yes');
    assert.equal(response.body.toString(), 'short and stout');
  });

  it('keeps the connection for the next request', async () => {
    handle = (_, response) => response.end('x'.repeat(100_000));
    const client = open();
    for (let i = 0; i < 9; i++) await client.fetch({ ...POST, url: base, body: 'x' });
    // The first connection may not be free yet when the second request arrives.
    assert.ok(connections <= 2, `${connections} connections`);
  });

  it('does not follow a redirect', async () => {
    const paths: (string | undefined)[] = [];
    handle = (request, response) => {
      paths.push(request.url);
      response.writeHead(302, { location: `${base}/elsewhere` }).end();
    };
    const response = await open().fetch({
      ...POST,
      url: base,
      headers: { authorization: 'Bearer s' },
    });
    assert.equal(response.status, 302);
    assert.deepEqual(paths, ['/']);
  });

  it('sends a user in the URL as basic authorization', async () => {
    let seen: string | undefined;
    handle = (request, response) => {
      seen = request.headers.authorization;
      response.end();
    };
    await open().fetch({ ...POST, url: base.replace('//', '//me:p%20w@') });
    assert.equal(seen, `Basic ${Buffer.from('me:p w').toString('base64')}`);
  });

  it('sends a stream as it comes and reads one as it comes', async () => {
    handle = (request, response) => {
      response.writeHead(200);
      request.on('data', (chunk: Buffer) => response.write(chunk.toString().toUpperCase()));
      request.on('end', () => response.end());
    };
    const client = open();
    const parts = ['one', 'two', 'three'];
    async function* pieces(): AsyncGenerator<Buffer> {
      for (const part of parts) yield Buffer.from(part);
    }
    for (const body of [pieces(), Readable.from(pieces())]) {
      const response = await client.stream({ ...POST, url: base, body });
      assert.equal(await readAll(response.body), 'ONETWOTHREE');
    }
  });

  it('returns the beginning of a response before its end', async () => {
    let finish = (): void => {};
    handle = (_, response) => {
      response.write('first');
      finish = () => response.end('last');
    };
    const response = await open().stream({ ...POST, url: base });
    const first = await response.body.next();
    assert.equal(String(first.value), 'first');
    finish();
    assert.equal(await readAll(response.body), 'last');
  });

  it('makes a producer wait for a reader that does not read', async () => {
    let produced = 0;
    handle = (request) => request.pause();
    async function* endless(): AsyncGenerator<Buffer> {
      for (;;) {
        produced++;
        yield Buffer.alloc(1 << 20);
        // Yields to the event loop, so that the time limit is noticed.
        await new Promise(setImmediate);
      }
    }
    await fails(open().stream({ ...POST, url: base, body: endless(), timeoutMs: 300 }), 'timeout');
    assert.ok(produced < 64, `${produced} MiB were produced for nobody`);
  });

  const slow: readonly [string, Handler][] = [
    ['does not answer', () => {}],
    ['stops after the head', (_, response) => response.writeHead(200).flushHeaders()],
    ['stops in the middle', (_, response) => void response.write('half')],
  ];
  for (const [name, handler] of slow) {
    it(`gives up on a server that ${name}`, async () => {
      handle = handler;
      await fails(open().fetch({ ...POST, url: base, timeoutMs: 50 }), 'timeout');
    });

    it(`can be canceled while a server ${name}`, async () => {
      const cancel = new AbortController();
      handle = (request, response) => {
        handler(request, response);
        setImmediate(() => cancel.abort());
      };
      await fails(open().fetch({ ...POST, url: base, signal: cancel.signal }), 'canceled');
    });
  }

  it('can be canceled while it connects', async () => {
    const cancel = new AbortController();
    const never = ((): void => setImmediate(() => cancel.abort()) as unknown as void) as unknown;
    const client = open({ lookup: never as typeof lookup });
    await fails(
      client.fetch({ ...POST, url: 'http://example.test/', signal: cancel.signal }),
      'canceled',
    );
    await fails(client.fetch({ ...POST, url: 'http://example.test/', timeoutMs: 20 }), 'timeout');
  });

  it('can be canceled while a stream is read', async () => {
    handle = (_, response) => void response.write('x');
    const cancel = new AbortController();
    const response = await open().stream({ ...POST, url: base, signal: cancel.signal });
    await response.body.next();
    const rest = response.body.next();
    cancel.abort();
    await fails(rest, 'canceled');
  });

  // Without a length, the end of the connection is the end of the body.
  for (const [framing, head, last] of [
    ['a length', `content-length: ${LATE_BYTES}\r\n`, ''],
    ['chunks', 'transfer-encoding: chunked\r\n', '\r\n0\r\n\r\n'],
    ['neither', '', ''],
  ] as const) {
    it(`reads a body with ${framing} after the server has closed the connection`, async () => {
      const first = framing === 'chunks' ? `${LATE_BYTES.toString(16)}\r\n` : '';
      const peer = createTcpServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', () => {
          socket.write(`HTTP/1.1 200 OK\r\n${head}connection: close\r\n\r\n${first}`);
          socket.end('x'.repeat(LATE_BYTES) + last);
        });
      });
      await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve));
      const ended = new Promise((resolve) =>
        peer.once('connection', (s) => s.once('end', resolve)),
      );
      const url = `http://127.0.0.1:${(peer.address() as AddressInfo).port}/`;
      const { body } = await open().stream({ ...POST, url });
      // The end arrives while nobody reads.
      await delay(100);
      assert.equal((await readAll(body)).length, LATE_BYTES);
      await ended;
      peer.close();
    });
  }

  it('gives up on a stream that pauses for too long', async () => {
    handle = (_, response) => void response.write('x');
    const response = await open().stream({ ...POST, url: base, idleTimeoutMs: 20 });
    await fails(readAll(response.body), 'timeout');
  });

  it('frees the connection of a discarded stream', async () => {
    let closed: Promise<unknown> = Promise.resolve();
    handle = (request, response) => {
      closed = new Promise((resolve) => request.socket.on('close', resolve));
      response.write('x');
    };
    const response = await open().stream({ ...POST, url: base });
    response.discard();
    response.discard();
    await closed;
  });

  it('refuses a response that is too large', async () => {
    handle = (_, response) => response.end('x'.repeat(101));
    const client = open();
    await fails(client.fetch({ ...POST, url: base }, { bytesMax: 100 }), 'responseTooLarge');
    assert.equal((await client.fetch({ ...POST, url: base }, { bytesMax: 101 })).body.length, 101);
  });

  it('discards a response of any size if it is not needed', async () => {
    handle = (_, response) => {
      response.writeHead(202).write('x'.repeat(300_000));
      response.end('x'.repeat(300_000));
    };
    const response = await open().fetch({ ...POST, url: base }, { bytesMax: null });
    assert.equal(response.status, 202);
    assert.equal(response.body.length, 0);
  });

  it('distinguishes a lost connection from one that was never made', async () => {
    handle = (_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('half');
      setImmediate(() => response.destroy());
    };
    await fails(open().fetch({ ...POST, url: base }), 'broken');
    handle = (request) => request.socket.destroy();
    await fails(open().fetch({ ...POST, url: base }), 'broken');
    const closed = createTcpServer();
    await new Promise<void>((resolve) => {
      closed.listen(0, '127.0.0.1', resolve);
    });
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    await fails(open().fetch({ ...POST, url: `http://127.0.0.1:${port}` }), 'unreachable');
  });

  it('treats a response that is not HTTP as a broken connection', async () => {
    const rude = createTcpServer((socket: Socket) => void socket.end('hello\r\n\r\n'));
    await new Promise<void>((resolve) => {
      rude.listen(0, '127.0.0.1', resolve);
    });
    const { port } = rude.address() as AddressInfo;
    await fails(open().fetch({ ...POST, url: `http://127.0.0.1:${port}` }), 'broken');
    rude.close();
  });

  it('refuses URLs and headers that cannot be sent', async () => {
    const client = open();
    for (const url of ['file:///etc/passwd', 'example.test', '', 'ftp://example.test']) {
      await fails(client.fetch({ ...POST, url }), 'invalidRequest');
    }
    for (const headers of [{ 'x-a': 'a\r\nb: c' }, { 'a b': 'c' }, { 'transfer-encoding': 'x' }]) {
      await fails(client.fetch({ ...POST, url: base, headers }), 'invalidRequest');
    }
  });

  it('refuses addresses in the URL, however they are written', async () => {
    const { port } = new URL(base);
    const client = open({ denyPrivate: true });
    for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', '0']) {
      await fails(client.fetch({ ...POST, url: `http://${host}:${port}/` }), 'addressRefused');
    }
    for (const host of ['169.254.169.254', '[fe80::1]', '2852039166']) {
      await fails(open().fetch({ ...POST, url: `http://${host}/` }), 'addressRefused');
    }
    assert.equal(connections, 0);
  });

  it('refuses names that lead to refused addresses', async () => {
    const { port } = new URL(base);
    const url = `http://inside.test:${port}/`;
    const metadata = open({ lookup: resolvesTo('169.254.169.254') });
    await fails(metadata.fetch({ ...POST, url }), 'addressRefused');
    const loopback = open({ lookup: resolvesTo('127.0.0.1'), denyPrivate: true });
    await fails(loopback.fetch({ ...POST, url }), 'addressRefused');
    assert.equal(connections, 0);
  });

  it('connects only to the allowed addresses of a name', async () => {
    handle = (_, response) => response.end('here');
    const { port } = new URL(base);
    const url = `http://inside.test:${port}/`;
    const client = open({ lookup: resolvesTo('169.254.169.254', '127.0.0.1') });
    assert.equal((await client.fetch({ ...POST, url })).body.toString(), 'here');
    const listed = open({
      ...{ lookup: resolvesTo('127.0.0.1'), denyPrivate: true },
      allow: ['127.0.0.0/8'],
    });
    assert.equal((await listed.fetch({ ...POST, url })).body.toString(), 'here');
  });

  it('resolves a name once per connection, so a second lookup cannot change the address', async () => {
    handle = (_, response) => response.end('here');
    const { port } = new URL(base);
    let asked = 0;
    const rebinding = ((...args: Parameters<typeof lookup>) => {
      const resolveName = asked++ === 0 ? resolvesTo('127.0.0.1') : resolvesTo('169.254.169.254');
      return resolveName(...args);
    }) as typeof lookup;
    const client = open({ lookup: rebinding });
    const url = `http://inside.test:${port}/`;
    assert.equal((await client.fetch({ ...POST, url })).body.toString(), 'here');
    assert.equal(asked, 1);
  });

  it('shows no secret in its errors', async () => {
    const secret = 'sesame-open';
    const request: OutboundRequest = {
      ...{ method: 'POST', timeoutMs: 60_000, body: secret },
      url: `http://user:${secret}@127.0.0.1:1/path?key=${secret}#${secret}`,
      headers: { authorization: `Bearer ${secret}` },
    };
    const errors = [
      await fails(open().fetch(request), 'unreachable'),
      await fails(open({ denyPrivate: true }).fetch(request), 'addressRefused'),
      await fails(
        open().fetch({ ...request, headers: { 'x-a': `${secret}\n` } }),
        'invalidRequest',
      ),
      await fails(open().fetch({ ...request, url: `nonsense ${secret}` }), 'invalidRequest'),
    ];
    for (const error of errors) assert.ok(!inspect(error).includes(secret), inspect(error));
  });

  it('aborts running requests when it is closed, and sends nothing afterwards', async () => {
    const client = open();
    handle = () => void client.close();
    await fails(client.fetch({ ...POST, url: base }), 'canceled');
    await fails(client.fetch({ ...POST, url: base }), 'canceled');
  });
});
