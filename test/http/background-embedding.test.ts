/** Embedders in the mode `background`: documents are found by words at once, by meaning later. */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { EmbeddingProvider, type ReceivedRequest } from '../support/embedding-provider.ts';

type Json = any;

const POLL_MS = 20;

describe('Embedding in the background', function () {
  let server: BuiltServer;
  let provider: EmbeddingProvider;
  let number = 0;
  let uid = '';

  before(async () => {
    provider = await EmbeddingProvider.start();
    server = await startBuiltServer();
  });
  beforeEach(() => {
    uid = `index-${number++}`;
    provider.next.length = 0;
    provider.always = null;
    provider.take();
  });
  after(async () => {
    await server?.close();
    provider?.stop();
  });

  const embedder = (more: Json = {}): Json =>
    provider.embedder('{{ doc.title }}', { mode: 'background', ...more });
  const setUp = async (more: Json = {}): Promise<void> => {
    const body = { embedders: { later: embedder(more) } };
    const task = await server.finish('PATCH', `/indexes/${uid}/settings`, { body });
    assert.equal(task.status, 'succeeded', JSON.stringify(task.error));
  };
  const add = async (...documents: Json[]): Promise<void> => {
    const task = await server.finish('POST', `/indexes/${uid}/documents`, { body: documents });
    assert.equal(task.status, 'succeeded', JSON.stringify(task.error));
  };
  const status = async (): Promise<Json> => {
    const { status: code, json } = await server.call('GET', `/indexes/${uid}/embedders/later`);
    assert.equal(code, 200, JSON.stringify(json));
    return json;
  };
  const counts = async (): Promise<number[]> => {
    const { done, waiting, failed } = await status();
    return [done, waiting, failed];
  };
  const until = async (done: () => Promise<boolean>): Promise<void> => {
    while (!(await done())) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  };
  const untilDone = (count: number): Promise<void> =>
    until(async () => String(await counts()) === String([count, 0, 0]));
  const idsBy = async (body: Json): Promise<Json[]> =>
    (await server.call('POST', `/indexes/${uid}/search`, { body })).json.hits.map(
      ({ id }: Json) => id,
    );
  const nearest = async (q: string): Promise<Json> =>
    (await idsBy({ q, hybrid: { embedder: 'later', semanticRatio: 1 }, limit: 1 }))[0];
  const inputs = (requests: readonly ReceivedRequest[]): string[] =>
    requests.flatMap(({ body }) => (body as { input: string[] }).input);

  it('adds documents that cannot be rendered, which count as failed until they change', async () => {
    await setUp();
    await add({ id: 1, title: 'red apple' }, { id: 2, name: 'no title' });
    await until(async () => String(await counts()) === '1,0,1');
    const [failure] = (await status()).failures;
    assert.equal(failure.documentId, '2');
    assert.match(failure.reason, /document "2": undefined variable: doc\.title/);
    assert.deepEqual(await idsBy({ q: 'no title' }), [2]);
    await add({ id: 2, title: 'green pear' }, { id: 1, name: 'no title' });
    await until(async () => String(await counts()) === '1,0,1');
    assert.equal((await status()).failures[0].documentId, '1');
    assert.equal(await nearest('green pear'), 2);
  });

  it('follows the documents, which are found by words before', async () => {
    await setUp();
    provider.always = () => 'down';
    await add({ id: 1, title: 'red apple' }, { id: 2, title: 'green pear' });
    assert.deepEqual(await idsBy({ q: 'apple' }), [1]);
    await until(async () => (await status()).problem !== null);
    assert.deepEqual(await counts(), [0, 2, 0]);
    // The queue goes on while the provider is down.
    await add({ id: 3, title: 'blue plum' });
    assert.deepEqual(await idsBy({ q: 'plum' }), [3]);
    provider.always = null;
    await untilDone(3);
    assert.equal(await nearest('green pear'), 2);
    assert.equal((await status()).problem, null);
    // Nothing is embedded twice, and documents stay as they were.
    provider.take();
    await add({ id: 1, title: 'red apple' });
    await untilDone(3);
    assert.deepEqual(inputs(provider.take()), []);
    const { json } = await server.call('GET', `/indexes/${uid}/documents/2`);
    assert.deepEqual(json, { id: 2, title: 'green pear' });
  });

  it('makes the embedding of a changed text again, and none of a deleted document', async () => {
    await setUp();
    await add({ id: 'a', title: 'red apple' }, { id: 'b', title: 'green pear' });
    await untilDone(2);
    provider.take();
    await add({ id: 'a', title: 'yellow banana' });
    await untilDone(2);
    assert.deepEqual(inputs(provider.take()), ['yellow banana']);
    assert.equal(await nearest('yellow banana'), 'a');
    provider.always = () => 'down';
    await add({ id: 'c', title: 'lost' });
    await until(async () => (await status()).problem !== null);
    await server.finish('DELETE', `/indexes/${uid}/documents/c`);
    provider.always = null;
    await untilDone(2);
    assert.equal((await server.call('GET', `/indexes/${uid}/documents/c`)).status, 404);
  });

  it('names the documents that the provider refuses, and tries them again on request', async () => {
    await setUp();
    const isBad = ({ body }: ReceivedRequest): boolean => JSON.stringify(body).includes('bad');
    provider.always = (request) =>
      isBad(request) ? { status: 400, body: { error: 'not this text' } } : 'ok';
    const documents = Array.from({ length: 30 }, (_, id) => ({ id, title: `text ${id}` }));
    documents[7]!.title = 'bad';
    documents[20]!.title = 'also bad';
    await add(...documents);
    await until(async () => String(await counts()) === '28,0,2');
    const { failures } = await status();
    assert.deepEqual(
      failures.map(({ documentId }: Json) => documentId),
      ['7', '20'],
    );
    assert.match(failures[0].reason, /not this text/);
    // A new text is tried without a request.
    await add({ id: 20, title: 'good' });
    await until(async () => String(await counts()) === '29,0,1');
    provider.always = null;
    const retry = await server.call('POST', `/indexes/${uid}/embedders/later/retry`);
    assert.equal(retry.status, 204);
    await untilDone(30);
  });

  it('survives the end of the process at any time', async () => {
    await setUp();
    provider.always = () => 'down';
    const documents = Array.from({ length: 450 }, (_, id) => ({ id, title: `text ${id}` }));
    await add(...documents);
    await server.kill();
    await server.restart();
    assert.deepEqual(await counts(), [0, 450, 0]);
    provider.always = null;
    // Some are done, and the process ends again.
    await until(async () => (await counts())[0]! > 0);
    await server.kill();
    await server.restart();
    await untilDone(450);
    assert.equal(await nearest('text 449'), 449);
    const { valid, text } = await server.verify();
    assert.ok(valid, text);
    await server.restart();
  });

  it('leaves documents alone that want no embedding, or bring their own', async () => {
    await setUp();
    await add(
      { id: 1, title: 'one', _vectors: { later: null } },
      { id: 2, title: 'two', _vectors: { later: [1, 2, 3, 4] } },
      { id: 3, title: 'three' },
    );
    await untilDone(2);
    assert.deepEqual(inputs(provider.take()), ['three']);
  });

  it('also follows a new embedder, and ends with the mode', async () => {
    await add({ id: 1, title: 'one' }, { id: 2, title: 'two' });
    provider.always = () => 'down';
    await setUp();
    await until(async () => (await status()).problem !== null);
    provider.always = null;
    await untilDone(2);
    await setUp({ documentTemplate: 'about {{ doc.title }}' });
    await untilDone(2);
    assert.equal(await nearest('about two'), 2);
    // What still waits is embedded by the task that sets the other mode.
    provider.always = () => 'down';
    await add({ id: 3, title: 'three' });
    await until(async () => (await status()).problem !== null);
    provider.always = null;
    await setUp({ mode: 'batch' });
    assert.deepEqual(await counts(), [3, 0, 0]);
    assert.equal((await status()).mode, 'batch');
  });

  it('is refused where nothing is embedded, and for unknown embedders', async () => {
    const body = { embedders: { own: { source: 'userProvided', dimensions: 4, mode: 'batch' } } };
    const wrong = await server.call('PATCH', `/indexes/${uid}/settings`, { body });
    assert.deepEqual([wrong.status, wrong.json.code], [400, 'invalid_settings_embedders']);
    await add({ id: 1, title: 'one' });
    const unknown = await server.call('GET', `/indexes/${uid}/embedders/later`);
    assert.deepEqual([unknown.status, unknown.json.code], [404, 'embedder_not_found']);
    const nowhere = await server.call('GET', '/indexes/nowhere/embedders/later');
    assert.deepEqual([nowhere.status, nowhere.json.code], [404, 'index_not_found']);
  });
});
