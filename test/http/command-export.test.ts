import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { BadProxy } from '../support/bad-proxy.ts';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';
import { type Ended, runProgram } from '../support/run-program.ts';

describe('gannet export, tasks and health', function () {
  this.timeout(180_000);

  const seed = Math.floor(Math.random() * 2 ** 32);
  let server: BuiltServer;
  let proxy: BadProxy;
  let url: string;
  let dir: string;
  const lines = Array.from(
    { length: 1500 },
    (_, id) => `{"id":${id},"kind":"${id % 3}","number":${id}.0,"text":"}],\\"é"}\n`,
  );

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-export-'));
    server = await startBuiltServer();
    proxy = new BadProxy(server.url, mulberry(seed));
    url = await proxy.listen();
    await server.finish('PATCH', '/indexes/a/settings', {
      body: { filterableAttributes: ['kind'] },
    });
    await server.finish('POST', '/indexes/a/documents', {
      text: lines.join(''),
      type: 'application/x-ndjson',
    });
  });
  after(async () => {
    proxy?.close();
    await server?.close();
    rmSync(dir, { recursive: true });
  });
  beforeEach(() => {
    Object.assign(proxy, { share: 0, substitute: null, before: () => {} });
  });

  function run(...argv: string[]): Promise<Ended> {
    return runProgram(argv, { env: { GANNET_URL: url, GANNET_KEY: server.masterKey } });
  }

  it(`export writes every document as it is, though one in four requests fails (seed ${seed})`, async () => {
    proxy.share = 0.25;
    const plain = join(dir, 'a.ndjson');
    const ended = await run('export', '--index', 'a', '--output', plain);
    assert.equal(ended.status, 0, ended.complaints);
    assert.deepEqual(readFileSync(plain, 'utf8'), lines.join(''));
    proxy.share = 0;
    const packed = `${plain}.gz`;
    await run('export', '--index', 'a', '--output', packed);
    assert.deepEqual(gunzipSync(readFileSync(packed)).toString(), lines.join(''));
    assert.deepEqual(readdirSync(dir).toSorted(), ['a.ndjson', 'a.ndjson.gz']);
    const some = await run('export', '--index', 'a', '--filter', 'kind = 1');
    assert.equal(some.output, lines.filter((_, id) => id % 3 === 1).join(''));
  });

  it('export writes CSV, which import reads again', async () => {
    const path = join(dir, 'a.csv');
    const ended = await run('export', '--index', 'a', '--output', path);
    assert.equal(ended.status, 0, ended.complaints);
    const rows = readFileSync(path, 'utf8').split('\r\n');
    assert.deepEqual(rows.slice(0, 3), [
      'id,kind,number,text',
      '0,0,0.0,"}],""é"',
      '1,1,1.0,"}],""é"',
    ]);
    assert.equal(rows.length, 1502);
    const some = await run(
      ...['export', '--index', 'a', '--filter', 'kind = 1', '--format', 'csv', '--vectors'],
    );
    assert.equal(some.output.split('\r\n').length, 502);
    assert.match(some.output, /^id,kind,number,text,_vectors\r\n/);
    assert.equal((await run('import', path, '--index', 'again')).status, 0);
    const again = (await server.call('GET', '/indexes/again/documents/1')).json;
    assert.deepEqual(again, { id: '1', kind: '1', number: '1.0', text: '}],"é' });
    rmSync(path);
    assert.equal((await run('export', '--index', 'a', '--format', 'xml')).status, 2);
    const nameless = await run('export');
    assert.equal(nameless.status, 2);
    assert.match(nameless.complaints, /^--index is required: the uid of the index to write\.$/m);
  });

  it('health trusts the authorities that it is given', async function () {
    const [certificate, key] = [join(dir, 'c.pem'), join(dir, 'k.pem')];
    const made = spawnSync('openssl', [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
      ...['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate],
    ]);
    if (made.status !== 0) this.skip();
    const secure = createServer(
      { cert: readFileSync(certificate), key: readFileSync(key) },
      (_, response) => response.end('{"status":"available"}'),
    );
    try {
      await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
      const address = `https://127.0.0.1:${(secure.address() as AddressInfo).port}`;
      const distrusted = await run('health', '--url', address);
      assert.equal(distrusted.status, 3);
      assert.match(distrusted.complaints, /--ca/);
      const trusted = await run('health', '--url', address, '--ca', certificate);
      assert.deepEqual([trusted.status, trusted.output], [0, 'available\n'], trusted.complaints);
      const noCertificate = await run('health', '--url', address, '--ca', key);
      assert.equal(noCertificate.status, 2);
      assert.match(noCertificate.complaints, /contains no certificate/);
      assert.equal((await run('health', '--ca', join(dir, 'missing'))).status, 2);
    } finally {
      secure.closeAllConnections();
      secure.close();
      rmSync(certificate);
      rmSync(key);
    }
  });

  it('export leaves no file that is not complete', async () => {
    const path = join(dir, 'broken.ndjson');
    let fetched = 0;
    proxy.before = (line) => {
      if (!line.includes('/fetch')) return;
      proxy.substitute = ++fetched > 1 ? { status: 400, body: { message: 'no more' } } : null;
    };
    const broken = await run('export', '--index', 'a', '--output', path);
    assert.equal(broken.status, 1);
    assert.match(broken.complaints, /no more/);
    proxy.before = () => {};
    proxy.substitute = null;
    mkdirSync(join(dir, 'folder'));
    for (const bad of [join(dir, 'folder'), join(dir, 'missing', 'a')]) {
      const refused = await run('export', '--index', 'a', '--output', bad);
      assert.equal(refused.status, 2, refused.complaints);
      assert.match(refused.complaints, /cannot be written/);
    }
    assert.equal(existsSync(path), false);
    assert.deepEqual(
      readdirSync(dir).filter((name) => name.endsWith('.part')),
      [],
    );
    assert.equal((await run('export', '--index', 'missing')).status, 1);
  });

  it('tasks shows the newest, oldest first, in words and as JSON', async () => {
    const ended = await run('tasks', '--limit', '2', '--index', 'a');
    assert.equal(ended.status, 0, ended.complaints);
    const rows = ended.output.trimEnd().split('\n');
    assert.match(rows[0]!, /^ +\d+ succeeded +settingsUpdate +a /);
    assert.match(rows[1]!, /^ +\d+ succeeded +documentAdditionOrUpdate +a .* s$/);
    const json = await run('tasks', '--json', '--limit', '1', '--type', 'documentAdditionOrUpdate');
    assert.equal(JSON.parse(json.output).details.receivedDocuments, 1500);
    assert.equal((await run('tasks', '--status', 'wrong')).status, 1);
  });

  it('tasks --watch shows each task that ends, and can end when none is left', async () => {
    const idle = await run('tasks', '--watch', '--until-idle');
    assert.deepEqual([idle.status, idle.output], [0, '']);
    // As if there were none yet when the command begins: it sees those end that it then finds.
    proxy.before = (line) => {
      const body = { results: [], total: 0, limit: 1, from: null, next: null };
      proxy.substitute = line.endsWith('&limit=1') ? { status: 200, body } : null;
    };
    const registered = await Promise.all(
      [{ id: 1 }, { id: 'bad id!' }].map((body) =>
        server.call('POST', '/indexes/b/documents', { body: [body] }),
      ),
    );
    const uids = registered.map(({ json }) => json.taskUid).toSorted((a, b) => a - b);
    const watched = await run('tasks', '--watch', '--until-idle', '--index', 'b');
    assert.equal(watched.status, 1, watched.complaints);
    const rows = watched.output.trimEnd().split('\n');
    assert.deepEqual(
      rows.map((row) => Number(row.slice(0, 8))),
      uids,
    );
    assert.equal(rows.filter((row) => row.includes('invalid_document_id')).length, 1);
  });

  it('health needs no key, and says what is there', async () => {
    const well = await run('health', '--url', server.url);
    assert.deepEqual([well.status, well.output], [0, 'available\n']);
    proxy.substitute = { status: 503, body: { message: 'not yet' } };
    const ill = await run('health');
    assert.equal(ill.status, 1);
    assert.match(ill.complaints, /not yet/);
    proxy.substitute = { status: 200, body: { status: 'starting' } };
    assert.equal((await run('health')).status, 1);
    proxy.before = () => 'silence';
    const silent = await run('health', '--timeout', '1');
    assert.equal(silent.status, 3);
    assert.match(silent.complaints, /did not answer within 1 s/);
    assert.equal((await run('health', '--url', 'http://127.0.0.1:1')).status, 3);
    assert.equal((await run('health', 'operand')).status, 2);
  });

  it('export writes whole documents, and claims nothing else, when searches show some attributes only', async () => {
    await server.finish('POST', '/indexes/hiding/documents', {
      body: [{ id: 1, seen: 1, secret: 2 }],
    });
    await server.finish('PATCH', '/indexes/hiding/settings', {
      body: { displayedAttributes: ['id', 'seen'] },
    });
    const ended = await run('export', '--index', 'hiding', '--quiet');
    assert.deepEqual([ended.status, ended.output], [0, '{"id":1,"seen":1,"secret":2}\n']);
    assert.equal(ended.complaints, '1 document\n');
  });
});
