import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import {
  type Body,
  collectBody,
  LARGE_BODY_BYTES,
  receiveUpload,
  UPLOAD_MEMORY_BYTES_MAX,
  type UploadFiles,
} from '../../../src/http/body.ts';
import type { Connection } from '../../../src/http/connection.ts';

/** A client that keeps sending chunks in flight when it is asked to wait. */
class FakeConnection {
  readonly headers: { contentEncoding?: string };
  aborted = false;
  paused = false;
  #onChunk: (chunk: Buffer, last: boolean) => void = () => {};

  constructor(contentEncoding?: string) {
    this.headers = contentEncoding === undefined ? {} : { contentEncoding };
  }

  onAbort(): void {}
  receive(onChunk: (chunk: Buffer, last: boolean) => void): void {
    this.#onChunk = onChunk;
  }
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
  deliver(chunk: Buffer, last = false): void {
    this.#onChunk(chunk, last);
  }
}

describe('An upload', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'gannet-upload-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('goes on after every pause, also when chunks arrive during it', async () => {
    const connection = new FakeConnection();
    const path = join(folder, 'payload');
    const files = { newPayloadFile: () => ({ path }), removePayloadFile: () => {} };
    const upload = receiveUpload(connection as unknown as Connection, 1 << 30, files);
    const sent: Buffer[] = [];
    const send = (bytes: number, last = false): void => {
      const chunk = Buffer.alloc(bytes, sent.length + 1);
      sent.push(chunk);
      connection.deliver(chunk, last);
    };
    for (let round = 0; round < 50; ++round) {
      while (!connection.paused) send(300 * 1024);
      // Some of the bytes reach the disk, but too few to continue; then a late chunk arrives.
      for (let yields = 0; yields < round % 4; ++yields) await new Promise(setImmediate);
      send(1);
      while (connection.paused) await sleep(2);
    }
    send(0, true);
    assert.deepEqual(await upload, { file: path });
    assert.ok(readFileSync(path).equals(Buffer.concat(sent)));
  });

  it('that is broken off while it is decompressed leaves no file and no response', async () => {
    const connection = new FakeConnection('gzip');
    const paths: string[] = [];
    const files = {
      newPayloadFile: () => ({ path: paths[paths.push(join(folder, String(paths.length))) - 1]! }),
      removePayloadFile: (path: string) => rmSync(path),
    };
    let settled = false;
    const upload = receiveUpload(connection as unknown as Connection, 2 ** 30, files);
    const end = (): void => void (settled = true);
    upload.then(end, end);
    const part = gzipSync(randomBytes(2 ** 20));
    for (let n = 0; n < 8; n++) connection.deliver(part);
    connection.deliver(Buffer.alloc(0), true);
    while (paths.length < 2) await sleep(1);
    connection.aborted = true;
    while (paths.some((path) => existsSync(path))) await sleep(1);
    await sleep(1);
    assert.equal(settled, false);
  });

  for (const coding of [undefined, 'gzip'] as const) {
    it(`that no file can be made for fails with the reason, coding ${coding ?? 'none'}`, async () => {
      const full = Object.assign(new Error('EMFILE: open'), { code: 'EMFILE' });
      const files: UploadFiles = {
        newPayloadFile: () => {
          throw full;
        },
        removePayloadFile: () => assert.fail('there is none'),
      };
      const connection = new FakeConnection(coding);
      const upload = receiveUpload(connection as unknown as Connection, 2 ** 30, files);
      const text = Buffer.alloc(UPLOAD_MEMORY_BYTES_MAX + 1, 'text');
      connection.deliver(coding === undefined ? text : gzipSync(text), true);
      await assert.rejects(upload, { code: 'too_many_open_files' });
    });
  }

  it('that failed fails with the first reason, although its file cannot be closed', async function () {
    if (!existsSync('/proc/self/fd')) this.skip();
    const path = join(folder, 'payload');
    const removed: string[] = [];
    const files: UploadFiles = {
      newPayloadFile: () => ({ path }),
      removePayloadFile: (file) => removed.push(file),
    };
    const connection = new FakeConnection();
    const limit = UPLOAD_MEMORY_BYTES_MAX + 10;
    const upload = receiveUpload(connection as unknown as Connection, limit, files);
    connection.deliver(Buffer.alloc(limit));
    const opened = readdirSync('/proc/self/fd').find((fd) => targetOf(fd) === path);
    closeSync(Number(opened));
    connection.deliver(Buffer.alloc(1), true);
    await assert.rejects(upload, { code: 'payload_too_large' });
    assert.deepEqual(removed, [path]);
  });

  // A client on the same machine sends so fast that everything arrives before the server can do
  // anything else.
  const BODY_MB = 256;
  const GROWTH_MB_MAX = 64;

  for (const coding of [undefined, 'gzip'] as const) {
    it(`of ${BODY_MB} MB, coding ${coding ?? 'none'}, takes at most ${GROWTH_MB_MAX} MB of memory`, async function () {
      if (!existsSync('/proc/self/status')) this.skip();
      const connection = new FakeConnection(coding);
      const paths: string[] = [];
      const files = {
        newPayloadFile: () => {
          const path = join(folder, `payload-${paths.length}`);
          paths.push(path);
          return { path };
        },
        removePayloadFile: (path: string) => rmSync(path),
      };
      const megabyte = randomBytes(2 ** 20);
      // Members of gzip may follow each other.
      const part = coding === undefined ? megabyte : gzipSync(megabyte);
      const upload = receiveUpload(connection as unknown as Connection, 2 ** 30, files);
      const before = privateMemory();
      let peak = before;
      const sample = (): void => void (peak = Math.max(peak, privateMemory()));
      const sampler = setInterval(sample, 5);
      for (let n = 0; n < BODY_MB; n++) {
        connection.deliver(part);
        sample();
      }
      connection.deliver(Buffer.alloc(0), true);
      const done = (await upload) as { file: string };
      clearInterval(sampler);
      sample();
      assert.equal(statSync(done.file).size, BODY_MB * megabyte.length);
      assert.deepEqual(
        paths.filter((path) => existsSync(path)),
        [done.file],
        'no other file is left',
      );
      const grown = Math.round((peak - before) / 2 ** 20);
      assert.ok(grown <= GROWTH_MB_MAX, `${grown} MB`);
    });
  }
});

