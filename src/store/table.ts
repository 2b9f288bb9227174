import type { Database, RangeOptions } from 'lmdb';
import { LONG_MARK, longApart, longTogether } from '../base/long-values.ts';
import type { Write } from '../cluster/delta.ts';
import { DamagedError } from '../cluster/errors.ts';
import { ApiError } from '../contract/errors.ts';
import { loadAddon } from '../engine/addon.ts';
import type { NativeAddon } from '../engine/native.ts';
import { patched, patchOf } from '../cluster/patch.ts';

function withSpare(pieces: readonly Buffer[], spare: number): Buffer {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const bytes = Buffer.allocUnsafe(length + spare);
  let at = 0;
  for (const piece of pieces) at += piece.copy(bytes, at);
  return bytes;
}

/** Converts the values of a table to bytes and back. */
interface Codec<V> {
  /** @param spare number of bytes to reserve after the value, with any content */
  encode(value: V, spare: number): Buffer;
  decode(bytes: Buffer): V;
}

const JSON_CODEC: Codec<unknown> = {
  encode: (value, spare) => withSpare([Buffer.from(JSON.stringify(value))], spare),
  decode: (bytes) => JSON.parse(bytes.toString()) as unknown,
};
const STRING_CODEC: Codec<string> = {
  encode: (value, spare) => withSpare([Buffer.from(value)], spare),
  decode: (bytes) => bytes.toString(),
};
const BINARY_CODEC: Codec<Buffer> = {
  encode: (value, spare) => withSpare([value], spare),
  decode: (bytes) => bytes,
};

const CODECS = { json: JSON_CODEC, string: STRING_CODEC, binary: BINARY_CODEC };
export type Encoding = keyof typeof CODECS;

const SUM_BYTES = 4;

/** A smaller value is put as a whole. */
const PATCHED_BYTES_MIN = 1024;

/** A write of a record with the key of its table. */
export interface PreparedWrite<K> {
  readonly key: K;
  /** With its checksum; null: the value is removed. */
  readonly value: Buffer | null;
}

let loaded: NativeAddon | undefined;
const addon = (): NativeAddon => (loaded ??= loadAddon());

/** Encodes a key for a record; numbers are four bytes, big-endian. */
function keyBytes(key: string | number): Buffer {
  if (typeof key === 'string') return Buffer.from(key);
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(key);
  return bytes;
}

/** The error of a value whose checksum does not match, or that does not fit its table. */
function damagedValue(table: string, key: string | number): ApiError {
  return new ApiError(
    'invalid_store_file',
    `The store is damaged: the record \`${key}\` of its table \`${table}\`.`,
  );
}

/**
 * A table of the store. Each value is followed by a checksum of four bytes over the table, the key
 * and the value (`native/store/sealed_value.h`). Reading a damaged value throws `ApiError` with
 * `invalid_store_file`.
 *
 * In tables of JSON objects, long values are stored separately (`base/long-values.ts`), under keys
 * of the table `long`. A value that replaces another one must have long values at the same paths.
 */
export class Table<V, K extends string | number> {
  readonly name: string;
  readonly #database: Database<Buffer, K>;
  readonly #codec: Codec<V>;
  readonly #long: Table<Buffer, string> | null;
  readonly #keyEncoding: 'uint32' | undefined;

  /**
   * @param long where long values of JSON objects are stored; null: the values are not such objects
   */
  constructor(
    name: string,
    database: Database<Buffer, K>,
    encoding: Encoding,
    keyEncoding?: 'uint32',
    long: Table<Buffer, string> | null = null,
  ) {
    this.name = name;
    this.#keyEncoding = keyEncoding;
    this.#database = database;
    this.#codec = CODECS[encoding] as Codec<V>;
    this.#long = long;
  }

  /** Whether the table does not exist: a store that is opened read-only does not create tables. */
  get isMissing(): boolean {
    return (this.#database as Database<Buffer, K> | undefined) === undefined;
  }

  get(key: K): V | undefined {
    const stored = this.#database.get(key);
    return stored === undefined ? undefined : this.#read(key, stored);
  }

  /** Size of the stored value, bytes; 0: there is none. */
  sizeOf(key: K): number {
    const stored = this.#database.getBinaryFast(key);
    if (stored === undefined) return 0;
    return this.#longIn(stored).reduce((sum, [, size]) => sum + size, stored.length);
  }

  *getRange(options?: RangeOptions): Iterable<{ key: K; value: V }> {
    for (const { key, value } of this.#database.getRange(options)) {
      yield { key, value: this.#read(key, value) };
    }
  }

  getKeys(options?: RangeOptions): Iterable<K> {
    return this.#database.getKeys(options);
  }

  getKeysCount(): number {
    return this.#database.getKeysCount();
  }

  getCount(): number {
    return this.#database.getCount();
  }

  getStats(): object {
    return this.#database.getStats();
  }

  /** A failure is that of the store's transaction, which rejects with it. */
  put(key: K, value: V): Promise<boolean> {
    const rest = this.#putLong(key, value, (path, bytes) => {
      this.#long!.put(path, bytes).catch(() => {});
    });
    return this.#database.put(key, this.#sealed(key, this.#codec.encode(rest, SUM_BYTES)));
  }

  /** REQUIRES: within a transaction of the store */
  putSync(key: K, value: V): void {
    const rest = this.#putLong(key, value, (path, bytes) => this.#long!.putSync(path, bytes));
    this.#database.putSync(key, this.#sealed(key, this.#codec.encode(rest, SUM_BYTES)));
  }

