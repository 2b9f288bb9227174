/**
 * Connections that are reused after a pause, by clients that do not repeat a request: none is sent
 * into a connection that the server closes at that moment. The server says how long it keeps one,
 * and docs/proxies.md what a proxy must set.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'undici';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { HAS_NGINX, Nginx, NO_NGINX } from '../support/nginx.ts';

/** Seconds of idleness, around the moment in which the socket library closes a connection. */
const PAUSES = Array.from({ length: 17 }, (_, n) => 7 + n / 4);
const BODY = '{"q": ""}';

describe('Connections that are idle for some seconds', () => {
  let servers: BuiltServer[] = [];
  before(async () => {
    servers = await Promise.all(
      ['fastest', 'node'].map((transport) => startBuiltServer(['--http-transport', transport])),
    );
    for (const server of servers) {
      await server.finish('POST', '/indexes/books/documents', { body: [{ id: 1 }] });
    }
  });
  after(async () => {
    for (const server of servers) await server.close();
  });

  const path = '/indexes/books/search';
  const headersFor = ({ masterKey }: BuiltServer): Record<string, string> => ({
    authorization: `Bearer ${masterKey}`,
    'content-type': 'application/json',
  });

  /** Runs a client against both transports, with each pause: the test waits only once. */
  const withPauses = async (use: (server: BuiltServer, seconds: number) => Promise<void>) => {
    await Promise.all(servers.flatMap((server) => PAUSES.map((seconds) => use(server, seconds))));
  };

  it('are announced in each response, and kept for that time', async () => {
    const asked = [
      ['GET /health', 200],
      ['GET /nothing', 404],
      ['HEAD /health', 200],
    ] as const;
    await Promise.all(
      servers.flatMap(({ url }) =>
        asked.map(async ([line, status]) => {
          const { hostname, port } = new URL(url);
          const socket = connect(Number(port), hostname);
          const head = await exchange(socket, `${line} HTTP/1.1\r\nhost: x\r\n\r\n`);
          assert.match(head, new RegExp(`^HTTP/1.1 ${status} `));
          const seconds = Number(/\r\nkeep-alive: timeout=(\d+)\r\n/i.exec(head)![1]);
          assert.ok(seconds >= 7, head);
          await delay(Math.min(seconds, 7) * 1000);
          assert.match(await exchange(socket, 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n'), / 200 /);
          socket.destroy();
        }),
      ),
    );
  });

  it('serve clients that keep them as long as the server says', async () => {
    await Promise.all([
      withPauses(async (server, seconds) => {
        // Without the announcement it would keep them for a minute.
        const client = new Client(server.url, { keepAliveTimeout: 60_000 });
        for (const pause of [seconds, 0]) {
          const { statusCode, body } = await client.request({
            ...{ method: 'POST', path, headers: headersFor(server), body: BODY },
          });
          assert.equal(statusCode, 200);
          await body.dump();
          await delay(pause * 1000);
        }
        await client.close();
      }),
      withPauses(async (server, seconds) => {
        const agent = new Agent({ keepAlive: true, maxSockets: 1 });
        for (const pause of [seconds, 0]) {
          assert.equal(await post(server.url + path, headersFor(server), agent), 200);
          await delay(pause * 1000);
        }
        agent.destroy();
      }),
    ]);
  });

  it('serve nginx, with what docs/proxies.md sets', async function () {
    if (!HAS_NGINX) {
      console.log(`      ${NO_NGINX}`);
      this.skip();
    }
    const proxies = await Promise.all(
      servers.map(({ url }) => Nginx.start((address) => proxyOf(url, address))),
    );
    try {
      await withPauses(async (server, seconds) => {
        const { url } = proxies[servers.indexOf(server)]!;
        for (const pause of [seconds, 0]) {
          assert.equal(await post(url + path, headersFor(server)), 200);
          await delay(pause * 1000);
        }
      });
    } finally {
      for (const nginx of proxies) await nginx.stop();
    }
  });
});

/** Sends a request that has no body, and returns the head of its response. */
async function exchange(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  let received = '';
  while (!received.includes('\r\n\r\n')) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    received += chunk.toString();
  }
  return received;
}

function post(url: string, headers: Record<string, string>, agent?: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers, ...(agent && { agent }) }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode!));
    });
    sent.on('error', reject);
    sent.end(BODY);
  });
}

/** As docs/proxies.md configures it. */
function proxyOf(upstream: string, address: string): string {
  return `upstream gannet {
      server ${new URL(upstream).host};
      keepalive 32;
      keepalive_timeout 5s;
    }
    server {
      listen ${address};
      location / {
        proxy_pass http://gannet;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_next_upstream off;
      }
    }`;
}
