import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { settle } from './kill/support/compare.ts';
import { addonIsBuilt, ServerProcess } from './kill/support/server-process.ts';

/** Far more than may run and wait. */
const SEARCHES = 600;
const WAITING_MAX = 5;
const GROWTH_MB_MAX = 100;

/** A search that takes some milliseconds: many queries under one permit. */
const BODY = JSON.stringify({
  queries: Array.from({ length: 60 }, (_, n) => ({
    indexUid: 'a',
    q: `some wrods ${n}`,
    limit: 20,
  })),
});

describe('a server that gets more searches than it can do', function () {
  this.timeout(120_000);

  let dir: string;
  let server: ServerProcess;

  before(async function () {
    if (!addonIsBuilt()) this.skip();
    dir = mkdtempSync(join(tmpdir(), 'gannet-overload-'));
    const queue = ['--experimental-nb-searches-per-core', '1'];
    const list = ['--experimental-search-queue-size', String(WAITING_MAX)];
    server = await ServerProcess.start({ dir, port: await freePort(), args: [...queue, ...list] });
    const documents = Array.from({ length: 2000 }, (_, id) => ({
      id,
      text: `some words of document ${id} and ${id * 7} ${'more words '.repeat(id % 5)}`,
    }));
    await server.client.call('POST', '/indexes/a/documents', { body: documents });
    await settle(server.client);
  });

  after(async () => {
    if (server === undefined) return;
    await server.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  function privateMb(): number {
    const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
    return Number(/RssAnon:\s+(\d+)/.exec(status)![1]) / 1024;
  }

  function send(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect(server.port, '127.0.0.1', () => {
        socket.write(
          'POST /multi-search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n' +
            `content-length: ${BODY.length}\r\n\r\n${BODY}`,
        );
        resolve(socket);
      });
      socket.on('error', reject);
    });
  }

  async function response(socket: Socket): Promise<string> {
    let text = '';
    for await (const part of socket) {
      text += String(part);
      const head = text.indexOf('\r\n\r\n');
      const length = Number(/^content-length: (\d+)/im.exec(text)?.[1]);
      if (head >= 0 && Buffer.byteLength(text) >= head + 4 + length) break;
    }
    socket.destroy();
    return text;
  }

  it('serves what it can, refuses the others with the time to wait, and goes on', async () => {
    const before = privateMb();
    const sockets = await Promise.all(Array.from({ length: SEARCHES }, send));
    const responses = await Promise.all(sockets.map(response));
    const grown = Math.round(privateMb() - before);
    const done = responses.filter((text) => text.startsWith('HTTP/1.1 200'));
    const refused = responses.filter((text) => text.startsWith('HTTP/1.1 503'));
    assert.equal(done.length + refused.length, SEARCHES);
    assert.ok(done.length >= WAITING_MAX, `${done.length} were served`);
    assert.ok(refused.length > 0, 'none was refused');
    for (const text of refused) {
      assert.match(text, /^retry-after: 10\r$/im);
      assert.match(text, /too_many_search_requests/);
    }
    assert.ok(grown <= GROWTH_MB_MAX, `${grown} MB more`);
    const { status } = await server.client.call('POST', '/indexes/a/search', {
      body: { q: 'some' },
    });
    assert.equal(status, 200);
  });

  it('still reports that it is healthy, and accepts writes', async () => {
    const sockets = await Promise.all(Array.from({ length: SEARCHES }, send));
    assert.equal((await server.client.call('GET', '/health')).status, 200);
    const added = await server.client.call('POST', '/indexes/b/documents', { body: [{ id: 1 }] });
    assert.equal(added.status, 202);
    await settle(server.client);
    for (const socket of sockets) socket.destroy();
  });
});
