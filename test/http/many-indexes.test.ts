/**
 * Many small indexes in one server. `INDEXES=1000` for more than the default, which is just above
 * the number that may be open at once; `REST=1` also waits until they are at rest (a minute and a
 * half).
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OPEN_INDEXES_MAX, REST_MS, RESTING_INDEXES_MAX } from '../../src/engine/registry.ts';
import { freePort } from '../support/free-port.ts';
import { settle } from './kill/support/compare.ts';
import { addonIsBuilt, ServerProcess } from './kill/support/server-process.ts';

const INDEXES = Number(process.env['INDEXES'] ?? OPEN_INDEXES_MAX + 44);
const WORDS = [
  'apricot',
  'boulder',
  'cinnamon',
  'dragonfly',
  'evergreen',
  'fountain',
  'gramophone',
];
/** HTTP threads of the server. */
const THREADS = Number(process.env['GANNET_HTTP_THREADS'] ?? 1);
/** Maximum private memory of the server, MB: of Node, of an HTTP thread, and of an open index. */
const BASE_MB = 100;
const THREAD_MB = 26;
const OPEN_MB = 0.25;
/** Files that an index may hold open. */
const FILES = 4;

describe('many indexes', function () {
  this.timeout(600_000);

  let dir: string;
  let server: ServerProcess;

  before(async function () {
    if (!addonIsBuilt()) this.skip();
    dir = mkdtempSync(join(tmpdir(), 'gannet-many-'));
    server = await ServerProcess.start({ dir, port: await freePort() });
  });

  after(async () => {
    if (server === undefined) return;
    await server.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  const openFiles = (): number => readdirSync(`/proc/${server.pid}/fd`).length;
  /** After the requests that a new server sends itself at its start. */
  const openFilesAtRest = async (): Promise<number> => {
    let files = openFiles();
    for (let same = 0; same < 10;) {
      await sleep(100);
      same = openFiles() === files ? same + 1 : 0;
      files = openFiles();
    }
    return files;
  };
  const privateMb = (): number => {
    const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
    return Number(/RssAnon:\s+(\d+)/.exec(status)![1]) / 1024;
  };

  async function searchAll(): Promise<void> {
    for (let i = 0; i < INDEXES; i++) {
      const { hits } = await server.client.post<{ hits: { id: number }[] }>(
        `/indexes/many-${i}/search`,
        { q: WORDS[i % WORDS.length] },
      );
      assert.deepEqual(
        hits.map(({ id }) => id),
        [i % WORDS.length],
        `index ${i}`,
      );
    }
  }

  it('take little memory and few files, however often they are opened and closed', async () => {
    const before = openFiles();
    const documents = WORDS.map((title, id) => ({ id, title }));
    for (let i = 0; i < INDEXES; i++) {
      const { status, text } = await server.client.call('POST', `/indexes/many-${i}/documents`, {
        body: documents,
      });
      assert.equal(status, 202, text);
    }
    await settle(server.client);
    for (let round = 0; round < 3; round++) {
      await searchAll();
      const files = openFiles() - before;
      assert.ok(files <= OPEN_INDEXES_MAX * FILES, `${files} more files are open`);
      const mb = Math.round(privateMb());
      const threadsMb = THREADS > 1 ? THREADS * THREAD_MB : 0;
      assert.ok(mb <= BASE_MB + threadsMb + OPEN_INDEXES_MAX * OPEN_MB, `${mb} MB`);
    }
  });

  it('are opened when they are asked for', async () => {
    await server.stop();
    server = await ServerProcess.start({ dir, port: await freePort() });
    const before = await openFilesAtRest();
    await server.client.post('/indexes/many-0/search', { q: WORDS[0] });
    assert.ok(openFiles() - before <= FILES, 'one index is open');
    const { indexes } = await server.client.get<{ indexes: object }>('/stats');
    assert.equal(Object.keys(indexes).length, INDEXES);
    assert.ok(openFiles() - before <= FILES, 'statistics open none');
  });

  it('are closed when they are at rest', async function () {
    if (process.env['REST'] === undefined) this.skip();
    const before = openFiles();
    await searchAll();
    await sleep(REST_MS * 1.5);
    const files = openFiles() - before;
    assert.ok(files <= RESTING_INDEXES_MAX * FILES, `${files} more files are open`);
  });
});
