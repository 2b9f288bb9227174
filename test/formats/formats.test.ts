/**
 * Data folders of every released format are verified and opened, and respond as before. See
 * README.md.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { settle, tasksFrom } from '../http/kill/support/compare.ts';
import { mulberry } from '../support/random.ts';
import { addonIsBuilt, PROGRAM, ROOT, ServerProcess } from '../http/kill/support/server-process.ts';
import {
  asRecorded,
  ask,
  type Recording,
  type Expected,
  FORMATS,
  RUN_NOTHING,
  stable,
} from './support.ts';

const PORT = 7888;
const BYTES_MAX = 2_000_000;
const KILLS = 4;
/** The waiting tasks take about as long. */
const KILLED_AFTER_MS_MAX = 150;

const seed = Number(process.env['GANNET_SEED'] ?? Math.floor(Math.random() * 2 ** 32));
const random = mulberry(seed);

const formats = readdirSync(FORMATS).filter((name) => statSync(join(FORMATS, name)).isDirectory());

function verify(dir: string): { status: number | null; stdout: string } {
  return spawnSync(process.execPath, [PROGRAM, 'verify', '--db-path', dir], {
    cwd: ROOT,
    encoding: 'utf8',
  });
}

async function respondsAs(
  { client }: ServerProcess,
  exchanges: readonly Recording[],
): Promise<void> {
  for (const { answer: recorded, ...request } of exchanges) {
    const response = asRecorded(request, await ask(client, request), recorded);
    assert.deepEqual(response, stable(recorded), JSON.stringify(request));
  }
}

describe('a data folder of format', function () {
  this.timeout(120_000);

  before(function () {
    if (!addonIsBuilt()) this.skip();
  });

  it('exists, at least of one, and all together are small', () => {
    assert.ok(formats.length > 0);
    const files = readdirSync(FORMATS, { recursive: true, encoding: 'utf8' });
    const sizes = files.map((file) => statSync(join(FORMATS, file)).size);
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(bytes < BYTES_MAX, `${bytes} bytes`);
  });

  for (const name of formats) {
    describe(name, () => {
      const expected = JSON.parse(
        readFileSync(join(FORMATS, name, 'expected.json'), 'utf8'),
      ) as Expected;
      let dir: string;
      let server: ServerProcess | null = null;

      before(() => {
        dir = mkdtempSync(join(tmpdir(), 'gannet-format-'));
        cpSync(join(FORMATS, name, 'data'), dir, { recursive: true });
      });

      afterEach(async () => {
        await server?.stop();
        server = null;
      });

      after(() => {
        rmSync(dir, { recursive: true, force: true });
      });

      it('is valid', () => {
        const { status, stdout } = verify(dir);
        assert.equal(status, 0, stdout);
      });

      it('is opened again after a kill at any moment of a start', async () => {
        for (const ms of [40, 80, 120, 160, 200, 240, 280, 320, 400]) {
          const killed = new ServerProcess({
            dir,
            port: PORT,
            args: ['--upgrade-db', ...RUN_NOTHING],
          });
          await sleep(ms);
          await killed.kill();
        }
        const { status, stdout } = verify(dir);
        assert.equal(status, 0, stdout);
      });

      it('responds like the version that wrote it', async () => {
        server = await ServerProcess.start({
          dir,
          port: PORT,
          args: ['--upgrade-db', ...RUN_NOTHING],
        });
        await respondsAs(server, expected.exchanges);
        await server.stop();
        server = null;
      });

      it(`can be written: its waiting tasks run, through kills (seed ${seed}), and it is valid`, async () => {
        for (let kills = 0; kills < KILLS; kills++) {
          const killed = await ServerProcess.start({ dir, port: PORT });
          await sleep(random() * KILLED_AFTER_MS_MAX);
          await killed.kill();
        }
        server = await ServerProcess.start({ dir, port: PORT });
        await settle(server.client);
        const tasks = await tasksFrom(server.client, expected.waiting[0]!);
        for (const { uid, status, error } of tasks) {
          assert.equal(status, 'succeeded', `${uid}: ${JSON.stringify(error)}`);
        }
        const stats = await server.client.get<{ numberOfDocuments: number }>(
          '/indexes/books/stats',
        );
        assert.equal(stats.numberOfDocuments, expected.documentsAfter);
        await respondsAs(server, expected.after ?? []);
        await server.stop();
        server = null;
        const { status, stdout } = verify(dir);
        assert.equal(status, 0, stdout);
      });
    });
  }
});
