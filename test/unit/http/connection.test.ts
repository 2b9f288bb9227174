import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { receiveUpload } from '../../../src/http/body.ts';
import { type Connection, listenWithLibrary, shortAddress } from '../../../src/http/connection.ts';
import type { Socket } from '../../../src/http/socket-types.ts';

/** The socket: the calls made on it, in order. */
class FakeSocket {
  readonly done: string[] = [];
  #onData: (chunk: ArrayBuffer, last: boolean) => void = () => {};

  readonly response = {
    onAborted: () => {},
    onData: (listener: (chunk: ArrayBuffer, last: boolean) => void) => (this.#onData = listener),
    pause: () => this.done.push('pause'),
    // Sets the idle timer, which closes the connection if nothing is written for a while.
    resume: () => this.done.push('resume'),
    cork: (write: () => void) => write(),
    writeStatus: () => {},
    writeHeader: () => {},
    end: () => this.done.push('end'),
  };

  deliver(bytes: number, last = false): void {
    this.#onData(new ArrayBuffer(bytes), last);
  }
}

async function connectionOver(socket: FakeSocket): Promise<Connection> {
  let handler: (res: unknown, req: unknown) => void = () => {};
  let connection: Connection | undefined;
  const app = {
    any: (_: string, handle: typeof handler) => (handler = handle),
    listen: (...[, , , listening]: [string, number, number, (token: unknown) => void]) =>
      listening({}),
  };
  const library = { App: () => app, us_socket_local_port: () => 1 };
  await listenWithLibrary(library as unknown as Socket.Library, {
    address: { host: 'localhost', port: 0 },
    tls: null,
    tlsRequireAuth: false,
    onRequest: (made) => (connection = made),
  });
  handler(socket.response, {
    getCaseSensitiveMethod: () => 'POST',
    getUrl: () => '/',
    getQuery: () => '',
    forEach: () => {},
  });
  return connection!;
}

describe('A connection that waits for its response', () => {
  it('is not resumed once the last byte has come, so that its idle timer stays off', async () => {
    const socket = new FakeSocket();
    const connection = await connectionOver(socket);
    connection.receive(() => connection.pause());
    socket.deliver(10);
    assert.deepEqual(socket.done, ['pause']);
    connection.resume();
    socket.deliver(10);
    socket.deliver(10, true);
    assert.deepEqual(socket.done, ['pause', 'resume', 'pause']);
    connection.resume();
    assert.deepEqual(socket.done, ['pause', 'resume', 'pause']);
    connection.respond(200, [], null);
    // The next request of the connection is read again.
    assert.deepEqual(socket.done, ['pause', 'resume', 'pause', 'resume', 'end']);
  });

  it('is not paused for a last chunk: there is nothing left to wait for', async () => {
    const socket = new FakeSocket();
    const connection = await connectionOver(socket);
    connection.receive(() => connection.pause());
    socket.deliver(10, true);
    connection.respond(200, [], null);
    assert.deepEqual(socket.done, ['end']);
  });

  it('stays so while an upload that arrived during a pause is written to the disk', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gannet-connection-'));
    const socket = new FakeSocket();
    const connection = await connectionOver(socket);
    const files = {
      newPayloadFile: () => ({ path: join(folder, 'payload') }),
      removePayloadFile: () => {},
    };
    const upload = receiveUpload(connection, 1 << 30, files);
    // More than may wait for the disk; the rest is already in flight.
    for (let n = 0; n < 8; n++) socket.deliver(256 * 1024);
    socket.deliver(256 * 1024, true);
    assert.deepEqual(socket.done, ['pause']);
    assert.ok('file' in (await upload));
    assert.deepEqual(socket.done, ['pause']);
    rmSync(folder, { recursive: true });
  });
});

describe('The address of a peer', () => {
  it('is short, and that of IPv4 on a socket for both', () => {
    for (const [text, short] of [
      ['10.0.0.1', '10.0.0.1'],
      ['0000:0000:0000:0000:0000:ffff:0a00:0001', '10.0.0.1'],
      ['::ffff:10.0.0.1', '10.0.0.1'],
      ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
      ['', ''],
    ] as const) {
      assert.equal(shortAddress(text), short);
    }
  });
});
