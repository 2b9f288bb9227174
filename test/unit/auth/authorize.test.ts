import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import jwt from 'jsonwebtoken';
import { type Access, Authorizer } from '../../../src/auth/authorize.ts';
import { keyValue } from '../../../src/auth/key-values.ts';
import {
  createDefaultKeys,
  generateMasterKey,
  keyView,
  rotatedKey,
} from '../../../src/auth/keys.ts';
import { IndexPatterns } from '../../../src/auth/patterns.ts';
import { RememberedPrincipals } from '../../../src/auth/remembered-principals.ts';
import {
  combineFilters,
  decodeTenantToken,
  isSignedWith,
  ruleFor,
} from '../../../src/auth/tenant-token.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { mulberry } from '../../support/random.ts';
import { ACTIONS, expandAction, type Action } from '../../../src/contract/actions.ts';
import { KEY_VALUES_MAX, type KeyRecord } from '../../../src/contract/keys.ts';
import { KeyStore } from '../../../src/store/key-store.ts';
import { Store } from '../../../src/store/store.ts';

const MASTER = 'MASTER_KEY';
const UID = '4bc0887a-0e41-4f3b-935d-0c451dcee9c8';
const NOW = '2025-03-01T00:00:00Z';

let dir: string;
let store: Store;
let keys: KeyStore;
let clock: FakeClock;
let authorizer: Authorizer;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gannet-auth-'));
  store = new Store(dir, 2 ** 26);
  keys = new KeyStore(store);
  clock = new FakeClock(NOW);
  authorizer = new Authorizer(MASTER, keys, clock);
});

