import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Recorder,
  QUERY_CHARS_MAX,
  RECENT_INDEXES_MAX,
  RECENT_USERS_MAX,
  WAITING_EVENTS_MAX,
  WAITING_ROWS_MAX,
  type RecordedEvent,
  type RecordedSearch,
} from '../../../src/analytics/recorder.ts';
import { documentKey } from '../../../src/analytics/interleaving.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { silentLogger } from '../../support/silent-logger.ts';
import { parseRows, type AnalyticsRow } from '../../../src/contract/analytics.ts';
import { AnalyticsStore, CHUNK_ROWS } from '../../../src/store/analytics-store.ts';

const DAY_MS = 86_400_000;
const MIB = 2 ** 20;

describe('Recording searches and events', () => {
  let dir: string;
  let store: AnalyticsStore;
  let clock: FakeClock;
  let recorder: Recorder;

  const open = async (bytesMax = 64 * MIB): Promise<void> => {
    store = new AnalyticsStore(dir, { bytesMax, retentionMs: 30 * DAY_MS });
    recorder = await recording();
  };
  const recording = async (): Promise<Recorder> =>
    new Recorder({ store, userKey: await store.userKey(), clock, logger: silentLogger() });
  const search = (more: Partial<RecordedSearch> = {}): void =>
    recorder.search({
      ...{ at: 0, indexUid: 'books', query: 'dune', filter: null, hits: 1, durationMs: 1.5 },
      ...{ sender: { id: 'anna' }, queryUid: null, interleaved: null, ...more },
    });
  const event = (more: Partial<RecordedEvent> = {}): Promise<void> =>
    recorder.event({
      ...{ type: 'click', name: 'n', indexUid: 'books', objectId: '7', position: 2 },
      ...{ sender: { id: 'anna' }, queryUid: null, ...more },
    });
  const stored = (): AnalyticsRow[] => [...store.chunks(0, Infinity)].flatMap(parseRows);

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-analytics-'));
    clock = new FakeClock('2025-03-01T09:30:00Z');
    await open();
  });
  afterEach(async () => {
    await recorder.stop();
    await store.close();
    rmSync(dir, { recursive: true });
  });

  it('credits clicks on interleaved searches, also after a restart', async () => {
    const key = (id: string): string => documentKey(id).slice(0, 8);
    search({ interleaved: ['draft', key('7') + key('8'), key('9')] });
    await event();
    await recorder.stop();
    recorder = await recording();
    await event({ objectId: '9' });
    await event({ objectId: '9', type: 'conversion' });
    await event({ objectId: '10' });
    await event({ objectId: null });
    const [searched, ...events] = stored();
    assert.deepEqual(searched?.[9], ['draft', key('7') + key('8'), key('9')]);
    assert.deepEqual(
      events.map((row) => row[10]),
      [['draft', 0, searched![8]], ['draft', 1, searched![8]], undefined, undefined, undefined],
    );
  });

  it('stores searches in their order, and nothing that names the user', async () => {
    search({
      query: 'a',
      filter: [['x = 1', 'x = 2'], 'y = 3'],
      sender: { id: 'anna@example.org' },
    });
    search({ query: 'b'.repeat(QUERY_CHARS_MAX + 50), hits: 0 });
    assert.deepEqual(stored(), []);
    await recorder.flushed();
    const [first, second] = stored();
    const { [8]: user } = first!;
    assert.deepEqual(first, [
      ...[0, clock.now(), 0, 'books', 'a', '[["x = 1","x = 2"],"y = 3"]', 1, 1500, user],
    ]);
    assert.match(String(user), /^[\w-]{16}$/);
    assert.equal(second![4]!.length, QUERY_CHARS_MAX);
    assert.notEqual(second![8], user);
    assert.ok(!readFileSync(join(dir, 'data.mdb')).includes('anna'));
  });

  it('binds an event to the last search of the user in the index, and marks the first', async () => {
    search({ query: 'old' });
    search({ query: 'other', indexUid: 'films' });
    search({ query: 'new' });
    search({ query: 'of another', sender: { id: 'ben' } });
    await event();
    await event();
    await event({ type: 'conversion' });
    await event({ sender: { id: 'carl' } });
    const events = stored().filter((row) => row[0] !== 0);
    assert.deepEqual(
      events.map((row) => [row[0], row[2], row[4], row[9]]),
      [
        [1, 2, 'new', 1],
        [1, 2, 'new', 0],
        [2, 2, 'new', 1],
        [1, -1, null, 0],
      ],
    );
  });

  it('binds an event to the search whose query uid it names, but not to one of another index', async () => {
    search({ query: 'named', queryUid: 'q1' });
    search({ query: 'last' });
    await event({ queryUid: 'q1', sender: { id: 'whoever' } });
    await event({ queryUid: 'q1', indexUid: 'films' });
    const events = stored().filter((row) => row[0] !== 0);
    assert.deepEqual(
      events.map((row) => row[4]),
      ['named', null],
    );
  });

  it('binds no event to a search of the day before', async () => {
    search();
    clock.advance(DAY_MS + 1);
    await event();
    assert.equal(stored().at(-1)![2], -1);
  });

  it('forgets the users that came first and not again when there are too many', async () => {
    search({ sender: { id: 'once' } });
    search({ sender: { id: 'twice' } });
    search({ sender: { id: 'twice' } });
    for (let n = 0; n < RECENT_USERS_MAX; n++) {
      search({ sender: { id: `user ${n}` } });
      if (n % (WAITING_ROWS_MAX / 2) === 0) await recorder.flushed();
    }
    const last = RECENT_USERS_MAX - 1;
    for (const id of ['once', 'twice', `user ${last}`]) await event({ sender: { id } });
    const events = stored().filter((row) => row[0] !== 0);
    assert.deepEqual(
      events.map((row) => row[2]),
      [-1, 2, 3 + last],
    );
    assert.equal(recorder.dropped, 0);
  });

  it('binds events to the last search in each of the last indexes alone', async () => {
    for (let n = 0; n <= RECENT_INDEXES_MAX; n++) search({ indexUid: `index${n}` });
    for (const n of [0, 1, RECENT_INDEXES_MAX]) await event({ indexUid: `index${n}` });
    const events = stored().filter((row) => row[0] !== 0);
    assert.deepEqual(
      events.map((row) => row[2]),
      [-1, 1, RECENT_INDEXES_MAX],
    );
  });

  it('goes on after a restart: numbers, searches of users, which were clicked', async () => {
    search();
    await event();
    await recorder.stop();
    await store.close();
    await open();
    await event();
    search();
    await recorder.flushed();
    const rows = stored();
    assert.deepEqual(
      rows.map((row) => row[2]),
      [0, 0, 0, 1],
    );
    assert.equal(rows[2]![9], 0);
    assert.equal(rows[0]![8], rows[3]![8]);
  });

  it('rejects events that cannot be stored, and stores the searches later', async () => {
    const append = store.append.bind(store);
    store.append = () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' }));
    search();
    await assert.rejects(event(), { code: 'ENOSPC' });
    assert.equal(recorder.dropped, 0);
    store.append = append;
    await event();
    const rows = stored();
    assert.deepEqual(
      rows.map((row) => row[0]),
      [0, 1],
    );
    assert.equal(rows[1]![9], 1, 'the event that was not stored does not count');
  });

  it('drops the oldest searches, and counts them, when the disk accepts none', async () => {
    const append = store.append.bind(store);
    store.append = () => Promise.reject(new Error('full'));
    for (let n = 0; n < WAITING_ROWS_MAX + 40; n++) search({ query: `q${n}` });
    await recorder.flushed();
    for (let n = 0; n < 60; n++) search({ query: `later${n}` });
    assert.equal(recorder.dropped, 100);
    store.append = append;
    await recorder.flushed();
    const rows = stored();
    assert.equal(rows.length, WAITING_ROWS_MAX);
    assert.equal(rows[0]![4], 'q100');
    assert.equal(rows.at(-1)![4], 'later59');
  });

  it('refuses events when too many wait', async () => {
    let release = (): void => {};
    const append = store.append.bind(store);
    const held = new Promise<void>((resolve) => (release = resolve));
    store.append = async (...given) => {
      await held;
      return append(...given);
    };
    const first = event();
    const waiting = Array.from({ length: WAITING_EVENTS_MAX }, () => event());
    await assert.rejects(event(), { code: 'too_many_search_requests' });
    release();
    await Promise.all([first, ...waiting]);
    assert.equal(stored().length, WAITING_EVENTS_MAX + 1);
  });
});

