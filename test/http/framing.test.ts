/** Requests whose end is ambiguous, over plain sockets. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

describe('A request', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
  });
  after(() => server.close());

  /** Sends a text and resolves to everything received until the server closes the connection. */
  async function send(text: string | Buffer): Promise<string> {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.write(text);
    let response = '';
    socket.on('error', () => {});
    for await (const part of socket) response += String(part);
    return response;
  }

  const smuggled = 'GET /version HTTP/1.1\r\nhost: x\r\n\r\n';

  for (const [name, heads, body] of [
    ['two lengths', ['content-length: 2', 'content-length: 3'], '{}'],
    ['a length that is no number', ['content-length: +2'], '{}'],
    [
      'a length and chunks',
      ['content-length: 2', 'transfer-encoding: chunked'],
      '2\r\n{}\r\n0\r\n\r\n',
    ],
    ['an unknown coding', ['transfer-encoding: gzip'], '2\r\n{}\r\n0\r\n\r\n'],
    ['two codings', ['transfer-encoding: chunked, chunked'], '2\r\n{}\r\n0\r\n\r\n'],
  ] as const) {
    it(`with ${name} is refused, and nothing behind it is looked at`, async () => {
      const lines = ['POST /multi-search HTTP/1.1', 'host: x', 'content-type: application/json'];
      const response = await send(`${[...lines, ...heads].join('\r\n')}\r\n\r\n${body}${smuggled}`);
      assert.ok(!response.includes(' 200 '), response);
      assert.equal(response.match(/HTTP\/1\.1 /g)?.length ?? 0, response === '' ? 0 : 1, response);
      if (response !== '') assert.match(response, /^HTTP\/1\.1 400 /);
    });
  }

  it('whose method is not in capitals is not understood', async () => {
    const response = await send('get /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    assert.match(response, /^HTTP\/1\.1 40[05] /);
  });

  const tooLarge = gzipSync(Buffer.alloc(2_000_000, ' '));
  for (const [path, heads, body] of [
    ['/indexes/a/search', ['content-length: 200000000'], ''],
    ['/indexes/a/documents', ['content-length: 500000000'], ''],
    ['/keys', ['content-encoding: gzip', `content-length: ${tooLarge.length}`], tooLarge],
  ] as const) {
    it(`to ${path} with a body that is too large ends its connection`, async () => {
      const lines = [`POST ${path} HTTP/1.1`, 'host: x', 'content-type: application/json'];
      const start = [...lines, `authorization: Bearer ${server.masterKey}`, ...heads];
      const response = await send(
        Buffer.concat([Buffer.from(`${start.join('\r\n')}\r\n\r\n`), Buffer.from(body)]),
      );
      assert.match(response, /^HTTP\/1\.1 413 /);
      assert.match(response, /\r\nconnection: close\r\n/i);
      assert.match(response, /payload_too_large/);
    });
  }

  it('with documents that are too large gets a response after all is sent, for clients that look no earlier', async () => {
    const small = await startBuiltServer(['--http-payload-size-limit', '10MB']);
    try {
      for (const isChunked of [false, true]) {
        const body = Buffer.alloc(39_000_000, ' ');
        const length = isChunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`;
        const head = [
          ...['POST /indexes/a/documents HTTP/1.1', 'host: x', 'content-type: application/json'],
          ...[`authorization: Bearer ${small.masterKey}`, length],
        ];
        const start = isChunked ? `${body.length.toString(16)}\r\n` : '';
        const end = isChunked ? '\r\n0\r\n\r\n' : '';
        const socket = connect(Number(new URL(small.url).port), '127.0.0.1');
        const text = `${head.join('\r\n')}\r\n\r\n${start}`;
        const all = Buffer.concat([Buffer.from(text), body, Buffer.from(end)]);
        await new Promise<void>((done, failed) => {
          socket.write(all, (error) => (error ? failed(error) : done()));
        });
        let response = '';
        for await (const part of socket) response += String(part);
        assert.match(response, /^HTTP\/1\.1 413 /);
      }
    } finally {
      await small.close();
    }
  });

  it('with the same length twice, or in chunks, is accepted', async () => {
    const auth = `authorization: Bearer ${server.masterKey}`;
    const start = `POST /multi-search HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${auth}\r\ncontent-type: application/json`;
    const body = '{"queries":[]}';
    const length = `content-length: ${body.length}`;
    assert.match(await send(`${start}\r\n${length}\r\n\r\n${body}`), /^HTTP\/1\.1 200 /);
    const chunks = `transfer-encoding: chunked\r\n\r\ne\r\n${body}\r\n0\r\n\r\n`;
    assert.match(await send(`${start}\r\n${chunks}`), /^HTTP\/1\.1 200 /);
  });
});
