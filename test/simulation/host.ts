/** A simulated machine: its clock, its disk, its connections, and the process that runs on it. */
import { type BlobSource, bufferSource } from '../../src/cluster/blobs/blobs.ts';
import type { Checkpoint } from '../../src/cluster/checkpoint.ts';
import { RefusedError, UnavailableError } from '../../src/cluster/errors.ts';
import type { Io } from '../support/io.ts';
import type { CommitRecord, FileRef } from '../../src/cluster/record.ts';
import type { LocalCheckpoint, LocalFile, Replica } from '../../src/cluster/replica.ts';
import type { Runtime } from '../../src/cluster/runtime.ts';
import { after, digestOf, EMPTY, filesOf, INDEX, type State, STORE, textOf } from './model.ts';
import type { Scheduler } from './scheduler.ts';

/** Each is the probability of a fault. */
export interface Faults {
  /** Per operation on the log or the object store. */
  lost: number;
  /** A request whose outcome stays unknown arrives long after. */
  late: number;
  twice: number;
  /** Per append: the log takes no writes at the moment. */
  refused: number;
  /** Per operation of the disk. */
  diskFails: number;
  /** Per read of an object. */
  damaged: number;
  /** Per operation that is rare and changes something: the process is paused right after it. */
  pausedAfter: number;
  /** Per batch of a watch. */
  watchErrs: number;
}

export const NO_FAULTS: Faults = {
  ...{
    lost: 0,
    late: 0,
    twice: 0,
    diskFails: 0,
    damaged: 0,
    watchErrs: 0,
    pausedAfter: 0,
    refused: 0,
  },
};

const RARE = /^(?:update|campaign|list)/;

const TIMEOUT_MS = 800;

/** What survives the process. */
export interface Disk {
  state: State;
  cluster: string | null;
  /** By database and name. */
  readonly files: Map<string, Buffer>;
}

export class Host {
  readonly name: string;
  readonly disk: Disk = { state: EMPTY, cluster: null, files: new Map() };
  readonly faults: Faults;
  /** Grows with each start and each kill. What belongs to an earlier one no longer happens. */
  incarnation = 0;
  isRunning = false;
  pausedUntil = 0;
  wallOffset = 0;
  elapsedOffset = 0;
  /** Until then no request reaches what is outside. */
  logCutUntil = 0;
  /** Until then requests reach the log, and its responses do not come back. */
  logDeafUntil = 0;
  logFullUntil = 0;
  blobsCutUntil = 0;
  peersCutUntil = 0;
  readonly #scheduler: Scheduler;

  constructor(name: string, scheduler: Scheduler, faults: Faults) {
    this.name = name;
    this.#scheduler = scheduler;
    this.faults = faults;
  }

  /** Runs in the process, once that is not paused; never when it was killed. */
  deliver(incarnation: number, run: () => void): void {
    if (incarnation !== this.incarnation) return;
    const pause = this.pausedUntil - this.#scheduler.now;
    if (pause <= 0) run();
    else
      this.#scheduler.after(pause + this.#scheduler.random(), () => this.deliver(incarnation, run));
  }

  /** Operations over a network that loses, delays and repeats. */
  io(typicalMs: number, isCut: () => boolean, isDeaf = (): boolean => false): Io {
    const { incarnation } = this;
    return (operation, run) =>
      new Promise((resolve, reject) => {
        if (incarnation !== this.incarnation) return;
        const scheduler = this.#scheduler;
        const { lost, late, twice } = this.faults;
        const execute = (ms: number, settle: typeof resolve | null): void =>
          scheduler.after(ms, () => {
            const { value, error } = outcomeOf(run);
            if (RARE.test(operation) && scheduler.chance(this.faults.pausedAfter)) {
              this.pausedUntil = scheduler.now + scheduler.random() * 4000;
            }
            if (settle === null) return;
            scheduler.after(scheduler.latency(typicalMs), () => {
              this.deliver(incarnation, () => (error === null ? settle(value!) : reject(error)));
            });
          });
        const fail = (): void =>
          scheduler.after(TIMEOUT_MS, () => {
            const error = new UnavailableError(`${operation} has timed out`);
            this.deliver(incarnation, () => reject(error));
          });
        const delay = scheduler.latency(typicalMs);
        const fate = scheduler.random();
        if (isCut() || fate < lost / 2) fail();
        else if (isDeaf() || fate < lost) {
          execute(delay, null);
          fail();
        } else if (fate < lost + late) {
          execute(TIMEOUT_MS + scheduler.random() * 4000, null);
          fail();
        } else {
          execute(delay, resolve);
          if (scheduler.chance(twice)) execute(delay + scheduler.random() * 3000, null);
        }
      });
  }

  /** Operations of the disk: each happens as a whole or not at all. */
  diskIo(): Io {
    const { incarnation } = this;
    return (operation, run) =>
      new Promise((resolve, reject) => {
        const scheduler = this.#scheduler;
        scheduler.after(scheduler.latency(2), () => {
          this.deliver(incarnation, () => {
            if (scheduler.chance(this.faults.diskFails)) {
              reject(new Error(`${operation}: no space left on the disk`));
              return;
            }
            const { value, error } = outcomeOf(run);
            // The process may be killed between what the disk does and its result.
            scheduler.after(scheduler.random(), () => {
              this.deliver(incarnation, () => (error === null ? resolve(value!) : reject(error)));
            });
          });
        });
      });
  }