afterEach(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

async function addKey(
  actions: string[],
  indexes: string[],
  expiresAt: string | null = null,
  uid = randomUUID() as string,
): Promise<string> {
  await keys.put({
    uid,
    name: null,
    description: null,
    actions,
    indexes,
    expiresAt,
    createdAt: NOW,
    updatedAt: NOW,
  });
  return keyValue(MASTER, uid);
}

function code(token: string | null, action: Action, index: string | null = null): string {
  const outcome = authorizer.authorize(
    { authorization: token === null ? undefined : `Bearer ${token}`, legacyKey: undefined },
    action,
    index,
  );
  return outcome.ok ? 'ok' : outcome.error.code;
}

describe('The value of a key', () => {
  it('follows from the master key and the uid', () => {
    const vectors: [string, string, string][] = [
      ['MASTER_KEY', UID, 'd9e776b8412f1db6974c9a5556b961c3559440b6588216f4ea5d9ed49f7c8f3c'],
      [
        'MASTER_KEY',
        '00000000-0000-0000-0000-000000000000',
        'aeb94973e0b6e912d94165430bbe87dee91a7c4f891ce19050c3910ec96977e9',
      ],
      [
        'gannet-test-master-key',
        '11111111-2222-4333-8444-555555555555',
        'ad2976f26f634f6b4f5c582c812de2159395c2eff6ac9129501a72dedc61b332',
      ],
    ];
    for (const [master, uid, value] of vectors) assert.equal(keyValue(master, uid), value);
  });

  it('of a generated master key has 43 characters', () => {
    assert.match(generateMasterKey(), /^[A-Za-z0-9_-]{43}$/);
  });
});

describe('Default keys', () => {
  it('are made in an empty store only, and listed search first', async () => {
    await createDefaultKeys(keys, clock);
    const names = keys.list().map(({ name }) => name);
    assert.deepEqual(names, [
      'Default Search API Key',
      'Default Admin API Key',
      'Default Read-Only Admin API Key',
      'Default Chat API Key',
    ]);
    await createDefaultKeys(keys, clock);
    assert.equal(keys.size, 4);
  });

  it('survive a restart', async () => {
    await createDefaultKeys(keys, clock);
    const again = new KeyStore(store);
    assert.deepEqual(again.list(), keys.list());
  });
});

describe('Actions', () => {
  it('expand as the table says', () => {
    assert.deepEqual([...expandAction('*')].sort(), [...ACTIONS].sort());
    assert.deepEqual([...expandAction('indexes.*')].sort(), [
      'indexes.*',
      'indexes.compact',
      'indexes.create',
      'indexes.delete',
      'indexes.get',
      'indexes.swap',
      'indexes.update',
    ]);
    const read = expandAction('*.get');
    assert.ok(read.includes('search') && read.includes('export') && read.includes('version'));
    assert.ok(!read.includes('keys.get') && !read.includes('chatCompletions'));
    assert.deepEqual(expandAction('search'), ['search']);
  });
});

describe('Authorization', () => {
  it('reads the header strictly', async () => {
    const cases: [string | undefined, string][] = [
      [undefined, 'missing_authorization_header'],
      ['', 'missing_authorization_header'],
      ['Basic abc', 'missing_authorization_header'],
      [`bearer ${MASTER}`, 'missing_authorization_header'],
      ['Bearer', 'invalid_api_key'],
      ['Bearer ', 'invalid_api_key'],
      [`Bearer ${MASTER}`, 'ok'],
      [`Bearer  ${MASTER}`, 'invalid_api_key'],
    ];
    for (const [authorization, expected] of cases) {
      const outcome = authorizer.authorize(
        { authorization, legacyKey: undefined },
        'indexes.get',
        null,
      );
      assert.equal(outcome.ok ? 'ok' : outcome.error.code, expected, String(authorization));
    }
  });

  it('reads the older header only without the present one', () => {
    const both = { authorization: 'Bearer wrong', legacyKey: MASTER };
    assert.ok(!authorizer.authorize(both, 'indexes.get', null).ok);
    const old = { authorization: undefined, legacyKey: MASTER };
    assert.ok(authorizer.authorize(old, 'indexes.get', null).ok);
  });

  it('is open without a master key, but for the keys', () => {
    const open = new Authorizer(null, keys, clock);
    for (const authorization of [undefined, 'Bearer anything']) {
      const credentials = { authorization, legacyKey: undefined };
      assert.ok(open.authorize(credentials, 'dumps.create', null).ok);
      const refused = open.authorize(credentials, 'keys.get', null);
      assert.ok(!refused.ok && refused.error.code === 'missing_master_key');
    }
    const scheme = open.authorize(
      { authorization: 'Basic x', legacyKey: undefined },
      'search',
      null,
    );
    assert.ok(!scheme.ok && scheme.error.code === 'missing_authorization_header');
  });

  it('takes a key for its actions until it expires, changes or goes', async () => {
    const key = await addKey(['search', 'stats.*'], ['*'], '2025-03-02T00:00:00Z');
    assert.equal(code(key, 'search', 'movies'), 'ok');
    assert.equal(code(key.toUpperCase(), 'search', 'movies'), 'ok');
    assert.equal(code(key, 'stats.get'), 'ok');
    assert.equal(code(key, 'indexes.get'), 'invalid_api_key');
    clock.set('2025-03-02T00:00:00Z');
    assert.equal(code(key, 'search', 'movies'), 'invalid_api_key');
    clock.set(NOW);
    assert.equal(code(key, 'search', 'movies'), 'ok');
    await keys.remove(keys.list()[0]!.uid);
    assert.equal(code(key, 'search', 'movies'), 'invalid_api_key');
    assert.equal(code('x'.repeat(64), 'search'), 'invalid_api_key');
  });

  it('keeps a key to its indexes', async () => {
    const key = await addKey(['*'], ['movies', 'shop*']);
    assert.equal(code(key, 'documents.add', 'movies'), 'ok');
    assert.equal(code(key, 'documents.add', 'shop-2'), 'ok');
    assert.equal(code(key, 'documents.add', 'movie'), 'invalid_api_key');
    assert.equal(code(key, 'indexes.get'), 'ok', 'the route filters');
    for (const action of ['version', 'dumps.create', 'keys.get', 'webhooks.get'] as const) {
      assert.equal(code(key, action), 'invalid_api_key', action);
    }
    assert.equal(code(await addKey(['*'], []), 'indexes.get'), 'invalid_api_key');
  });

  it('does not limit by index the global actions that a key names', async () => {
    const key = await addKey(['search', 'version', 'webhooks.*'], ['movies']);
    assert.equal(code(key, 'version'), 'ok');
    assert.equal(code(key, 'webhooks.get'), 'ok');
    assert.equal(code(key, 'stats.get'), 'invalid_api_key');
  });

  it('says which indexes may be seen and created', async () => {
    const key = await addKey(['documents.add', 'indexes.create'], ['a*']);
    const outcome = authorizer.authorize(
      { authorization: `Bearer ${key}`, legacyKey: undefined },
      'documents.add',
      'ab',
    );
    assert.ok(outcome.ok);
    assert.ok(outcome.value.mayCreate('ab') && !outcome.value.mayCreate('b'));
    assert.ok(outcome.value.visible!('abc') && !outcome.value.visible!('b'));
    assert.match(outcome.value.refusal('b').message, /`b`.*a\*/);
    const other = await addKey(['documents.add'], ['*']);
    const plain = authorizer.authorize(
      { authorization: `Bearer ${other}`, legacyKey: undefined },
      'documents.add',
      'x',
    );
    assert.ok(plain.ok && !plain.value.mayCreate('x') && plain.value.visible === null);
  });
});

describe('The rotation of a key', () => {
  const DAY_MS = 86_400_000;
  const rotate = async (previousExpiresAt?: string | null): Promise<string> => {
    const outcome = rotatedKey(
      keys.get(UID)!,
      previousExpiresAt === undefined ? {} : { previousExpiresAt },
      clock,
    );
    assert.ok(outcome.ok);
    await keys.put(outcome.value);
    return authorizer.values.of(outcome.value);
  };
  const token = (value: string): string =>
    jwt.sign({ searchRules: ['*'], apiKeyUid: UID }, value, { noTimestamp: true });
  const accepts = (value: string): boolean => {
    const [plain, tenant] = [value, token(value)].map((one) => code(one, 'search', 'movies'));
    assert.equal(plain, tenant, 'a tenant token is accepted as long as the value that signed it');
    return plain === 'ok';
  };

  it('gives a new value, and the one before is accepted for a day', async () => {
    const first = await addKey(['search'], ['*'], null, UID);
    assert.ok(accepts(first));
    const second = await rotate();
    assert.notEqual(second, first);
    assert.match(second, /^[0-9a-f]{64}$/);
    assert.deepEqual([accepts(first), accepts(second)], [true, true]);
    const view = keyView(keys.get(UID)!, second, clock);
    assert.equal(view.previousExpiresAt, '2025-03-02T00:00:00.000000Z');
    clock.set(Date.parse(NOW) + DAY_MS);
    assert.deepEqual([accepts(first), accepts(second)], [false, true]);
    assert.ok(!('previousExpiresAt' in keyView(keys.get(UID)!, second, clock)));
    // Another process, or a thread, derives the same from the record.
    const other = new Authorizer(MASTER, keys, clock);
    assert.equal(other.values.of(keys.get(UID)!), second);
    assert.equal(other.values.find(first), undefined);
  });

  it('ends every earlier value at a time that is given, at once if it has passed', async () => {
    const first = await addKey(['search'], ['*'], null, UID);
    const second = await rotate('2025-03-05T00:00:00Z');
    const third = await rotate('2025-03-03T00:00:00Z');
    assert.deepEqual([first, second, third].map(accepts), [true, true, true]);
    clock.set('2025-03-03T00:00:00Z');
    assert.deepEqual([first, second, third].map(accepts), [false, false, true]);
    const fourth = await rotate('2025-03-03T00:00:00Z');
    assert.deepEqual([third, fourth].map(accepts), [false, true]);
    assert.deepEqual(keys.get(UID)!.rotation, { count: 3, earlier: [] });
  });

  it('does not lengthen the life of a key, nor that of an earlier value', async () => {
    const first = await addKey(['search'], ['*'], '2025-03-01T12:00:00Z', UID);
    const second = await rotate('2025-03-01T06:00:00Z');
    const third = await rotate('2025-03-09T00:00:00Z');
    clock.set('2025-03-01T06:00:00Z');
    assert.deepEqual([first, second, third].map(accepts), [false, true, true]);
    clock.set('2025-03-01T12:00:00Z');
    assert.deepEqual([first, second, third].map(accepts), [false, false, false]);
  });

  it('accepts at most ten values, and the values are those of a naive list', async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = mulberry(seed);
    const naive = [{ value: await addKey(['search'], ['*'], null, UID), until: Infinity }];
    let now = Date.parse(NOW);
    for (let n = 0; n < 60; n++) {
      now += Math.floor(random() * 5) * 60_000;
      clock.set(now);
      const until = now + Math.floor(random() * 40 - 5) * 60_000;
      const request = { previousExpiresAt: new Date(until).toISOString() };
      const outcome = rotatedKey(keys.get(UID)!, request, clock);
      const kept = naive.filter((one) => Math.min(one.until, until) > now);
      assert.equal(outcome.ok, kept.length < KEY_VALUES_MAX, `seed ${seed}`);
      if (outcome.ok) {
        await keys.put(outcome.value);
        for (const one of naive) one.until = Math.min(one.until, until);
        naive.push({ value: authorizer.values.of(outcome.value), until: Infinity });
      }
      for (const one of naive) assert.equal(accepts(one.value), one.until > now, `seed ${seed}`);
    }
  });

  it('leaves the fair share and the limits of the key as they are', async () => {
    const first = await addKey(['search'], ['*'], null, UID);
    await keys.put({
      ...keys.get(UID)!,
      rateLimit: { requestsPerSecond: 1, concurrentSearches: null },
    });
    const accessOf = (value: string): Access => {
      const credentials = { authorization: `Bearer ${value}`, legacyKey: undefined };
      const outcome = authorizer.authorize(credentials, 'search', 'movies');
      assert.ok(outcome.ok);
      return outcome.value;
    };
    const before = accessOf(first);
    const after = accessOf(await rotate());
    assert.equal(after.holder, before.holder);
    assert.equal(after.throttle, before.throttle);
    assert.equal(accessOf(first).throttle, before.throttle);
  });
});

