import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';
import { EmbeddingProvider } from '../support/embedding-provider.ts';

/** Running children of a process. */
function childrenOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
}

function statusOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return 'State:\tZ';
  }
}

describe('Editing documents by a function', () => {
  let server: BuiltServer;
  const documents = Array.from({ length: 300 }, (_, id) => ({ id, n: id, tags: [`t${id % 3}`] }));
  const edit = (body: unknown): Promise<any> =>
    server.finish('POST', '/indexes/books/documents/edit', { body });
  const count = async (filter: string): Promise<number> =>
    (await server.call('POST', '/indexes/books/documents/fetch', { body: { filter, limit: 0 } }))
      .json.total;

  before(async function () {
    this.timeout(120_000);
    server = await startBuiltServer([], {
      MEILI_SECRET: 'x',
      GANNET_SECRET: 'x',
      NODE_OPTIONS: '',
    });
    const body = { editDocumentsByFunction: true };
    await server.call('PATCH', '/experimental-features', { body });
    const settings = { filterableAttributes: ['n', 'tags', 'id'] };
    await server.finish('PATCH', '/indexes/books/settings', { body: settings });
  });
  beforeEach(async () => {
    await server.finish('DELETE', '/indexes/books/documents');
    await server.finish('POST', '/indexes/books/documents', { body: documents });
  });
  after(() => server.close());

  it('keeps the numbers of its context as they were written', async () => {
    const raw = async (path: string): Promise<string> => {
      const headers = { authorization: `Bearer ${server.masterKey}` };
      return (await fetch(server.url + path, { headers })).text();
    };
    const numbers = '"float":2.0,"list":[1.0,1],"id":12345678901234567890';
    const fields = 'doc.float = context.float; doc.list = context.list; doc.big = context.id;';
    const text = (long: string): string =>
      `{"filter":"id = 7","function":"${fields}","context":{${numbers},"long":"${long}"}}`;
    const inQuery = new URLSearchParams({
      ...{ filter: 'id = 7', function: fields, context: `{${numbers}}` },
    });
    // A long body is parsed in a separate thread.
    for (const request of [{ text: text('') }, { text: text('x'.repeat(300_000)) }, null]) {
      const task =
        request === null
          ? await server.finish('POST', `/indexes/books/documents/edit?${inQuery.toString()}`)
          : await server.finish('POST', '/indexes/books/documents/edit', request);
      assert.equal(task.status, 'succeeded');
      const document = await raw('/indexes/books/documents/7');
      assert.match(document, /"float":2\.0,"list":\[1\.0,1\],"big":12345678901234567890/);
      for (const path of [`/tasks/${task.uid}`, `/batches/${task.batchUid}`]) {
        assert.ok((await raw(path)).includes(`"context":{${numbers}`), path);
      }
      await server.finish('POST', '/indexes/books/documents', { body: [documents[7]] });
    }
  });

  it('edits, deletes and leaves alone, over many pages, and counts what it did', async () => {
    const task = await edit({
      function: 'if doc.n < 100 { doc = () } else if doc.n < 150 { doc.n += context.by; }',
      context: { by: 1000 },
      filter: 'id < 200',
    });
    assert.equal(task.status, 'succeeded');
    assert.deepEqual(task.details, {
      deletedDocuments: 100,
      editedDocuments: 50,
      context: { by: 1000 },
      function: 'if doc.n < 100 { doc = () } else if doc.n < 150 { doc.n += context.by; }',
      originalFilter: '"id < 200"',
    });
    assert.equal(await count('n >= 1000'), 50);
    assert.equal(await count('n < 1000'), 150);
  });

  it('changes nothing when one document fails, however late', async () => {
    const task = await edit({ function: 'doc.n = 0; if doc.id == 299 { throw "last" }' });
    assert.equal(task.error.code, 'edit_documents_by_function_error');
    assert.match(task.error.message, /`299`.*last/);
    assert.deepEqual([task.details.editedDocuments, task.details.deletedDocuments], [0, null]);
    assert.equal(await count('n = 0'), 1);
  });

  it('refuses a filter that cannot be evaluated with the code of document filters', async () => {
    const task = await edit({ function: 'doc.n = 0', filter: 'unknown = 1' });
    assert.equal(task.error.code, 'invalid_document_filter');
  });

  it('fails when the function needs too much memory, and the server goes on', async () => {
    const task = await edit({
      function:
        'let a = []; for i in 0..9000 { let b = []; b.pad(9000, i); a.push(b); } doc.a = a;',
      filter: 'id = 1',
    });
    assert.equal(task.error.code, 'edit_documents_by_function_error');
    assert.equal((await server.call('GET', '/health')).json.status, 'available');
  });

  it('stops at once when the task is canceled', async () => {
    const slow = 'let x = 0; while x < 200000 { x += 1; } doc.n = x;';
    const { json } = await server.call('POST', '/indexes/books/documents/edit', {
      body: { function: slow },
    });
    const uid = json.taskUid as number;
    let status = '';
    while (status !== 'processing') {
      status = (await server.call('GET', `/tasks/${uid}`)).json.status;
    }
    await server.call('POST', `/tasks/cancel?uids=${uid}`);
    assert.equal((await server.ended(uid)).status, 'canceled');
    assert.equal(await count('n = 200000'), 0);
  });

  const FATAL = [
    'let s="a"; for i in 0..28 { s += s; } s.replace("a","b");',
    'let s = ""; s.pad(536870000,"b")',
    'let s = "[0,0,0,0]"; s.pad(50_000_000, " "); parse_json(s)',
    'let a = []; loop { a = [a, a, "x"]; }',
  ];
  for (const text of FATAL) {
    it(`survives \`${text}\``, async () => {
      const { pid } = server;
      const task = await edit({ function: text });
      assert.equal(task.error.code, 'edit_documents_by_function_error');
      assert.equal((await server.call('GET', '/health')).json.status, 'available');
      assert.equal(server.pid, pid);
    });
  }

  /**
   * Starts an edit that does not end, and waits until its function runs.
   * @returns the process that runs it
   */
  async function slowEdit(): Promise<{ taskUid: number; process: string }> {
    const { json } = await server.call('POST', '/indexes/books/documents/edit', {
      body: { function: 'let x = 0; while x < 200_000 { x += 1; } doc.n = x;' },
    });
    const { taskUid } = json;
    while ((await server.call('GET', `/tasks/${taskUid}`)).json.status !== 'processing');
    for (;;) {
      const process = childrenOf(server.pid)[0];
      if (process !== undefined) return { taskUid, process };
    }
  }

  it('runs functions in a process with little memory and no secrets', async function () {
    if (process.platform !== 'linux') this.skip();
    const { taskUid, process: child } = await slowEdit();
    assert.match(readFileSync(`/proc/${child}/limits`, 'utf8'), /^Max data size +805306368 /m);
    assert.match(readFileSync(`/proc/${child}/limits`, 'utf8'), /^Max core file size +0 /m);
    const environment = readFileSync(`/proc/${child}/environ`, 'utf8');
    assert.doesNotMatch(environment, /GANNET_|MEILI_|NODE_OPTIONS/);
    await server.call('POST', `/tasks/cancel?uids=${taskUid}`);
    assert.equal((await server.ended(taskUid)).status, 'canceled');
    while (existsSync(`/proc/${child}`)) await delay(10);
  });

  it('leaves no process behind when the server is killed', async function () {
    if (process.platform !== 'linux') this.skip();
    const { process: child } = await slowEdit();
    await server.kill();
    // The process has ended, or its end has not been noticed yet.
    while (existsSync(`/proc/${child}`) && !/^State:\tZ/m.test(statusOf(child))) await delay(10);
    await server.restart();
    await server.call('POST', '/tasks/cancel?statuses=processing,enqueued');
    await server.idle();
  });

  it('refuses functions that do not compile or are too long', async () => {
    for (const text of ['let x = ;', `doc.x = "${'x'.repeat(100_000)}"`]) {
      const body = { function: text };
      const response = await server.call('POST', '/indexes/books/documents/edit', { body });
      assert.deepEqual([response.status, response.json.code], [400, 'bad_request']);
    }
  });

  it('keeps vectors that the function leaves alone', async () => {
    await server.finish('PATCH', '/indexes/books/settings', {
      body: { embedders: { m: { source: 'userProvided', dimensions: 2 } } },
    });
    const body = [{ id: 1, n: 1, _vectors: { m: [1, 0] } }];
    await server.finish('POST', '/indexes/books/documents', { body });
    await edit({ function: 'doc.n = -5;', filter: 'id = 1' });
    const path = '/indexes/books/documents/1?retrieveVectors=true';
    const document = (await server.call('GET', path)).json;
    assert.equal(document.n, -5);
    assert.ok('m' in document._vectors);
  });

  it('renders the templates of embedders again', async () => {
    const provider = await EmbeddingProvider.start();
    try {
      const e = provider.embedder('{{ doc.t }}');
      const m = { source: 'userProvided', dimensions: 2 };
      await server.finish('PATCH', '/indexes/texts/settings', {
        body: { filterableAttributes: ['id'], embedders: { e, m } },
      });
      // A vector of an embedder that is not there yet is part of its document.
      const later = { regenerate: true, embeddings: [[3]] };
      const body = [1, 2, 3].map((id) => ({ id, t: 'before', _vectors: { m: [1, id], later } }));
      await server.finish('POST', '/indexes/texts/documents', { body });
      const editOf = (script: string, id: number): Promise<any> =>
        server.finish('POST', '/indexes/texts/documents/edit', {
          body: { function: script, filter: `id = ${id}` },
        });
      assert.equal((await editOf('doc.t = "after"', 1)).status, 'succeeded');
      assert.equal((await editOf('doc.n = 1', 2)).status, 'succeeded');
      const failed = await editOf('doc.remove("t")', 3);
      assert.equal(failed.error?.code, 'invalid_document_fields');
      const read = (await server.call('GET', '/indexes/texts/documents?retrieveVectors=true')).json;
      const [one, two, three] = read.results.map((row: any) => row._vectors);
      assert.notDeepEqual(one.e.embeddings, two.e.embeddings);
      assert.deepEqual(two.e, three.e);
      assert.equal(one.e.regenerate, true);
      for (const [n, vectors] of [one, two, three].entries()) {
        assert.deepEqual(vectors.later, later);
        assert.deepEqual(vectors.m, { embeddings: [[1, n + 1]], regenerate: false });
      }
    } finally {
      provider.stop();
    }
  });
});
