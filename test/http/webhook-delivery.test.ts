import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { freePort } from '../support/free-port.ts';
import { addonIsBuilt, ServerProcess } from './kill/support/server-process.ts';

interface Delivery {
  path: string;
  headers: IncomingMessage['headers'];
  tasks: any[];
}

/** A receiver with a script of responses; after it 200. `hang`: no response at all. */
class Receiver {
  readonly deliveries: Delivery[] = [];
  readonly responses: (number | 'hang')[] = [];
  readonly #server: Server;
  #onDelivery = (): void => {};

  constructor() {
    this.#server = createServer(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const lines = gunzipSync(Buffer.concat(parts)).toString().trimEnd().split('\n');
      const tasks = lines.map((line) => JSON.parse(line));
      this.deliveries.push({ path: request.url!, headers: request.headers, tasks });
      const received = this.responses.shift() ?? 200;
      if (received !== 'hang') response.writeHead(received).end();
      this.#onDelivery();
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async until(count: number): Promise<void> {
    while (this.deliveries.length < count) {
      await new Promise<void>((resolve) => (this.#onDelivery = resolve));
    }
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

describe('Delivery to webhooks', () => {
  let dir: string;
  let receiver: Receiver;
  let url: string;
  let server: ServerProcess;

  const start = async (...args: string[]): Promise<void> => {
    server = await ServerProcess.start({ dir, port: await freePort(), args });
  };
  const call = async (method: string, path: string, body?: unknown): Promise<any> =>
    (
      await fetch(`http://127.0.0.1:${server.port}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    ).json();

  before(function () {
    if (!addonIsBuilt()) this.skip();
  });
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-webhooks-'));
    receiver = new Receiver();
    url = await receiver.listen();
  });
  afterEach(async () => {
    await server.kill();
    receiver.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it('repeats what a receiver refuses for the moment, in order', async () => {
    const port = await freePort();
    await start('--metrics-addr', `127.0.0.1:${port}`);
    await call('POST', '/webhooks', { url });
    receiver.responses.push(503);
    await call('POST', '/indexes', { uid: 'first' });
    await receiver.until(1);
    await call('POST', '/indexes', { uid: 'second' });
    await receiver.until(3);
    const notified = receiver.deliveries.map(({ tasks }) => tasks.map(({ indexUid }) => indexUid));
    assert.deepEqual(notified, [['first'], ['first'], ['second']]);
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    assert.match(metrics, /^gannet_outbound_failures_total{kind="webhook"} 1$/m);
    // The response to the third may be under way.
    assert.match(metrics, /^gannet_outbound_requests_total{kind="webhook"} [23]$/m);
  });

  it('does not repeat what a receiver will never take', async () => {
    await start();
    await call('POST', '/webhooks', { url });
    receiver.responses.push(400);
    await call('POST', '/indexes', { uid: 'first' });
    await receiver.until(1);
    await call('POST', '/indexes', { uid: 'second' });
    await receiver.until(2);
    assert.deepEqual(
      receiver.deliveries.map(({ tasks }) => tasks[0].indexUid),
      ['first', 'second'],
    );
  });

  it('is not lost by a kill, and another receiver does not wait for a slow one', async () => {
    await start();
    await call('POST', '/webhooks', { url: `${url}/slow` });
    receiver.responses.push('hang');
    await call('POST', '/indexes', { uid: 'first' });
    await receiver.until(1);
    await call('POST', '/webhooks', { url: `${url}/quick` });
    await call('POST', '/indexes', { uid: 'second' });
    await receiver.until(2);
    assert.deepEqual(
      receiver.deliveries.map(({ path }) => path),
      ['/slow', '/quick'],
    );
    await server.kill();
    await start();
    // A receiver may be notified twice of tasks that were being sent.
    const slow = (): any[] => receiver.deliveries.slice(2).filter(({ path }) => path === '/slow');
    while (slow().length < 2) await receiver.until(receiver.deliveries.length + 1);
    assert.deepEqual(
      slow().map(({ tasks }) => tasks[0].indexUid),
      ['first', 'second'],
    );
  });

  it('forgets a webhook that is deleted while it waits', async () => {
    await start();
    const { uuid } = await call('POST', '/webhooks', { url: 'http://127.0.0.1:9/' });
    await call('POST', '/indexes', { uid: 'first' });
    const deleted = await fetch(`http://127.0.0.1:${server.port}/webhooks/${uuid}`, {
      method: 'DELETE',
    });
    assert.equal(deleted.status, 204);
    await call('POST', '/webhooks', { url });
    await call('POST', '/indexes', { uid: 'second' });
    await receiver.until(1);
    assert.equal(receiver.deliveries[0]!.tasks[0].indexUid, 'second');
  });

  it('goes to the webhook given at launch, with its credential, which is in no log', async () => {
    await start(
      '--task-webhook-url',
      url,
      '--task-webhook-authorization-header',
      'Bearer launch-secret-000',
      '--log-level',
      'TRACE',
    );
    receiver.responses.push(400);
    await call('POST', '/indexes', { uid: 'first' });
    await receiver.until(1);
    assert.equal(receiver.deliveries[0]!.headers.authorization, 'Bearer launch-secret-000');
    assert.equal(receiver.deliveries[0]!.headers['accept-encoding'], 'gzip');
    assert.ok(!server.stderr.includes('launch-secret'));
  });
});