describe('A previous master key', () => {
  it('is accepted with its keys and their tokens, while the present one names the keys', async () => {
    const old = await addKey(['search'], ['*'], null, UID);
    const change = new Authorizer('ANOTHER_KEY', keys, clock, null, undefined, MASTER);
    const outcome = (text: string, action: Action): boolean =>
      change.authorize({ authorization: `Bearer ${text}`, legacyKey: undefined }, action, null).ok;
    assert.equal(change.values.of(keys.get(UID)!), keyValue('ANOTHER_KEY', UID));
    for (const value of [old, keyValue('ANOTHER_KEY', UID)]) {
      const token = jwt.sign({ searchRules: ['*'], apiKeyUid: UID }, value, { noTimestamp: true });
      assert.deepEqual([outcome(value, 'search'), outcome(token, 'search')], [true, true]);
      assert.ok(!outcome(value, 'version'));
    }
    for (const master of [MASTER, 'ANOTHER_KEY']) assert.ok(outcome(master, 'version'));
    assert.ok(!outcome(keyValue('A_THIRD_KEY', UID), 'search'));
    // Without it, only the present one counts.
    const done = new Authorizer('ANOTHER_KEY', keys, clock);
    for (const text of [MASTER, old]) {
      const credentials = { authorization: `Bearer ${text}`, legacyKey: undefined };
      assert.ok(!done.authorize(credentials, 'search', null).ok);
    }
  });
});

