/** `gannet import` of a URL: its format, redirects, credentials, and a connection that breaks. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { type Ended, runProgram } from '../support/run-program.ts';

const DOCUMENTS = 3000;
const LINES = Buffer.from(
  Array.from({ length: DOCUMENTS }, (_, id) => `{"id":${id},"text":"${'y'.repeat(900)}"}\n`).join(
    '',
  ),
);
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A server of files, which can break off. */
class Files {
  readonly #server = createServer((request, response) => this.#respond(request, response));
  readonly seen: { url: string; headers: IncomingHttpHeaders }[] = [];
  files: Record<string, Buffer> = {};
  /** Bytes after which a response ends without its rest, for each response in turn. */
  breaks: number[] = [];
  hasTags = true;
  ignoresRanges = false;
  redirects: Record<string, string> = {};

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #respond(request: IncomingMessage, response: ServerResponse): void {
    const { headers } = request;
    const path = new URL(request.url!, 'http://x').pathname;
    this.seen.push({ url: request.url!, headers });
    const to = this.redirects[path];
    if (to !== undefined) return void response.writeHead(302, { location: to }).end();
    const whole = this.files[path];
    if (whole === undefined) return void response.writeHead(404).end();
    const tag = `"${sha256(whole).slice(0, 12)}"`;
    const asked = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '');
    const isSame = headers['if-range'] === undefined || headers['if-range'] === tag;
    const isPart = asked !== null && isSame && !this.ignoresRanges;
    const begin = isPart ? Number(asked[1]) : 0;
    const end = isPart && asked[2] !== '' ? Number(asked[2]) + 1 : whole.length;
    const part = whole.subarray(begin, end);
    response.writeHead(isPart ? 206 : 200, {
      'content-length': part.length,
      ...(isPart && { 'content-range': `bytes ${begin}-${end - 1}/${whole.length}` }),
      ...(this.hasTags && { etag: tag }),
    });
    const limit = headers.range === 'bytes=0-0' ? undefined : this.breaks.shift();
    if (limit === undefined || limit >= part.length) return void response.end(part);
    response.write(part.subarray(0, limit), () => request.socket.destroy());
  }
}

describe('gannet import of a URL', function () {
  this.timeout(120_000);

  let server: BuiltServer;
  let files: Files;
  let url: string;
  let dir: string;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-url-'));
    server = await startBuiltServer();
  });
  after(async () => {
    await server?.close();
    rmSync(dir, { recursive: true });
  });
  beforeEach(async () => {
    files = new Files();
    url = await files.listen();
    files.files = {
      '/a.ndjson': LINES,
      '/b.csv.gz': gzipSync('id,name\n1,Atlas\n2,Almanac\n'),
    };
  });
  afterEach(() => files.close());

  let count = 0;
  const newIndex = (): string => `i${count++}`;
  const run = (index: string, ...argv: string[]): Promise<Ended> =>
    runProgram(['import', '--index', index, '--retry-seconds', '2', ...argv], {
      env: { GANNET_URL: server.url, GANNET_KEY: server.masterKey },
    });
  const total = async (index: string): Promise<number> =>
    (await server.call('GET', `/indexes/${index}/stats`)).json.numberOfDocuments;
  const ranges = (): string[] =>
    files.seen
      .flatMap(({ headers }) => headers.range ?? 'none')
      .filter((one) => one !== 'bytes=0-0');

  it('takes the format from the path, whatever the query, and follows redirects', async () => {
    files.redirects = { '/old': '/next', '/next': `${url}/b.csv.gz?token=1` };
    for (const path of ['/a.ndjson?x=y.csv', '/b.csv.gz', '/old']) {
      const index = newIndex();
      const ended = await run(index, url + path);
      assert.equal(ended.status, 0, ended.complaints);
      assert.equal(await total(index), path.startsWith('/a') ? DOCUMENTS : 2);
    }
  });

  it('goes on after a broken connection, with the bytes that follow', async () => {
    files.breaks = [1_000_000, 700_001];
    const index = newIndex();
    const ended = await run(index, `${url}/a.ndjson`);
    assert.equal(ended.status, 0, ended.complaints);
    assert.equal(await total(index), DOCUMENTS);
    const [first, ...later] = ranges();
    assert.equal(first, 'none');
    assert.equal(later.length, 2);
    const starts = later.map((range) => Number(/^bytes=(\d+)-$/.exec(range)![1]));
    assert.ok(starts[0]! > 0 && starts[0]! <= 1_000_000, String(starts));
    assert.ok(starts[1]! > starts[0]!, String(starts));
  });

  it('stops rather than mix two files: one that changed, or that is only sent whole', async () => {
    for (const way of ['changed', 'whole', 'no tag'] as const) {
      files.breaks = [1_000_000];
      files.hasTags = way !== 'no tag';
      files.ignoresRanges = way === 'whole';
      files.files['/a.ndjson'] = LINES;
      const index = newIndex();
      const importing = run(index, `${url}/a.ndjson`);
      if (way === 'changed') {
        while (ranges().length === 0) await new Promise((done) => setTimeout(done, 5));
        files.files['/a.ndjson'] = Buffer.concat([Buffer.from('{"id":-1}\n'), LINES]);
      }
      const ended = await importing;
      assert.equal(ended.status, 2, `${way}: ${ended.complaints}`);
      assert.match(ended.complaints, way === 'no tag' ? /cannot be read/ : /has changed/, way);
    }
  });

  it('resumes with a journal, and sends nothing twice', async () => {
    const journal = join(dir, 'journal');
    const argv = [`${url}/a.ndjson`, '--batch-mb', '1', '--journal', journal];
    files.hasTags = false;
    files.breaks = [2_200_000];
    const index = newIndex();
    const broken = await run(index, ...argv);
    assert.equal(broken.status, 2);
    assert.ok(existsSync(journal));
    const ended = await run(index, ...argv);
    assert.equal(ended.status, 0, ended.complaints);
    assert.match(ended.output, /[1-9]\d* sent before/);
    assert.equal(await total(index), DOCUMENTS);
    assert.equal(existsSync(journal), false);
  });

  it('sends the credentials of the URL there and nowhere else, and shows none', async () => {
    const other = new Files();
    const elsewhere = await other.listen();
    try {
      files.redirects = { '/secret': `${elsewhere}/none` };
      const from = url.replace('//', '//user:a-long-password@');
      const ended = await run(newIndex(), `${from}/secret?signature=abcdefghijkl`);
      assert.equal(ended.status, 2);
      assert.match(ended.complaints, /cannot be read: status 404/);
      assert.doesNotMatch(ended.complaints + ended.output, /a-long-password|abcdefghijkl/);
      const basic = `Basic ${Buffer.from('user:a-long-password').toString('base64')}`;
      assert.ok(files.seen.every(({ headers }) => headers.authorization === basic));
      assert.ok(other.seen.length > 0);
      assert.ok(other.seen.every(({ headers }) => headers.authorization === undefined));
    } finally {
      other.close();
    }
  });

  it('reports what cannot be fetched', async () => {
    files.redirects = { '/loop': '/loop' };
    for (const [path, message] of [
      ['/none.json', /\/none\.json cannot be read: status 404/],
      ['/loop', /cannot be read: status 302/],
    ] as const) {
      const ended = await run(newIndex(), url + path);
      assert.equal(ended.status, 2, ended.complaints);
      assert.match(ended.complaints, message);
    }
  });
});
