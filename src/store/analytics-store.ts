import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { open, type Database, type RootDatabase } from 'lmdb';
import { parseRows, type AnalyticsRow } from '../contract/analytics.ts';
import { causeOf, checkFile, STORE_FILE, Transaction } from './store.ts';
import { Table } from './table.ts';

/**
 * Rows of a complete chunk. Until a chunk is complete, each append rewrites it. 512 rows are about
 * 60 kB.
 */
export const CHUNK_ROWS = 512;

/**
 * Maximum number of chunks that one append removes. It is more than an append can fill, so the
 * store shrinks below its limit.
 */
const SWEPT_AT_ONCE = 64;

const USER_KEY = 'user-key';
const USER_KEY_BYTES = 32;

export interface AnalyticsBounds {
  /** Bytes of the pages that hold data. */
  bytesMax: number;
  /** Rows older than this may be removed, ms; counted from the time of an append. */
  retentionMs: number;
}

/** A position among the rows: the key of a chunk, and characters of its text. */
export interface RowPosition {
  readonly key: number;
  readonly length: number;
}

/**
 * The recorded searches and events, in a separate LMDB environment. A chunk of rows is one record,
 * and its key is the time of its first row. Rows of later chunks are later.
 *
 * Invariants: an append that has resolved is on disk, and one that has rejected has changed
 * nothing. The oldest chunks are removed when they are too old, or when the store would exceed its
 * limit.
 */
export class AnalyticsStore {
  readonly #dir: string;
  readonly #root: RootDatabase<Buffer, string>;
  readonly #chunks: Table<string, number>;
  readonly #meta: Table<string, string>;
  readonly #bounds: AnalyticsBounds;
  /** The last chunk as it is stored; its rows are JSON texts with commas between them. */
  #last: { key: number; text: string; rows: number } | null = null;
  /** Key of the chunk at which the next sweep begins. */
  #oldest: number | null;