describe('With thousands of keys', () => {
  const MANY = 3000;
  const RUNS = 100;
  /** A look at each key, or a new order of all, costs more than this many times as much. */
  const FACTOR = 10;

  /** Milliseconds of the fastest of several series of calls. */
  async function quickest(work: (n: number) => unknown): Promise<number> {
    let minimum = Infinity;
    for (let series = 0; series < 5; series++) {
      const begin = process.cpuUsage();
      for (let n = 0; n < RUNS; n++) await work(series * RUNS + n);
      const { user, system } = process.cpuUsage(begin);
      minimum = Math.min(minimum, (user + system) / 1000);
    }
    return minimum;
  }

  async function addMany(): Promise<void> {
    const puts = [];
    for (let n = 0; n < MANY; n++) puts.push(addKey(['search'], ['*']));
    await Promise.all(puts);
  }

  const wrongKey = (n: number): string => keyValue('another', String(n));
  const wrongToken = (n: number): string =>
    jwt.sign({ searchRules: ['*'], apiKeyUid: UID, n }, 'wrong', { noTimestamp: true });

  it('a wrong key and a wrong token cost what they cost with few', async () => {
    await addKey(['search'], ['*'], null, UID);
    const tokens = Array.from({ length: 5 * RUNS }, (_, n) => wrongToken(n));
    const both = (n: number): void => {
      assert.equal(code(wrongKey(n), 'search', 'movies'), 'invalid_api_key');
      assert.equal(code(tokens[n]!, 'search', 'movies'), 'invalid_api_key');
    };
    const few = await quickest(both);
    await addMany();
    const many = await quickest(both);
    assert.ok(many < FACTOR * few, `${few} ms with one key, ${many} ms with ${MANY}`);
  });

  it('a change of a key costs the next request what it costs with few', async () => {
    const value = await addKey(['search'], ['*'], null, UID);
    const change = (): void => {
      void addKey(['search'], ['*'], null, '11111111-2222-4333-8444-555555555555');
      assert.equal(code(value, 'search', 'movies'), 'ok');
      assert.equal(keys.list()[0]?.createdAt, NOW);
    };
    const few = await quickest(change);
    await addMany();
    const many = await quickest(change);
    assert.ok(many < FACTOR * few, `${few} ms with two keys, ${many} ms with ${MANY}`);
  });

  it('each is found by its value in letters of either case, and listed newest first', async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    let state = seed;
    const random = (below: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      return state % below;
    };
    const uids = Array.from({ length: 30 }, () => randomUUID() as string);
    const stored = new Map<string, KeyRecord>();
    for (let n = 0; n < 300; n++) {
      const uid = uids[random(uids.length)]!;
      if (random(3) === 0) {
        stored.delete(uid);
        await keys.remove(uid);
      } else {
        const createdAt = new Date(random(5) * 1000).toISOString();
        const record: KeyRecord = {
          ...{ uid, name: null, description: null, actions: ['search'], indexes: ['*'] },
          ...{ expiresAt: null, createdAt, updatedAt: createdAt },
        };
        stored.set(uid, record);
        await keys.put(record);
      }
      const expected = [...stored.values()].sort((a, b) =>
        `${a.createdAt} ${a.uid}` < `${b.createdAt} ${b.uid}` ? 1 : -1,
      );
      assert.deepEqual(keys.list(), expected, `seed ${seed}`);
      for (const one of uids) {
        const value = keyValue(MASTER, one);
        const text = random(2) === 0 ? value : value.toUpperCase();
        assert.equal(authorizer.values.find(text)?.record.uid, stored.has(one) ? one : undefined);
        assert.equal(code(text, 'search', 'm') === 'ok', stored.has(one), `seed ${seed}`);
      }
    }
  });
});

