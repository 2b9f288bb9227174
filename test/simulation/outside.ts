/** What all hosts share, and how it misbehaves: the log and the object store. */
import { MemoryBlobs } from '../support/memory-blobs.ts';
import type { BlobName, BlobSource } from '../../src/cluster/blobs/blobs.ts';
import type { Io } from '../support/io.ts';
import { MemoryLog, type MemoryLogState } from '../support/memory-log.ts';
import type { AppendResult } from '../../src/cluster/log/log.ts';
import type { Entry, Epoch, Sequence } from '../../src/cluster/record.ts';
import type { Host } from './host.ts';
import type { Scheduler } from './scheduler.ts';

/** Objects, and whether some were removed since somebody last looked. */
export class Objects extends Map<BlobName, Buffer> {
  removed = false;

  override delete(name: BlobName): boolean {
    this.removed = true;
    return super.delete(name);
  }
}

/** Uploads are torn when they fail, and reads return damaged bytes. */
export class SimulatedBlobs extends MemoryBlobs {
  readonly #objects: Objects;
  readonly #host: Host;
  readonly #scheduler: Scheduler;

  constructor(objects: Objects, io: Io, host: Host, scheduler: Scheduler) {
    super(objects, io);
    this.#objects = objects;
    this.#host = host;
    this.#scheduler = scheduler;
  }

  override async put(name: BlobName, source: BlobSource): Promise<void> {
    const isTorn = this.#scheduler.chance(this.#host.faults.lost / 2);
    if (isTorn && !this.#objects.has(name)) {
      for await (const piece of source.open()) {
        this.#objects.set(name, Buffer.from(piece.subarray(0, piece.length / 2)));
      }
    }
    await super.put(name, source);
  }

  override async *get(name: BlobName): AsyncGenerator<Uint8Array, undefined> {
    for await (const piece of super.get(name)) {
      if (this.#scheduler.chance(this.#host.faults.damaged)) {
        const copy = Buffer.from(piece);
        copy[Math.floor(this.#scheduler.random() * copy.length)]! ^= 1;
        yield copy;
      } else yield piece;
    }
  }
}

/**
 * A watch that leaves out entries, repeats them, falls silent, and ends. Appends are observed where
 * they happen.
 */
export class SimulatedLog extends MemoryLog {
  readonly #host: Host;
  readonly #scheduler: Scheduler;

  constructor(shared: MemoryLogState, io: Io, host: Host, scheduler: Scheduler, observe: Observer) {
    const incarnation = host.incarnation;
    super(shared, (operation, run) =>
      io(operation, () => {
        const result = run();
        if ((result as AppendResult | undefined)?.kind === 'appended') observe(host, incarnation);
        return result;
      }),
    );
    this.#host = host;
    this.#scheduler = scheduler;
  }

  override async append(entry: Entry, epoch: Epoch): Promise<AppendResult> {
    const isFull =
      this.#scheduler.now < this.#host.logFullUntil ||
      this.#scheduler.chance(this.#host.faults.refused);
    if (isFull) await this.state();
    return isFull ? { kind: 'refused', reason: 'full' } : super.append(entry, epoch);
  }

  override async *watch(from: Sequence, signal: AbortSignal): AsyncGenerator<Entry[], undefined> {
    for await (const entries of super.watch(from, signal)) {
      const isWrong = this.#scheduler.chance(this.#host.faults.watchErrs);
      const fault = isWrong
        ? this.#scheduler.pick(['end', 'silent', 'lose', 'reverse', 'repeat'])
        : null;
      if (fault === 'silent') await aborted(signal);
      if (fault === 'end' || fault === 'silent') return;
      if (fault === 'lose') yield entries.slice(1);
      else yield fault === 'reverse' ? entries.toReversed() : entries;
      if (fault === 'repeat') yield entries;
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Called in the moment in which the log takes an entry. */
export type Observer = (host: Host, incarnation: number) => void;
