/**
 * Completions of what somebody types, from recorded searches: the queries that found something, by
 * how many different users sent them. Everything is in memory, bounded, and updated row by row; a
 * start reads it from the store again. A query of one user is only counted, never returned.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { pauser } from '../base/pauser.ts';
import { parseRows, type AnalyticsRow, type SearchRow } from '../contract/analytics.ts';
import { bestMatch, foldedWords, type AllowedTypos } from './completion-match.ts';
import { plainQuery, Typing, TYPING_MS } from './typing.ts';

/** Maximum length of a completion in UTF-16 units. */
export const COMPLETION_CHARS_MAX = 100;
/** Maximum number of queries that only one user has sent. */
export const SINGLE_MAX = 50_000;
/** Maximum number of queries that several users have sent. */
export const SHARED_MAX = 10_000;
/** Maximum number of users that are counted for one query. */
export const USERS_MAX = 1000;
/** Maximum number of users over all queries. */
export const ALL_USERS_MAX = 500_000;

/** A query that several users have sent. */
interface Shared {
  readonly indexUid: string;
  readonly text: string;
  /** As they are compared: lower case, without accents. */
  readonly words: readonly string[];
  /** By user the time of the last search, the oldest first. */
  readonly users: Map<number, number>;
}

export interface Completion {
  text: string;
  /** Number of different users. */
  count: number;
}

export interface CompletionRequest {
  indexUid: string;
  q: string;
  limit: number;
  /** Completions have at least this number of users; 2 or more. */
  usersMin: number;
  typos: AllowedTypos;
}

/** A match and how good it is; smaller is better, compared in the order of the list. */
interface Ranked extends Completion {
  rank: readonly [typos: number, atStart: number, count: number];
}

export class Completions {
  readonly #retentionMs: number;
  /** All three by index and query, the one that was searched least recently first. */
  readonly #single = new Map<string, { user: number; at: number }>();
  readonly #shared = new Map<string, Shared>();
  /** The shared ones by index and first character of each word. */
  readonly #buckets = new Map<string, Set<Shared>>();
  readonly #typing = new Typing();
  #users = 0;

  /** @param retentionMs how long a user counts after the search, ms */
  constructor(retentionMs: number) {
    this.#retentionMs = retentionMs;
  }

  /** @param rows not earlier than those before */
  add(rows: readonly AnalyticsRow[]): void {
    for (const row of rows) this.#take(this.#typing.add(row));
  }

  /**
   * Adds what was recorded before the start, in time slices; rows that are added meanwhile may be
   * among it.
   * @param chunks of rows, as stored
   */
  async load(chunks: Iterable<string>): Promise<void> {
    const typing = new Typing();
    for (const chunk of chunks) {
      for (const row of parseRows(chunk)) this.#take(typing.add(row));
      await nextIteration();
    }
    this.#take(typing.final(Infinity));
  }

  /** The best completions, with the fewest typos first, then by their number of users. */
  async find(request: CompletionRequest, now: number): Promise<Completion[]> {
    this.#take(this.#typing.final(now - TYPING_MS));
    const words = foldedWords(request.q);
    const isNothing = words.length === 0 && request.q.trim() !== '';
    if (isNothing || request.q.length > COMPLETION_CHARS_MAX) return [];
    const exact = await this.#matching(request, words, null, now);
    const { typos } = request;
    if (exact.length === request.limit || words.length === 0 || typos === null) return exact;
    return this.#matching(request, words, typos, now);
  }

