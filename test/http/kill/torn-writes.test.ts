import assert from 'node:assert/strict';
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { settle, tasksFrom } from './support/compare.ts';
import { addonIsBuilt, ServerProcess } from './support/server-process.ts';

/** Tasks are accepted and wait. */
const RUN_NOTHING = ['--experimental-max-number-of-batched-tasks', '0'];
/** More than the server keeps in memory. */
const MANY = 300;

interface Documents {
  results: { id: string; text: string }[];
  total: number;
}

function documents(first: number, count: number): { id: string; text: string }[] {
  return Array.from({ length: count }, (_, n) => ({
    id: String(first + n),
    text: `word${first + n} ${'filling '.repeat(40)}`,
  }));
}

describe('files torn by a crash', function () {
  this.timeout(120_000);

  let dir: string;
  let server: ServerProcess;

  before(function () {
    if (!addonIsBuilt()) this.skip();
  });

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-torn-'));
  });

  afterEach(async () => {
    if (!server.hasExited) await server.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  async function start(args: readonly string[] = []): Promise<void> {
    server = await ServerProcess.start({ dir, port: await freePort(), args });
  }

  async function add(index: string, first: number, count: number, ndjson = false): Promise<void> {
    const list = documents(first, count);
    const received = await server.client.call('POST', `/indexes/${index}/documents`, {
      bytes: Buffer.from(
        ndjson
          ? list.map((document) => `${JSON.stringify(document)}\n`).join('')
          : JSON.stringify(list),
      ),
      type: ndjson ? 'application/x-ndjson' : 'application/json',
    });
    assert.equal(received.status, 202, received.text);
  }

  async function idsOf(index: string): Promise<number[]> {
    const { results } = await server.client.get<Documents>(
      `/indexes/${index}/documents?limit=10000`,
    );
    return results.map(({ id }) => Number(id)).sort((a, b) => a - b);
  }

  const upTo = (end: number): number[] => Array.from({ length: end }, (_, n) => n);

  it('of an upload that was never acknowledged are forgotten', async () => {
    await start();
    await add('a', 0, MANY);
    await settle(server.client);
    await server.kill();
    const payloads = join(dir, 'payloads');
    writeFileSync(
      join(payloads, 'upload-3f0c3e0a-55a2-4d4c-9a8e-0a4e2b9b1c11'),
      '[{"id":"1000","te',
    );
    await start();
    await settle(server.client);
    assert.deepEqual(readdirSync(payloads), []);
    assert.deepEqual(await idsOf('a'), upTo(MANY));
    await add('a', MANY, 1);
    await settle(server.client);
    assert.deepEqual(await idsOf('a'), upTo(MANY + 1));
  });

  it('of segments that no commit names are forgotten, whatever is in them', async () => {
    await start();
    await add('a', 0, MANY);
    await settle(server.client);
    await server.kill();
    const [folder] = readdirSync(join(dir, 'indexes'));
    const segments = join(dir, 'indexes', folder!, 'segments');
    const names = readdirSync(segments);
    const last = Math.max(...names.map(Number));
    const source = join(segments, String(last));
    assert.ok(statSync(source).isFile(), 'a segment is one file');
    // Files that the next batches would have written: one truncated, one empty, one of noise, one
    // whole.
    const orphans = [1, 2, 3, 4].map((n) => join(segments, String(last + n)));
    copyFileSync(source, orphans[0]!);
    truncateSync(orphans[0]!, Math.floor(statSync(source).size / 2));
    writeFileSync(orphans[1]!, '');
    writeFileSync(orphans[2]!, Buffer.alloc(10_000, 0xa5));
    copyFileSync(source, orphans[3]!);
    await start();
    assert.deepEqual(await idsOf('a'), upTo(MANY));
    for (let n = 0; n < 5; n++) {
      await add('a', MANY + n, 1);
      await settle(server.client);
    }
    assert.deepEqual(await idsOf('a'), upTo(MANY + 5));
    for (const id of [0, MANY - 1, MANY, MANY + 4]) {
      const { hits } = await server.client.post<{ hits: { id: string }[] }>('/indexes/a/search', {
        q: `"word${id}"`,
      });
      assert.deepEqual(
        hits.map((hit) => hit.id),
        [String(id)],
      );
    }
    await server.kill();
    await start();
    assert.deepEqual(await idsOf('a'), upTo(MANY + 5));
    const live = readdirSync(segments);
    for (const name of live) {
      const noise = readFileSync(join(segments, name)).subarray(0, 100);
      assert.notDeepEqual(noise, Buffer.alloc(100, 0xa5), 'orphans are erased');
    }
  });

  for (const { format, cut } of [
    { format: 'json', cut: 'in a document' },
    { format: 'ndjson', cut: 'in a document' },
    { format: 'ndjson', cut: 'after a document' },
  ]) {
    it(`of an acknowledged ${format} payload, cut ${cut}, fail that task alone and say why`, async () => {
      await start(RUN_NOTHING);
      await add('a', 0, MANY, format === 'ndjson');
      await add('a', 1000, 1);
      await add('b', 0, MANY);
      await server.kill();
      const payloads = join(dir, 'payloads');
      // The names hold the uid of the task.
      const file = readdirSync(payloads)
        .map((name) => join(payloads, name))
        .find((path) => /(^|\D)0*0(\D|$)/.test(path.slice(payloads.length + 1)))!;
      const text = readFileSync(file);
      const half = Math.floor(text.length / 2);
      truncateSync(file, cut === 'in a document' ? half : text.indexOf('\n', half) + 1);
      await start();
      await settle(server.client);
      const [cutTask, next, other] = await tasksFrom(server.client, 0);
      assert.equal(cutTask!.status, 'failed', JSON.stringify(cutTask));
      assert.ok(cutTask!.error!.message.length > 20, JSON.stringify(cutTask!.error));
      assert.deepEqual(cutTask!.details, { receivedDocuments: MANY, indexedDocuments: 0 });
      assert.equal(next!.status, 'succeeded', JSON.stringify(next));
      assert.equal(other!.status, 'succeeded', JSON.stringify(other));
      assert.deepEqual(await idsOf('a'), [1000], 'nothing of the cut payload');
      assert.deepEqual(await idsOf('b'), upTo(MANY));
    });
  }

  it('of an acknowledged payload that is missing fail that task alone', async () => {
    await start(RUN_NOTHING);
    await add('a', 0, MANY);
    await add('a', 1000, 1);
    await server.kill();
    const payloads = join(dir, 'payloads');
    for (const name of readdirSync(payloads)) rmSync(join(payloads, name));
    await start();
    await settle(server.client);
    const [damaged, next] = await tasksFrom(server.client, 0);
    assert.equal(damaged!.status, 'failed');
    assert.equal(next!.status, 'succeeded', JSON.stringify(next));
    assert.deepEqual(await idsOf('a'), [1000]);
  });
});
