import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyRecord } from '../../../src/contract/keys.ts';
import { FeatureStore } from '../../../src/store/feature-store.ts';
import { KeyStore } from '../../../src/store/key-store.ts';
import { Store } from '../../../src/store/store.ts';
import { WebhookStore } from '../../../src/store/webhook-store.ts';

const key = (uid: string, name: string): KeyRecord => ({
  uid,
  name,
  description: null,
  actions: ['*'],
  indexes: ['*'],
  expiresAt: null,
  createdAt: '2025-03-01T00:00:00Z',
  updatedAt: '2025-03-01T00:00:00Z',
});

describe('keys, features and webhooks', () => {
  let dir: string;
  let store: Store;
  /** Switches on or off that every commit of the store fails. */
  let fail: (fails: boolean) => void;

  const open = (): void => {
    store = new Store(dir, 2 ** 26);
    const commit = store.commit.bind(store);
    fail = (fails) => {
      store.commit = fails ? () => Promise.reject(new Error('the disk is full')) : commit;
    };
  };

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-records-'));
    open();
  });

  afterEach(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  it('are unchanged when a change cannot be stored', async () => {
    const keys = new KeyStore(store);
    const features = new FeatureStore(store);
    const webhooks = new WebhookStore(store, null);
    const hook = { uuid: 'h', url: 'http://a.example', headers: {} };
    await keys.put(key('k', 'first'));
    await webhooks.put(hook);
    const changed: string[] = [];
    keys.onChange((uid) => changed.push(uid));
    fail(true);
    await assert.rejects(keys.put(key('k', 'second')), /disk is full/);
    await assert.rejects(keys.put(key('other', 'third')), /disk is full/);
    await assert.rejects(keys.remove('k'), /disk is full/);
    await assert.rejects(webhooks.put({ ...hook, url: 'http://b.example' }), /disk is full/);
    await assert.rejects(webhooks.remove('h'), /disk is full/);
    await assert.rejects(features.patch({ metrics: true }), /disk is full/);
    assert.deepEqual(keys.list(), [key('k', 'first')]);
    assert.deepEqual(webhooks.list(), [hook]);
    assert.equal(features.get().metrics, false);
    assert.deepEqual(
      changed,
      ['k', 'k', 'other', 'other', 'k', 'k'],
      'listeners see changes that are taken back',
    );
    fail(false);
    await features.patch({ metrics: true });
    await keys.put(key('other', 'third'));
    await store.close();
    open();
    assert.deepEqual(
      new KeyStore(store).list().map(({ uid, name }) => [uid, name]),
      [
        ['other', 'third'],
        ['k', 'first'],
      ],
    );
    assert.deepEqual(new WebhookStore(store, null).list(), [hook]);
    assert.equal(new FeatureStore(store).get().metrics, true);
  });

  it('show changes at once', async () => {
    const keys = new KeyStore(store);
    const stored = keys.put(key('k', 'first'));
    assert.equal(keys.get('k')?.name, 'first');
    await stored;
    const removed = keys.remove('k');
    assert.equal(keys.get('k'), undefined);
    await removed;
  });
});
