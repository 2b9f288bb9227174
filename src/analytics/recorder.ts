/**
 * Records searches and events. Searches are collected in memory and written together after at most
 * five seconds, so a killed process loses at most five seconds of searches. An event is
 * acknowledged once it is on disk.
 */
import { createHmac } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { RawJson } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import {
  CLICK_ROW,
  CONVERSION_ROW,
  isSearchRow,
  SEARCH_ROW,
  type AnalyticsRow,
  type EventRow,
  type EventType,
  type Interleaved,
  type SearchRow,
} from '../contract/analytics.ts';
import { ApiError } from '../contract/errors.ts';
import type { AnalyticsStore } from '../store/analytics-store.ts';
import { teamOf } from './interleaving.ts';

/** Maximum delay before rows of searches are written. */
const FLUSH_MS = 5000;
/** Number of rows in memory that starts a flush at once. */
const FLUSH_ROWS = 2048;
/**
 * Maximum rows of searches in memory. Beyond it the oldest are dropped. It is reached only if the
 * disk is slow or full.
 */
export const WAITING_ROWS_MAX = 10_000;
/** Maximum number of events waiting for the disk. */
export const WAITING_EVENTS_MAX = 1000;
/**
 * Maximum number of users whose last search in each index is kept, so that events can refer to it.
 * The same limit applies to searches with a query uid.
 */
export const RECENT_USERS_MAX = 20_000;
/** Maximum number of indexes kept per user. */
export const RECENT_INDEXES_MAX = 16;
/** Maximum age of a kept search. */
const RECENT_MS = 24 * 3_600_000;
const USER_HASH_CHARS = 16;
/** Maximum length of a user's id or address in UTF-16 units. */
const USER_CHARS_MAX = 512;
/** Maximum lengths of recorded queries and filters in UTF-16 units. */
export const QUERY_CHARS_MAX = 200;
const FILTER_CHARS_MAX = 500;

/** The sender of a request, in clear: the user id given by the client, else the address. */
export type Sender = { id: string } | { address: string };

export interface RecordedSearch {
  /** Time of the search. Set by the recorder. */
  at: number;
  indexUid: string;
  query: string;
  /** The filter as sent by the client. */
  filter: unknown;
  /** Number of hits; -1: unknown. */
  hits: number;
  durationMs: number;
  sender: Sender;
  /** Query uid in the metadata of the response; null: no metadata were requested. */
  queryUid: string | null;
  interleaved: Interleaved | null;
}

export interface RecordedEvent {
  type: EventType;
  name: string;
  indexUid: string;
  objectId: string | null;
  /** Position of the hit; -1: unknown. */
  position: number;
  sender: Sender;
  queryUid: string | null;
}

/** The search that an event belongs to. */
export interface FoundSearch {
  /** Time of the search, ms since 1970. */
  readonly at: number;
  /** By its query uid, not by its user. */
  readonly isNamed: boolean;
}

/** A recent search that events can refer to. */
interface Recent {
  row: SearchRow;
  clicked: boolean;
  converted: boolean;
  /** Whether it has a query uid. Then it is kept when the user searches again. */
  named: boolean;
}

type ArrivedSearch = RecordedSearch & { filter: string | null };

interface User {
  hash: string;
  /** The user's last search in each index. */
  recent: Recent[];
  /** Whether the user was seen since the last eviction. */
  seen: boolean;
}

interface WaitingEvent {
  row: AnalyticsRow;
  resolve: () => void;
  reject: (error: unknown) => void;
}

export interface RecorderOptions {
  store: AnalyticsStore;
  /** Key of the store, for hashing user ids. */
  userKey: Buffer;
  clock: Clock;
  logger: Logger;
  /** Called with rows in their order once they are on disk. */
  onWritten?: (rows: readonly AnalyticsRow[]) => void;
}

