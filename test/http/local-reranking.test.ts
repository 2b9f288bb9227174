/** Searches with `rerank` by a model on this machine, written by the test. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { tinyScore, writeTinyModel } from '../support/tiny-model.ts';

const installed =
  existsSync('node_modules/onnxruntime-node') && existsSync('node_modules/@huggingface/tokenizers');

const COUNT = 30;
const items = Array.from({ length: COUNT }, (_, id) => ({
  ...{ id, title: 'red shoe' },
  text: Array.from({ length: 1 + ((id * 7) % 19) }, (__, n) => `w${(id * 11 + n * 3) % 23}`).join(
    ' ',
  ),
}));

/** The process that runs models for a server. */
function modelProcess({ pid }: BuiltServer): number {
  const found = readdirSync('/proc').find((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const isModel = readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('local-model.cjs');
      const parent = /^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))![1];
      return isModel && Number(parent) === pid;
    } catch {
      // The process has ended.
      return false;
    }
  });
  assert.ok(found !== undefined, 'a process runs models');
  return Number(found);
}

describe('Reranking by a model on this machine', () => {
  let folder: string;
  let server: BuiltServer;

  const settings = async (body: object): Promise<void> => {
    const task = await server.finish('PATCH', '/indexes/shop/settings', { body });
    assert.equal(task.status, 'succeeded', JSON.stringify(task));
  };
  const search = async (model: string, q = 'red shoe'): Promise<any> => {
    const body = { q, limit: COUNT, rerank: { model, documents: 25 } };
    const { status, json } = await server.call('POST', '/indexes/shop/search', { body });
    assert.equal(status, 200, JSON.stringify(json));
    return json;
  };
  const idsOf = ({ hits }: any): number[] => hits.map(({ id }: any) => id);
  const plain = items.map(({ id }) => id);
  const rankedFor = (q: string): number[] => {
    const scores = items.map(({ text }) => tinyScore(q, text));
    const first = plain.slice(0, 25).toSorted((a, b) => scores[b]! - scores[a]! || a - b);
    return [...first, ...plain.slice(25)];
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gannet-model-'));
    writeTinyModel(join(folder, 'good'));
    writeTinyModel(join(folder, 'no-score'), 'weighted');
    writeTinyModel(join(folder, 'no-tokenizer'));
    rmSync(join(folder, 'no-tokenizer/tokenizer.json'));
    writeTinyModel(join(folder, 'no-model'));
    rmSync(join(folder, 'no-model/onnx/model.onnx'));
    server = await startBuiltServer();
    const names = ['good', 'no-score', 'no-tokenizer', 'no-model'];
    const rerankers = names.map((name) => {
      const model = join(folder, name);
      return [name, { source: 'huggingFace', model, documentTemplate: '{{doc.text}}' }];
    });
    await settings({
      ...{ rerankers: Object.fromEntries(rerankers), searchCutoffMs: 600_000 },
      searchableAttributes: ['title'],
    });
    await server.finish('POST', '/indexes/shop/documents?primaryKey=id', { body: items });
  });
  after(async () => {
    await server?.close();
    rmSync(folder, { recursive: true });
  });

  it('orders documents by the scores of the model', async function () {
    if (!installed) this.skip();
    const queries = ['red shoe', 'shoe', 'red shoe w1 w2 w3 w4 w5 w6 w7 w8 w9', 'red unknown'];
    for (const q of queries) {
      const found = await search('good', q);
      assert.ok(!('degraded' in found), q);
      assert.deepEqual(idsOf(found), rankedFor(q), q);
    }
    const orders = queries.map((q) => rankedFor(q).join());
    assert.ok(new Set(orders).size > 1, 'the query matters');
  });

  it('leaves the order while the process hangs or has ended, and starts another', async function () {
    if (!installed || !existsSync('/proc/self/cmdline')) this.skip();
    await search('good');
    const stopped = modelProcess(server);
    process.kill(stopped, 'SIGSTOP');
    await settings({ searchCutoffMs: 100 });
    const late = await search('good');
    assert.deepEqual(idsOf(late), plain);
    assert.deepEqual(late.degraded, ['rerank']);
    process.kill(stopped, 'SIGCONT');
    await settings({ searchCutoffMs: 600_000 });
    assert.deepEqual(idsOf(await search('good')), rankedFor('red shoe'));
    process.kill(stopped, 'SIGKILL');
    // The server may not have noticed yet.
    let found: any;
    do found = await search('good');
    while ('degraded' in found);
    assert.deepEqual(idsOf(found), rankedFor('red shoe'));
    assert.notEqual(modelProcess(server), stopped);
  });

  for (const name of ['no-score', 'no-tokenizer', 'no-model']) {
    it(`leaves the order with a folder like ${name}`, async () => {
      const found = await search(name);
      assert.deepEqual(idsOf(found), plain);
      assert.deepEqual(found.degraded, ['rerank']);
    });
  }

  it('says so where nothing is installed that runs models', async function () {
    if (installed) this.skip();
    assert.deepEqual((await search('good')).degraded, ['rerank']);
  });

  it('has settings of its own', async () => {
    const path = '/indexes/shop/settings/rerankers';
    const shown = (await server.call('GET', path)).json;
    assert.deepEqual(shown.good, {
      ...{ source: 'huggingFace', model: join(folder, 'good') },
      ...{ documentTemplate: '{{doc.text}}', documentTemplateMaxBytes: 400 },
    });
    for (const wrong of [
      { source: 'huggingFace' },
      { source: 'huggingFace', model: 'x', url: 'http://localhost/' },
      { source: 'huggingFace', model: 'x', pooling: 'useModel' },
      { source: 'rest', model: 'x' },
    ]) {
      const { status, json } = await server.call('PATCH', path, { body: { x: wrong } });
      assert.equal(status, 400, JSON.stringify(wrong));
      assert.equal(json.code, 'invalid_settings_rerankers');
    }
  });
});
