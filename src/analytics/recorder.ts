/**
 * Records searches and events. A search costs a row in memory; rows are written together, at the latest a second later,
 * so a process that is killed loses a second of searches. An event is acknowledged when it is on disk.
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
const FLUSH_MS = 1000;
/** Rows in memory at which a flush begins at once. */
const FLUSH_ROWS = 512;
/** Rows of searches in memory; beyond, the oldest are dropped. Reached only when the disk is slow or full. */
export const WAITING_ROWS_MAX = 10_000;
/** Events that wait for the disk. */
export const WAITING_EVENTS_MAX = 1000;
/** Searches that an event can belong to: the last of each user in each index, and those with a query uid. */
export const RECENT_SEARCHES_MAX = 20_000;
/** And how old they may be. */
const RECENT_MS = 24 * 3_600_000;
/** Users whose hash is remembered. */
const USERS_MAX = 20_000;
const USER_HASH_CHARS = 16;
/** Longest id of a user that counts, UTF-16 units. */
const USER_CHARS_MAX = 520;
/** Longest query and filter that are recorded, UTF-16 units. */
export const QUERY_CHARS_MAX = 200;
export const FILTER_CHARS_MAX = 500;

export interface RecordedSearch {
  indexUid: string;
  query: string;
  /** As the client sent it. */
  filter: unknown;
  /** -1: not known. */
  hits: number;
  durationMs: number;
  /** The client, in clear: an id, or an address. */
  user: string;
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
  user: string;
  queryUid: string | null;
}

/** A search that events may still belong to. */
interface Recent {
  row: SearchRow;
  clicked: boolean;
  converted: boolean;
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
  #searches: SearchRow[] = [];
  #events: WaitingEvent[] = [];
  readonly #recent = new BoundedMap<Recent>(RECENT_SEARCHES_MAX);
  readonly #byQueryUid = new BoundedMap<Recent>(RECENT_SEARCHES_MAX);
  readonly #users = new BoundedMap<string>(USERS_MAX);
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

  /** Never throws, never waits. */
  search({
    indexUid,
    query,
    filter,
    hits,
    durationMs,
    user,
    queryUid,
  }: Readonly<RecordedSearch>): void {
    const hashed = this.#userHash(user);
    const row: SearchRow = [
      ...([SEARCH_ROW, this.#now(), this.#nextId++, indexUid] as const),
      cut(query, QUERY_CHARS_MAX),
      ...([filterText(filter), hits, Math.round(durationMs * 1000), hashed] as const),
    ];
    this.#addRecent(row, queryUid);
    if (this.#searches.length >= WAITING_ROWS_MAX) {
      this.#searches.shift();
      this.#dropped++;
    }
    this.#searches.push(row);
    if (this.#searches.length === FLUSH_ROWS) void this.#flush();
    else this.#flushLater();
  }

  /** Resolves once the event is on disk. Rejects with `ApiError`, and then it is not recorded. */
  event(event: Readonly<RecordedEvent>): Promise<void> {
    if (this.#events.length >= WAITING_EVENTS_MAX) {
      return Promise.reject(
        new ApiError('too_many_search_requests', 'Too many events are waiting for the disk.'),
      );
    }
    const user = this.#userHash(event.user);
    const at = this.#now();
    const search = this.#searchOf(event, user, at);
    const isClick = event.type === 'click';
    const first = search !== undefined && !(isClick ? search.clicked : search.converted);
    const mark = (value: boolean): void => {
      if (!first) return;
      if (isClick) search.clicked = value;
      else search.converted = value;
    };
    mark(true);
    const row: AnalyticsRow = [
      ...([
        isClick ? CLICK_ROW : CONVERSION_ROW,
        at,
        search?.row[2] ?? -1,
        event.indexUid,
      ] as const),
      ...([search?.row[4] ?? null, event.name, event.objectId, event.position, user] as const),
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

  /** Milliseconds, never earlier than before. */
  #now(): number {
    this.#lastAt = Math.max(this.#lastAt, this.#options.clock.now());
    return this.#lastAt;
  }

  #userHash(told: string): string {
    const user = cut(told, USER_CHARS_MAX);
    const known = this.#users.get(user);
    if (known !== undefined) return known;
    const hashed = createHmac('sha256', this.#options.userKey)
      .update(user)
      .digest('base64url')
      .slice(0, USER_HASH_CHARS);
    this.#users.set(user, hashed);
    return hashed;
  }

  #addRecent(row: SearchRow, queryUid: string | null): void {
    const recent: Recent = { row, clicked: false, converted: false };
    this.#recent.set(recentKey(row[8], row[3]), recent);
    if (queryUid !== null) this.#byQueryUid.set(queryUid, recent);
  }

  #searchOf(event: RecordedEvent, user: string, at: number): Recent | undefined {
    const named = event.queryUid === null ? undefined : this.#byQueryUid.get(event.queryUid);
    const recent = named ?? this.#recent.get(recentKey(user, event.indexUid));
    return recent !== undefined &&
      recent.row[3] === event.indexUid &&
      at - recent.row[1] <= RECENT_MS
      ? recent
      : undefined;
  }

  /** Takes up where the process before ended. */
  #remember(): void {
    const byId = new Map<number, Recent>();
    for (const row of this.#options.store.lastRows(RECENT_SEARCHES_MAX)) {
      this.#lastAt = row[1];
      if (isSearchRow(row)) {
        this.#addRecent(row, null);
        byId.set(row[2], this.#recent.get(recentKey(row[8], row[3]))!);
        this.#nextId = row[2] + 1;
        continue;
      }
      const search = byId.get(row[2]);
      if (search === undefined) continue;
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
    } while (this.#events.length > 0);
    // In the same turn as the last look at the events: what comes next begins a new flush.
    this.#flushing = null;
    if (this.#searches.length > 0) this.#flushLater();
  }

  /** What could not be written waits again, before what has come meanwhile. */
  #keep(searches: SearchRow[]): void {
    const all = [...searches, ...this.#searches];
    const excess = Math.max(0, all.length - WAITING_ROWS_MAX);
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

function recentKey(user: string, indexUid: string): string {
  return `${user} ${indexUid}`;
}

function filterText(filter: unknown): string | null {
  if (filter === undefined || filter === null) return null;
  if (typeof filter === 'string') return cut(filter, FILTER_CHARS_MAX);
  return cut(filter instanceof RawJson ? filter.text : JSON.stringify(filter), FILTER_CHARS_MAX);
}

/** A copy, where it is shorter: a part of a string keeps the whole in memory. */
function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : Buffer.from(text.slice(0, charsMax)).toString();
}

/** The last entries that were set; the oldest go first. */
class BoundedMap<V> {
  readonly #max: number;
  readonly #map = new Map<string, V>();

  constructor(max: number) {
    this.#max = max;
  }

  get(key: string): V | undefined {
    return this.#map.get(key);
  }

  set(key: string, value: V): void {
    if (!this.#map.delete(key) && this.#map.size >= this.#max) {
      this.#map.delete(this.#map.keys().next().value!);
    }
    this.#map.set(key, value);
  }
}
