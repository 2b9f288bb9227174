import {
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { fromRuns, runsOf } from '../base/uid-runs.ts';
import { loadAddon } from '../engine/addon.ts';

/** A task fails after this many crashes, if nothing else was running during the last one. */
export const CRASHES_MAX = 2;
/** The same for deaths without a trace, which occur when a person or a program sends SIGKILL. */
export const KILLS_MAX = 10;
/** After this many kills a task runs alone, so that the next kill can be attributed to it. */
const KILLS_ALONE = 2;

/** How often the process died while a task was running, over all starts of the server. */
interface Deaths {
  /** Fatal signals, uncaught errors, and kills by the kernel because memory had run out. */
  crashes: number;
  /** Deaths that left no trace. */
  kills: number;
  /** Whether the task must not run again. */
  condemned: boolean;
}

/** The running batches, as stored in the file after its first byte. */
interface Running {
  /** Boot id of the kernel. If it differs, the machine stopped, not only the process. */
  boot: string;
  /**
   * Number of processes that the kernel had killed because memory ran out, when the last batch
   * began.
   */
  outOfMemory: number;
  /** Task uids of each batch, as runs. */
  batches: number[][];
  /** The batches that only wait for other servers. They count when nothing else was running. */
  detached: number[][];
}

/** Age at which the number of processes killed because memory ran out is read again, ms. */
const OUT_OF_MEMORY_AGE_MS = 1000;

/** First byte of the file; a fatal signal replaces it, see `native/base/crash_mark.h`. */
const ALIVE = ' ';
const CRASHED = '!';

/**
 * Records which tasks were running when the process died, and how often.
 *
 * The file `running` in the data folder names the tasks of the running batches. It is written when
 * a batch begins, and not synced: it survives the death of the process, and if the machine itself
 * stops, it says nothing about a task. The next start adds its content to the file `suspects`.
 *
 * A task that crashed the process runs alone the next time. If the process crashes again then, the
 * task is not run any more. A kill without a trace may have any cause, so it takes {@link
 * KILLS_MAX} of them.
 */
export class CrashRecord {
  readonly #file: string;
  readonly #suspectsFile: string;
  readonly #boot = textOf('/proc/sys/kernel/random/boot_id').trim();
  readonly #suspects = new Map<number, Deaths>();
  readonly #running = new Map<number, number[]>();
  readonly #detached = new Map<number, number[]>();
  #outOfMemory = { at: -Infinity, kills: 0 };
  #descriptor: number;
  #crashed = false;
  #isExcused = false;

  /** What the last process left; null once it is counted. */
  #left: { crashed: boolean; running: Running } | null;

  readonly #onUncaught = (): void => {
    this.#crashed = true;
    writeSync(this.#descriptor, CRASHED, 0);
  };
  readonly #onExit = (): void => this.excuse();

  /** @param dir the data folder */
  constructor(dir: string) {
    this.#file = join(dir, 'running');
    this.#suspectsFile = join(dir, 'suspects');
    this.#left = readRunning(this.#file);
    for (const { runs, ...deaths } of readSuspects(this.#suspectsFile)) {
      for (const uid of fromRuns(runs)) this.#suspects.set(uid, { ...deaths });
    }
    this.#descriptor = openSync(this.#file, this.#left === null ? 'w' : 'r+', 0o600);
    process.on('uncaughtExceptionMonitor', this.#onUncaught);
    process.on('exit', this.#onExit);
  }

  /**
   * Counts the death of the last process for the tasks that were running then, at the first call.
   * Call this after the tasks whose end that process had not recorded are concluded, and before a
   * batch begins.
   * @param waits whether a task is not finished
   * @returns messages to log
   */
  settle(waits: (uid: number) => boolean): string[] {
    const notices: string[] = [];
    const left = this.#left;
    // A node of a cluster calls this each time it begins to lead.
    this.#left = null;
    for (const uid of this.#suspects.keys()) if (!waits(uid)) this.#suspects.delete(uid);
    if (left !== null && left.running.boot === this.#boot) {
      const { batches, detached, outOfMemory } = left.running;
      const lackedMemory = outOfMemoryKills() > outOfMemory;
      const crashed = left.crashed || lackedMemory;
      const waitingIn = (runs: number[][]): number[] =>
        runs.flatMap((one) => [...fromRuns(one)]).filter(waits);
      const undetached = waitingIn(batches);
      const uids = undetached.length > 0 ? undetached : waitingIn(detached);
      const how = lackedMemory
        ? 'was killed for want of memory'
        : crashed
          ? 'crashed'
          : 'was killed';
      for (const uid of uids) this.#add(uid, crashed, uids.length === 1);
      if (uids.length > 0) notices.push(`the server ${how} while it ran ${named(uids)}`);
    }
    this.#storeSuspects();
    this.#write();
    loadAddon().markCrashes(this.#descriptor);
    return notices;
  }

  #add(uid: number, crashed: boolean, alone: boolean): void {
    const { crashes, kills } = this.#suspects.get(uid) ?? { crashes: 0, kills: 0 };
    const now = { crashes: crashes + (crashed ? 1 : 0), kills: kills + (crashed ? 0 : 1) };
    const condemned = alone && (now.crashes >= CRASHES_MAX || now.kills >= KILLS_MAX);
    this.#suspects.set(uid, { ...now, condemned });
  }

  begin(batchUid: number, uids: readonly number[]): void {
    this.#running.set(batchUid, runsOf(uids));
    this.#write();
  }

  /** Marks the batch as detached, see `RunContext.detach`. */
  detach(batchUid: number): void {
    const runs = this.#running.get(batchUid);
    if (runs === undefined) return;
    this.#detached.set(batchUid, runs);
    this.#running.delete(batchUid);
    this.#write();
  }

  /** Not written to the file: a task that has ended does not count when the process dies later. */
  end(batchUid: number): void {
    this.#running.delete(batchUid);
    this.#detached.delete(batchUid);
  }

  /** Call this when the task has ended. */
  forget(uid: number): void {
    this.#suspects.delete(uid);
  }

  /** Call this when the process is about to exit by itself, which does not count as a death. */
  excuse(): void {
    if (this.#crashed) return;
    this.#isExcused = true;
    this.#write();
  }

  /** Undoes `excuse`: batches run again. */
  resume(): void {
    this.#isExcused = false;
    this.#write();
  }

  get hasSuspects(): boolean {
    return this.#suspects.size > 0;
  }

  /** Whether the task must run alone. */
  isSuspect(uid: number): boolean {
    const deaths = this.#suspects.get(uid);
    return deaths !== undefined && (deaths.crashes > 0 || deaths.kills >= KILLS_ALONE);
  }

  /** Why the task must not run again, or null. */
  verdict(uid: number): string | null {
    const deaths = this.#suspects.get(uid);
    if (deaths?.condemned !== true) return null;
    const { crashes, kills } = deaths;
    const how =
      crashes >= CRASHES_MAX
        ? `crashed ${crashes} times`
        : `ended ${crashes + kills} times without a trace, as by SIGKILL,`;
    return `The server ${how} while it ran this task, the last time while it ran nothing else. The task is not tried again.`;
  }

  close(): void {
    loadAddon().markCrashes(-1);
    this.excuse();
    process.off('uncaughtExceptionMonitor', this.#onUncaught);
    process.off('exit', this.#onExit);
    closeSync(this.#descriptor);
  }

  #write(): void {
    const running: Running = {
      boot: this.#boot,
      outOfMemory: this.#outOfMemoryKills(),
      batches: this.#isExcused ? [] : [...this.#running.values()],
      detached: this.#isExcused ? [] : [...this.#detached.values()],
    };
    // A longer text may have left bytes after the line. They are ignored.
    writeSync(this.#descriptor, `${ALIVE}${JSON.stringify(running)}\n`, 0);
  }

  #outOfMemoryKills(): number {
    const now = performance.now();
    if (now - this.#outOfMemory.at > OUT_OF_MEMORY_AGE_MS) {
      this.#outOfMemory = { at: now, kills: outOfMemoryKills() };
    }
    return this.#outOfMemory.kills;
  }

  #storeSuspects(): void {
    if (this.#suspects.size === 0) {
      rmSync(this.#suspectsFile, { force: true });
      return;
    }
    const uidsOf = new Map<string, number[]>();
    for (const [uid, deaths] of [...this.#suspects].sort(([a], [b]) => a - b)) {
      const key = JSON.stringify(deaths);
      const uids = uidsOf.get(key);
      if (uids === undefined) uidsOf.set(key, [uid]);
      else uids.push(uid);
    }
    const lines = [...uidsOf].map(([deaths, uids]) => ({
      ...(JSON.parse(deaths) as Deaths),
      runs: runsOf(uids),
    }));
    writeFileSync(`${this.#suspectsFile}.tmp`, JSON.stringify(lines), { mode: 0o600 });
    renameSync(`${this.#suspectsFile}.tmp`, this.#suspectsFile);
  }
}

const NAMED_TASKS = 5;

function named(uids: readonly number[]): string {
  const first = uids.slice(0, NAMED_TASKS).join(', ');
  const rest = uids.length - NAMED_TASKS;
  return `${uids.length === 1 ? 'task' : 'tasks'} ${first}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** Returns null when there is no such file, or when a death truncated it. */
function readRunning(file: string): { crashed: boolean; running: Running } | null {
  const text = textOf(file);
  try {
    const running = JSON.parse(text.slice(1, text.indexOf('\n'))) as Running;
    const { boot, outOfMemory, batches, detached } = running;
    const isSound =
      typeof boot === 'string' &&
      typeof outOfMemory === 'number' &&
      [...batches, ...detached].every(areRuns);
    return isSound ? { crashed: text.startsWith(CRASHED), running } : null;
  } catch {
    return null;
  }
}

function readSuspects(file: string): (Deaths & { runs: number[] })[] {
  try {
    const lines = JSON.parse(textOf(file)) as (Deaths & { runs: number[] })[];
    return lines.every(({ runs }) => areRuns(runs)) ? lines : [];
  } catch {
    return [];
  }
}

function areRuns(value: unknown): boolean {
  return Array.isArray(value) && value.length % 2 === 0 && value.every(Number.isSafeInteger);
}

/** Counts for the whole machine since it booted; 0 where the system does not provide it. */
function outOfMemoryKills(): number {
  return Number(/^oom_kill (\d+)$/m.exec(textOf('/proc/vmstat'))?.[1] ?? 0);
}

/** Empty when the file cannot be read. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
