import assert from 'node:assert/strict';
import { ADDED_FILTERS, ADDED_SETTINGS, assertAddedSettings } from '../support/added-settings.ts';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ArchiveWriter } from '../../src/archive/archive-writer.ts';
import { readArchive } from '../../src/archive/read-archive.ts';
import { freePort } from '../support/free-port.ts';
import { mulberry } from '../support/random.ts';
import type { CallOptions } from './kill/support/client.ts';
import { ServerFolder } from './support/server-folder.ts';
import { settle } from './kill/support/compare.ts';
import { addonIsBuilt, ServerProcess, verify } from './kill/support/server-process.ts';

const SHARED = resolve(process.env['GANNET_SHARED'] ?? '../shared', 'dumps');
const KEY = 'MASTER_KEY_OF_TESTS';

/** Documents of each index of a dump after its waiting tasks, then the number of its tasks. */
const REFERENCE_DUMPS: Readonly<Record<string, [indexes: Record<string, number>, tasks: number]>> =
  {
    'v1.dump': [{ dnd_spells: 10, movies: 10, products: 10 }, 9],
    'v1_v0.20.0_movies_with_settings.dump': [{ indexUID: 53 }, 2],
    'v2.dump': [{ dnd_spells: 10, movies: 110, movies_2: 200, products: 10 }, 9],
    'v2_v0.21.1_movies_with_settings.dump': [{ indexUID: 53 }, 2],
    'v3.dump': [{ dnd_spells: 10, movies: 110, movies_2: 200, products: 10 }, 10],
    'v3_v0.24.0_rubygems_with_settings.dump': [{ rubygems: 53 }, 93],
    'v4.dump': [{ dnd_spells: 10, movies: 110, movies_2: 200, products: 10 }, 10],
    'v5.dump': [{ dnd_spells: 10, movies: 200, movies_2: 200, products: 10 }, 22],
    'v5_v0.28.0_test_dump.dump': [{ test: 10, test2: 10 }, 5],
    'v6-with-experimental.dump': [{ test: 1 }, 2],
    'v6-with-vectors.dump': [{ novector: 2, vector: 4 }, 10],
    'v6-with-webhooks.dump': [{}, 1],
    'v6_v1.13.0_batches_and_enqueued_tasks.dump': [{ kefir: 2 }, 4],
  };

