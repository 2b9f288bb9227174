/**
 * Replays the recorded responses of the reference and compares the number that agree with
 * test/golden/expected.json, file by file. The numbers there only grow: GANNET_UPDATE_GOLDEN=1
 * writes those that are greater in this run. test/golden/differences.md explains the responses that
 * do not agree.
 *
 * The recorded responses are not part of the repository; without them these tests are skipped.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

/** Per file, the minimum number of responses that agree. */
type Expected = Record<string, number>;

interface FileReport {
  file: string;
  total: number;
  same: number;
  /** The differences, as text. */
  shown: string[];
}

const GOLDEN = resolve(process.env['GANNET_SHARED'] ?? '../shared', 'golden');
const EXPECTED = 'test/golden/expected.json';
const REPLAY_MS_MAX = 600_000;

/**
 * Scenarios are conversations, each from an empty server; collections are loaded once and searched
 * many times; in outbound conversations the server talks to others, one of which is a second
 * server.
 */
const GROUPS = ['scenarios', 'collections', 'outbound'] as const;
type Group = (typeof GROUPS)[number];

const expected = JSON.parse(readFileSync(EXPECTED, 'utf8')) as Record<Group, Expected>;

function pathOf(group: Group, file: string): string {
  return join(folderOf(group), file);
}

function folderOf(group: Group): string {
  return group === 'collections' ? GOLDEN : join(GOLDEN, group);
}

function replay(
  server: BuiltServer,
  second: BuiltServer | undefined,
  group: Group,
  output: string,
): Promise<FileReport[]> {
  const files = Object.keys(expected[group]).map((file) => pathOf(group, file));
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [
      join(GOLDEN, 'replay.mjs'),
      ...['--url', server.url, '--key', server.masterKey, '--show', '1000', '--json', output],
      // Consecutive collections with the same documents share them.
      ...(group === 'collections' ? ['--keep-index'] : []),
      ...(second === undefined ? [] : ['--second', second.url]),
      ...files,
    ]);
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    child.on('error', fail);
    child.on('close', () => {
      // A difference makes the status 1 too, so only the report shows whether the replay finished.
      if (existsSync(output)) done(JSON.parse(readFileSync(output, 'utf8')) as FileReport[]);
      else fail(new Error(`The replay broke off:\n${printed.slice(-2000)}`));
    });
  });
}

function update(group: Group, reports: ReadonlyMap<string, FileReport>): void {
  for (const [file, { same }] of reports) {
    expected[group][file] = Math.max(same, expected[group][file] ?? 0);
  }
  writeFileSync(EXPECTED, `${JSON.stringify(expected, null, 2)}\n`);
}

for (const group of GROUPS) {
  describe(`The recorded ${group}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'gannet-golden-'));
    const reports = new Map<string, FileReport>();
    let server: BuiltServer | undefined;
    let second: BuiltServer | undefined;

    before(async function () {
      this.timeout(REPLAY_MS_MAX);
      if (!existsSync(GOLDEN)) {
        console.log(`skipped: the recorded ${group}, because there is no folder ${GOLDEN}`);
        this.skip();
      }
      server = await startBuiltServer();
      if (group === 'outbound') second = await startBuiltServer();
      for (const report of await replay(server, second, group, join(folder, 'report.json'))) {
        reports.set(report.file, report);
      }
      if (process.env['GANNET_UPDATE_GOLDEN'] !== undefined) update(group, reports);
    });

    after(async () => {
      await server?.close();
      await second?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    for (const [file, min] of Object.entries(expected[group])) {
      it(`${file}: at least ${min} responses agree`, () => {
        const report = reports.get(file);
        assert.ok(report !== undefined, 'not replayed');
        const differences = report.shown.join('\n');
        assert.ok(report.same >= min, `only ${report.same} of ${report.total}:\n${differences}`);
        if (report.same > min) console.log(`      ${report.same} agree: expected.json may grow`);
      });
    }

    it('leave a data folder that is valid', async function () {
      if (server === undefined) this.skip();
      const { valid, text } = await server.verify();
      assert.ok(valid, text);
    });

    it('are all listed in expected.json', function () {
      if (!existsSync(GOLDEN)) this.skip();
      const present = readdirSync(folderOf(group)).filter((file) =>
        file.endsWith(group === 'collections' ? '.ndjson.gz' : '.json'),
      );
      assert.deepEqual(Object.keys(expected[group]).toSorted(), present.toSorted());
    });
  });
}
