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

/** Crashes that fail a task, when the last one happened while nothing else ran. */
export const CRASHES_MAX = 2;
/** The same for deaths without a trace: a person or a program sent SIGKILL. */
export const KILLS_MAX = 10;
/** From this number of kills on a task runs alone, so that the next one says something about it. */
const KILLS_ALONE = 2;

/** How the process died while a task was running, over all starts of the server. */
interface Deaths {
  /** Fatal signals, uncaught errors, and kills by the kernel because memory had run out. */
  crashes: number;
  /** Deaths that left no trace. */
  kills: number;
  /** The task is not run again. */
  condemned: boolean;
}

/** The running batches, as the file has them behind its first byte. */
interface Running {
  /** Of the kernel: another one says that the machine stopped, not the process. */
  boot: string;
  /** Processes that the kernel had killed for want of memory, when the last batch began. */
  outOfMemory: number;
  /** Task uids of each batch, as runs. */
  batches: number[][];
  /** Those that only wait for other servers. They count when nothing else was running. */
  detached: number[][];
}

/** Age at which the number of processes killed for want of memory is read again. */
const OUT_OF_MEMORY_AGE_MS = 1000;

/** First byte of the file; a fatal signal replaces it, see `native/base/crash_mark.h`. */
const ALIVE = ' ';
const CRASHED = '!';

/**
 * Which tasks were running when the process died, and how often.
 *
 * The file `running` in the data folder names the tasks of the running batches. It is written when a batch begins and
 * not synced: what has been written survives the process, and when the machine itself stops, the file says nothing
 * about a task. The next start adds what it finds there to the file `suspects`.
 *
 * A task that crashed the process before runs alone; when the process crashes again then, the task is not run any more.
 * A kill without a trace may have any cause, so it takes {@link KILLS_MAX} of them.
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

  /** What the last process left. */
  readonly #left: { crashed: boolean; running: Running } | null;

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
   * Adds the death of the last process to the tasks that were running then. To be called once, when the tasks whose end
   * that process had not recorded are concluded and before a batch begins.
   * @param waits whether a task is not finished
   * @returns what to log
   */
  settle(waits: (uid: number) => boolean): string[] {
    const notices: string[] = [];
    const left = this.#left;
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

  /** The batch is detached from now on, see `RunContext.detach`. */
  detach(batchUid: number): void {
    const runs = this.#running.get(batchUid);
    if (runs === undefined) return;
    this.#detached.set(batchUid, runs);
    this.#running.delete(batchUid);
    this.#write();
  }

  /** Not written: a task that has ended does not count when the process dies later. */
  end(batchUid: number): void {
    this.#running.delete(batchUid);
    this.#detached.delete(batchUid);
  }

  /** The task has ended. */
  forget(uid: number): void {
    this.#suspects.delete(uid);
  }

  /** The process is about to end of its own accord, which is no death. */
  excuse(): void {
    if (this.#crashed) return;
    this.#isExcused = true;
    this.#write();
  }

  /** Takes `excuse` back: batches run again. */
  resume(): void {
    this.#isExcused = false;
    this.#write();
  }

  get hasSuspects(): boolean {
    return this.#suspects.size > 0;
  }

  /** Whether the task is to run alone. */
  isSuspect(uid: number): boolean {
    const deaths = this.#suspects.get(uid);
    return deaths !== undefined && (deaths.crashes > 0 || deaths.kills >= KILLS_ALONE);
  }

  /** Why the task is not to be run again; null: it is. */
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
    // What a longer text left behind the line does not count.
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

/** null: there is no such file, or a death cut it off. */
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

/** Of the whole machine since it booted; 0 where the system does not tell. */
function outOfMemoryKills(): number {
  return Number(/^oom_kill (\d+)$/m.exec(textOf('/proc/vmstat'))?.[1] ?? 0);
}

/** Empty when it cannot be read. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