describe('The store of searches and events', () => {
  let dir: string;
  let store: AnalyticsStore;

  const row = (at: number, query = 'q'): AnalyticsRow => [0, at, at, 'i', query, null, 1, 1, 'u'];
  const rowsFrom = (from: number, to: number): number[] =>
    [...store.chunks(from, to)].flatMap(parseRows).map(([, at]) => at);

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-analytics-'));
  });
  afterEach(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  it('finds the rows of a time range, after appends of all sizes and a reopening', async () => {
    const bounds = { bytesMax: 64 * MIB, retentionMs: Infinity };
    store = new AnalyticsStore(dir, bounds);
    let at = 1000;
    for (const size of [1, 3, CHUNK_ROWS, 2 * CHUNK_ROWS + 5, 0, 700]) {
      const rows = Array.from({ length: size }, () => row((at += 2)));
      await store.append(rows, at);
      await store.close();
      store = new AnalyticsStore(dir, bounds);
    }
    const all = rowsFrom(0, Infinity);
    assert.deepEqual(
      all,
      Array.from({ length: (at - 1000) / 2 }, (_, n) => 1002 + 2 * n),
    );
    for (const [from, to] of [
      [0, 1002],
      [1100, 2100],
      [at, at + 1],
      [2024, 2026],
    ] as const) {
      const found = new Set(rowsFrom(from, to));
      const wanted = all.filter((one) => one >= from && one < to);
      assert.ok(
        wanted.every((one) => found.has(one)),
        `${from} to ${to}`,
      );
    }
    assert.deepEqual(
      store
        .lastRows(5)
        .slice(-2)
        .map(([, time]) => time),
      all.slice(-2),
    );
  });

  it('is followed from a position while it grows: each row once, in order', async () => {
    store = new AnalyticsStore(dir, { bytesMax: 64 * MIB, retentionMs: Infinity });
    const read: number[] = [];
    let position = store.positionAt(0);
    let at = 1000;
    for (const size of [0, 1, 3, CHUNK_ROWS - 4, 1, 2 * CHUNK_ROWS + 5, 0, 700]) {
      const rows = Array.from({ length: size }, () => row((at += 1)));
      await store.append(rows, at);
      for (;;) {
        const more = store.rowsAfter(position, Infinity);
        if (more === null) break;
        read.push(...parseRows(more.text).map(([, time]) => time));
        position = more.after;
      }
    }
    assert.deepEqual(read, rowsFrom(0, Infinity));
    // From a time on, and not beyond another one.
    position = store.positionAt(1200);
    const first = parseRows(store.rowsAfter(position, Infinity)!.text)[0]![1];
    assert.ok(first <= 1200);
    assert.equal(store.rowsAfter(position, 0)!.after.length > 0, true);
    assert.equal(store.rowsAfter({ key: 0, length: 0 }, 100), null);
  });

  it('separates the rows of one time from those of others', async () => {
    store = new AnalyticsStore(dir, { bytesMax: 64 * MIB, retentionMs: Infinity });
    await store.append(
      Array.from({ length: 3 * CHUNK_ROWS }, () => row(5000)),
      5000,
    );
    assert.equal(rowsFrom(5000, 5001).length, 3 * CHUNK_ROWS);
  });

  it('forgets what is too old', async () => {
    store = new AnalyticsStore(dir, { bytesMax: 64 * MIB, retentionMs: 10 * DAY_MS });
    for (let day = 0; day < 20; day++) {
      await store.append(
        Array.from({ length: CHUNK_ROWS }, () => row(day * DAY_MS)),
        day * DAY_MS,
      );
    }
    assert.equal(rowsFrom(0, Infinity)[0], 9 * DAY_MS);
    await store.sweep(100 * DAY_MS);
    assert.deepEqual([...new Set(rowsFrom(0, Infinity))], [19 * DAY_MS], 'the last chunk stays');
  });

  it('drops the oldest rows beyond its limit', async () => {
    store = new AnalyticsStore(dir, { bytesMax: MIB, retentionMs: Infinity });
    for (let n = 0; n < 100; n++) {
      await store.append(
        Array.from({ length: CHUNK_ROWS }, () => row(n, 'x'.repeat(100))),
        n,
      );
      assert.ok(store.usedBytes <= 1.2 * MIB, `${store.usedBytes} bytes`);
    }
    const left = [...new Set(rowsFrom(0, Infinity))];
    assert.equal(left.at(-1), 99);
    assert.ok(left[0]! > 50 && left[0]! < 97, `${left[0]}`);
  });

  it('keeps one key for the users', async () => {
    const bounds = { bytesMax: MIB, retentionMs: Infinity };
    store = new AnalyticsStore(dir, bounds);
    const key = await store.userKey();
    assert.equal(key.length, 32);
    await store.close();
    store = new AnalyticsStore(dir, bounds);
    assert.deepEqual(await store.userKey(), key);
  });
});
