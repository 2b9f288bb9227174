import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiPeer, jsonBody, RefusedRequest } from '../../../src/outbound/api-peer.ts';
import { OutboundClient } from '../../../src/outbound/outbound-client.ts';

describe('Requests to another server with the same API', () => {
  let server: Server;
  let client: OutboundClient;
  let url: string;
  let respond: (request: IncomingMessage, response: ServerResponse) => void;
  let requests: number;

  before(async () => {
    server = createServer((request, response) => {
      requests++;
      request.resume();
      request.on('end', () => respond(request, response));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    url = `http://user:secret@127.0.0.1:${(server.address() as AddressInfo).port}/below/`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    requests = 0;
    client = new OutboundClient({ denyPrivate: false, allow: [] });
  });
  afterEach(() => client.close());

  /** Sends one request without really waiting. @returns the waits in ms */
  async function waits(retriesMsMax: number): Promise<number[]> {
    const asked: number[] = [];
    const peer = new ApiPeer({
      ...{ url, apiKey: 'key', client, retriesMsMax },
      signal: new AbortController().signal,
      wait: async (ms) => void asked.push(ms),
    });
    await peer.send({ method: 'POST', path: '/x', body: jsonBody({ a: 1 }) });
    return asked;
  }

  it('carry the key, keep the path of the address, and show neither user nor password', async () => {
    const seen: unknown[] = [];
    respond = ({ url: path, headers }, response) => {
      seen.push(path, headers.authorization, headers['content-type']);
      response.end('{}');
    };
    assert.deepEqual(await waits(0), []);
    assert.deepEqual(seen, ['/below/x', 'Bearer key', 'application/json']);
    const signal = new AbortController().signal;
    const peer = new ApiPeer({ url, apiKey: null, client, signal, retriesMsMax: 0 });
    assert.equal(peer.address, url.replace('user:secret@', '').replace(/\/$/, ''));
  });

  it('are repeated when the server says so, in seconds or by a date, or after a wait of their own', async () => {
    const cases: [string | null, min: number, max: number][] = [
      ['7', 7000, 7000],
      [new Date(Date.now() + 3_600_000).toUTCString(), 3_500_000, 3_600_000],
      [new Date(0).toUTCString(), 250, 500],
      ['soon', 250, 500],
      [null, 250, 500],
    ];
    for (const status of [408, 429, 500, 502, 503, 504]) {
      for (const [header, min, max] of cases) {
        requests = 0;
        respond = (_, response) => {
          if (requests > 1) return response.end('{}');
          return response.writeHead(status, header === null ? {} : { 'retry-after': header }).end();
        };
        const [ms, ...more] = await waits(1e9);
        assert.ok(ms! >= min && ms! <= max, `${status} ${header}: ${ms}`);
        assert.deepEqual(more, []);
      }
    }
  });

  it('are not repeated when the server requests a longer wait than allowed', async () => {
    respond = (_, response) => response.writeHead(503, { 'retry-after': '2' }).end('{"code":"c"}');
    await assert.rejects(waits(1000), (error: RefusedRequest) => {
      assert.deepEqual([error.status, error.body, error.retryAfterMs], [503, { code: 'c' }, 2000]);
      return true;
    });
    assert.equal(requests, 1);
  });

  it('are not repeated when they would fail again', async () => {
    for (const status of [301, 400, 401, 403, 404, 413, 501]) {
      requests = 0;
      respond = (_, response) => response.writeHead(status).end('not JSON');
      await assert.rejects(waits(1e9), { name: 'RefusedRequest', status, body: {} });
      assert.equal(requests, 1, String(status));
    }
    respond = (_, response) => response.end(Buffer.alloc(2 * 2 ** 20));
    await assert.rejects(waits(1e9), { name: 'OutboundError', failure: 'responseTooLarge' });
  });

  it('are repeated when the connection is lost, before or during the response', async () => {
    respond = ({ socket }, response) => {
      if (requests === 1) socket.destroy();
      else if (requests === 2) {
        response.writeHead(200, { 'content-length': 10 });
        response.write('{', () => socket.destroy());
      } else response.end('{}');
    };
    assert.equal((await waits(1e9)).length, 2);
    assert.equal(requests, 3);
  });
});
