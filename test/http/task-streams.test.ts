/** Streams of tasks and batches: what is sent, to whom, and from where a client goes on. */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

interface Event {
  id: string;
  event: string;
  data: any;
}

/** A client of a stream. */
class Reader {
  readonly #ending = new AbortController();
  readonly events: Event[] = [];
  #wake = (): void => {};
  status = 0;
  json: any = null;
  isOver = false;

  async open(url: string, key: string, lastEventId?: string): Promise<this> {
    const response = await fetch(url, {
      headers: {
        authorization: `Bearer ${key}`,
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      },
      signal: this.#ending.signal,
    });
    this.status = response.status;
    if (response.status === 200) void this.#read(response);
    else this.json = await response.json();
    return this;
  }

  async #read(response: Response): Promise<void> {
    let text = '';
    try {
      for await (const part of response.body!) {
        text += Buffer.from(part).toString();
        const blocks = text.split('\n\n');
        text = blocks.pop()!;
        for (const block of blocks) {
          if (block.startsWith(':')) continue;
          const [id, event, data] = block.split('\n');
          this.events.push({
            id: id!.slice('id: '.length),
            event: event!.slice('event: '.length),
            data: JSON.parse(data!.slice('data: '.length)),
          });
        }
        this.#wake();
      }
    } catch {
      // The client or the server has ended the stream.
    }
    this.isOver = true;
    this.#wake();
  }

  async until(condition: (events: readonly Event[]) => boolean): Promise<void> {
    while (!condition(this.events)) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  async over(): Promise<void> {
    while (!this.isOver) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  close(): void {
    this.#ending.abort();
  }
}

const ENDED = ['succeeded', 'failed', 'canceled'];
const ended = (uid: number) => (events: readonly Event[]) =>
  events.some(({ data }) => data.uid === uid && ENDED.includes(data.status));

describe('Streams of tasks', () => {
  let server: BuiltServer;
  const readers: Reader[] = [];
  before(async () => {
    server = await startBuiltServer();
  });
  after(async () => {
    for (const reader of readers) reader.close();
    await server.close();
  });

  async function read(path: string, key = server.masterKey, lastEventId?: string): Promise<Reader> {
    const reader = new Reader();
    readers.push(reader);
    return reader.open(server.url + path, key, lastEventId);
  }
  async function add(uid: string, body: unknown = [{ id: 1 }]): Promise<number> {
    return (await server.call('POST', `/indexes/${uid}/documents`, { body })).json.taskUid;
  }

  it('need the feature', async () => {
    for (const path of ['/tasks/stream', '/batches/stream']) {
      const { status, json } = await read(path);
      assert.deepEqual([status, json.code], [400, 'feature_not_enabled']);
    }
    await server.call('PATCH', '/experimental-features', { body: { tasksStreamingRoute: true } });
  });

  it('send each status of a task, as the list shows it', async () => {
    const reader = await read('/tasks/stream');
    assert.equal(reader.status, 200);
    const uid = await add('books');
    await reader.until(ended(uid));
    const own = reader.events.filter(({ data }) => data.uid === uid);
    assert.ok(own.every(({ event }) => event === 'task'));
    const statuses = own.map(({ data }) => data.status);
    assert.equal(statuses.at(-1), 'succeeded');
    // A status that lasts for a moment may have passed before it is sent.
    const order = ['enqueued', 'processing', 'succeeded'];
    assert.deepEqual(
      statuses,
      statuses.toSorted((a, b) => order.indexOf(a) - order.indexOf(b)),
    );
    assert.deepEqual(own.at(-1)!.data, (await server.call('GET', `/tasks/${uid}`)).json);
    reader.close();
  });

  it('send batches when they begin and end', async () => {
    const reader = await read('/batches/stream?indexUids=batched');
    await add('other');
    const uid = await add('batched');
    const { batchUid } = await server.ended(uid);
    await reader.until((events) => events.some(({ data }) => data.finishedAt !== null));
    assert.ok(reader.events.every(({ event, data }) => event === 'batch' && data.uid === batchUid));
    assert.deepEqual(
      reader.events.at(-1)!.data,
      (await server.call('GET', `/batches/${batchUid}`)).json,
    );
    reader.close();
  });

  it('take the filters of the lists', async () => {
    const failed = await read('/tasks/stream?statuses=failed&indexUids=films,books');
    await add('books');
    await add('music', [{ none: 1 }]);
    const uid = await add('books', [{ none: 1 }]);
    await failed.until(ended(uid));
    assert.deepEqual(
      failed.events.map(({ data }) => data.uid),
      [uid],
    );
    failed.close();
    for (const [query, code] of [
      ['statuses=x', 'invalid_task_statuses'],
      ['limit=3', 'bad_request'],
    ]) {
      const { status, json } = await read(`/tasks/stream?${query}`);
      assert.deepEqual([status, json.code], [400, code]);
    }
  });

  it('show a key the tasks of its indexes, and end with the key', async () => {
    const { key, uid } = (
      await server.call('POST', '/keys', {
        body: { actions: ['tasks.get'], indexes: ['mine'], expiresAt: null },
      })
    ).json;
    assert.equal((await read('/tasks/stream', 'no key')).status, 403);
    const reader = await read('/tasks/stream', key);
    await add('books');
    const mine = await add('mine');
    await reader.until(ended(mine));
    assert.ok(reader.events.every(({ data }) => data.indexUid === 'mine'));
    await server.call('DELETE', `/keys/${uid}`);
    await add('mine');
    await reader.over();
    assert.ok(reader.events.every(({ data }) => data.uid <= mine));
  });

  it('go on after Last-Event-ID, also after a restart: nothing is missed', async () => {
    const first = await read('/tasks/stream');
    const seen = await add('resumed');
    await first.until(ended(seen));
    const { id } = first.events.at(-1)!;
    first.close();
    const missed: number[] = [];
    for (let n = 0; n < 250; n++) missed.push(await add('resumed'));
    await server.idle();
    await server.kill('SIGTERM');
    await server.restart();
    const second = await read('/tasks/stream?indexUids=resumed', server.masterKey, id);
    for (const uid of missed) await second.until(ended(uid));
    // The last one is resumed from itself.
    const last = second.events.at(-1)!;
    const later = await add('resumed');
    await second.until(ended(later));
    second.close();
    const third = await read('/tasks/stream?indexUids=resumed', server.masterKey, last.id);
    await third.until(ended(later));
    third.close();
    const { status, json } = await read('/tasks/stream', server.masterKey, 'x');
    assert.deepEqual([status, json.code], [400, 'bad_request']);
  });

  it('are at most 100', async () => {
    // Ends the streams of the tests before.
    await server.kill('SIGTERM');
    await server.restart();
    const open = await Promise.all(Array.from({ length: 100 }, () => read('/tasks/stream')));
    assert.ok(open.every(({ status }) => status === 200));
    const { status, json } = await read('/batches/stream');
    assert.deepEqual([status, json.code], [503, 'too_many_search_requests']);
    for (const reader of open) reader.close();
    // The server notices that the clients are gone.
    let next = await read('/batches/stream');
    while (next.status !== 200) next = await read('/batches/stream');
    next.close();
  });
  it('are shared among keys', async () => {
    await server.kill('SIGTERM');
    await server.restart();
    const newKey = async (): Promise<string> => {
      const body = { actions: ['tasks.get'], indexes: ['*'], expiresAt: null };
      return (await server.call('POST', '/keys', { body })).json.key;
    };
    const [greedy, modest] = [await newKey(), await newKey()];
    const all = await Promise.all(Array.from({ length: 100 }, () => read('/tasks/stream', greedy)));
    assert.ok(all.every(({ status }) => status === 200));
    const others: Reader[] = [];
    for (let n = 0; n < 60; n++) {
      others.push(await read('/batches/stream', n % 2 === 0 ? modest : server.masterKey));
    }
    assert.ok(others.every(({ status }) => status === 200));
    const isOver = (reader: Reader): boolean => reader.isOver;
    while (all.filter(isOver).length < 60) await new Promise((resolve) => setImmediate(resolve));
    // Each has its share, or more than the others: none gets another at their cost.
    assert.equal((await read('/tasks/stream', greedy)).status, 503);
    const last = [await read('/tasks/stream', modest), await read('/tasks/stream', modest)];
    assert.ok(last.every(({ status }) => status === 200));
    assert.ok(others.every((reader) => !reader.isOver));
    for (const reader of [...all, ...others, ...last]) reader.close();
  });
});
