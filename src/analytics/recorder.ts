/**
 * Records searches and events. A search costs a row in memory; rows are written together, at the
 * latest five seconds later, so a process that is killed loses five seconds of searches. An event
 * is acknowledged when it is on disk.
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
  type EventType,
  type SearchRow,
} from '../contract/analytics.ts';
import { ApiError } from '../contract/errors.ts';
import type { AnalyticsStore } from '../store/analytics-store.ts';

/** How long rows of searches wait for others. */
const FLUSH_MS = 5000;
/** Rows in memory at which a flush begins at once. */
const FLUSH_ROWS = 2048;
/**
 * Rows of searches in memory; beyond, the oldest are dropped. Reached only when the disk is slow or
 * full.
 */
export const WAITING_ROWS_MAX = 10_000;
/** Events that wait for the disk. */
export const WAITING_EVENTS_MAX = 1000;
/** Users whose last search in each index an event can belong to, and searches with a query uid. */
export const RECENT_USERS_MAX = 20_000;
/** Indexes of one user. */
export const RECENT_INDEXES_MAX = 16;
/** And how old they may be. */
const RECENT_MS = 24 * 3_600_000;
const USER_HASH_CHARS = 16;
/** Longest id or address of a user that counts, UTF-16 units. */
const USER_CHARS_MAX = 512;
/** Longest query and filter that are recorded, UTF-16 units. */
export const QUERY_CHARS_MAX = 200;
const FILTER_CHARS_MAX = 500;

/**
 * Who sends a request, in clear: what the client says of the user, else where the request comes
 * from.
 */
export type Sender = { id: string } | { address: string };

export interface RecordedSearch {
  /** Set by the recorder. */
  at: number;
  indexUid: string;
  query: string;
  /** As the client sent it. */
  filter: unknown;
  /** -1: not known. */
  hits: number;
  durationMs: number;
  sender: Sender;
  /** Of the metadata of the answer, if they were asked for. */
  queryUid: string | null;
}

export interface RecordedEvent {
  type: EventType;
  name: string;
  indexUid: string;
  objectId: string | null;
  /** -1: not told. */
  position: number;
  sender: Sender;
  queryUid: string | null;
}

/** A search that events may still belong to. */
interface Recent {
  row: SearchRow;
  clicked: boolean;
  converted: boolean;
  /** It has a query uid, so it stays itself when the user searches again. */
  named: boolean;
}

type ArrivedSearch = RecordedSearch & { filter: string | null };

interface User {
  hash: string;
  /** The last search in each index. */
  recent: Recent[];
  /** Seen since there was last looked for room. */
  seen: boolean;
}

interface WaitingEvent {
  row: AnalyticsRow;
  resolve: () => void;
  reject: (error: unknown) => void;
}

export interface RecorderOptions {
  store: AnalyticsStore;
  /** Of the store. */
  userKey: Buffer;
  clock: Clock;
  logger: Logger;
}

export class Recorder {
  readonly #options: RecorderOptions;
  /** In their order; made into rows together, when all that this takes is at hand. */
  #arrived: ArrivedSearch[] = [];
  /** Rows that could not be written yet, before those that have arrived. */
  #searches: SearchRow[] = [];
  #events: WaitingEvent[] = [];
  readonly #byId = new Map<string, User>();
  readonly #byAddress = new Map<string, User>();
  /** Those that searched before the start, and have not come since. */
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

  /** Rows of searches that were never written, since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Takes `search` over. Never throws, never waits. */
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

  /** Resolves once the event is on disk. Rejects with `ApiError`, and then it is not recorded. */
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
      // The user may have searched again since.
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

  /** Resolves once everything recorded so far is on disk, or could not be written. */
  async flushed(): Promise<void> {
    await this.#flushing;
    await this.#flush();
  }

  /** Removes what is too old. Never rejects. */
  async sweep(): Promise<void> {
    const { store, clock, logger } = this.#options;
    try {
      await store.sweep(clock.now());
    } catch (error) {
      logger.error({ err: error }, 'old searches could not be removed');
    }
  }

  /** REQUIRES: nothing is recorded any more */
  async stop(): Promise<void> {
    await this.flushed();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** Makes rows of what has arrived. */
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
      ];
      this.#addRecent(user, row, search.queryUid);
      this.#searches.push(row);
    }
    this.#arrived = [];
  }

  /** Milliseconds, never earlier than before. */
  #now(): number {
    this.#lastAt = Math.max(this.#lastAt, this.#options.clock.now());
    return this.#lastAt;
  }

  #userOf(sender: Sender): User {
    const byId = 'id' in sender;
    const users = byId ? this.#byId : this.#byAddress;
    const name = cut(byId ? sender.id : sender.address, USER_CHARS_MAX);
    const known = users.get(name);
    if (known !== undefined) {
      known.seen = true;
      return known;
    }
    const hash = createHmac('sha256', this.#options.userKey)
      .update(byId ? `id ${name}` : `at ${name}`)
      .digest('base64url')
      .slice(0, USER_HASH_CHARS);
    const user = this.#byHash.get(hash) ?? { hash, recent: [], seen: false };
    this.#byHash.delete(hash);
    makeRoom(users);
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

  /** Takes up where the process before ended. */
  #remember(): void {
    const byId = new Map<number, Recent>();
    for (const row of this.#options.store.lastRows(RECENT_USERS_MAX)) {
      this.#lastAt = row[1];
      if (isSearchRow(row)) {
        let user = this.#byHash.get(row[8]);
        if (user === undefined) {
          user = { hash: row[8], recent: [], seen: false };
          makeRoom(this.#byHash);
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

  /** One at a time; events that come meanwhile are written by the next round. Never rejects. */
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
    // In the same turn as the last look at the events: what comes next begins a new flush.
    this.#flushing = null;
    if (this.#searches.length + this.#arrived.length > 0) this.#flushLater();
  }

  /** What could not be written waits again, before what has come meanwhile. */
  #keep(searches: SearchRow[]): void {
    const all = [...searches, ...this.#searches];
    const excess = Math.max(0, all.length + this.#arrived.length - WAITING_ROWS_MAX);
    this.#dropped += excess;
    this.#searches = all.slice(excess);
  }
}

/** By time; both are. */
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

/** The oldest goes, but one that was seen since the last look gets another turn. */
function makeRoom(users: Map<string, User>): void {
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
  // A character has at most three bytes for each of its units.
  const text =
    filter instanceof RawJson
      ? filter.bytes.toString('utf8', 0, 3 * FILTER_CHARS_MAX)
      : JSON.stringify(filter);
  return cut(text, FILTER_CHARS_MAX);
}

/** A copy, where it is shorter: a part of a string keeps the whole in memory. */
function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : Buffer.from(text.slice(0, charsMax)).toString();
}
