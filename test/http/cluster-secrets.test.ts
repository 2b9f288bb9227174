/** What somebody sees who can read etcd and the object store of a cluster. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BuiltServer } from '../support/built-server.ts';
import { ClusterStage } from '../support/cluster-stage.ts';

const SECRETS = ['Zanzibar', 'sk-of-the-provider', 'Bearer-of-the-webhook', 'zauberwort'];
const DOCUMENTS = 2000;

describe('etcd and the object store of a cluster', function () {
  let stage: ClusterStage;
  let node: BuiltServer;

  before(async function () {
    stage = await ClusterStage.open(this, { env: { GANNET_CHECKPOINT_BYTES: '2000' } });
    node = await stage.start('one');
    while ((await node.call('GET', '/cluster')).json.leader === null) await delay(20);
  });
  after(() => stage?.close());

  /** All keys and values of etcd. */
  async function inEtcd(): Promise<Buffer[]> {
    const all = Buffer.from([0]).toString('base64');
    const response = await fetch(`${stage.etcd.url}/v3/kv/range`, {
      method: 'POST',
      body: JSON.stringify({ key: all, range_end: all }),
    });
    const { kvs } = (await response.json()) as { kvs: { key: string; value?: string }[] };
    return kvs.flatMap(({ key, value = '' }) => [
      Buffer.from(key, 'base64'),
      Buffer.from(value, 'base64'),
    ]);
  }

  function inStore(): Buffer[] {
    const names = readdirSync(stage.store, { recursive: true, encoding: 'utf8' });
    const files = names.filter((name) => /^(?:files|checkpoints|archive)\//.test(name));
    return files.map((name) => readFileSync(join(stage.store, name)));
  }

  it('hold no document, no credential and nothing of the master key', async () => {
    const embedders = { default: { source: 'rest', url: 'http://127.0.0.1:9', dimensions: 3 } };
    const rest = { request: '{{text}}', response: '{{embedding}}', apiKey: SECRETS[1] };
    await node.finish('PATCH', '/indexes/other/settings', {
      body: { embedders: { default: { ...embedders.default, ...rest } }, stopWords: [SECRETS[3]] },
    });
    const url = 'http://127.0.0.1:9/hook';
    await node.call('POST', '/webhooks', { body: { url, headers: { authorization: SECRETS[2] } } });
    const body = Array.from({ length: DOCUMENTS }, (_, id) => ({ id, city: SECRETS[0] }));
    await node.finish('POST', '/indexes/cities/documents', { body });
    await node.finish('POST', '/indexes/cities/documents', { body: [{ id: 1, city: SECRETS[0] }] });
    while (!existsSync(join(stage.store, 'checkpoints'))) await delay(20);
    const { masterKey } = node;
    const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
    const hidden = [
      ...SECRETS,
      ...[masterKey, digest(masterKey), digest(`gannet cluster ${masterKey}`)],
    ];
    const seen = [...(await inEtcd()), ...inStore()];
    assert.ok(seen.length > 20);
    for (const bytes of seen) {
      for (const secret of hidden) assert.equal(bytes.includes(secret), false, secret);
    }
  });

  it('are enough for a new node, and not for one with another master key', async () => {
    const found = { q: 'Zanzibar', limit: 1 };
    const joined = await stage.start('two');
    const { json } = await joined.call('POST', '/indexes/cities/search', { body: found });
    assert.equal(json.hits.length, 1);
    await assert.rejects(
      stage.start('three', ['--master-key', 'anotherMasterKey']),
      /The master key is not that/,
    );
  });
});
