import { createHash } from 'node:crypto';
import { setImmediate as nextTask } from 'node:timers/promises';
import { DamagedError } from './errors.ts';

export const SHA256_BYTES = 32;

export function sha256(...pieces: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest();
}

/** Bytes hashed between two yields to the event loop: about a millisecond. */
const SLICE_BYTES = 1024 * 1024;

/**
 * Appends the SHA-256 of all pieces, without blocking the event loop.
 * @returns the pieces, and the SHA-256 of the whole
 */
export async function sealed(
  pieces: readonly Buffer[],
): Promise<{ pieces: Buffer[]; size: number; sha256: Buffer }> {
  const hash = createHash('sha256');
  let size = SHA256_BYTES;
  for (const piece of pieces) {
    size += piece.length;
    for (let at = 0; at < piece.length; at += SLICE_BYTES) {
      hash.update(piece.subarray(at, at + SLICE_BYTES));
      if (piece.length > SLICE_BYTES) await nextTask();
    }
  }
  const seal = hash.copy().digest();
  return { pieces: [...pieces, seal], size, sha256: hash.update(seal).digest() };
}

/** Collects the fields of a record. Numbers are unsigned LEB128, at most 2^53; texts are UTF-8. */
export class ByteWriter {
  readonly #pieces: Uint8Array[] = [];

  number(value: number): this {
    const bytes: number[] = [];
    let rest = value;
    while (rest >= 128) {
      bytes.push((rest % 128) | 128);
      rest = Math.floor(rest / 128);
    }
    bytes.push(rest);
    return this.raw(Uint8Array.from(bytes));
  }

  /** Appends bytes without their length. */
  raw(bytes: Uint8Array): this {
    this.#pieces.push(bytes);
    return this;
  }

  bytes(bytes: Uint8Array): this {
    return this.number(bytes.length).raw(bytes);
  }

  text(text: string): this {
    return this.bytes(Buffer.from(text));
  }

  /** Returns all fields, followed by their SHA-256. */
  sealed(): Buffer {
    return Buffer.concat([...this.#pieces, sha256(...this.#pieces)]);
  }

  done(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}

/** Reads what `ByteWriter` wrote. Throws `DamagedError` instead of reading past the end. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /**
   * Reads bytes that end with the SHA-256 of the rest.
   * @param isChecked the bytes were already compared with what was stored
   */
  static sealed(bytes: Buffer, isChecked = false): ByteReader {
    const end = bytes.length - SHA256_BYTES;
    if (end < 0) throw new DamagedError('Bytes are missing');
    if (!isChecked && !sha256(bytes.subarray(0, end)).equals(bytes.subarray(end))) {
      throw new DamagedError('The checksum does not match');
    }
    return new ByteReader(bytes.subarray(0, end));
  }

  get isDone(): boolean {
    return this.#at === this.#bytes.length;
  }

  number(): number {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 49; scale *= 128) {
      const byte = this.raw(1)[0]!;
      value += (byte & 127) * scale;
      if (byte < 128) {
        if (Number.isSafeInteger(value)) return value;
        break;
      }
    }
    throw new DamagedError('A number is too large');
  }

  raw(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw new DamagedError('Bytes are missing');
    const from = this.#at;
    this.#at += length;
    return this.#bytes.subarray(from, this.#at);
  }

  bytes(): Buffer {
    return this.raw(this.number());
  }

  text(): string {
    return this.bytes().toString();
  }

  /** Throws when bytes are left. */
  end(): void {
    if (!this.isDone) throw new DamagedError('There are more bytes than fields');
  }
}
