import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BadProxy } from '../support/bad-proxy.ts';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';
import { type Ended, runProgram, startProgram } from '../support/run-program.ts';

describe('gannet evaluate', function () {
  this.timeout(120_000);

  let server: BuiltServer;
  let proxy: BadProxy;
  let url: string;
  let dir: string;
  let judged: string;

  const DOCUMENTS = [
    { sku: 'a-1', title: 'red shoes', text: 'for running' },
    { sku: 'a-2', title: 'blue hats', text: 'red ribbon, and shoes to match' },
    { sku: 'a-3', title: 'green coats', text: 'warm' },
    { sku: 9007199254740993n, title: 'old coats', text: 'green' },
  ];

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-evaluate-'));
    judged = join(dir, 'judged.ndjson');
    writeFileSync(
      judged,
      [
        '{"id":"shoes","q":"red shoes","judgements":{"a-1":0,"a-2":2}}',
        '{"id":"coats","q":"green coats","judgements":{"a-3":2,"9007199254740993":1,"gone":0}}',
      ].join('\n'),
    );
    server = await startBuiltServer(['--analytics-retention-days', '1']);
    proxy = new BadProxy(server.url, mulberry(1));
    url = await proxy.listen();
    const text = DOCUMENTS.map(
      ({ sku, ...rest }) =>
        `{"sku":${typeof sku === 'bigint' ? sku : `"${sku}"`},${JSON.stringify(rest).slice(1)}\n`,
    ).join('');
    await server.finish('POST', '/indexes/goods/documents?primaryKey=sku', {
      text,
      type: 'application/x-ndjson',
    });
  });
  after(async () => {
    proxy?.close();
    await server?.close();
    rmSync(dir, { recursive: true });
  });
  afterEach(() => Object.assign(proxy, { share: 0, substitute: null, before: () => {} }));

  const BASE = ['evaluate', '--index', 'goods', '--page', '2'];

  function run(...argv: string[]): Promise<Ended> {
    const args = [...BASE, '--judgements', judged, ...argv];
    return runProgram(args, { env: { GANNET_URL: url, GANNET_KEY: server.masterKey } });
  }

  async function indexes(): Promise<string[]> {
    await server.idle();
    const { results } = (await server.call('GET', '/indexes')).json;
    return results.map(({ uid }: { uid: string }) => uid);
  }

  it('prints the figures of an index, and records no searches', async () => {
    proxy.share = 0.25;
    const ended = await run('--json');
    assert.equal(ended.status, 0, ended.complaints);
    const report = JSON.parse(ended.output);
    // shoes: a-1 (0), a-2 (2): 2 / log2(3) of 2. coats: a-3, then the old ones: 1.
    assert.deepEqual(
      report.queries.map(({ ways }: { ways: unknown[] }) => ways[0]),
      [
        { ndcg: 0.63093, mrr: 0.5, recall: 1, coverage: 1 },
        { ndcg: 1, mrr: 1, recall: 1, coverage: 1 },
      ],
    );
    assert.equal(report.ways[0].ndcg.mean, 0.815465);
    assert.match(ended.complaints, /1 of 5 judged documents are not in the index.*gone \(.*:2\)/);
    const { results } = (await server.call('GET', '/analytics/summary')).json;
    assert.equal(results[0].searches, 0);
  });

  it('compares parameters, and writes a report that is the same again', async () => {
    const file = join(dir, 'report.md');
    const ways = ['--with', '{"attributesToSearchOn":["text"]}', '--report', file];
    const ended = await run(...ways);
    assert.equal(ended.status, 0, ended.complaints);
    assert.match(ended.output, /^present +0\.815 /m);
    assert.match(ended.output, /^changed .* 1 +1 +0 +may be chance$/m);
    const written = readFileSync(file, 'utf8');
    assert.match(written, /^\| shoes \| red shoes \| 0\.631 \| 1\.000 \|$/m);
    const sweep = await run('--sweep', 'attributesToSearchOn=["title"],["text"]', '--report', file);
    assert.match(sweep.output, /^attributesToSearchOn=\["text"\] +0\.\d/m);
    assert.notEqual(readFileSync(file, 'utf8'), written);
    await run(...ways);
    assert.equal(readFileSync(file, 'utf8'), written);
  });

  it('tries settings on a branch, and deletes it', async () => {
    const ended = await run('--sweep', 'settings.searchableAttributes=["text"],["title","text"]');
    assert.equal(ended.status, 0, ended.complaints);
    assert.match(ended.output, /^settings\.searchableAttributes=\["title","text"\] +0\.815 /m);
    assert.match(ended.output, /^settings\.searchableAttributes=\["text"\] .* 1 +1 +0 +may/m);
    const refused = await run('--settings', '{"rankingRules":["unheard-of"]}');
    assert.equal(refused.status, 1);
    assert.match(refused.complaints, /unheard-of/);
    const impossible = await run('--settings', '{}', '--with', '{"filter":"text = a"}');
    assert.equal(impossible.status, 1);
    assert.match(impossible.complaints, /not filterable/);
    assert.deepEqual(await indexes(), ['goods']);
    assert.equal((await server.call('GET', '/tasks?statuses=failed')).json.total, 0);
  });

  it('deletes the branch when it is interrupted', async () => {
    for (const at of [/\/branch$/, /\/settings$/, /-evaluate-\w+\/search$/]) {
      const args = [...BASE, '--judgements', judged, '--settings', '{"stopWords":["a"]}'];
      const running = startProgram(args, {
        env: { GANNET_URL: url, GANNET_KEY: server.masterKey },
      });
      proxy.before = (seen) => {
        // A second signal would end it at once.
        if (at.test(seen) && running.child.kill('SIGINT')) proxy.before = () => {};
      };
      const ended = await running.ended;
      assert.equal(ended.status, 130, ended.complaints);
      assert.deepEqual(await indexes(), ['goods'], String(at));
    }
  });

  it('judges by the clicks that the server has recorded', async () => {
    const none = await run('--judgements', 'clicks');
    assert.equal(none.status, 1);
    assert.match(none.complaints, /No document of `goods` has 5 clicks/);
    const click = async (q: string, user: string, objectId: string): Promise<void> => {
      const headers = {
        ...{ authorization: `Bearer ${server.masterKey}`, 'x-svc-user-id': user },
        'content-type': 'application/json',
      };
      const send = (path: string, body: object): Promise<Response> =>
        fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      assert.equal((await send('/indexes/goods/search', { q })).status, 200);
      const event = { eventType: 'click', eventName: 'hit', indexUid: 'goods', objectId };
      assert.equal((await send('/events', event)).status, 201);
    };
    for (const user of ['a', 'b']) await click('Red shoes', user, 'a-2');
    await click('red shoes', 'c', 'a-1');
    await click('green', 'd', 'a-3');
    const file = join(dir, 'clicks.ndjson');
    const args = ['--judgements', 'clicks', '--min-clicks', '2', '--save-clicks', file, '--json'];
    const ended = await run(...args);
    assert.equal(ended.status, 0, ended.complaints);
    const saved = readFileSync(file, 'utf8');
    assert.equal(saved, '{"q":"red shoes","judgements":{"a-2":0.6667}}\n');
    assert.deepEqual(JSON.parse(ended.output).queries[0].ways, [
      { ndcg: 0.63093, mrr: 0.5, recall: 1, coverage: 0.5 },
    ]);
  });

  it('has the status 1 below a minimum', async () => {
    const ended = await run('--min', 'recall=1,ndcg=0.9');
    assert.equal(ended.status, 1);
    assert.equal(
      ended.complaints.split('\n').at(-2),
      'ndcg of present is 0.8155, below the minimum of 0.9.',
    );
    assert.equal((await run('--min', 'ndcg=2')).status, 2);
  });

  it('works with a key that may only search, and says what is wrong', async () => {
    const { json } = await server.call('POST', '/keys', {
      body: { actions: ['search'], indexes: ['goods'], expiresAt: null },
    });
    const keyed = (...argv: string[]) => run('--key', json.key, ...argv);
    const nameless = await keyed();
    assert.equal(nameless.status, 1);
    assert.match(nameless.complaints, /name it with --primary-key/);
    const named = await keyed('--primary-key', 'sku');
    assert.equal(named.status, 0, named.complaints);
    assert.match(named.complaints, /may not read documents/);
    const wrong = await keyed('--primary-key', 'id');
    assert.match(wrong.complaints, /Hits have no `id`/);
    assert.equal((await run('--index', 'none')).status, 1);
    assert.equal((await run('--report', join(dir, 'no', 'file'))).status, 2);
  });
});
