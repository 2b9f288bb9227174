import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NotificationStore } from '../../../src/store/notification-store.ts';
import { Store } from '../../../src/store/store.ts';

describe('NotificationStore', () => {
  let dir: string;
  let store: Store;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-notifications-'));
    store = new Store(dir, 2 ** 26);
  });

  afterEach(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  /** The waiting notifications, the same from memory and from disk. */
  function waiting(notifications: NotificationStore): Record<string, number[]> {
    const shown = (one: NotificationStore): Record<string, number[]> =>
      Object.fromEntries(one.webhooks().map((uuid) => [uuid, [...one.waitingFor(uuid)]]));
    const inMemory = shown(notifications);
    assert.deepEqual(shown(new NotificationStore(store)), inMemory);
    return inMemory;
  }

  it('returns what each webhook waits for, oldest first, until it is settled', async () => {
    const notifications = new NotificationStore(store);
    const ended = async (uid: number, ...webhooks: string[]): Promise<void> => {
      await store.commit((tx) => notifications.write(tx, uid, webhooks));
      notifications.published(uid, webhooks);
    };
    await ended(9, 'a', 'b');
    await ended(10, 'b');
    await ended(100, 'a', 'b');
    assert.deepEqual(waiting(notifications), { a: [9, 100], b: [9, 10, 100] });
    await notifications.settle('b', [9]);
    assert.deepEqual(waiting(notifications), { a: [9, 100], b: [10, 100] });
    await notifications.settle('b', notifications.waitingFor('b'));
    assert.deepEqual(waiting(notifications), { a: [9, 100] });
    await notifications.settle('a', [9, 10, 100]);
    await notifications.settle('a', [9]);
    assert.deepEqual(waiting(notifications), {});
    assert.deepEqual([...notifications.waitingFor('a')], []);
  });
});