export class Recorder {
  readonly #options: RecorderOptions;
  /** Searches in the order of arrival. They are converted to rows together. */
  #arrived: ArrivedSearch[] = [];
  /** Rows that could not be written yet. They precede those in `#arrived`. */
  #searches: SearchRow[] = [];
  #events: WaitingEvent[] = [];
  readonly #byId = new Map<string, User>();
  readonly #byAddress = new Map<string, User>();
  /** Users of searches before the start of the process, by hash, until they are seen again. */
  readonly #byHash = new Map<string, User>();
  readonly #byQueryUid = new Map<string, Recent>();
  #nextId = 0;
  #lastAt = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> | null = null;
  #failing = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#remember();
  }

  /** The number of dropped search rows since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Records a search and takes ownership of the object. Never throws or waits. */
  search(search: RecordedSearch): void {
    if (this.#searches.length + this.#arrived.length >= WAITING_ROWS_MAX) {
      if (this.#searches.length > 0) this.#searches.shift();
      else this.#arrived.shift();
      this.#dropped++;
    }
    search.query = cut(search.query, QUERY_CHARS_MAX);
    search.filter = filterText(search.filter);
    search.at = this.#now();
    this.#arrived.push(search as ArrivedSearch);
    if (this.#arrived.length === FLUSH_ROWS) void this.#flush();
    else if (this.#timer === null) this.#flushLater();
  }

  /**
   * Resolves once the event is on disk. If it rejects with `ApiError`, the event is not recorded.
   */
  event(event: Readonly<RecordedEvent>): Promise<void> {
    if (this.#events.length >= WAITING_EVENTS_MAX) {
      return Promise.reject(
        new ApiError('too_many_search_requests', 'Too many events are waiting for the disk.'),
      );
    }
    this.#takeIn();
    const user = this.#userOf(event.sender);
    const at = this.#now();
    const search = this.#searchOf(event, user, at);
    const isClick = event.type === 'click';
    const first = search !== undefined && !(isClick ? search.clicked : search.converted);
    const ofSearch = search?.row;
    const mark = (value: boolean): void => {
      // The user may have searched again meanwhile.
      if (!first || search.row !== ofSearch) return;
      if (isClick) search.clicked = value;
      else search.converted = value;
    };
    mark(true);
    const row: AnalyticsRow = [
      isClick ? CLICK_ROW : CONVERSION_ROW,
      at,
      search?.row[2] ?? -1,
      event.indexUid,
      search?.row[4] ?? null,
      event.name,
      event.objectId,
      event.position,
      user.hash,
      first ? 1 : 0,
      ...creditOf(search?.row, event),
    ];
    return new Promise((resolve, reject) => {
      this.#events.push({
        row,
        resolve,
        reject: (error) => {
          mark(false);
          reject(error);
        },
      });
      void this.#flush();
    });
  }

  /** The search that an event would belong to; null: this server has recorded none. */
  searchOf(event: Readonly<RecordedEvent>): FoundSearch | null {
    this.#takeIn();
    const { queryUid, sender } = event;
    const isNamed = queryUid !== null && this.#byQueryUid.has(queryUid);
    if (!isNamed && !this.#knows(sender)) return null;
    const search = this.#searchOf(event, this.#userOf(sender), this.#now());
    return search === undefined ? null : { at: search.row[1], isNamed };
  }

  /** Resolves once everything recorded so far was written or has failed. */
  async flushed(): Promise<void> {
    await this.#flushing;
    await this.#flush();
  }

  /** Removes rows older than the retention time. Never rejects. */
  async sweep(): Promise<void> {
    const { store, clock, logger } = this.#options;
    try {
      await store.sweep(clock.now());
    } catch (error) {
      logger.error({ err: error }, 'old searches could not be removed');
    }
  }

  /** REQUIRES: nothing is recorded after this call. */
  async stop(): Promise<void> {
    await this.flushed();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** Converts arrived searches to rows. */
  #takeIn(): void {
    for (const search of this.#arrived) {
      const user = this.#userOf(search.sender);
      const row: SearchRow = [
        SEARCH_ROW,
        search.at,
        this.#nextId++,
        search.indexUid,
        search.query,
        search.filter,
        search.hits,
        Math.round(search.durationMs * 1000),
        user.hash,
        ...(search.interleaved === null ? ([] as const) : ([search.interleaved] as const)),
      ];
      this.#addRecent(user, row, search.queryUid);
      this.#searches.push(row);
    }
    this.#arrived = [];
  }

  /** The current time in milliseconds. It never goes backwards. */
  #now(): number {
    this.#lastAt = Math.max(this.#lastAt, this.#options.clock.now());
    return this.#lastAt;
  }

  #usersLike(sender: Sender): { users: Map<string, User>; name: string } {
    const byId = 'id' in sender;
    const users = byId ? this.#byId : this.#byAddress;
    return { users, name: cut(byId ? sender.id : sender.address, USER_CHARS_MAX) };
  }

  #knows(sender: Sender): boolean {
    const { users, name } = this.#usersLike(sender);
    return users.has(name) || this.#byHash.has(this.#hashOf(sender, name));
  }

  #hashOf(sender: Sender, name: string): string {
    return createHmac('sha256', this.#options.userKey)
      .update('id' in sender ? `id ${name}` : `at ${name}`)
      .digest('base64url')
      .slice(0, USER_HASH_CHARS);
  }

  #userOf(sender: Sender): User {
    const { users, name } = this.#usersLike(sender);
    const known = users.get(name);
    if (known !== undefined) {
      known.seen = true;
      return known;
    }
    const hash = this.#hashOf(sender, name);
    const user = this.#byHash.get(hash) ?? { hash, recent: [], seen: false };
    this.#byHash.delete(hash);
    evict(users);
    users.set(name, user);
    return user;
  }

  #addRecent({ recent }: User, row: SearchRow, queryUid: string | null): Recent {
    let at = recent.length - 1;
    while (at >= 0 && recent[at]!.row[3] !== row[3]) at--;
    const before = recent[at];
    if (before !== undefined && !before.named && queryUid === null) {
      before.row = row;
      before.clicked = false;
      before.converted = false;
      return before;
    }
    const added = { row, clicked: false, converted: false, named: queryUid !== null };
    if (at >= 0) recent[at] = added;
    else if (recent.push(added) > RECENT_INDEXES_MAX) recent.shift();
    if (queryUid === null) return added;
    if (this.#byQueryUid.size >= RECENT_USERS_MAX) {
      this.#byQueryUid.delete(this.#byQueryUid.keys().next().value!);
    }
    this.#byQueryUid.set(queryUid, added);
    return added;
  }

  #searchOf({ indexUid, queryUid }: RecordedEvent, user: User, at: number): Recent | undefined {
    const named = queryUid === null ? undefined : this.#byQueryUid.get(queryUid);
    const recent = named ?? user.recent.find(({ row }) => row[3] === indexUid);
    return recent !== undefined && recent.row[3] === indexUid && at - recent.row[1] <= RECENT_MS
      ? recent
      : undefined;
  }

  /** Restores recent searches of the previous process. */
  #remember(): void {
    const byId = new Map<number, Recent>();
    for (const row of this.#options.store.lastRows(RECENT_USERS_MAX)) {
      this.#lastAt = row[1];
      if (isSearchRow(row)) {
        let user = this.#byHash.get(row[8]);
        if (user === undefined) {
          user = { hash: row[8], recent: [], seen: false };
          evict(this.#byHash);
          this.#byHash.set(user.hash, user);
        }
        byId.set(row[2], this.#addRecent(user, row, null));
        this.#nextId = row[2] + 1;
        continue;
      }
      const search = byId.get(row[2]);
      if (search?.row[2] !== row[2]) continue;
      if (row[0] === CLICK_ROW) search.clicked = true;
      else search.converted = true;
    }
  }

  #flushLater(): void {
    if (this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#flush();
    }, FLUSH_MS);
    this.#timer.unref();
  }

  /**
   * Writes waiting rows. Only one flush runs at a time; events that arrive meanwhile are written in
   * its next round. Never rejects.
   */
  #flush(): Promise<void> {
    this.#flushing ??= this.#rounds();
    return this.#flushing;
  }

  async #rounds(): Promise<void> {
    do {
      this.#takeIn();
      const searches = this.#searches;
      const events = this.#events;
      this.#searches = [];
      this.#events = [];
      const rows = inOrder(searches, events);
      try {
        await this.#options.store.append(rows, this.#options.clock.now());
        this.#failing = false;
        this.#options.onWritten?.(rows);
        for (const { resolve } of events) resolve();
      } catch (error) {
        for (const { reject } of events) reject(error);
        this.#keep(searches);
        if (!this.#failing) {
          this.#options.logger.error({ err: error }, 'searches are not recorded at the moment');
        }
        this.#failing = true;
        this.#flushLater();
      }
    } while (this.#events.length > 0 || (!this.#failing && this.#arrived.length >= FLUSH_ROWS));
    // No event can arrive between the last check and this line; a later one begins a new flush.
    this.#flushing = null;
    if (this.#searches.length + this.#arrived.length > 0) this.#flushLater();
  }

  /** Puts rows that could not be written back in front of newer ones. */
  #keep(searches: SearchRow[]): void {
    const all = [...searches, ...this.#searches];
    const excess = Math.max(0, all.length + this.#arrived.length - WAITING_ROWS_MAX);
    this.#dropped += excess;
    this.#searches = all.slice(excess);
  }
}

/** The credit of a click on a document of an interleaved search; empty: there is none. */
function creditOf(
  search: SearchRow | undefined,
  { type, objectId }: RecordedEvent,
): [] | [NonNullable<EventRow[10]>] {
  if (search?.[9] === undefined || type !== 'click' || objectId === null) return [];
  const team = teamOf(search[9], objectId);
  return team === null ? [] : [[search[9][0], team, search[8]]];
}

/** Merges two lists that are ordered by time. */
function inOrder(searches: readonly SearchRow[], events: readonly WaitingEvent[]): AnalyticsRow[] {
  if (events.length === 0) return [...searches];
  const rows: AnalyticsRow[] = [];
  let next = 0;
  for (const { row } of events) {
    while (next < searches.length && searches[next]![1] <= row[1]) rows.push(searches[next++]!);
    rows.push(row);
  }
  return [...rows, ...searches.slice(next)];
}

/** Evicts the oldest user that was not seen since the last eviction (second chance). */
function evict(users: Map<string, User>): void {
  while (users.size >= RECENT_USERS_MAX) {
    const [name, user] = users.entries().next().value!;
    users.delete(name);
    if (!user.seen) return;
    user.seen = false;
    users.set(name, user);
  }
}

function filterText(filter: unknown): string | null {
  if (filter === undefined || filter === null) return null;
  if (typeof filter === 'string') return cut(filter, FILTER_CHARS_MAX);
  // A UTF-16 unit takes at most three bytes.
  const text =
    filter instanceof RawJson
      ? filter.bytes.toString('utf8', 0, 3 * FILTER_CHARS_MAX)
      : JSON.stringify(filter);
  return cut(text, FILTER_CHARS_MAX);
}

/** Cuts a text. The result is a copy, because a slice would keep the whole string in memory. */
function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : Buffer.from(text.slice(0, charsMax)).toString();
}