describe('dumps', function () {
  this.timeout(180_000);

  let dir: string;
  let folder: ServerFolder;

  before(function () {
    if (!addonIsBuilt()) this.skip();
  });
  beforeEach(() => {
    folder = new ServerFolder('gannet-dumps-');
    ({ dir } = folder);
  });
  afterEach(async () => {
    key = undefined;
    await folder.remove();
  });

  const dumpDir = (): string => join(dir, 'dumps');

  let key: string | undefined;

  const start = (db: string, ...args: string[]): Promise<ServerProcess> =>
    folder.start(db, ['--dump-dir', dumpDir(), ...args], key);

  async function dumped(server: ServerProcess): Promise<string> {
    const { taskUid } = (await server.client.call('POST', '/dumps')).json<any>();
    await settle(server.client);
    const task = await server.client.get<any>(`/tasks/${taskUid}`);
    assert.equal(task.status, 'succeeded', JSON.stringify(task));
    assert.match(task.details.dumpUid, /^\d{8}-\d{9}$/);
    return join(dumpDir(), `${task.details.dumpUid}.dump`);
  }

  /** Everything in a dump, as routes show it. */
  async function state(server: ServerProcess): Promise<Record<string, unknown>> {
    const { results: indexes } = await server.client.get<any>('/indexes?limit=1000');
    const shown: Record<string, unknown> = {
      indexes,
      features: await server.client.get<any>('/experimental-features'),
      webhooks: await server.client.get<any>('/webhooks'),
      tasks: (await server.client.get<any>('/tasks?limit=1000')).results.filter(isNoDump),
      batches: (await server.client.get<any>('/batches?limit=1000')).results.filter(
        ({ stats }: any) => stats.types.dumpCreation === undefined,
      ),
    };
    for (const { uid } of indexes) {
      shown[`${uid} settings`] = await server.client.get<any>(`/indexes/${uid}/settings`);
      const documents = await server.client.get<any>(
        `/indexes/${uid}/documents?limit=10000&retrieveVectors=true`,
      );
      shown[`${uid} documents`] = documents.results;
    }
    return shown;
  }

  const isNoDump = ({ type }: any): boolean => type !== 'dumpCreation';

  for (const [name, [indexes, tasks]] of Object.entries(REFERENCE_DUMPS)) {
    it(`imports ${name}, and what it writes then is the same again`, async function () {
      const file = join(SHARED, name);
      if (!existsSync(file)) this.skip();
      const first = await start('first', '--import-dump', file);
      await settle(first.client);
      const stats = await first.client.get<any>('/stats');
      const counts = Object.entries(stats.indexes).map(([uid, one]: any) => [
        uid,
        one.numberOfDocuments,
      ]);
      assert.deepEqual(Object.fromEntries(counts), indexes);
      assert.equal((await first.client.get<any>('/tasks')).total, tasks);
      for (const uid of Object.keys(indexes)) {
        const response = await first.client.call('POST', `/indexes/${uid}/search`, { body: {} });
        assert.equal(response.json<any>().hits.length, Math.min(20, indexes[uid]!));
      }
      const copy = await dumped(first);
      const second = await start('second', '--import-dump', copy);
      assert.deepEqual(await state(second), await state(first));
      await second.stop();
      const { status, text } = await verify('--db-path', join(dir, 'second'));
      assert.equal(status, 0, text);
    });
  }

  it('keep what was recorded of tasks: nanoseconds, batches, how long those of format 1 took', async function () {
    const file = join(SHARED, 'v6_v1.13.0_batches_and_enqueued_tasks.dump');
    const old = join(SHARED, 'v1_v0.20.0_movies_with_settings.dump');
    if (!existsSync(file)) this.skip();
    const first = await start('first', '--import-dump', file);
    const task = await first.client.get<any>('/tasks/0');
    const batch = await first.client.get<any>('/batches/0');
    for (const { duration, startedAt, finishedAt } of [task, batch]) {
      assert.equal(startedAt, '2025-02-04T10:14:43.559526162Z');
      assert.equal(finishedAt, '2025-02-04T10:14:43.592428348Z');
      assert.equal(duration, 'PT0.032902186S');
    }
    assert.equal(task.enqueuedAt, '2025-02-04T10:14:43.550379968Z');
    assert.equal(task.batchUid, 0);
    await settle(first.client);
    // The date of a waiting task is kept; it started and finished here.
    const waited = await first.client.get<any>('/tasks/2');
    assert.equal(waited.status, 'succeeded');
    assert.equal(waited.enqueuedAt, '2025-02-04T10:15:49.212484063Z');
    assert.ok(waited.startedAt > '2025-02-05');
    assert.ok(waited.batchUid > 1);

    const second = await start('second', '--import-dump', old);
    const settings = await second.client.get<any>('/tasks/1');
    assert.equal(settings.duration, 'PT7.288826907S');
    assert.equal(settings.finishedAt, '2021-09-08T09:34:48.171900Z');
    assert.equal(settings.startedAt, '2021-09-08T09:34:40.883073093Z');
    const { sortableAttributes } = await second.client.get<any>('/indexes/indexUID/settings');
    assert.deepEqual(sortableAttributes, ['genres']);
  });

  it('keep settings, documents, keys, features, network, webhooks and tasks, waiting ones too', async () => {
    key = KEY;
    const first = await start('first', '--experimental-max-number-of-batched-tasks', '1');
    const seed = Math.floor(Math.random() * 2 ** 32);
    const random = mulberry(seed);
    const call = async (method: string, path: string, body?: unknown): Promise<void> => {
      const response = await first.client.call(method, path, { body });
      assert.ok(response.status < 300, `${method} ${path}: ${response.text}`);
    };
    const documents = Array.from({ length: 300 }, (_, id) => ({
      id,
      title: `title ${Math.floor(random() * 50)} "quoted" \\ é😀`,
      nested: { list: [random(), null, true, { deep: [1, [2]] }] },
      number: (random() - 0.5) * 10 ** Math.floor(random() * 300),
      ...(random() < 0.1 ? { _vectors: 'not for an embedder' } : {}),
    }));
    await call('PATCH', '/experimental-features', {
      containsFilter: true,
      chatCompletions: true,
      dynamicSearchRules: true,
      network: true,
    });
    await call('PATCH', '/network', {
      self: 'here',
      remotes: { there: { url: 'http://127.0.0.1:9/base', searchApiKey: 's', writeApiKey: 'w' } },
    });
    await call('PATCH', '/dynamic-search-rules/promo', { description: 'first', precedence: 3 });
    await call('PATCH', '/chats/support/settings', {
      source: 'vLlm',
      baseUrl: 'http://127.0.0.1:9',
      apiKey: 'a-secret-of-a-provider',
      prompts: { system: 'Be brief.' },
    });
    await call('POST', '/webhooks', { url: 'http://127.0.0.1:9/hook', headers: { a: 'b' } });
    await call('POST', '/keys', {
      name: 'mine',
      actions: ['search', 'documents.*'],
      indexes: ['b*'],
      expiresAt: '2099-01-01T00:00:00Z',
    });
    await call('PATCH', '/indexes/books/settings', {
      ...ADDED_SETTINGS,
      filterableAttributes: ['number', ...ADDED_FILTERS],
      synonyms: { a: ['b'] },
      embedders: { e: { source: 'userProvided', dimensions: 2 } },
    });
    await call('POST', '/indexes/books/documents', documents);
    await call('POST', '/indexes/books/documents', [
      { id: 1000, _vectors: { e: [0.25, -1] } },
      {
        id: 1001,
        _vectors: {
          e: {
            embeddings: [
              [1, 2],
              [3, 4],
            ],
            regenerate: false,
          },
        },
      },
    ]);
    await call('POST', '/indexes/books/documents/delete-batch', [1, 2, 'x']);
    await call('POST', '/indexes/books/documents/delete', { filter: 'number > 1e200' });
    await call('POST', '/indexes', { uid: 'empty', primaryKey: 'key' });
    await call('POST', '/indexes', { uid: 'other' });
    await call('POST', '/swap-indexes', [{ indexes: ['empty', 'other'] }]);
    await call('PATCH', '/indexes/other', { uid: 'renamed' });
    await call('PUT', '/aliases/library', { indexUid: 'books' });
    await call('POST', '/tasks/cancel?uids=0,1,2');
    await call('DELETE', '/tasks?uids=1');
    await call('POST', '/indexes/books/documents', [{ none: 1 }]);
    await settle(first.client);
    const file = await dumped(first);
    const keys = await first.client.get<any>('/keys');

    const second = await start('second', '--import-dump', file);
    assert.deepEqual(await state(second), await state(first), `seed ${seed}`);
    assertAddedSettings(await second.client.get<any>('/indexes/books/settings'));
    assert.deepEqual(await second.client.get<any>('/keys'), keys);
    for (const path of [
      '/chats',
      '/chats/support/settings',
      '/dynamic-search-rules/promo',
      '/aliases/library',
      '/network',
    ]) {
      assert.deepEqual(await second.client.get<any>(path), await first.client.get<any>(path));
    }
    await second.stop();
    const { status, text } = await verify('--db-path', join(dir, 'second'));
    assert.equal(status, 0, text);
    assert.equal(
      readFileSync(join(dir, 'second', 'instance-uid'), 'utf8'),
      readFileSync(join(dir, 'first', 'instance-uid'), 'utf8'),
    );
  });

  it('carry tasks that wait, and their payloads, and these run after the import', async () => {
    const idle = ['--experimental-max-number-of-batched-tasks', '0'];
    let server = await start('first', ...idle);
    const call = async (method: string, path: string, options: CallOptions): Promise<void> => {
      assert.equal((await server.client.call(method, path, options)).status, 202);
    };
    const large = Array.from({ length: 2000 }, (_, id) => ({ id, text: 'x'.repeat(60) }));
    await call('POST', '/dumps', {});
    await call('POST', '/indexes/a/documents', { body: [{ id: 1, v: 1 }] });
    await call('PUT', '/indexes/a/documents', { body: [{ id: 1, w: 2 }, { id: 9 }] });
    await call('POST', '/indexes/a/documents/delete-batch', { body: [9] });
    await call('POST', '/indexes/large/documents', { body: large });
    await call('PATCH', '/indexes/a/settings', { body: { stopWords: ['the'] } });
    await call('DELETE', '/indexes/none', {});
    await server.stop();
    // The dump is made first, the others wait.
    server = await start('first', '--experimental-max-number-of-batched-tasks', '1');
    for (;;) {
      if ((await server.client.get<any>('/tasks/0')).status === 'succeeded') break;
    }
    const [name] = readdirSync(dumpDir());
    await settle(server.client);
    const entries: string[] = [];
    for await (const { path } of readArchive(join(dumpDir(), name!))) entries.push(path);
    assert.ok(entries.includes('tasks/update_files/4.jsonl'), entries.join());

    const waiting = await start('second', ...idle, '--import-dump', join(dumpDir(), name!));
    const { results } = await waiting.client.get<any>('/tasks?reverse=true');
    assert.deepEqual(
      results.map(({ status }: any) => status),
      ['succeeded', ...Array.from({ length: 6 }, () => 'enqueued')],
    );
    await waiting.stop();
    const second = await start('second');
    await settle(second.client);
    const after = (shown: any): unknown => [
      shown.tasks.map(({ uid, type, status, details, error }: any) => ({
        ...{ uid, type, status, details, error: error?.code },
      })),
      shown['a documents'],
      shown['large documents'],
      shown['a settings'],
    ];
    assert.deepEqual(after(await state(second)), after(await state(server)));
  });

  it('are refused when cut off, damaged or foreign, and nothing is left of them', async () => {
    const first = await start('first');
    const body = Array.from({ length: 500 }, (_, id) => ({ id, title: `title ${id}` }));
    await first.client.call('POST', '/indexes/books/documents', { body });
    const file = await dumped(first);
    const bytes = readFileSync(file);
    const broken = join(dir, 'broken.dump');
    for (const length of [0, 10, bytes.length >> 1, bytes.length - 9]) {
      writeFileSync(broken, bytes.subarray(0, length));
      const { status, text } = await folder.failing('second', ['--import-dump', broken]);
      assert.equal(status, 1);
      assert.match(text, /broken\.dump is damaged or cut off/);
      assert.equal(existsSync(join(dir, 'second')), false);
    }
    writeFileSync(broken, 'no archive at all');
    assert.equal((await folder.failing('second', ['--import-dump', broken])).status, 1);
    assert.equal(existsSync(join(dir, 'second')), false);
    // Files of a valid archive with other content.
    const deep = `{"synonyms": ${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
    for (const [part, content, expected] of [
      [
        'indexes/books/settings.json',
        deep,
        /books\/settings\.json cannot be read: it is nested deeper than 128 levels/,
      ],
      [
        'tasks/queue.jsonl',
        deep,
        /queue\.jsonl, line 1 cannot be read: it is nested deeper than 128 levels/,
      ],
      ['indexes/books/documents.jsonl', deep, /documents\.jsonl: .*more than 128 nested/],
      ['indexes/books/documents.jsonl', '{"id": 1}\n{"id": nope}\n', /documents\.jsonl: .*line 2/],
    ] as const) {
      rmSync(broken);
      const archive = await ArchiveWriter.create(broken, { level: 1 });
      for await (const entry of readArchive(file)) {
        const chunks: Buffer[] = [];
        for await (const chunk of entry.body) chunks.push(chunk);
        await archive.add(entry.path, entry.path === part ? content : Buffer.concat(chunks));
      }
      await archive.finish();
      const { status, text } = await folder.failing('second', ['--import-dump', broken]);
      assert.equal(status, 1);
      assert.match(text, expected);
      assert.ok(text.length < 2000 && !text.includes('    at '), text);
      assert.equal(existsSync(join(dir, 'second')), false);
    }
  });

  it('are imported into no database, unless one is to be kept', async () => {
    const first = await start('first');
    const file = await dumped(first);
    await first.stop();
    const refused = await folder.failing('first', ['--import-dump', file]);
    assert.equal(refused.status, 1);
    assert.match(refused.text, /first already has a database/);
    const kept = await start('first', '--import-dump', file, '--ignore-dump-if-db-exists');
    await kept.stop();
    const missing = join(dir, 'missing.dump');
    const absent = await folder.failing('second', ['--import-dump', missing]);
    assert.equal(absent.status, 1);
    assert.match(absent.text, /There is no dump .*missing\.dump/);
    await start('second', '--import-dump', missing, '--ignore-missing-dump');
    const flags = await folder.failing('third', ['--ignore-missing-dump']);
    assert.equal(flags.status, 2);
    assert.match(flags.text, /ignore-missing-dump needs import-dump/);
    const both = await folder.failing('third', ['--import-dump', file, '--import-snapshot', file]);
    assert.equal(both.status, 2);
  });

  it('are whole or absent when the process is killed while they are written or imported', async () => {
    const first = await start('first');
    const body = Array.from({ length: 20_000 }, (_, id) => ({ id, title: `title ${id * 7}` }));
    await first.client.call('POST', '/indexes/books/documents', { body });
    await settle(first.client);
    await first.client.call('POST', '/dumps');
    while ((await first.client.get<any>('/tasks?statuses=processing')).total === 0) {
      if ((await first.client.get<any>('/tasks?statuses=enqueued')).total === 0) break;
    }
    await first.kill();
    // The task runs again, under another name.
    const again = await start('first');
    await settle(again.client);
    const names = readdirSync(dumpDir());
    assert.ok(
      names.every((name) => name.endsWith('.dump')),
      names.join(),
    );
    const [task] = (await again.client.get<any>('/tasks?types=dumpCreation')).results;
    assert.equal(task.status, 'succeeded');
    assert.ok(names.includes(`${task.details.dumpUid}.dump`));
    await again.stop();
    const file = join(dumpDir(), `${task.details.dumpUid}.dump`);
    let kills = 0;
    for (let ms = 150; kills < 12; ms += 25, kills++) {
      const importing = new ServerProcess({
        ...{ dir: join(dir, 'second'), port: await freePort() },
        args: ['--import-dump', file],
      });
      await new Promise((done) => setTimeout(done, ms));
      await importing.kill();
      if (existsSync(join(dir, 'second', 'VERSION'))) break;
    }
    const second = await start(
      ...(['second', '--import-dump', file, '--ignore-dump-if-db-exists'] as const),
    );
    assert.equal((await second.client.get<any>('/stats')).indexes.books.numberOfDocuments, 20_000);
    await second.stop();
    const { status, text } = await verify('--db-path', join(dir, 'second'));
    assert.equal(status, 0, text);
    assert.deepEqual(
      readdirSync(join(dir, 'second')).filter((name) => /import/.test(name)),
      [],
    );
  });
});