  remove(key: K): Promise<boolean> {
    const stored = this.#long === null ? undefined : this.#database.getBinaryFast(key);
    if (stored !== undefined) {
      for (const [path] of this.#longIn(stored)) {
        this.#long!.remove(this.#pathOf(key, path)).catch(() => {});
      }
    }
    return this.#database.remove(key);
  }

  // --- Records of a cluster ----------------------------------------------------------------------

  /** The writes that `put` makes, for a record. */
  putWrites(key: K, value: V): Write[] {
    const writes: Write[] = [];
    const rest = this.#putLong(key, value, (path, bytes) => {
      writes.push(...this.#long!.putWrites(path, bytes));
    });
    const stored = this.#sealed(key, this.#codec.encode(rest, SUM_BYTES));
    writes.push({ kind: 'put', table: this.name, key: keyBytes(key), value: stored });
    return writes;
  }

  /** The writes that `remove` makes, for a record. */
  removeWrites(key: K): Write[] {
    const stored = this.#long === null ? undefined : this.#database.getBinaryFast(key);
    const long = stored === undefined ? [] : this.#longIn(stored);
    return [
      ...long.flatMap(([path]) => this.#long!.removeWrites(this.#pathOf(key, path))),
      { kind: 'remove', table: this.name, key: keyBytes(key) },
    ];
  }

  /** The write, or a patch of the stored value in its place if that is much smaller. */
  asPatch(write: Write): Write {
    if (write.kind !== 'put' || write.value.length < PATCHED_BYTES_MIN) return write;
    const key = this.#keyOf(write.key);
    const stored = this.#database.get(key);
    if (stored === undefined || !this.#isSealed(key, stored)) return write;
    const patch = patchOf(stored, write.value);
    return patch === null ? write : { kind: 'patch', table: this.name, key: write.key, patch };
  }

  /**
   * Prepares a write of a record. Throws `DamagedError` when it does not fit this table, and the
   * error of a damaged value when it is a patch of one.
   */
  prepared(write: Write): PreparedWrite<K> {
    if (write.kind === 'clear') throw new DamagedError(`A record empties the table ${this.name}`);
    const key = this.#keyOf(write.key);
    if (write.kind === 'remove') return { key, value: null };
    const value = write.kind === 'put' ? write.value : this.#patched(key, write.patch);
    if (this.#isSealed(key, value)) return { key, value };
    throw new DamagedError(`A record has a damaged value of the table ${this.name}`);
  }

  #patched(key: K, patch: Buffer): Buffer {
    const stored = this.#database.get(key);
    if (stored === undefined)
      throw new DamagedError(`The table ${this.name} lacks a patched value`);
    if (!this.#isSealed(key, stored)) throw damagedValue(this.name, key);
    return patched(stored, patch);
  }

  #keyOf(key: Buffer): K {
    const isNumber = this.#keyEncoding === 'uint32';
    if (isNumber && key.length !== 4) throw new DamagedError('A key is not a number');
    return (isNumber ? key.readUInt32BE() : key.toString()) as K;
  }

  /** REQUIRES: within a transaction of the store */
  apply({ key, value }: PreparedWrite<K>): Promise<boolean> {
    return value === null ? this.#database.remove(key) : this.#database.put(key, value);
  }

  /** Key of a long value. */
  #pathOf(key: K, path: string): string {
    return `${this.name}/${key}/${path}`;
  }

  /** Puts long values. @returns what remains to be put */
  #putLong(key: K, value: V, put: (path: string, bytes: Buffer) => void): V {
    if (this.#long === null) return value;
    const { rest, long } = longApart(value as Record<string, unknown>);
    for (const [path, { bytes }] of long) put(this.#pathOf(key, path), bytes);
    return rest as V;
  }

  /** Path and size of each long value of a stored value. */
  #longIn(stored: Buffer): [path: string, size: number][] {
    if (this.#long === null || !stored.subarray(0, LONG_MARK.length).equals(LONG_MARK)) return [];
    const end = stored.length - SUM_BYTES;
    const { long } = JSON.parse(stored.toString('utf8', 0, end)) as { long: object };
    return Object.entries(long) as [string, number][];
  }

  #sum(key: K, bytes: Buffer): number {
    return addon().sumOfValue(this.name, String(key), bytes);
  }

  /** @param stored the value and space for its checksum, which is written there */
  #sealed(key: K, stored: Buffer): Buffer {
    const end = stored.length - SUM_BYTES;
    stored.writeUInt32LE(this.#sum(key, stored.subarray(0, end)), end);
    return stored;
  }

  #isSealed(key: K, stored: Buffer): boolean {
    const end = stored.length - SUM_BYTES;
    return end >= 0 && stored.readUInt32LE(end) === this.#sum(key, stored.subarray(0, end));
  }

  #read(key: K, stored: Buffer): V {
    if (!this.#isSealed(key, stored)) throw damagedValue(this.name, key);
    try {
      const value = this.#codec.decode(stored.subarray(0, stored.length - SUM_BYTES));
      if (this.#long === null) return value;
      return longTogether(value as Record<string, unknown>, (path) => {
        const part = this.#long!.get(this.#pathOf(key, path));
        if (part === undefined) throw damagedValue('long', this.#pathOf(key, path));
        return part;
      }) as V;
    } catch {
      throw damagedValue(this.name, key);
    }
  }
}
