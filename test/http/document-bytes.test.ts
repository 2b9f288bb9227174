/** `rawDocumentDbSize` and `avgDocumentSize`: the bytes of the documents as JSON. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { EmbeddingProvider } from '../support/embedding-provider.ts';
import { mulberry } from '../support/random.ts';

const LIMIT = 100_000;
const ROUNDS = 60;
const POLL_MS = 20;
/** Names and values whose JSON is longer than they are, or was sent in another form. */
const NAMES = ['title', 'größe', 'a "b"', 'tab\t', 'nested', '\u{1f600}', 'back\\slash', 'n'];
const VALUES = [
  ...['null', 'true', '0', '-1.50', '1e3', '12345678901234567890', '""', '[ ]', '{ }'],
  ...['"\\u00e9\\n\\/"', '"é\u{1f600}"', '[1 , "x", [ null ]]', '{"k" : {"l":1},"m": [ ] }'],
  ...[`"${'long words '.repeat(40)}"`, '{"a":1,"a":2}'],
];

describe('The bytes of documents in statistics', function () {
  this.timeout(300_000);
  const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 1e9);
  const random = mulberry(seed);
  const below = (end: number): number => Math.floor(random() * end);
  const one = <T>(list: readonly T[]): T => list[below(list.length)]!;
  let server: BuiltServer;

  before(async () => {
    console.log(`      seed ${seed} (GANNET_SEED)`);
    server = await startBuiltServer();
    const features = { editDocumentsByFunction: true };
    await server.call('PATCH', '/experimental-features', { body: features });
  });
  after(() => server?.close());

  /** The bytes of all documents, counted in the body of the response, and their number. */
  async function listed(of: BuiltServer, uid: string): Promise<{ bytes: number; total: number }> {
    const path = `/indexes/${uid}/documents?limit=${LIMIT}`;
    const headers = { authorization: `Bearer ${of.masterKey}` };
    const text = await (await fetch(of.url + path, { headers })).text();
    const { results, total } = JSON.parse(text);
    assert.equal(results.length, total);
    const around = `{"results":[],"offset":0,"limit":${LIMIT},"total":${total}}`;
    const commas = Math.max(0, total - 1);
    return { bytes: Buffer.byteLength(text) - around.length - commas, total };
  }

  async function expectBytes(of: BuiltServer, uid: string, at: string): Promise<void> {
    const { bytes, total } = await listed(of, uid);
    const { json: stats } = await of.call('GET', `/indexes/${uid}/stats`);
    assert.deepEqual(
      [stats.numberOfDocuments, stats.rawDocumentDbSize, stats.avgDocumentSize],
      [total, bytes, total === 0 ? 0 : Math.floor(bytes / total)],
      `${at} (seed ${seed})`,
    );
  }

  async function done(method: string, path: string, sent: object): Promise<void> {
    const task = await server.finish(method, path, sent);
    // CSV has no embeddings, so a document from it may be refused; then nothing changes.
    if (task.error?.code === 'vector_embedding_error') return;
    assert.equal(task.status, 'succeeded', JSON.stringify(task));
  }

  const documentText = (): string => {
    const names = NAMES.filter(() => below(3) === 0);
    const own = one(['null', `[${below(9)}, 0.25]`]);
    const vectors = `"_vectors": {"own": ${own}${one(['', ', "other": [ 1 ]'])}}`;
    const members = names.map((name) => ` ${JSON.stringify(name)} :\n ${one(VALUES)}`);
    return `{ "id" : ${below(40)}${members.map((member) => `,${member}`).join('')}, ${vectors} }`;
  };
  const documentTexts = (): string[] => Array.from({ length: 1 + below(30) }, documentText);
  const embedders = { own: { source: 'userProvided', dimensions: 2 } };

  const operations: Record<string, (path: string) => Promise<void>> = {
    replace: (path) => done('POST', `${path}/documents`, { text: `[${documentTexts().join()}]` }),
    update: (path) => done('PUT', `${path}/documents`, { text: `[${documentTexts().join()}]` }),
    lines: (path) => {
      const lines = documentTexts().map((text) => text.replaceAll('\n', ' '));
      return done('POST', `${path}/documents`, {
        text: lines.join('\n'),
        type: 'application/x-ndjson',
      });
    },
    csv: (path) => {
      const text = `id,title,n:number\n${below(40)},"a ""b""",${below(1e6)}\n`;
      return done('PUT', `${path}/documents`, { text, type: 'text/csv' });
    },
    edit: (path) => {
      const body = {
        filter: `id < ${below(40)}`,
        function: `doc.n = ${below(1e6)}; doc.title = "edited ${below(1e6)}"`,
      };
      return done('POST', `${path}/documents/edit`, { body });
    },
    deleteOne: (path) => done('DELETE', `${path}/documents/${below(40)}`, {}),
    deleteIds: (path) =>
      done('POST', `${path}/documents/delete-batch`, { body: [below(40), below(40), below(40)] }),
    deleteByFilter: (path) =>
      done('POST', `${path}/documents/delete`, { body: { filter: `id = ${below(40)}` } }),
    clear: async (path) => {
      if (below(3) === 0) await done('DELETE', `${path}/documents`, {});
    },
    settings: (path) =>
      done('PATCH', `${path}/settings`, { body: { searchableAttributes: [one(NAMES), 'title'] } }),
    embedder: (path) =>
      done('PATCH', `${path}/settings`, { body: { embedders: one([embedders, null]) } }),
    compact: (path) => done('POST', `${path}/compact`, {}),
    several: async (path) => {
      const tasks = [];
      for (let i = 0; i < 4; i++) {
        const sent =
          below(3) === 0
            ? server.call('DELETE', `${path}/documents/${below(40)}`)
            : server.call(one(['POST', 'PUT']), `${path}/documents`, {
                text: `[${documentTexts().join()}]`,
              });
        tasks.push(await sent);
      }
      for (const { json } of tasks) await server.ended(json.taskUid);
    },
    restart: async () => {
      await server.kill(one(['SIGKILL', 'SIGTERM']));
      await server.restart();
    },
  };

  it('are those of the listed documents after any operations', async () => {
    const body = { filterableAttributes: ['id'] };
    await done('PATCH', '/indexes/any/settings', { body });
    await expectBytes(server, 'any', 'without documents');
    const names = Object.keys(operations);
    const history: string[] = [];
    await operations['replace']!('/indexes/any');
    for (let round = 0; round < ROUNDS; round++) {
      // At least once each.
      const name = names[round] ?? one(names);
      history.push(name);
      await operations[name]!('/indexes/any');
      await expectBytes(server, 'any', history.join(' '));
    }
    await operations['replace']!('/indexes/any');
    await operations['restart']!('');
    await expectBytes(server, 'any', 'at the end');
  });

  it('are the same after a dump and a snapshot are imported', async () => {
    const backups = join(server.data, '..', 'backups');
    const folders = ['--dump-dir', backups, '--snapshot-dir', backups];
    const writer = await startBuiltServer(folders);
    try {
      const text = `[${documentTexts().join()}]`;
      await writer.finish('POST', '/indexes/any/documents?primaryKey=id', { text });
      for (const route of ['/dumps', '/snapshots']) {
        assert.equal((await writer.finish('POST', route)).status, 'succeeded');
      }
      for (const name of readdirSync(backups)) {
        const option = name.endsWith('.dump') ? '--import-dump' : '--import-snapshot';
        const reader = await startBuiltServer([option, join(backups, name)]);
        try {
          await reader.idle();
          await expectBytes(reader, 'any', name);
          assert.ok((await listed(reader, 'any')).bytes > 0);
        } finally {
          await reader.close();
        }
      }
    } finally {
      await writer.close();
    }
  });

  it('do not include embeddings made in the background, nor expired documents', async () => {
    const provider = await EmbeddingProvider.start();
    try {
      const later = provider.embedder('{{ doc.title }}', { mode: 'background' });
      const settings = { embedders: { later }, expiresAtAttribute: 'until' };
      await done('PATCH', '/indexes/later/settings', { body: settings });
      const body = [
        { id: 1, title: 'stays' },
        { id: 2, title: 'stays too', _vectors: { later: null } },
        { id: 3, title: 'goes', until: '2020-01-01' },
      ];
      await done('POST', '/indexes/later/documents', { body });
      for (;;) {
        await server.idle();
        const { json: stats } = await server.call('GET', '/indexes/later/stats');
        if (stats.numberOfDocuments === 2 && stats.numberOfEmbeddings > 0) break;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
      const bytes = '{"id":1,"title":"stays"}{"id":2,"title":"stays too"}'.length;
      assert.deepEqual(await listed(server, 'later'), { bytes, total: 2 });
      await expectBytes(server, 'later', 'embedded');
    } finally {
      provider.stop();
    }
  });
});