describe('Patterns of indexes', () => {
  it('choose as a comparison with each does', () => {
    const texts = ['', 'a', 'b', 'ab', 'ba', 'aab', 'aba', 'abab'];
    const all = texts.flatMap((text) => (text === '' ? ['*'] : [text, `${text}*`]));
    for (let bits = 0; bits < 2 ** all.length; bits += 7) {
      const patterns = all.filter((_, n) => (bits >> n) & 1);
      const made = new IndexPatterns(patterns);
      for (const uid of texts.slice(1)) {
        const [best] = patterns
          .filter((one) => (one.endsWith('*') ? uid.startsWith(one.slice(0, -1)) : uid === one))
          .sort((a, b) => Number(b === uid) - Number(a === uid) || b.length - a.length);
        assert.equal(made.best(uid), best, `${uid} in ${patterns.join(' ')}`);
        assert.equal(made.matches(uid), best !== undefined);
      }
    }
  });

  it('are listed in a refusal up to some number', async () => {
    const value = await addKey(
      ['search'],
      Array.from({ length: 10_000 }, (_, n) => `index${n}`),
    );
    const outcome = authorizer.authorize(
      { authorization: `Bearer ${value}`, legacyKey: undefined },
      'search',
      'other',
    );
    assert.ok(!outcome.ok && outcome.error.message.length < 3000);
    assert.match(outcome.error.message, /and 9900 more/);
  });
});

