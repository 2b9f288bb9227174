import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { ok } from '../../../src/base/result.ts';
import type { Connection } from '../../../src/http/connection.ts';
import type { TaskService } from '../../../src/http/services.ts';
import { TaskStreams, WAITING_UIDS_MAX } from '../../../src/http/task-streams.ts';
import type { TaskChange } from '../../../src/store/task-store.ts';

/** A client of a stream that reads or does not. */
class Client {
  isReading = true;
  isOver = false;
  isDropped = false;
  written: string[] = [];
  #drain = (): void => {};

  readonly connection = {
    headers: {},
    stream: () => ({
      write: (text: string): boolean => {
        this.written.push(text);
        return this.isReading;
      },
      onDrain: (listener: () => void) => (this.#drain = listener),
      end: () => (this.isOver = true),
      abort: () => (this.isDropped = true),
    }),
    onAbort: () => {},
  } as unknown as Connection;

  read(): void {
    this.isReading = true;
    this.#drain();
  }
}

describe('A stream of tasks', () => {
  let streams: TaskStreams;
  let tell: ((change: TaskChange) => void) | null = null;
  let client: Client;
  const change = (uids: readonly number[]): TaskChange => ({
    ...{ uids, batchUid: null, finishedAt: null },
  });

  beforeEach(() => {
    const tasks = {
      nextUids: { task: 0, batch: 0 },
      watch: (watcher: (change: TaskChange) => void) => {
        tell = watcher;
        return () => (tell = null);
      },
      page: ({ uids }: { uids: number[] }) =>
        Promise.resolve({ results: uids.map((uid) => ({ uid })), next: null }),
    } as unknown as TaskService;
    streams = new TaskStreams(tasks);
    client = new Client();
    streams.open({
      ...{ kind: 'task', holder: 'test', filter: {}, connection: client.connection, requestId: '' },
      authorize: () => ok({ visible: null }) as never,
    });
  });
  afterEach(() => streams.closeAll());

  const events = (): number => client.written.filter((text) => text.startsWith('id: ')).length;
  const settled = async (): Promise<void> => {
    for (let before = -1; before !== client.written.length;) {
      before = client.written.length;
      for (let n = 0; n < 10; n++) await setImmediate();
    }
  };

  it('writes nothing more while its client does not read, and everything afterwards', async () => {
    await settled();
    client.isReading = false;
    tell!(change([0]));
    tell!(change([1, 2]));
    await settled();
    assert.equal(events(), 1);
    streams.beat();
    assert.equal(client.written.length, 2);
    client.read();
    await settled();
    assert.deepEqual(events(), 3);
    streams.beat();
    streams.beat();
    assert.equal(client.isDropped, false);
    assert.equal(client.written.at(-1), ':\n\n');
  });

  it('is dropped when its client has read nothing from one heartbeat to the next', async () => {
    await settled();
    client.isReading = false;
    tell!(change([0]));
    await settled();
    streams.beat();
    assert.equal(client.isDropped, false);
    streams.beat();
    assert.deepEqual([client.isDropped, streams.size, tell], [true, 0, null]);
  });

  it('is dropped when too many tasks wait for a client that does not read', async () => {
    await settled();
    client.isReading = false;
    tell!(change([0]));
    await settled();
    const uids = Array.from({ length: WAITING_UIDS_MAX }, (_, uid) => uid);
    tell!(change(uids));
    assert.equal(client.isDropped, false);
    tell!(change([0]));
    assert.deepEqual([client.isDropped, streams.size], [true, 0]);
    await settled();
    assert.equal(events(), 1);
  });

  it('ends with the server', async () => {
    await settled();
    streams.closeAll();
    assert.deepEqual([client.isOver, client.isDropped, streams.size], [true, false, 0]);
  });
});
