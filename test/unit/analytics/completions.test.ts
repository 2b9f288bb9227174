import assert from 'node:assert/strict';
import { bestMatch, foldedWords } from '../../../src/analytics/completion-match.ts';
import {
  COMPLETION_CHARS_MAX,
  Completions,
  SHARED_MAX,
  SINGLE_MAX,
  USERS_MAX,
  type Completion,
} from '../../../src/analytics/completions.ts';
import { TYPING_MS } from '../../../src/analytics/typing.ts';
import { SEARCH_ROW, CLICK_ROW, type AnalyticsRow } from '../../../src/contract/analytics.ts';
import { mulberry } from '../../support/random.ts';

const DAY_MS = 86_400_000;
const TYPOS = { one: 5, two: 9 };

function hashOf(user: number): string {
  const bytes = Buffer.alloc(12);
  bytes.writeInt32BE(user);
  return bytes.toString('base64url');
}

let nextId = 0;
function search(query: string, user: number, at: number, hits = 1, uid = 'books'): AnalyticsRow {
  return [SEARCH_ROW, at, nextId++, uid, query, null, hits, 1000, hashOf(user)];
}

/** Searches of different users, one second apart. */
function searches(query: string, users: number, from = 0, at = 0): AnalyticsRow[] {
  return Array.from({ length: users }, (_, n) => search(query, from + n, at + n * 1000));
}

const LATER = 10 * DAY_MS;

describe('Completions from recorded searches', () => {
  let completions: Completions;

  beforeEach(() => {
    completions = new Completions(30 * DAY_MS);
  });

  const find = (q: string, more: object = {}, now = LATER): Promise<Completion[]> =>
    completions.find({ indexUid: 'books', q, limit: 8, usersMin: 2, typos: TYPOS, ...more }, now);
  const texts = async (q: string, more: object = {}): Promise<string[]> =>
    (await find(q, more)).map(({ text }) => text);

  it('are the queries of enough users, the most users first', async () => {
    completions.add(searches('Running  shoes', 6));
    completions.add(searches('running shorts', 8, 0, 100_000));
    completions.add(searches('runner', 4, 0, 200_000));
    assert.deepEqual(await find('runn', { usersMin: 5 }), [
      { text: 'running shorts', count: 8 },
      { text: 'running shoes', count: 6 },
    ]);
    assert.deepEqual((await texts('runn', { usersMin: 4 })).length, 3);
    assert.deepEqual(await texts('runn', { limit: 1 }), ['running shorts']);
    assert.deepEqual(await texts('', { limit: 2 }), ['running shorts', 'running shoes']);
    assert.deepEqual(await texts('runn', { indexUid: 'films' }), []);
  });

  it('never show what only one user has typed, however often', async () => {
    for (let n = 0; n < 50; n++) completions.add([search('my secret', 1, n * 10_000)]);
    assert.deepEqual(await texts('my'), []);
    completions.add([search('my secret', 2, 900_000)]);
    assert.deepEqual(await find('my'), [{ text: 'my secret', count: 2 }]);
  });

  it('leave out queries that found nothing, or of which it is unknown', async () => {
    for (const hits of [0, -1]) {
      completions.add([1, 2, 3].map((user) => search('nothing', user, user * 10_000, hits)));
    }
    completions.add([1, 2].map((user) => search('a'.repeat(COMPLETION_CHARS_MAX + 1), user, 1e6)));
    assert.deepEqual(await texts(''), []);
  });

  it('leave out what users typed on the way', async () => {
    for (let user = 0; user < 5; user++) {
      const at = user * 60_000;
      for (const [n, q] of ['r', 'ru', 'Run', 'runs', 'run'].entries()) {
        completions.add([search(q, user, at + n * 500)]);
      }
    }
    assert.deepEqual(await find(''), [{ text: 'run', count: 5 }]);
    // One that is still being typed is not final yet; a click makes it final.
    const now = LATER;
    const typed = search('final', 1, now);
    completions.add([search('final', 2, now - TYPING_MS - 1), typed]);
    assert.deepEqual(await find('fin'), []);
    const id = typed[2];
    completions.add([[CLICK_ROW, now, id, 'books', 'final', 'n', null, 0, hashOf(1), 1]]);
    assert.deepEqual(await find('fin'), [{ text: 'final', count: 2 }]);
  });

  it('forget a user when the retention time is over', async () => {
    completions.add([
      search('dune', 1, 0),
      search('dune', 2, DAY_MS),
      search('dune', 3, 2 * DAY_MS),
    ]);
    assert.deepEqual(await find('d', {}, 31 * DAY_MS), [{ text: 'dune', count: 2 }]);
    assert.deepEqual(await find('d', {}, 31 * DAY_MS + 1), []);
  });

  it('are the same after they are loaded, whatever is added meanwhile', async () => {
    const rows = [...searches('dune messiah', 3), ...searches('dune', 4, 0, 50_000)];
    const chunks = rows.map((row) => JSON.stringify(row));
    const loaded = completions.load(chunks);
    completions.add(rows.slice(-2));
    await loaded;
    assert.deepEqual(await find('du'), [
      { text: 'dune', count: 4 },
      { text: 'dune messiah', count: 3 },
    ]);
  });

  it('are bounded, and one user cannot displace what several share', async () => {
    completions.add(searches('kept', 3));
    for (let n = 0; n < SINGLE_MAX + 10; n++) {
      completions.add([search(`single ${n}`, 9, 100_000 + n * 10_000)]);
    }
    assert.deepEqual(await find('kept', {}, DAY_MS), [{ text: 'kept', count: 3 }]);
    const at = 200_000 + SINGLE_MAX * 10_000;
    for (let n = 0; n < SHARED_MAX; n++) {
      completions.add(searches(`shared ${n}`, 2, 0, at + n * 10_000));
    }
    const now = at + SHARED_MAX * 10_000;
    assert.deepEqual(await find('kept', {}, now), []);
    assert.equal((await find('', { limit: SHARED_MAX + 10 }, now)).length, SHARED_MAX);
    completions.add(searches('popular', USERS_MAX + 5, 0, now));
    assert.deepEqual(await find('pop', {}, now + 1e7), [{ text: 'popular', count: USERS_MAX }]);
  });

  it('are those of a naive model', async () => {
    const seed = Date.now() % 1e9;
    console.log(`      seed ${seed}`);
    const random = mulberry(seed);
    const below = (n: number): number => Math.floor(random() * n);
    const words = ['run', 'runs', 'running', 'red', 'shoe', 'shoes', 'r', 'Run '];
    for (let round = 0; round < 200; round++) {
      completions = new Completions(DAY_MS);
      const rows: AnalyticsRow[] = [];
      let at = 0;
      for (let n = 0; n < 150; n++) {
        at += below(4) === 0 ? below(3_600_000) : below(2000);
        const query = Array.from({ length: 1 + below(2) }, () => words[below(words.length)]);
        rows.push(search(query.join(' '), below(6), at, below(5), ['books', 'films'][below(2)]));
      }
      completions.add(rows);
      const now = at + below(2 * DAY_MS);
      for (const q of ['', 'r', 'run', 'sho', 'run sh', 'runnnig', 'shoos']) {
        const usersMin = 2 + below(3);
        const expected = naive(rows, q, usersMin, now);
        assert.deepEqual(await find(q, { usersMin, limit: 100 }, now), expected, `${round}: ${q}`);
      }
    }
  });
});