describe('What is remembered of credentials', () => {
  it('is bounded in number and in characters', () => {
    const small = new RememberedPrincipals<number>();
    for (let n = 0; n < 10_000; n++) small.set(String(n), n);
    const kept = Array.from({ length: 10_000 }, (_, n) => small.get(String(n))).filter(
      (one) => one !== undefined,
    );
    assert.deepEqual([kept.length, kept[0]], [4096, 10_000 - 4096]);
    const large = new RememberedPrincipals<number>();
    const texts = Array.from({ length: 100 }, (_, n) => String(n).padEnd(2 ** 16));
    for (const [n, text] of texts.entries()) large.set(text, n);
    assert.equal(texts.filter((text) => large.get(text) !== undefined).length, 16);
    assert.equal(large.get(texts[99]!), 99);
  });
});

describe('A tenant token', () => {
  const EXAMPLE =
    'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzZWFyY2hSdWxlcyI6eyJtb3ZpZXMiOnsiZmlsdGVyIjoidGVuYW50ID0gNDIifSwiYm9va3MqIjpudWxsfSwiYXBpS2V5VWlkIjoiNGJjMDg4N2EtMGU0MS00ZjNiLTkzNWQtMGM0NTFkY2VlOWM4IiwiZXhwIjo0MTAyNDQ0ODAwfQ.Ri9b_5AQ58LWHIb627ZiFGFHRvgZapVoxJ-ghOnb9SA';

  it('of the specification is understood and signed right', () => {
    const decoded = decodeTenantToken(EXAMPLE);
    assert.ok(decoded?.ok);
    const token = decoded.value;
    assert.equal(token.apiKeyUid, UID);
    assert.equal(token.exp, 4102444800);
    assert.ok(isSignedWith(token, keyValue(MASTER, UID)));
    assert.ok(!isSignedWith(token, keyValue('OTHER_KEY', UID)));
    assert.equal(ruleFor(token, 'movies'), 'tenant = 42');
    assert.equal(ruleFor(token, 'books_fr'), null);
    assert.equal(ruleFor(token, 'other'), undefined);
  });

  it('opens the searches of its indexes, within its key', async () => {
    await addKey(['search'], ['movies', 'books*'], null, UID);
    assert.equal(code(EXAMPLE, 'search', 'movies'), 'ok');
    assert.equal(code(EXAMPLE, 'search', 'other'), 'invalid_api_key');
    assert.equal(code(EXAMPLE, 'documents.get', 'movies'), 'invalid_api_key', 'no other route');
    const outcome = authorizer.authorize(
      { authorization: `Bearer ${EXAMPLE}`, legacyKey: undefined },
      'search',
      'movies',
    );
    assert.ok(outcome.ok);
    assert.equal(outcome.value.tenantFilter('movies'), 'tenant = 42');
    assert.equal(outcome.value.tenantFilter('books'), null);
    await keys.remove(UID);
    assert.equal(code(EXAMPLE, 'search', 'movies'), 'invalid_api_key', 'its key is gone');
  });

  it('signed by another library works with each of the three algorithms', async () => {
    const value = await addKey(['search'], ['*'], null, UID);
    for (const algorithm of ['HS256', 'HS384', 'HS512'] as const) {
      const token = jwt.sign({ searchRules: ['*'], apiKeyUid: UID }, value, { algorithm });
      assert.equal(code(token, 'search', 'movies'), 'ok', algorithm);
    }
  });

  it('is refused for every fault', async () => {
    const value = await addKey(['search'], ['*'], null, UID);
    const sign = (claims: object, header: object = { alg: 'HS256' }): string => {
      const text = [header, claims]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.');
      return `${text}.${createHmac('sha256', value).update(text).digest('base64url')}`;
    };
    const good = { searchRules: ['*'], apiKeyUid: UID };
    assert.equal(code(sign(good), 'search', 'm'), 'ok');
    assert.equal(code(sign({ ...good, nbf: 4102444800 }), 'search', 'm'), 'ok', 'no other date');
    const seconds = clock.now() / 1000;
    const deep = JSON.parse(`${'['.repeat(2000)}${']'.repeat(2000)}`) as unknown;
    assert.equal(
      code(sign({ ...good, exp: seconds }), 'search', 'm'),
      'ok',
      'the last second counts',
    );
    const bad: [string, string][] = [
      ['expired', sign({ ...good, exp: seconds - 1 })],
      ['expired before any date', sign({ ...good, exp: Number.MIN_SAFE_INTEGER })],
      ['no rules', sign({ apiKeyUid: UID })],
      ['no uid', sign({ searchRules: ['*'] })],
      ['uid of no key', sign({ ...good, apiKeyUid: randomUUID() })],
      ['fractional expiry', sign({ ...good, exp: 4102444800.5 })],
      ['algorithm none', sign(good, { alg: 'none' })],
      ['asymmetric algorithm', sign(good, { alg: 'RS256' })],
      ['algorithm that every object has', sign(good, { alg: 'constructor' })],
      ['bad pattern', sign({ ...good, searchRules: ['*a'] })],
      ['no index', sign({ ...good, searchRules: [] })],
      ['tampered', `${sign(good).slice(0, -2)}AA`],
      ['no signature', sign(good).replace(/[^.]*$/, '')],
      ['not a token', 'a.b.c'],
      ['filter nested too deeply', sign({ ...good, searchRules: { '*': { filter: [deep] } } })],
      ['header nested too deeply', sign(good, { alg: deep })],
    ];
    for (const [name, token] of bad)
      assert.equal(code(token, 'search', 'm'), 'invalid_api_key', name);
  });

  it('stops working when it expires, also after it has been seen', async () => {
    const value = await addKey(['search'], ['*'], null, UID);
    const exp = clock.now() / 1000 + 60;
    const token = jwt.sign({ searchRules: ['*'], apiKeyUid: UID, exp }, value);
    assert.equal(code(token, 'search', 'm'), 'ok');
    clock.advance(61_000);
    assert.equal(code(token, 'search', 'm'), 'invalid_api_key');
  });

  it('uses one rule: the exact uid, then the longest pattern', () => {
    const rules = {
      '*': { filter: 'all' },
      'books*': { filter: 'books' },
      'books_fr*': null,
      books_it: {},
    };
    const token = jwt.sign({ searchRules: rules, apiKeyUid: UID }, 'x');
    const decoded = decodeTenantToken(token);
    assert.ok(decoded?.ok);
    assert.equal(ruleFor(decoded.value, 'movies'), 'all');
    assert.equal(ruleFor(decoded.value, 'books_de'), 'books');
    assert.equal(ruleFor(decoded.value, 'books_fr_x'), null);
    assert.equal(ruleFor(decoded.value, 'books_it'), null);
  });

  it('adds its filter to that of the request', () => {
    assert.deepEqual(combineFilters(['color = red', ['size = S', 'size = M']], 'tenant = 42'), [
      'color = red',
      ['size = S', 'size = M'],
      'tenant = 42',
    ]);
    assert.deepEqual(combineFilters('x = 1 OR y = 2', [['group = a', 'group = b']]), [
      'x = 1 OR y = 2',
      ['group = a', 'group = b'],
    ]);
    assert.equal(combineFilters(undefined, 'a = 1'), 'a = 1');
    assert.equal(combineFilters('a = 1', null), 'a = 1');
  });
});
