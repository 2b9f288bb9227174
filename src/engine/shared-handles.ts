/**
 * The handles of open indexes, for threads that search them without asking the main thread. The
 * main thread opens and closes indexes; it closes none, except one that was deleted, while another
 * thread uses it.
 *
 * A thread first counts itself in and then looks whether the handle is still there; the main thread
 * first removes the handle and then looks whether somebody is counted. So one of them sees the
 * other.
 */

/** Cells of a slot. The handle: 0 for none; handles begin at 1. */
const HANDLE = 0;
const USES = 1;
const TOUCHED = 2;
const SLOT_CELLS = 3;

/** More than indexes are kept open; those beyond it are searched by the main thread. */
const SLOTS = 1024;

export function sharedHandleMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * SLOTS * SLOT_CELLS);
}

export class SharedHandles {
  readonly #cells: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory);
  }

  // --- For the main thread ------------------------------------------------------------------

  /** Offers an open index to the other threads. Returns its slot; null: all are taken. */
  offer(handle: number): number | null {
    for (let slot = 0; slot < SLOTS; slot++) {
      if (Atomics.compareExchange(this.#cells, cellOf(slot, HANDLE), 0, handle) === 0) return slot;
    }
    return null;
  }

  /** Withdraws an index so that it can be closed. False: it is in use, and stays. */
  withdraw(slot: number): boolean {
    const cell = cellOf(slot, HANDLE);
    const handle = Atomics.exchange(this.#cells, cell, 0);
    if (Atomics.load(this.#cells, cellOf(slot, USES)) === 0) return true;
    Atomics.store(this.#cells, cell, handle);
    return false;
  }

  /** Withdraws an index that is closed even if it is in use. */
  remove(slot: number): void {
    Atomics.store(this.#cells, cellOf(slot, HANDLE), 0);
  }

  /** Whether the index was used since the last call. */
  takeTouched(slot: number): boolean {
    return Atomics.exchange(this.#cells, cellOf(slot, TOUCHED), 0) !== 0;
  }

  // --- For other threads --------------------------------------------------------------------

  /** Begins to use an index. False: it is not open any more. `leave` must follow otherwise. */
  enter(slot: number, handle: number): boolean {
    Atomics.add(this.#cells, cellOf(slot, USES), 1);
    if (Atomics.load(this.#cells, cellOf(slot, HANDLE)) === handle) {
      Atomics.store(this.#cells, cellOf(slot, TOUCHED), 1);
      return true;
    }
    this.leave(slot);
    return false;
  }

  leave(slot: number): void {
    Atomics.sub(this.#cells, cellOf(slot, USES), 1);
  }
}

function cellOf(slot: number, which: number): number {
  return slot * SLOT_CELLS + which;
}