  /** In time slices. */
  async #matching(
    { indexUid, limit, usersMin }: CompletionRequest,
    words: readonly string[],
    typos: AllowedTypos,
    now: number,
  ): Promise<Completion[]> {
    const best: Ranked[] = [];
    const pause = pauser();
    const candidates =
      words.length === 0
        ? this.#shared.values()
        : (this.#buckets.get(bucketOf(indexUid, words[0]!)) ?? []);
    for (const shared of candidates) {
      const paused = pause();
      if (paused !== false) await paused;
      if (shared.indexUid !== indexUid || shared.users.size < usersMin) continue;
      const match = bestMatch(words, shared.words, typos);
      if (match === null) continue;
      const count = this.#count(shared, now);
      if (count < usersMin) continue;
      const rank = [match.typos, match.atStart ? 0 : 1, -count] as const;
      insert(best, { text: shared.text, count, rank }, limit);
    }
    return best.map(({ text, count }) => ({ text, count }));
  }

  /** The number of users that have not been forgotten. */
  #count({ users }: Shared, now: number): number {
    for (const [user, at] of users) {
      if (at >= now - this.#retentionMs) break;
      users.delete(user);
      this.#users--;
    }
    return users.size;
  }

  #take(rows: readonly SearchRow[]): void {
    for (const row of rows) this.#addSearch(row);
  }

  #addSearch([, at, , indexUid, query, , hits, , hash]: SearchRow): void {
    const text = plainQuery(query);
    if (hits <= 0 || text === '' || text.length > COMPLETION_CHARS_MAX) return;
    const key = `${indexUid} ${text}`;
    const user = numberOf(hash);
    const shared = this.#shared.get(key);
    if (shared !== undefined) {
      this.#shared.delete(key);
      this.#shared.set(key, shared);
      this.#addUser(shared, user, at);
      return;
    }
    const single = this.#single.get(key);
    this.#single.delete(key);
    if (single === undefined || single.user === user || single.at < at - this.#retentionMs) {
      this.#single.set(key, { user, at: Math.max(at, single?.at ?? 0) });
      if (this.#single.size > SINGLE_MAX) this.#single.delete(firstKey(this.#single));
      return;
    }
    this.#share(key, { indexUid, text, words: foldedWords(text), users: new Map() });
    const added = this.#shared.get(key)!;
    this.#addUser(added, single.user, single.at);
    this.#addUser(added, user, at);
  }

  #addUser({ users }: Shared, user: number, at: number): void {
    const before = users.get(user);
    if (before !== undefined) users.delete(user);
    else this.#users++;
    users.set(user, Math.max(at, before ?? 0));
    if (users.size > USERS_MAX) {
      users.delete(firstKey(users));
      this.#users--;
    }
    while (this.#users > ALL_USERS_MAX) this.#forget();
  }

  #share(key: string, shared: Shared): void {
    this.#shared.set(key, shared);
    for (const bucket of bucketsOf(shared)) {
      const members = this.#buckets.get(bucket);
      if (members === undefined) this.#buckets.set(bucket, new Set([shared]));
      else members.add(shared);
    }
    if (this.#shared.size > SHARED_MAX) this.#forget();
  }

  /** Forgets the shared query that was searched least recently. */
  #forget(): void {
    const key = firstKey(this.#shared);
    const shared = this.#shared.get(key)!;
    this.#shared.delete(key);
    this.#users -= shared.users.size;
    for (const bucket of bucketsOf(shared)) {
      const members = this.#buckets.get(bucket);
      members?.delete(shared);
      if (members?.size === 0) this.#buckets.delete(bucket);
    }
  }
}

function firstKey<K>(map: ReadonlyMap<K, unknown>): K {
  return map.keys().next().value!;
}

/** The first bits of the hash: equal ones make a count smaller, never larger. */
function numberOf(hash: string): number {
  return Buffer.from(hash, 'base64url').readInt32BE();
}

function bucketOf(indexUid: string, word: string): string {
  return `${indexUid} ${String.fromCodePoint(word.codePointAt(0)!)}`;
}

function bucketsOf({ indexUid, words }: Shared): Set<string> {
  return new Set(words.map((word) => bucketOf(indexUid, word)));
}

/** Inserts into an ordered list that keeps the first `limit`. */
function insert(best: Ranked[], added: Ranked, limit: number): void {
  if (best.length === limit && compare(best.at(-1)!, added) <= 0) return;
  let at = best.length;
  while (at > 0 && compare(best[at - 1]!, added) > 0) at--;
  best.splice(at, 0, added);
  if (best.length > limit) best.pop();
}

function compare(a: Ranked, b: Ranked): number {
  for (const [i, rank] of a.rank.entries()) if (rank !== b.rank[i]) return rank - b.rank[i]!;
  return a.text < b.text ? -1 : 1;
}
