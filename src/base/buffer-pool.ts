/**
 * Buffers for bytes that live shortly, used again instead of being left to the garbage collector.
 *
 * V8 counts the memory of buffers towards its next full collection, and with a small heap a few megabytes of them are
 * enough: answers of 11 KB left to it cost ten full collections a second under load, each stopping the main thread for
 * two to five milliseconds (`docs/performance.md`).
 *
 * Invariant: memory is either free, in one list, or belongs to one taken buffer. What is taken and never given back is
 * collected like any other buffer.
 */

/** Size of the memory behind a pooled buffer; larger ones are made as they are asked for. */
export const POOLED_BYTES_MAX = 64 * 1024;

/** More are never kept: 4 MiB. */
const FREE_MAX = 64;

export class BufferPool {
  readonly #free: ArrayBuffer[] = [];
  readonly #taken = new WeakSet<Buffer>();

  /** Memory that waits to be used again. */
  get free(): number {
    return this.#free.length;
  }

  /** The contents are whatever was there before: the caller overwrites all of it. */
  take(bytes: number): Buffer {
    if (bytes > POOLED_BYTES_MAX) return Buffer.allocUnsafeSlow(bytes);
    const buffer = Buffer.from(this.#free.pop() ?? new ArrayBuffer(POOLED_BYTES_MAX), 0, bytes);
    this.#taken.add(buffer);
    return buffer;
  }

  /**
   * REQUIRES: nobody reads `buffer` any more, nor any view of its memory. Buffers of other origin, and those given back
   * already, are left alone.
   */
  giveBack(buffer: Buffer): void {
    if (!this.#taken.delete(buffer)) return;
    if (this.#free.length < FREE_MAX) this.#free.push(buffer.buffer as ArrayBuffer);
  }
}