  runtime(
    probe: (url: string) => 'alive' | 'dead' | 'unknown',
    log: (text: string) => void,
  ): Runtime {
    const { incarnation } = this;
    const scheduler = this.#scheduler;
    return {
      now: () => 1e12 + scheduler.now + this.wallOffset,
      elapsed: () => scheduler.now + this.elapsedOffset,
      random: () => scheduler.random(),
      log,
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          const wake = (): void => {
            signal.removeEventListener('abort', wake);
            resolve();
          };
          if (signal.aborted) resolve();
          else signal.addEventListener('abort', wake, { once: true });
          scheduler.after(ms, () => this.deliver(incarnation, wake));
        }),
      probe: (url) =>
        new Promise((resolve) => {
          scheduler.after(scheduler.latency(3), () => {
            const found = scheduler.now < this.peersCutUntil ? 'unknown' : probe(url);
            this.deliver(incarnation, () => resolve(found));
          });
        }),
    };
  }
}

function outcomeOf<T>(run: () => T): { value?: T; error: unknown } {
  try {
    return { value: run(), error: null };
  } catch (error) {
    return { error };
  }
}

/** The databases of a host while one process runs. */
export class SimulatedReplica implements Replica {
  readonly #disk: Disk;
  readonly #io: Io;
  readonly #onApply: (record: CommitRecord, before: State) => void;
  /** Commits of this process that have not ended. */
  readonly #own = new Map<Promise<unknown>, Buffer | null>();
  #view: State;

  constructor(host: Host, onApply: (record: CommitRecord, before: State) => void) {
    this.#disk = host.disk;
    this.#io = host.diskIo();
    this.#onApply = onApply;
    this.#view = host.disk.state;
  }

  /** What reads see. */
  get view(): State {
    return this.#view;
  }

  get applied(): number {
    return this.#view.applied;
  }

  get cluster(): string | null {
    return this.#disk.cluster;
  }

  get isEmpty(): boolean {
    return this.#disk.state.tasks.size === 0 && this.#disk.state.manifest.size === 0;
  }

  async adopt(cluster: string, applied: 0 | 1): Promise<void> {
    await this.#io('adopt', () => {
      this.#disk.cluster = cluster;
      this.#disk.state = { ...this.#disk.state, applied };
    });
    this.#view = this.#disk.state;
  }

  hasFile(database: string, file: FileRef): Promise<boolean> {
    return this.#io('look', () => {
      const found = this.#disk.files.get(`${database}/${file.name}`);
      return found !== undefined && digestOf(found).equals(file.sha256);
    });
  }

  async sourceOf(database: string, file: FileRef): Promise<BlobSource | null> {
    const found = this.#disk.files.get(`${database}/${file.name}`);
    const isWhole = found !== undefined && digestOf(found).equals(file.sha256);
    return isWhole ? bufferSource(found, file.sha256) : null;
  }

  async writeFile(
    database: string,
    file: FileRef,
    content: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const pieces: Uint8Array[] = [];
    for await (const piece of content) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    await this.#io('write', () => this.#disk.files.set(`${database}/${file.name}`, bytes));
  }

  /** A file of a commit that is being made, under a name that no other commit uses. */
  async writeLocal(database: string, name: string, bytes: Buffer): Promise<void> {
    await this.#io('write', () => this.#disk.files.set(`${database}/${name}`, bytes));
  }

  /**
   * Runs a commit of this process. As in the server, records of others are not applied before it
   * has ended.
   * @param run is given what to call with the record that the commit becomes
   */
  async commit<T>(run: (becomes: (delta: Buffer) => void) => Promise<T>): Promise<T> {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    this.#own.set(ended, null);
    try {
      return await run((delta) => this.#own.set(ended, delta));
    } finally {
      this.#own.delete(ended);
      end();
    }
  }

  async apply(record: CommitRecord): Promise<void> {
    const isOwn = [...this.#own.values()].some((delta) => delta?.equals(record.delta) === true);
    if (record.database === STORE && !isOwn) await Promise.all(this.#own.keys());
    const state = after(this.#view, record);
    await this.#io('apply', () => {
      this.#onApply(record, this.#disk.state);
      this.#disk.state = state;
    });
    this.#view = state;
  }

  prepareInstall(): void {}

  async checkpoint(): Promise<LocalCheckpoint> {
    const state = this.#view;
    const local = (name: string, kind: LocalFile['kind'], database: string, bytes: Buffer) => ({
      ...{ database, name, kind },
      source: async () => bufferSource(bytes, digestOf(bytes)),
    });
    const copy = Buffer.from(textOf(state));
    const files = [STORE, INDEX].flatMap((database) =>
      filesOf(state, database).map((name) =>
        local(name, 'file', database, this.#disk.files.get(`${database}/${name}`)!),
      ),
    );
    await this.#io('checkpoint', () => {});
    return { files: [local('copy', 'copy', STORE, copy), ...files], release: async () => {} };
  }

  async install(checkpoint: Checkpoint): Promise<void> {
    const state = await this.#io('install', () => {
      // A recovery may begin with nothing.
      if (checkpoint.databases.length === 0) return (this.#disk.state = EMPTY);
      const copy = this.#disk.files.get(`${STORE}/copy`)!;
      const [applied, tasks, manifest] = JSON.parse(copy.toString()) as [
        ...[number, [string, string][], [string, string][]],
      ];
      if (applied !== checkpoint.sequence)
        throw new RefusedError('The copy is of another sequence');
      this.#disk.state = { applied, tasks: new Map(tasks), manifest: new Map(manifest) };
      return this.#disk.state;
    });
    this.#view = state;
  }
}
