import { closeSync, openSync, read } from 'node:fs';
import { promisify } from 'node:util';
import { objectLines } from '../archive/json-values.ts';
import type { TaskPayload } from '../contract/tasks.ts';

const PIECE_BYTES = 256 * 1024;

const readAt = promisify(read);

/**
 * Reads the documents of a payload, as often as needed. An open file stays readable when it is
 * moved or removed, so create the reader before registering the task that the file then belongs to.
 *
 * Invariant: the file is closed once, after `close` was called and no read is running.
 */
export class PayloadReader {
  readonly #source: Buffer | number;
  readonly #format: 'json' | 'ndjson';
  #reads = 0;
  #closing = false;

  /** Throws when the file cannot be opened. */
  constructor(payload: TaskPayload, format: 'json' | 'ndjson') {
    this.#source = 'file' in payload ? openSync(payload.file, 'r') : payload.bytes;
    this.#format = format;
  }

  /** One JSON text per line; ends early after `close`. */
  lines(): AsyncIterable<Buffer> {
    const bytes = this.#bytes();
    return this.#format === 'ndjson' ? bytes : objectLines(bytes);
  }

  async *#bytes(): AsyncGenerator<Buffer, undefined> {
    const source = this.#source;
    if (typeof source !== 'number') {
      yield source;
      return;
    }
    for (let at = 0; !this.#closing;) {
      const piece = await this.#read(source, at);
      if (piece.length === 0) return;
      at += piece.length;
      yield piece;
    }
  }

  async #read(file: number, position: number): Promise<Buffer> {
    this.#reads++;
    try {
      const buffer = Buffer.allocUnsafe(PIECE_BYTES);
      const { bytesRead } = await readAt(file, { buffer, position });
      return buffer.subarray(0, bytesRead);
    } finally {
      this.#reads--;
      this.#closeWhenDone();
    }
  }

  close(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#closeWhenDone();
  }

  #closeWhenDone(): void {
    if (this.#closing && this.#reads === 0 && typeof this.#source === 'number') {
      closeSync(this.#source);
    }
  }
}