/** Every query with its users, found by looking at all rows again. */
function naive(rows: AnalyticsRow[], q: string, usersMin: number, now: number): Completion[] {
  const users = new Map<string, Map<string, number>>();
  for (const [n, row] of rows.entries()) {
    if (row[3] !== 'books' || (row[6] as number) <= 0) continue;
    const after = rows.slice(n + 1).find((other) => other[3] === 'books' && other[8] === row[8]);
    const plain = (query: string | null): string =>
      query!.trim().toLowerCase().replaceAll(/\s+/g, ' ');
    const [a, b] = [plain(row[4]!), after === undefined ? '' : plain(after[4])];
    const isExtended = a !== b && (a.startsWith(b) || b.startsWith(a));
    const typesOn = after !== undefined && after[1] - row[1] <= TYPING_MS && isExtended;
    if (typesOn || row[1] >= now - TYPING_MS) continue;
    const known = users.get(a) ?? new Map<string, number>();
    users.set(a, known.set(row[8], row[1]));
  }
  const found = [...users].flatMap(([text, times]) => {
    const count = [...times.values()].filter((at) => at >= now - DAY_MS).length;
    const exact = bestMatch(foldedWords(q), foldedWords(text), null);
    const match = exact ?? bestMatch(foldedWords(q), foldedWords(text), TYPOS);
    return count < usersMin || match === null ? [] : [{ text, count, match }];
  });
  return found
    .toSorted(
      (a, b) =>
        a.match.typos - b.match.typos ||
        Number(b.match.atStart) - Number(a.match.atStart) ||
        b.count - a.count ||
        (a.text < b.text ? -1 : 1),
    )
    .map(({ text, count }) => ({ text, count }));
}

describe('A completion', () => {
  const match = (q: string, text: string): { typos: number; atStart: boolean } | null =>
    bestMatch(foldedWords(q), foldedWords(text), TYPOS);

  it('begins with what was typed, at its start or at a later word', () => {
    assert.deepEqual(match('runn', 'running shoes'), { typos: 0, atStart: true });
    assert.deepEqual(match('shoe', 'running shoes'), { typos: 0, atStart: false });
    assert.deepEqual(match('running sh', 'Running-Shoes'), { typos: 0, atStart: true });
    assert.deepEqual(match('creme bru', 'Crème brûlée'), { typos: 0, atStart: true });
    assert.equal(match('runn shoes', 'running shoes'), null);
    assert.equal(match('unning', 'running shoes'), null);
    assert.equal(match('running shoes red', 'running shoes'), null);
  });

  it('may differ by the typos that words of their length may have', () => {
    assert.equal(match('rnuning', 'running')?.typos, 1);
    assert.equal(match('runing sho', 'running shoes')?.typos, 1);
    assert.equal(match('dostoyevsky', 'dostoevski')?.typos, 2);
    assert.equal(match('dostoyesvky', 'dostoevski'), null);
    assert.equal(match('rnu', 'running'), null);
    assert.equal(match('tunning', 'running'), null);
  });
});
