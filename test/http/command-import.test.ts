import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { BadProxy } from '../support/bad-proxy.ts';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';
import { type Ended, runProgram, type RunOptions, startProgram } from '../support/run-program.ts';

describe('gannet import', function () {
  this.timeout(180_000);

  const seed = Math.floor(Math.random() * 2 ** 32);
  let server: BuiltServer;
  let proxy: BadProxy;
  let proxyUrl: string;
  let dir: string;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-import-'));
    server = await startBuiltServer();
    proxy = new BadProxy(server.url, mulberry(seed));
    proxyUrl = await proxy.listen();
  });
  after(async () => {
    proxy?.close();
    await server?.close();
    rmSync(dir, { recursive: true });
  });
  beforeEach(async () => {
    Object.assign(proxy, { share: 0, substitute: null, before: () => {} });
    proxy.seen.length = 0;
    for (const { uid } of (await server.call('GET', '/indexes')).json.results) {
      await server.finish('DELETE', `/indexes/${uid}`);
    }
  });

  function run(url: string, argv: readonly string[], options: RunOptions = {}): Promise<Ended> {
    const env = { GANNET_URL: url, GANNET_KEY: server.masterKey, ...options.env };
    return runProgram(['import', ...argv], { ...options, env });
  }

  function file(name: string, content: string | Buffer): string {
    const path = join(dir, name);
    writeFileSync(path, content);
    return path;
  }

  async function documents(index: string): Promise<any[]> {
    const { json } = await server.call('GET', `/indexes/${index}/documents?limit=100000`);
    return json.results.toSorted((a: any, b: any) => Number(a.id) - Number(b.id));
  }

  /** Lines of together about `megabytes`. */
  function lines(megabytes: number): string {
    const count = megabytes * 1000;
    const text = 'x'.repeat(980);
    return Array.from({ length: count }, (_, id) => `{"id":${id},"t":"${text}"}\n`).join('');
  }

  const BOOKS = [
    { id: 1, title: 'a "quoted", title', note: 'two\nlines' },
    { id: 2, title: 'é 😀', note: '' },
    { id: 3, title: ' spaces ', note: 'x' },
  ];

  it('brings in every form alike: array, lines, one after another, compressed, standard input', async () => {
    const ndjson = BOOKS.map((book) => JSON.stringify(book)).join('\n');
    const forms: [string, string | Buffer][] = [
      ['array.json', JSON.stringify(BOOKS, null, 2)],
      ['lines.ndjson', ndjson],
      ['run.json', BOOKS.map((book) => JSON.stringify(book)).join('  ')],
      ['lines.jsonl.gz', gzipSync(ndjson)],
      ['unnamed', gzipSync(JSON.stringify(BOOKS))],
    ];
    for (const [name, content] of forms) {
      const ended = await run(server.url, ['--index', 'books', file(name, content)]);
      assert.equal(ended.status, 0, ended.complaints);
      assert.match(ended.output, /^3 documents sent to `books` in 1 task/);
      assert.deepEqual(await documents('books'), BOOKS, name);
      await server.finish('DELETE', '/indexes/books');
    }
    for (const argv of [[], ['-'], ['--gzip']]) {
      const ended = await run(server.url, ['--index', 'books', ...argv], {
        input: gzipSync(ndjson),
      });
      assert.equal(ended.status, 0, ended.complaints);
      assert.deepEqual(await documents('books'), BOOKS);
      await server.finish('DELETE', '/indexes/books');
    }
  });

  it('brings in CSV, its header in every request', async () => {
    const value = (text: string): string => `"${text.replaceAll('"', '""')}"`;
    const rows = Array.from({ length: 4000 }, (_, id) => [id, 'a;"b"\nc', 'x'.repeat(500)]);
    const csv = `id;title;pad\n${rows.map(([id, a, b]) => `${id};${value(String(a))};${b}\n`).join('')}`;
    const ended = await run(server.url, [
      ...['--index', 'rows', '--csv-delimiter', ';', '--batch-mb', '1'],
      file('rows.csv', csv),
    ]);
    assert.equal(ended.status, 0, ended.complaints);
    assert.match(ended.output, /in 3 tasks/);
    const found = await documents('rows');
    assert.equal(found.length, 4000);
    assert.deepEqual(found[3999], { id: '3999', title: 'a;"b"\nc', pad: 'x'.repeat(500) });
  });

  it('brings in CSV with any end of line, and TSV by its name', async () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const csv = ['id,t', '1,in 5" steel', '', '2,"a,""b"""', '3,c'].join(end);
      for (const whole of [csv, csv + end, `\ufeff${csv}`]) {
        const ended = await run(server.url, ['--index', 'ends', file('ends.csv', whole)]);
        assert.equal(ended.status, 0, ended.complaints);
        assert.match(ended.output, /^3 documents sent/, JSON.stringify(end));
        assert.deepEqual(
          (await documents('ends')).map(({ t }) => t),
          ['in 5" steel', 'a,"b"', 'c'],
        );
        await server.finish('DELETE', '/indexes/ends');
      }
    }
    const tsv = file('a.tsv', 'id\tt\n1\tx,y\n');
    for (const argv of [[tsv], ['--csv-delimiter', 'tab', file('b.csv', 'id\tt\n1\tx,y\n')]]) {
      const ended = await run(server.url, ['--index', 'tabs', ...argv]);
      assert.equal(ended.status, 0, ended.complaints);
      assert.deepEqual(await documents('tabs'), [{ id: '1', t: 'x,y' }]);
      await server.finish('DELETE', '/indexes/tabs');
    }
  });

  it('names each document that is refused by file and line, and takes all others', async () => {
    const rows = Array.from({ length: 3000 }, (_, id) => `${id},${'x'.repeat(500)},"l\n"\n`);
    rows[2500] = '2500,"t\nu"\n';
    rows[30] = 'an id,t,u\n';
    const csv = file('bad.csv', `id,t,u\n${rows.join('')}`);
    const ended = await run(server.url, ['--index', 'bad', '--batch-mb', '1', csv]);
    assert.equal(ended.status, 4, ended.complaints);
    // Every row has two lines, and the header one.
    assert.match(ended.complaints, /bad\.csv:5001: .*it has 2 fields.*\(malformed_payload\)/);
    assert.match(ended.complaints, /bad\.csv:62: .*\(invalid_document_id\)/);
    assert.match(ended.output, /2998 documents sent/);
    assert.match(ended.output, /2 refused documents skipped/);
    assert.equal((await server.call('GET', '/indexes/bad/stats')).json.numberOfDocuments, 2998);
    const json = file('bad.json', '[{"id":"a"},\n{"id":"b"},\n\n{"id":"c","a":01}]');
    const refused = await run(server.url, ['--index', 'bad', json]);
    assert.equal(refused.status, 4);
    assert.match(refused.complaints, /bad\.json:4: /);
    assert.doesNotMatch(refused.complaints, /column/);
    const ids = file('ids.ndjson', '{"id":1}\n{"id":"no id!"}\n');
    const failed = await run(server.url, ['--index', 'bad', ids]);
    assert.equal(failed.status, 4);
    assert.match(failed.complaints, /ids\.ndjson:2: .*\(invalid_document_id\)\n/);
  });

  it('keeps the order of documents when it sends some again', async () => {
    const rows = Array.from({ length: 4000 }, (_, n) =>
      JSON.stringify({ id: n === 700 ? 'no id!' : n % 50, n, t: 'x'.repeat(1000) }),
    );
    const text = file('order.ndjson', rows.join('\n'));
    for (const index of ['order', 'order-update']) {
      const argv = [
        '--index',
        index,
        '--batch-mb',
        '1',
        ...(index === 'order' ? [] : ['--update']),
      ];
      const ended = await run(server.url, [...argv, text]);
      assert.equal(ended.status, 4, ended.complaints);
      assert.match(ended.complaints, /^.*order\.ndjson:701: .*\n$/);
      const found = await documents(index);
      assert.deepEqual(
        found.map(({ n }: any) => n).toSorted((x: number, y: number) => x - y),
        Array.from({ length: 50 }, (_, n) => 3950 + n),
      );
    }
  });

  it('ends when the server takes nothing', async () => {
    const text = file('none.ndjson', Array(3000).fill('{"id":"no id!"}').join('\n'));
    const ended = await run(server.url, ['--index', 'none', text]);
    assert.equal(ended.status, 1);
    assert.match(ended.complaints, /The server refuses all of the first 100 documents\./);
  });

  it('puts documents aside that are refused, in a file that can be mended and imported', async () => {
    const aside = join(dir, 'aside.csv');
    const rows = Array.from({ length: 400 }, (_, id) => `${id},${id},x`);
    rows[0] = 'bad id!,1,x';
    rows[17] = '17,not a number,x';
    rows[18] = '18,1';
    rows[399] = '"399 ",1,x';
    const csv = file('some.csv', `id,n:number,t\r\n${rows.join('\r\n')}`);
    const argv = ['--index', 'aside', '--skip-bad', aside];
    const ended = await run(server.url, [...argv, csv]);
    assert.equal(ended.status, 0, ended.complaints);
    assert.equal((await documents('aside')).length, 396);
    assert.match(ended.output, /^396 documents sent/);
    assert.match(ended.output, /4 refused documents saved to .*aside\.csv/);
    assert.deepEqual(
      [...ended.complaints.matchAll(/some\.csv:(\d+): .*\((\w+)\)/g)].map(([, line, code]) => [
        Number(line),
        code,
      ]),
      [
        [2, 'invalid_document_id'],
        [19, 'malformed_payload'],
        [20, 'malformed_payload'],
        [401, 'invalid_document_id'],
      ],
    );
    assert.equal(
      readFileSync(aside, 'utf8'),
      ['id,n:number,t', rows[0], rows[17], rows[18], `${rows[399]}\n`].join('\r\n'),
    );
    const again = await run(server.url, [...argv, csv]);
    assert.equal(again.status, 2);
    assert.match(again.complaints, /aside\.csv already exists/);
    const json = join(dir, 'aside.ndjson');
    const text = file('some.ndjson', '{"id":7}\n{"id":[]}\n{"x":1}\n{"id":8}\n');
    const second = await run(server.url, ['--index', 'asides', '--skip-bad', json, text]);
    assert.equal(second.status, 0, second.complaints);
    assert.deepEqual(await documents('asides'), [{ id: 7 }, { id: 8 }]);
    assert.equal(readFileSync(json, 'utf8'), '{"id":[]}\n{"x":1}\n');
  });

  it('replaces documents, or updates them, and takes the primary key that is given', async () => {
    const first = file('first.json', '{"id":1,"key":7,"a":1}');
    const more = file('more.json', '{"key":7,"b":2}');
    await run(server.url, ['--index', 'u', '--primary-key', 'key', first]);
    assert.equal((await run(server.url, ['--index', 'u', '--update', more])).status, 0);
    assert.deepEqual(await documents('u'), [{ id: 1, key: 7, a: 1, b: 2 }]);
    assert.equal((await run(server.url, ['--index', 'u', more])).status, 0);
    assert.deepEqual(await documents('u'), [{ key: 7, b: 2 }]);
  });

  it(`loses nothing when one in three requests fails, in parallel (seed ${seed})`, async () => {
    proxy.share = 0.33;
    const argv = ['--index', 'p', '--batch-mb', '1', '--parallel', '4', file('p.ndjson', lines(8))];
    const ended = await run(proxyUrl, argv);
    assert.equal(ended.status, 0, ended.complaints);
    assert.equal((await documents('p')).length, 8000);
  });

  it('waits as long as the server asks', async () => {
    for (const status of [429, 503]) {
      const moments: number[] = [];
      proxy.before = (line) => {
        if (!line.startsWith('POST')) return;
        moments.push(performance.now());
        const isFirst = moments.length === 1;
        proxy.substitute = isFirst ? { status, body: {}, headers: { 'retry-after': '2' } } : null;
      };
      const ended = await run(proxyUrl, ['--index', 'w'], { input: '{"id":1}' });
      assert.equal(ended.status, 0, ended.complaints);
      assert.equal(moments.length, 2);
      assert.ok(moments[1]! - moments[0]! >= 1990, `${moments[1]! - moments[0]!} ms`);
    }
  });

  it('gives up in time, and says why', async () => {
    proxy.substitute = { status: 503, body: {}, headers: { 'retry-after': '3600' } };
    const busy = await run(proxyUrl, ['--index', 'w'], { input: '{"id":1}' });
    assert.equal(busy.status, 1);
    assert.match(busy.complaints, /status 503/);
    proxy.substitute = { status: 200, body: 'hello' };
    const wrong = await run(proxyUrl, ['--index', 'w'], { input: '{"id":1}' });
    assert.equal(wrong.status, 1);
    assert.match(wrong.complaints, /not a JSON object/);
    const nobody = await run('http://127.0.0.1:1', ['--index', 'w'], { input: '{"id":1}' });
    assert.equal(nobody.status, 3);
    assert.match(nobody.complaints, /ECONNREFUSED/);
    const secret = await run(`${server.url}`, ['--index', 'w', '--key', 'wrong'], {
      input: '{"id":1}',
    });
    assert.equal(secret.status, 1);
    assert.match(secret.complaints, /status 403.*invalid_api_key/);
  });

  it('goes on where it was broken off, with a journal, and sends nothing twice', async () => {
    const journal = join(dir, 'journal');
    const argv = ['--index', 'j', '--batch-mb', '1', '--journal', journal];
    argv.push(file('j.ndjson', lines(6)));
    const posts = (): number => proxy.seen.filter((line) => line.startsWith('POST')).length;
    let sent = 0;
    proxy.before = (line) => {
      if (!line.startsWith('POST')) return;
      proxy.substitute = ++sent > 3 ? { status: 400, body: { message: 'no', code: 'bad' } } : null;
    };
    const refused = await run(proxyUrl, argv);
    assert.equal(refused.status, 1);
    assert.match(refused.complaints, /Repeat the command to resume/);
    assert.ok(existsSync(journal));

    // The fifth request gets no response; the process is killed meanwhile.
    proxy.substitute = null;
    sent = 0;
    const env = { GANNET_URL: proxyUrl, GANNET_KEY: server.masterKey };
    const killed = startProgram(['import', ...argv], { env });
    await new Promise<void>((done) => {
      proxy.before = (line) => {
        if (!line.startsWith('POST') || ++sent < 2) return;
        done();
        return 'silence';
      };
    });
    killed.child.kill('SIGKILL');
    await killed.ended;

    proxy.before = () => {};
    proxy.seen.length = 0;
    const resumed = await run(proxyUrl, argv);
    assert.equal(resumed.status, 0, resumed.complaints);
    assert.equal(posts(), 2, proxy.seen.join('\n'));
    const [now, earlier] = [...resumed.output.matchAll(/(\d+) (?:documents? sent|sent before)/g)];
    assert.equal(Number(now![1]) + Number(earlier![1]), 6000, resumed.output);
    assert.equal((await documents('j')).length, 6000);
    assert.equal(existsSync(journal), false);
  });

  it('sends again what the server has taken and then failed', async () => {
    const journal = join(dir, 'failed-journal');
    const argv = [
      '--index',
      'f',
      '--journal',
      journal,
      file('f.json', '[{"id":"not an id!"},{"id":1}]'),
    ];
    // The tasks are not waited for, so the journal stays.
    const sent = await run(server.url, [...argv, '--no-wait']);
    assert.equal(sent.status, 0);
    await server.idle();
    assert.equal(readFileSync(journal, 'utf8').trim().split('\n').length, 2);
    proxy.seen.length = 0;
    // The same bytes at another address: the journal identifies the server by its address.
    const other = await run(proxyUrl, argv);
    assert.equal(other.status, 2);
    assert.match(other.complaints, /not the journal of this import/);
    const again = await run(server.url, argv);
    assert.equal(again.status, 4);
    assert.match(again.complaints, /f\.json:1: .*\(invalid_document_id\)/);
    assert.match(again.output, /^1 document sent/);
    assert.equal(existsSync(journal), false);
  });

  it('ends with 130 when it is interrupted', async () => {
    const env = { GANNET_URL: proxyUrl, GANNET_KEY: server.masterKey };
    const input = '{"id":1}';
    const program = await new Promise<ReturnType<typeof startProgram>>((done) => {
      const started = startProgram(['import', '--index', 'i'], { env, input });
      proxy.before = (line) => {
        if (!line.startsWith('POST')) return;
        done(started);
        return 'silence';
      };
    });
    program.child.kill('SIGINT');
    const { status, complaints } = await program.ended;
    assert.equal(status, 130);
    assert.match(complaints, /Interrupted/);
  });

  it('refuses what it cannot do before anything is sent', async () => {
    const cases: [string[], RegExp][] = [
      [[], /^--index is required/],
      [['--index', 'x', '--batch-mb', '0'], /1 to 1000/],
      [['--index', 'x', '--url', 'ftp://h'], /URL/],
      [['--index', 'x', '--indx', 'y'], /did you mean --index/],
      [['--index', 'x', '--csv-delimiter', 'ab'], /one ASCII character/],
      [['--index', 'x', '--csv-delimiter', '"'], /one ASCII character/],
      [['--index', 'x', '--skip-bad', 'f', '--no-wait'], /no-wait/],
      [['--index', 'x', file('open.csv', 'id,t\n1,"x\n2,y\n')], /open\.csv:2: the quote/],
      [['--index', 'x', file('wide.csv', Buffer.from('id,t\n1,x\n', 'utf16le'))], /is UTF-16/],
      [
        ['--index', 'x', file('latin.csv', Buffer.from('id,t\n1,\xe9\n', 'latin1'))],
        /latin\.csv:2:/,
      ],
      [
        ['--index', 'x', file('semi.csv', 'id;t\n1;x\n')],
        /semi\.csv:1: .*but `;`: add --csv-delimiter ';'/,
      ],
      [['--index', 'x', file('head.csv', 'id,t\n')], /holds no documents/],
      [['--index', 'x', file('none.json', '[]')], /holds no documents/],
      [['--index', 'x', file('blank.csv', '\r\r')], /holds no documents/],
      [['--index', 'x', join(dir, 'missing')], /missing cannot be read: there is no such file/],
      [['--index', 'x', dir], /is a folder/],
      [
        ['--index', 'x', file('cut.json.gz', gzipSync('{"id":1}').subarray(0, 20))],
        /cannot be read/,
      ],
      [['--index', 'x', file('cut.json', '[{"id":1},')], /ends too early/],
    ];
    for (const [argv, message] of cases) {
      const ended = await run(server.url, argv);
      assert.equal(ended.status, 2, `${argv.join(' ')}\n${ended.complaints}`);
      assert.match(ended.complaints, message);
      assert.doesNotMatch(ended.complaints, /Stopped after 0/);
    }
    assert.deepEqual(await documents('x').catch(() => []), []);
  });
});
