import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { type Connection, listenWithLibrary } from '../../src/http/connection.ts';
import { loadSocketLibrary } from '../../src/http/socket-library.ts';
import type { Listener, ListenOptions } from '../../src/http/connection.ts';
import { listenWithNode } from '../../src/http/node-connection.ts';

type Version = 'TLSv1.2' | 'TLSv1.3';

describe('TLS', () => {
  let dir: string;
  let certificate: string;
  let key: string;
  let listener: Listener | null = null;

  before(function () {
    dir = mkdtempSync(join(tmpdir(), 'gannet-tls-'));
    [certificate, key] = [join(dir, 'c.pem'), join(dir, 'k.pem')];
    const made = spawnSync('openssl', [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
      ...['-keyout', key, '-out', certificate],
    ]);
    if (made.status !== 0) {
      console.log('      skipped: openssl cannot make a certificate here');
      this.skip();
    }
  });
  function stop(): void {
    listener?.stopListening();
    listener?.close();
    listener = null;
  }
  afterEach(stop);
  after(() => rmSync(dir, { recursive: true, force: true }));

  const options = (tls: Partial<ListenOptions['tls']>): ListenOptions => ({
    address: { host: '127.0.0.1', port: 0 },
    tls: {
      certificate,
      key,
      ...{ authority: null, ocsp: null, resumption: false, tickets: false },
      ...tls,
    },
    tlsRequireAuth: false,
    onRequest: (connection: Connection) => connection.respond(200, [], 'served'),
  });

  /** One request on a separate connection. */
  function visit(
    version: Version,
    more: object = {},
  ): Promise<{ reused: boolean; session: Buffer | undefined; stapled: Buffer | null }> {
    return new Promise((resolve, reject) => {
      let session: Buffer | undefined;
      let stapled: Buffer | null = null;
      let reused = false;
      const socket: TLSSocket = connect(
        {
          ...{ port: listener!.port, host: '127.0.0.1', rejectUnauthorized: false },
          ...{ minVersion: version, maxVersion: version },
          ...more,
        },
        () => {
          reused = socket.isSessionReused();
          socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
        },
      );
      socket.on('session', (given) => (session = given));
      socket.on('OCSPResponse', (given: Buffer) => (stapled = given));
      socket.on('data', () => socket.end());
      socket.on('error', reject);
      socket.on('close', () => resolve({ reused, session, stapled }));
    });
  }

  const resumes = async (version: Version, more: object = {}): Promise<boolean> => {
    const { session } = await visit(version, more);
    return (await visit(version, { ...more, session })).reused;
  };

  it('sessions are resumed on node:http only as it is asked for', async () => {
    listener = await listenWithNode(options({}));
    assert.deepEqual([await resumes('TLSv1.2'), await resumes('TLSv1.3')], [false, false]);
    stop();
    listener = await listenWithNode(options({ resumption: true }));
    assert.deepEqual([await resumes('TLSv1.2'), await resumes('TLSv1.3')], [true, false]);
    stop();
    listener = await listenWithNode(options({ tickets: true }));
    assert.deepEqual([await resumes('TLSv1.2'), await resumes('TLSv1.3')], [true, true]);
  });

  it('sessions are always resumed by the socket library', async function () {
    const library = loadSocketLibrary();
    if (library === null) return this.skip();
    listener = await listenWithLibrary(library, options({}));
    assert.deepEqual([await resumes('TLSv1.2'), await resumes('TLSv1.3')], [true, true]);
  });

  it('an OCSP response is stapled as it is; a file that holds none is refused', async () => {
    const file = join(dir, 'ocsp.der');
    const response = Buffer.from([0x30, 0x03, 0x0a, 0x01, 0x00]);
    writeFileSync(file, response);
    listener = await listenWithNode(options({ ocsp: file }));
    const { stapled } = await visit('TLSv1.2', { requestOCSP: true });
    assert.deepEqual(stapled, response);
    writeFileSync(file, 'no response');
    assert.throws(() => listenWithNode(options({ ocsp: file })), /holds no OCSP response in DER/);
    assert.throws(() => listenWithNode(options({ ocsp: join(dir, 'missing') })), /ENOENT/);
  });
});
