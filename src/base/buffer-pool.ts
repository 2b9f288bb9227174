/**
 * Buffers for short-lived bytes, reused instead of being left to the garbage collector.
 *
 * V8 counts the memory of buffers towards its next full collection, and with a small heap a few
 * megabytes are enough: responses of 11 KB left to it cost ten full collections a second under
 * load, each stopping the main thread for two to five milliseconds.
 *
 * Invariant: memory is either free, in one list, or belongs to one taken buffer. A buffer that is
 * never given back is collected like any other.
 */

/** Size of the memory of a pooled buffer; larger ones are allocated on request. */
export const POOLED_BYTES_MAX = 64 * 1024;

/** Maximum number of free buffers: 4 MiB. */
const FREE_MAX = 64;

export class BufferPool {
  readonly #free: ArrayBuffer[] = [];
  readonly #taken = new WeakSet<Buffer>();

  /** Number of free buffers. */
  get free(): number {
    return this.#free.length;
  }

  /** Returns a buffer with arbitrary content: the caller overwrites all of it. */
  take(bytes: number): Buffer {
    if (bytes > POOLED_BYTES_MAX) return Buffer.allocUnsafeSlow(bytes);
    const buffer = Buffer.from(this.#free.pop() ?? new ArrayBuffer(POOLED_BYTES_MAX), 0, bytes);
    this.#taken.add(buffer);
    return buffer;
  }

  /**
   * REQUIRES: nobody reads `buffer` any more, nor any view of its memory. Ignores buffers of other
   * origin and those already given back.
   */
  giveBack(buffer: Buffer): void {
    if (!this.#taken.delete(buffer)) return;
    if (this.#free.length < FREE_MAX) this.#free.push(buffer.buffer as ArrayBuffer);
  }
}
