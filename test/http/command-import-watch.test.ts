/** `gannet import --watch`: files that appear, grow, change and fail; the process is killed. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { appendFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';
import { runProgram, startProgram, type RunningProgram } from '../support/run-program.ts';

describe('gannet import --watch', () => {
  const seed = Number(process.env.GANNET_SEED ?? Math.floor(Math.random() * 2 ** 32));
  const random = mulberry(seed);
  let server: BuiltServer;
  let dir: string;
  let env: Record<string, string>;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-watch-'));
    server = await startBuiltServer();
    env = { GANNET_URL: server.url, GANNET_KEY: server.masterKey };
  });
  after(async () => {
    await server?.close();
    rmSync(dir, { recursive: true });
  });

  /** A folder, its journal, and the program that watches it. */
  function watched(name: string): { folder: string; journal: string; argv: string[] } {
    const folder = join(dir, name);
    mkdirSync(folder);
    const journal = join(dir, `${name}.journal`);
    return { folder, journal, argv: ['--index', name, '--journal', journal, '--watch', folder] };
  }

  const start = (argv: readonly string[]): RunningProgram =>
    startProgram(['import', ...argv], { env });

  async function stop({ child, ended }: RunningProgram, signal: NodeJS.Signals) {
    child.kill(signal);
    return ended;
  }

  /** How often the journal says that a file has ended. */
  const ends = (journal: string, file: string): number =>
    existsSync(journal) ? readFileSync(journal, 'utf8').split(`{"end":"${file}"`).length - 1 : 0;

  async function until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await pause(20);
  }

  const lines = (first: number, count: number, version: number): string =>
    Array.from({ length: count }, (_, n) => `{"id":${first + n},"version":${version}}\n`).join('');

  async function documents(index: string): Promise<any[]> {
    const { json } = await server.call('GET', `/indexes/${index}/documents?limit=10000`);
    return json.results.toSorted((a: any, b: any) => a.id - b.id);
  }

  async function additions(index: string): Promise<any[]> {
    const query = `indexUids=${index}&types=documentAdditionOrUpdate&limit=1000`;
    return (await server.call('GET', `/tasks?${query}`)).json.results;
  }

  it('imports what is there and what appears, once it is complete, and nothing twice', async () => {
    const { folder, journal, argv } = watched('grows');
    writeFileSync(join(folder, 'there.ndjson'), lines(0, 3, 1));
    writeFileSync(join(folder, 'notes.md'), '# Notes');
    const program = start(argv);
    const slow = join(folder, 'slow.ndjson');
    writeFileSync(slow, lines(100, 1, 1));
    writeFileSync(join(folder, '.moved.csv'), 'id,version\n8000,1\n');
    let written = 1;
    for (; ends(journal, 'there.ndjson') < 1; written++) {
      appendFileSync(slow, lines(100 + written, 1, 1));
      await pause(100);
    }
    renameSync(join(folder, '.moved.csv'), join(folder, 'moved.csv'));
    await until(() => ends(journal, 'slow.ndjson') > 0 && ends(journal, 'moved.csv') > 0);
    // The same bytes again are no change; other bytes are.
    writeFileSync(join(folder, 'there.ndjson'), lines(0, 4, 2));
    await until(() => ends(journal, 'there.ndjson') === 2);
    const { status, output } = await stop(program, 'SIGINT');
    assert.equal(status, 130);
    assert.match(output, /slow\.ndjson is imported/);
    const found = await documents('grows');
    assert.equal(found.length, 4 + written + 1);
    assert.ok(found.slice(0, 4).every(({ version }) => version === 2));
    // A part of the slow file would have been one more.
    const before = (await additions('grows')).length;
    assert.equal(before, 4);

    const again = start(argv);
    writeFileSync(join(folder, 'last.ndjson'), lines(9_000, 1, 1));
    await until(() => ends(journal, 'last.ndjson') === 1);
    await stop(again, 'SIGINT');
    assert.equal((await additions('grows')).length, before + 1);
  });

  it('reports files that fail, keeps them, and tries them again when they change', async () => {
    const { folder, journal, argv } = watched('fails');
    writeFileSync(join(folder, 'a-broken.ndjson'), '{"id":1}\n{"id":');
    writeFileSync(join(folder, 'b-empty.json'), '   ');
    writeFileSync(join(folder, 'c-key.ndjson'), '{"name":"has no id"}\n');
    writeFileSync(join(folder, 'd-good.ndjson'), lines(7, 1, 1));
    const program = start(argv);
    await until(() => ends(journal, 'd-good.ndjson') === 1);
    for (const name of ['a-broken.ndjson', 'b-empty.json', 'c-key.ndjson']) {
      assert.equal(ends(journal, name), 1, name);
      assert.ok(existsSync(join(folder, name)));
    }
    writeFileSync(join(folder, 'a-broken.ndjson'), lines(1, 2, 1));
    await until(() => ends(journal, 'a-broken.ndjson') === 2);
    const { complaints } = await stop(program, 'SIGINT');
    assert.match(complaints, /a-broken\.ndjson is not imported until it changes: .*a-broken/);
    assert.match(complaints, /b-empty\.json is not imported until it changes: .*no documents/);
    assert.match(complaints, /c-key\.ndjson/);
    assert.deepEqual(
      (await documents('fails')).map(({ id }) => id),
      [1, 2, 7],
    );
  });

  it(`goes on after kills, and sends no more than was not acknowledged (seed ${seed})`, async () => {
    const { folder, journal, argv } = watched('killed');
    const FILES = 12;
    let kills = 0;
    let program = start([...argv, '--batch-mb', '1']);
    const name = (n: number): string => `part-${n}.ndjson`;
    for (let n = 0; n < FILES; n++) writeFileSync(join(folder, name(n)), lines(n * 100, 50, 1));
    const done = (): boolean =>
      Array.from({ length: FILES }, (_, n) => ends(journal, name(n))).every((times) => times > 0);
    while (!done()) {
      // From a start to the end of the first file takes about three seconds.
      await pause(2_000 + random() * 1_500);
      if (done() || kills === 4) continue;
      kills++;
      await stop(program, 'SIGKILL');
      program = start([...argv, '--batch-mb', '1']);
    }
    await stop(program, 'SIGINT');
    const found = await documents('killed');
    assert.equal(found.length, FILES * 50);
    const tasks = await additions('killed');
    assert.ok(tasks.length <= FILES + kills, `${tasks.length} tasks, ${kills} kills`);
    for (let n = 0; n < FILES; n++) assert.equal(ends(journal, name(n)), 1);
  });

  it('refuses what it cannot do', async () => {
    const { argv, folder } = watched('refused');
    const missing = ['--index', 'refused', '--journal', join(dir, 'j'), '--watch', join(dir, 'no')];
    const cases: [string[], RegExp][] = [
      [[...argv, '--no-wait'], /watch needs a journal, and waits/],
      [['--index', 'refused', '--watch', folder], /watch needs a journal/],
      [[...argv, 'books.ndjson'], /no others can be named/],
      [missing, /cannot be read/],
    ];
    for (const [given, message] of cases) {
      const { status, complaints } = await runProgram(['import', ...given], { env });
      assert.equal(status, 2, complaints);
      assert.match(complaints, message);
    }
  });
});