/** The file that a descriptor of this process is open on. */
function targetOf(fd: string): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return null;
  }
}

/** Memory without page cache and mapped files, bytes. */
function privateMemory(): number {
  const status = readFileSync('/proc/self/status', 'utf8');
  return Number(/RssAnon:\s+(\d+)/.exec(status)![1]) * 1024;
}

describe('A body in memory', () => {
  /** The collected body, with its bytes copied before the callback ends. */
  function collected(
    connection: FakeConnection,
    limit = 1 << 30,
    dropped = limit,
  ): Promise<{ body: Body | Error; bytes: Buffer }> {
    return new Promise((resolve) => {
      collectBody(
        connection as unknown as Connection,
        { limit, dropped, kept: LARGE_BODY_BYTES },
        (body) =>
          resolve({ body, bytes: 'parts' in body ? Buffer.concat(body.parts) : Buffer.alloc(0) }),
      );
    });
  }

  it('costs no more in chunks of a byte than in one', async () => {
    const sent = randomBytes(3 * LARGE_BODY_BYTES);
    const connection = new FakeConnection();
    const outcome = collected(connection);
    const memory = Buffer.alloc(1);
    for (const byte of sent) {
      memory[0] = byte;
      connection.deliver(memory);
    }
    connection.deliver(Buffer.alloc(0), true);
    const { body, bytes } = await outcome;
    assert.ok('parts' in body && body.parts.length < 20 && body.size === sent.length);
    assert.ok(bytes.equals(sent));
    const held = body.parts.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
    assert.ok(held <= 2 * sent.length, `${held} bytes for ${sent.length}`);
  });

  for (const coding of [undefined, 'gzip'] as const) {
    for (const size of [0, 1, LARGE_BODY_BYTES - 1, LARGE_BODY_BYTES, 5 * LARGE_BODY_BYTES]) {
      it(`of ${size} bytes, ${coding ?? 'plain'}, is what was sent`, async () => {
        const plain = randomBytes(size);
        const sent = coding === undefined || size === 0 ? plain : gzipSync(plain);
        for (const cut of [0, 1, 1000, 300_000].filter((at) => at <= sent.length)) {
          const connection = new FakeConnection(coding);
          const outcome = collected(connection);
          const chunk = Buffer.from(sent.subarray(cut));
          if (cut > 0) connection.deliver(Buffer.from(sent.subarray(0, cut)));
          connection.deliver(chunk, true);
          const { body, bytes } = await outcome;
          assert.ok(bytes.equals(plain));
          assert.ok('size' in body && body.size === size);
          if (size >= LARGE_BODY_BYTES) {
            assert.ok(body.parts.every(({ buffer }) => buffer !== chunk.buffer));
          }
        }
      });
    }
  }

  it('is refused beyond its limit, decoded or not', async () => {
    for (const coding of [undefined, 'gzip']) {
      const connection = new FakeConnection(coding);
      const outcome = collected(connection, 1000);
      const bytes = Buffer.alloc(100_000);
      connection.deliver(coding === undefined ? bytes : gzipSync(bytes), true);
      const { body } = await outcome;
      assert.equal('code' in body && body.code, 'payload_too_large');
    }
  });

  it('that is too large is refused when all of it has come, or more than is worth it', async () => {
    for (const declared of [undefined, '3000']) {
      const connection = new FakeConnection();
      if (declared !== undefined) Object.assign(connection.headers, { contentLength: declared });
      let refused = false;
      const outcome = collected(connection, 1000, 5000).finally(() => (refused = true));
      connection.deliver(Buffer.alloc(2000));
      await new Promise(setImmediate);
      assert.equal(refused, false);
      connection.deliver(Buffer.alloc(1000), true);
      const { body } = await outcome;
      assert.equal('code' in body && body.code, 'payload_too_large');
    }
    const endless = new FakeConnection();
    const outcome = collected(endless, 1000, 5000);
    endless.deliver(Buffer.alloc(5001));
    const { body } = await outcome;
    assert.equal('code' in body && body.code, 'payload_too_large');
  });
});
