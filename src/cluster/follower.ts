import { DamagedError, TrimmedError } from './errors.ts';
import type { Log } from './log/log.ts';
import {
  type CommitRecord,
  type Entry,
  type Epoch,
  isRef,
  recordOf,
  type Sequence,
} from './record.ts';
import type { Replica } from './replica.ts';
import { type Runtime, Serial } from './runtime.ts';
import type { Transfers } from './transfers.ts';

const RETRY_MS = 500;

/** How long a watch may fail to deliver an entry that the log is known to hold, ms. */
const WATCH_SILENT_MS = 2000;

/** Entries whose files are fetched while an earlier entry is applied. */
const AHEAD_ENTRIES = 8;

interface Waiting {
  readonly sequence: Sequence;
  readonly resolve: () => void;
}

export interface FollowerParts {
  readonly log: Log;
  readonly replica: Replica;
  readonly transfers: Transfers;
  readonly runtime: Runtime;
  readonly formatMax: number;
  /** Brings the replica to the newest checkpoint. */
  readonly install: () => Promise<void>;
  /** Called with what keeps a record from being applied. */
  readonly onFault: (error: unknown) => void;
  /** Ends all work of the node. */
  readonly signal: AbortSignal;
}

/**
 * Applies the log to the replica of this node: in order, and each record once. The leader does this
 * too, with its own records.
 *
 * Invariant: only one record is applied at a time, and it is the one that follows `applied`.
 */
export class Follower {
  readonly #parts: FollowerParts;
  readonly #serial = new Serial();
  readonly #waiting = new Set<Waiting>();
  /** Epoch of the last record. */
  #epoch: Epoch = 0;
  /** Ends the present watch. */
  #watch = new AbortController();
  #isTaking = false;
  /** The time since which the log has held more than the watch has delivered. */
  #missingSince: number | null = null;
  /** Why no record can be applied at present. */
  #fault: string | null = null;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
    parts.signal.addEventListener('abort', () => this.#watch.abort(), { once: true });
  }

  get applied(): Sequence {
    return this.#parts.replica.applied;
  }

  get fault(): string | null {
    return this.#fault;
  }

  /** Resolves once the record is applied here, or at the signal. */
  reached(sequence: Sequence, signal: AbortSignal): Promise<void> {
    if (this.applied >= sequence || signal.aborted) return Promise.resolve();
    return new Promise((done) => {
      const resolve = (): void => {
        this.#waiting.delete(waiting);
        signal.removeEventListener('abort', resolve);
        done();
      };
      const waiting = { sequence, resolve };
      this.#waiting.add(waiting);
      signal.addEventListener('abort', resolve, { once: true });
    });
  }

  /** Runs a task while no record is being applied. */
  exclusive<T>(task: () => Promise<T>): Promise<T> {
    return this.#serial.run(task);
  }

  /**
   * Reports that the log holds `head`. A watch that does not deliver it may be dead without an
   * error, and is restarted.
   */
  expect(head: Sequence): void {
    const now = this.#parts.runtime.elapsed();
    if (head <= this.applied || this.#isTaking) this.#missingSince = null;
    else this.#missingSince ??= now;
    if (this.#missingSince === null || now - this.#missingSince < WATCH_SILENT_MS) return;
    this.#missingSince = null;
    this.#watch.abort();
  }

  /**
   * Applies an entry that follows `applied`. Does nothing if it is already applied.
   * @param known the record of the entry, if the caller has it
   */
  take(entry: Entry, known?: CommitRecord): Promise<void> {
    return this.#serial.run(async () => {
      if (entry.sequence <= this.applied) return;
      if (entry.sequence !== this.applied + 1) {
        throw new DamagedError(`Entry ${entry.sequence} does not follow record ${this.applied}`);
      }
      const { replica, transfers } = this.#parts;
      const record = known ?? (await this.#decode(entry));
      if (record.epoch < this.#epoch) {
        throw new DamagedError(
          `Record ${record.sequence} is of an earlier leader than its forerunner`,
        );
      }
      await transfers.fetchFiles(record.database, record.files);
      await replica.apply(record);
      this.#epoch = record.epoch;
      this.#fault = null;
      this.#wake();
    });
  }

  /** Follows the log until the signal. */
  async follow(): Promise<void> {
    const { log, runtime, signal } = this.#parts;
    while (!signal.aborted) {
      try {
        this.#watch = new AbortController();
        const watch = log.watch(this.applied + 1, this.#watch.signal);
        for await (const entries of watch) await this.#takeAll(entries);
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(error);
      }
      // This also covers a watch that ended without an error. The next one begins at this node's
      // position.
      await runtime.sleep(RETRY_MS * (0.5 + runtime.random()), signal);
    }
  }

  async #takeAll(entries: readonly Entry[]): Promise<void> {
    this.#isTaking = true;
    try {
      for (const [position, entry] of entries.entries()) {
        entries
          .slice(position + 1, position + 1 + AHEAD_ENTRIES)
          .forEach((later) => this.#prefetch(later));
        await this.take(entry);
      }
    } finally {
      this.#isTaking = false;
    }
  }

  /**
   * Fetches files ahead. An error here occurs again when the entry is applied, and is reported
   * then. Records stored as objects are skipped, because each may take much memory.
   */
  #prefetch(entry: Entry): void {
    if (entry.sequence <= this.applied || isRef(entry)) return;
    this.#decode(entry)
      .then(({ database, files }) => this.#parts.transfers.fetchFiles(database, files))
      .catch(() => {});
  }

  #decode(entry: Entry): Promise<CommitRecord> {
    const { transfers, formatMax } = this.#parts;
    return recordOf(entry, (ref) => transfers.fetchRecord(ref), formatMax);
  }

  async #recover(error: unknown): Promise<void> {
    let reason = error as Error;
    if (reason instanceof TrimmedError) {
      try {
        await this.#serial.run(this.#parts.install);
        this.#epoch = 0;
        this.#fault = null;
        this.#wake();
        return;
      } catch (failure) {
        reason = failure as Error;
      }
    }
    this.#parts.onFault(reason);
    if (reason.message !== this.#fault) {
      this.#parts.runtime.log(`The log cannot be followed at present: ${reason.message}`);
    }
    this.#fault = reason.message;
  }

  #wake(): void {
    for (const waiting of this.#waiting) {
      if (waiting.sequence <= this.applied) waiting.resolve();
    }
  }
}
