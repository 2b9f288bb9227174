/**
 * Random keys and tenant tokens, which change while they are used, against a plain reading of their
 * records: `npm run test:access` for a million decisions.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import jwt from 'jsonwebtoken';
import { Authorizer } from '../../../src/auth/authorize.ts';
import { keyValue } from '../../../src/auth/key-values.ts';
import { ACTIONS, expandAction, isGlobalAction } from '../../../src/contract/actions.ts';
import type { KeyRecord } from '../../../src/contract/keys.ts';
import { KeyStore } from '../../../src/store/key-store.ts';
import { Store } from '../../../src/store/store.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { mulberry } from '../../support/random.ts';
import { recordRun } from '../../support/record-run.ts';

const MASTER = 'a master key of some length';
const CASES = Number(process.env['GANNET_CASES'] ?? 5000);
const SEED = Number(process.env['GANNET_SEED'] ?? randomInt(2 ** 31));
const START = '2025-03-01T00:00:00Z';
const UIDS = ['books', 'books_fr', 'movies', 'm'];
const PATTERNS = ['*', 'books', 'books*', 'books_fr', 'm*', 'm', 'none'];
/** Those that a route may need. */
const ASKED = ACTIONS.filter((action) => !action.includes('*'));
const SEARCHING: readonly string[] = ['search', 'chatCompletions'];
const KEYS = 6;

interface Token {
  readonly text: string;
  readonly key: number;
  readonly patterns: readonly string[];
  /** Seconds of Unix time. */
  readonly exp: number;
}

const matches = (patterns: readonly string[], uid: string): boolean =>
  patterns.some((one) => (one.endsWith('*') ? uid.startsWith(one.slice(0, -1)) : one === uid));

describe('Decisions on access', function () {
  let dir: string;
  let store: Store;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-access-'));
    store = new Store(dir, 2 ** 26);
  });
  after(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  it(`are those of a plain reading of keys and tokens (GANNET_SEED=${SEED})`, async () => {
    const random = mulberry(SEED);
    const below = (n: number): number => Math.floor(random() * n);
    const pick = <T>(from: readonly T[]): T => from[below(from.length)]!;
    const some = <T>(from: readonly T[], max: number): T[] =>
      Array.from({ length: below(max + 1) }, () => pick(from));
    const keys = new KeyStore(store);
    const clock = new FakeClock(START);
    const authorizer = new Authorizer(MASTER, keys, clock);
    const uidOf = (n: number): string => `4bc0887a-0e41-4f3b-935d-0c451dcee9c${n}`;
    const records: (KeyRecord | undefined)[] = Array.from({ length: KEYS });
    const tokens: Token[] = [];

    /** Makes, replaces or deletes a key. */
    const change = async (): Promise<void> => {
      const n = below(KEYS);
      if (records[n] !== undefined && below(4) === 0) {
        records[n] = undefined;
        await keys.remove(uidOf(n));
        return;
      }
      const expires = new Date(clock.now() + (below(40) - 5) * 60_000).toISOString();
      const record: KeyRecord = {
        uid: uidOf(n),
        name: null,
        description: null,
        actions: below(6) === 0 ? ['*'] : some(ACTIONS, 4),
        indexes: below(3) === 0 ? ['*'] : some(PATTERNS, 3),
        expiresAt: below(2) === 0 ? null : expires,
        createdAt: START,
        updatedAt: START,
      };
      records[n] = record;
      await keys.put(record);
    };
    const sign = (): void => {
      const key = below(KEYS);
      const patterns = some(PATTERNS, 3);
      const exp = Math.floor(clock.now() / 1000) + (below(40) - 2) * 60;
      const claims = { searchRules: patterns, apiKeyUid: uidOf(key), exp };
      const text = jwt.sign(claims, keyValue(MASTER, uidOf(key)), { noTimestamp: true });
      tokens.push({ text, key, patterns, exp });
      if (tokens.length > 50) tokens.shift();
    };

    const mayUse = (n: number, action: string, uid: string | null): boolean => {
      const record = records[n];
      if (record === undefined) return false;
      const { actions, indexes, expiresAt } = record;
      if (expiresAt !== null && clock.now() >= Date.parse(expiresAt)) return false;
      if (!actions.flatMap(expandAction).includes(action as never)) return false;
      if (indexes.includes('*')) return true;
      if (uid !== null) return matches(indexes, uid);
      if (!isGlobalAction(action as never)) return indexes.length > 0;
      const named = actions.filter((one) => one !== '*' && one !== '*.get');
      return named.flatMap(expandAction).includes(action as never);
    };
    const mayUseToken = (token: Token, action: string, uid: string | null): boolean =>
      SEARCHING.includes(action) &&
      Math.floor(clock.now() / 1000) <= token.exp &&
      (uid === null || matches(token.patterns, uid)) &&
      mayUse(token.key, action, uid);

    for (let n = 0; n < CASES; n++) {
      if (n % 20 === 0) {
        await change();
        sign();
        clock.advance(below(3) * 60_000);
      }
      const token = below(2) === 0 ? pick(tokens) : null;
      const key = below(KEYS);
      const action = below(2) === 0 ? pick(SEARCHING) : pick(ASKED);
      const uid = below(4) === 0 ? null : pick(UIDS);
      const text = token === null ? keyValue(MASTER, uidOf(key)) : token.text;
      const outcome = authorizer.authorize(
        { authorization: `Bearer ${text}`, legacyKey: undefined },
        action as never,
        uid,
      );
      const expected = token === null ? mayUse(key, action, uid) : mayUseToken(token, action, uid);
      const what = JSON.stringify({ n, action, uid, token, record: records[token?.key ?? key] });
      assert.equal(outcome.ok, expected, what);
      if (!outcome.ok) assert.equal(outcome.error.code, 'invalid_api_key', what);
    }
    recordRun('access', CASES, SEED);
  });
});