  /** Throws `DataFolderError` when the file is damaged. */
  constructor(dir: string, bounds: AnalyticsBounds) {
    checkFile(dir, false);
    this.#dir = dir;
    this.#bounds = bounds;
    this.#root = openRoot(dir, { mapSize: bounds.bytesMax * 2 + 2 ** 26 });
    [this.#chunks, this.#meta] = tables(this.#root);
    this.#oldest = this.#keyFrom(0);
    const [last] = this.#chunks.getKeys({ reverse: true, limit: 1 });
    if (last === undefined) return;
    const text = this.#chunks.get(last)!;
    this.#last = { key: last, text, rows: parseRows(text).length };
  }

  /** The key for hashing user ids. The first call creates it durably. */
  async userKey(): Promise<Buffer> {
    const known = this.#meta.get(USER_KEY);
    if (known !== undefined) return Buffer.from(known, 'hex');
    const key = randomBytes(USER_KEY_BYTES);
    await this.#commit((transaction) => transaction.put(this.#meta, USER_KEY, key.toString('hex')));
    return key;
  }

  /**
   * Adds rows, not earlier than those before. Resolves once they are on disk.
   * REQUIRES: no other append is under way
   * @param now ms since 1970
   */
  async append(rows: readonly AnalyticsRow[], now: number): Promise<void> {
    if (rows.length === 0) return;
    const written: { key: number; text: string; rows: number }[] = [];
    let chunk = this.#last !== null && this.#last.rows < CHUNK_ROWS ? { ...this.#last } : null;
    let lastKey = this.#last?.key ?? -1;
    for (let from = 0; from < rows.length;) {
      if (chunk === null) {
        lastKey = Math.max(rows[from]![1], lastKey + 1);
        chunk = { key: lastKey, text: '', rows: 0 };
      }
      const part = rows.slice(from, from + CHUNK_ROWS - chunk.rows);
      const text = JSON.stringify(part).slice(1, -1);
      chunk.text = chunk.rows === 0 ? text : `${chunk.text},${text}`;
      chunk.rows += part.length;
      from += part.length;
      written.push(chunk);
      if (chunk.rows >= CHUNK_ROWS) chunk = null;
    }
    const swept = this.#sweepable(now);
    await this.#commit((transaction) => {
      for (const { key, text } of written) transaction.put(this.#chunks, key, text);
      for (const key of swept) transaction.remove(this.#chunks, key);
    });
    this.#last = written.at(-1)!;
    if (this.#oldest === null || swept.length > 0) this.#oldest = this.#keyFrom(0);
  }

  /** Removes chunks that are too old, also when nothing is appended. */
  async sweep(now: number): Promise<void> {
    const swept = this.#sweepable(now);
    if (swept.length === 0) return;
    await this.#commit((transaction) => {
      for (const key of swept) transaction.remove(this.#chunks, key);
    });
    this.#oldest = this.#keyFrom(0);
  }

  /**
   * The chunks that may hold rows of a time range, in order, each as JSON texts of rows with commas
   * between them. Chunks that are removed meanwhile are left out.
   * @param from ms since 1970, included
   * @param to ms since 1970, excluded
   */
  *chunks(from: number, to: number): Generator<string> {
    const [before] = this.#chunks.getKeys({ start: from, reverse: true, limit: 1 });
    let key = before ?? this.#keyFrom(from);
    // A key may be some milliseconds later than its first row, because many rows may have the same
    // time.
    while (key !== null && key < to + CHUNK_ROWS) {
      const text = this.#chunks.get(key);
      if (text !== undefined) yield text;
      key = this.#keyFrom(key + 1);
    }
  }

  /** Where the rows from a time on begin. */
  positionAt(from: number): RowPosition {
    const [before] = this.#chunks.getKeys({ start: from, reverse: true, limit: 1 });
    return { key: before ?? this.#keyFrom(from) ?? 0, length: 0 };
  }

  /**
   * Some rows after a position, as texts with commas between them, and the position after these.
   * null: there are none that may be earlier than `to`.
   */
  rowsAfter({ key, length }: RowPosition, to: number): { text: string; after: RowPosition } | null {
    const known = this.#chunks.get(key);
    if (known !== undefined && known.length > length) {
      const text = length === 0 ? known : known.slice(length + 1);
      return { text, after: { key, length: known.length } };
    }
    const next = this.#keyFrom(key + 1);
    if (next === null || next >= to + CHUNK_ROWS) return null;
    const text = this.#chunks.get(next)!;
    return { text, after: { key: next, length: text.length } };
  }

  /** The earliest time of the last chunks, ms since 1970. */
  startOfLast(chunks: number): number {
    return [...this.#chunks.getKeys({ reverse: true, limit: chunks })].at(-1) ?? 0;
  }

  /** The last rows in their order: at least `count`, or all if there are fewer. */
  lastRows(count: number): AnalyticsRow[] {
    const chunks: AnalyticsRow[][] = [];
    let rows = 0;
    for (const key of [...this.#chunks.getKeys({ reverse: true, limit: count })]) {
      if (rows >= count) break;
      const chunk = parseRows(this.#chunks.get(key)!);
      rows += chunk.length;
      chunks.unshift(chunk);
    }
    return chunks.flat();
  }

  /** Bytes of the pages that hold data. */
  get usedBytes(): number {
    const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } =
      this.#chunks.getStats() as TableStats;
    return pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages);
  }

  async close(): Promise<void> {
    await this.#root.close();
  }

  /** Keys of the chunks to remove, the oldest first. The last chunk stays. */
  #sweepable(now: number): number[] {
    if (this.#oldest === null || this.#last === null) return [];
    const tooOld = now - this.#bounds.retentionMs;
    const excess = this.usedBytes - this.#bounds.bytesMax;
    if (excess <= 0 && this.#oldest >= tooOld) return [];
    const keys = [...this.#chunks.getKeys({ start: this.#oldest, limit: SWEPT_AT_ONCE + 1 })];
    const swept: number[] = [];
    let freed = 0;
    for (const [n, key] of keys.entries()) {
      const next = keys[n + 1];
      // All rows of a chunk are older than the next chunk.
      if (next === undefined || key === this.#last.key) break;
      if (freed >= excess && next > tooOld) break;
      freed += this.#chunks.get(key)!.length;
      swept.push(key);
    }
    return swept;
  }

  #keyFrom(start: number): number | null {
    const [key] = this.#chunks.getKeys({ start, limit: 1 });
    return key ?? null;
  }

  async #commit(write: (transaction: Transaction) => void): Promise<void> {
    try {
      await this.#root.batch(() => write(new Transaction()));
    } catch (error) {
      throw await causeOf(error, this.#dir);
    }
  }
}

export function analyticsFolder(dataDir: string): string {
  return join(dataDir, 'analytics');
}

/**
 * Reads every chunk of a store that no process has open.
 * @param tell called with each fault
 * @returns the number of rows; null: there is no store
 */
export async function verifyAnalytics(
  dir: string,
  tell: (structure: string, message: string) => void,
): Promise<number | null> {
  if (!existsSync(join(dir, STORE_FILE))) return null;
  checkFile(dir, true);
  const root = openRoot(dir, { readOnly: true });
  try {
    const [chunks, meta] = tables(root);
    let rows = 0;
    let before = -1;
    if (meta.isMissing || chunks.isMissing) return 0;
    if (!/^[0-9a-f]{64}$/.test(meta.get(USER_KEY) ?? '')) tell('meta', 'it has no user key');
    for (const key of chunks.getKeys()) {
      try {
        for (const row of parseRows(chunks.get(key)!)) {
          if (row[1] < before) tell('chunks', `rows of ${key} are not in order`);
          before = row[1];
          rows++;
        }
      } catch (error) {
        tell('chunks', (error as Error).message);
      }
    }
    return rows;
  } finally {
    await root.close();
  }
}

interface TableStats {
  pageSize: number;
  treeBranchPageCount: number;
  treeLeafPageCount: number;
  overflowPages: number;
}

function openRoot(
  dir: string,
  mode: { mapSize: number } | { readOnly: true },
): RootDatabase<Buffer, string> {
  return open<Buffer, string>({
    path: dir,
    encoding: 'binary',
    ...mode,
    maxDbs: 4,
    // As in `Store`: a commit resolves after the sync.
    overlappingSync: false,
    eventTurnBatching: false,
  });
}

function tables(
  root: RootDatabase<Buffer, string>,
): [chunks: Table<string, number>, meta: Table<string, string>] {
  const chunks: Database<Buffer, number> = root.openDB<Buffer, number>({
    name: 'chunks',
    encoding: 'binary',
  });
  const meta: Database<Buffer, string> = root.openDB<Buffer, string>({
    name: 'meta',
    encoding: 'binary',
  });
  return [
    new Table<string, number>('chunks', chunks, 'string'),
    new Table<string, string>('meta', meta, 'string'),
  ];
}
