import type { Database, RangeOptions } from 'lmdb';
import { type JsonApart, jsonApart, parseApart, RawJson } from '../base/json.ts';
import { ApiError } from '../contract/errors.ts';
import { loadAddon } from '../engine/addon.ts';
import type { NativeAddon } from '../engine/native.ts';

/**
 * Before a JSON that has parts which are read as text only ({@link RawJson}): this byte, which no JSON begins with, their
 * number, and for each its place and length in the bytes of the JSON; numbers are u32, little-endian.
 */
const PARTS_MARK = 0;
const PART_BYTES = 8;
const PARTS_HEAD_BYTES = 5;

function encodeJson({ texts, parts }: JsonApart, spare: number): Buffer {
  if (parts.length === 0) return withSpare([Buffer.from(texts[0]!)], spare);
  const head = Buffer.alloc(PARTS_HEAD_BYTES + PART_BYTES * parts.length);
  head[0] = PARTS_MARK;
  head.writeUInt32LE(parts.length, 1);
  const pieces: Buffer[] = [head];
  let at = 0;
  const add = (piece: Buffer): void => {
    pieces.push(piece);
    at += piece.length;
  };
  for (const [n, text] of texts.entries()) {
    add(Buffer.from(text));
    const part = parts[n];
    if (part === undefined) continue;
    const place = PARTS_HEAD_BYTES + PART_BYTES * n;
    head.writeUInt32LE(at, place);
    head.writeUInt32LE(part.bytes.length, place + 4);
    add(part.bytes);
  }
  return withSpare(pieces, spare);
}

function withSpare(pieces: readonly Buffer[], spare: number): Buffer {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const bytes = Buffer.allocUnsafe(length + spare);
  let at = 0;
  for (const piece of pieces) at += piece.copy(bytes, at);
  return bytes;
}

function decodeParts(bytes: Buffer): unknown {
  const count = bytes.readUInt32LE(1);
  const json = bytes.subarray(PARTS_HEAD_BYTES + PART_BYTES * count);
  const texts: string[] = [];
  const parts: RawJson[] = [];
  let from = 0;
  for (let n = 0; n < count; n++) {
    const place = PARTS_HEAD_BYTES + PART_BYTES * n;
    const begin = bytes.readUInt32LE(place);
    const end = begin + bytes.readUInt32LE(place + 4);
    texts.push(json.toString('utf8', from, begin));
    parts.push(new RawJson(json.subarray(begin, end)));
    from = end;
  }
  texts.push(json.toString('utf8', from));
  return parseApart({ texts, parts });
}

/** How the values of a table become bytes. */
interface Codec<V> {
  /** @param spare bytes of any content that follow the value */
  encode(value: V, spare: number): Buffer;
  decode(bytes: Buffer): V;
}

const JSON_CODEC: Codec<unknown> = {
  encode: (value, spare) => encodeJson(jsonApart(value), spare),
  decode: (bytes) =>
    bytes[0] === PARTS_MARK ? decodeParts(bytes) : (JSON.parse(bytes.toString()) as unknown),
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

let loaded: NativeAddon | undefined;
const addon = (): NativeAddon => (loaded ??= loadAddon());

/** Whether the values of a store carry checksums: all but those of an old one that is only read. */
export interface Sealing {
  sealed: boolean;
}

/** A value whose checksum is not its own, or that is none of its table. */
function damagedValue(table: string, key: string | number): ApiError {
  return new ApiError(
    'invalid_store_file',
    `The store is damaged: the record \`${key}\` of its table \`${table}\`.`,
  );
}

/**
 * A table of the store. Each value is stored with a checksum of four bytes behind it, of the table, the key and the
 * value (`native/store/sealed_value.h`): reading a damaged one throws `ApiError` with `invalid_store_file`.
 */
export class Table<V, K extends string | number> {
  readonly name: string;
  readonly #database: Database<Buffer, K>;
  readonly #codec: Codec<V>;
  readonly #sealing: Sealing;

  constructor(name: string, database: Database<Buffer, K>, encoding: Encoding, sealing: Sealing) {
    this.name = name;
    this.#database = database;
    this.#codec = CODECS[encoding] as Codec<V>;
    this.#sealing = sealing;
  }

  /** A file that is only read does not make the tables that it lacks. */
  get isMissing(): boolean {
    return (this.#database as Database<Buffer, K> | undefined) === undefined;
  }

  get(key: K): V | undefined {
    const stored = this.#database.get(key);
    return stored === undefined ? undefined : this.#read(key, stored);
  }

  /** Bytes of the value as it is stored; 0: there is none. */
  sizeOf(key: K): number {
    return this.#database.getBinaryFast(key)?.length ?? 0;
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

  put(key: K, value: V): Promise<boolean> {
    return this.#database.put(key, this.#sealed(key, this.#codec.encode(value, SUM_BYTES)));
  }

  /** Within a transaction of the store. */
  putSync(key: K, value: V): void {
    this.#database.putSync(key, this.#sealed(key, this.#codec.encode(value, SUM_BYTES)));
  }

  remove(key: K): Promise<boolean> {
    return this.#database.remove(key);
  }

  /** Number of values that carry their checksum. */
  countSealed(): number {
    let sealed = 0;
    for (const { key, value } of this.#database.getRange()) {
      if (this.#isSealed(key, value)) sealed++;
    }
    return sealed;
  }

  /** Gives each value its checksum. Within a transaction of the store. */
  sealAll(): void {
    for (const { key, value } of [...this.#database.getRange()]) {
      this.#database.putSync(key, this.#sealed(key, withSpare([value], SUM_BYTES)));
    }
  }

  #sum(key: K, bytes: Buffer): number {
    return addon().sumOfValue(this.name, String(key), bytes);
  }

  /** @param stored the value, and room for its checksum, which is put there */
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
    let bytes = stored;
    if (this.#sealing.sealed) {
      if (!this.#isSealed(key, stored)) throw damagedValue(this.name, key);
      bytes = stored.subarray(0, stored.length - SUM_BYTES);
    }
    try {
      return this.#codec.decode(bytes);
    } catch {
      throw damagedValue(this.name, key);
    }
  }
}
