/** Process statistics from the kernel; Linux only. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export interface CpuTime {
  /** CPU time of the thread that runs JavaScript, ms. */
  mainMs: number;
  /** CPU time of all other threads: the engine, libuv, the garbage collector. ms. */
  otherMs: number;
  /**
   * Time during which threads were ready but had no core, ms: how busy other processes kept the
   * machine.
   */
  waitedMs: number;
}

/**
 * CPU seconds of a process so far, including its ended threads. The resolution is 10 ms, so use it
 * for work that takes seconds.
 */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

const TICKS_PER_SECOND = 100;

/**
 * CPU time by thread, for long-lived threads. Read from the scheduler in nanoseconds, unlike
 * `utime`, which has a resolution of 10 ms.
 */
export class CpuClock {
  readonly #pid: number;
  #last: Map<number, [ran: number, waited: number]>;

  constructor(pid: number) {
    this.#pid = pid;
    this.#last = this.#read();
  }

  /** Returns the time since the previous call or the construction. */
  lap(): CpuTime {
    const now = this.#read();
    const time: CpuTime = { mainMs: 0, otherMs: 0, waitedMs: 0 };
    for (const [tid, [ran, waited]] of now) {
      const [ranBefore, waitedBefore] = this.#last.get(tid) ?? [0, 0];
      time[tid === this.#pid ? 'mainMs' : 'otherMs'] += (ran - ranBefore) / 1e6;
      time.waitedMs += (waited - waitedBefore) / 1e6;
    }
    this.#last = now;
    return time;
  }

  #read(): Map<number, [number, number]> {
    const threads = new Map<number, [number, number]>();
    for (const name of readdirSync(`/proc/${this.#pid}/task`)) {
      try {
        const text = readFileSync(`/proc/${this.#pid}/task/${name}/schedstat`, 'utf8');
        const [ran, waited] = text.split(' ').map(Number) as [number, number];
        threads.set(Number(name), [ran, waited]);
      } catch {
        // The thread has ended meanwhile.
      }
    }
    return threads;
  }
}

const SAMPLE_MS = 50;

/** The greatest of the values that are read at regular intervals. */
class Peak {
  readonly #read: () => number;
  readonly #timer: NodeJS.Timeout;
  #peak = 0;

  constructor(read: () => number) {
    this.#read = read;
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  #sample(): void {
    this.#peak = Math.max(this.#peak, this.#read());
  }

  stop(): number {
    clearInterval(this.#timer);
    this.#sample();
    return this.#peak;
  }
}

/** Peak of the private memory (anonymous, resident) of a process, MB. */
export class MemoryPeak extends Peak {
  constructor(pid: number) {
    super(() => privateMb(pid));
  }
}

/** Peak of the disk space that the files of a folder take, MB. */
export class DiskPeak extends Peak {
  constructor(dir: string) {
    super(() => diskMb(dir));
  }
}

export function privateMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/RssAnon:\s+(\d+)/.exec(status)![1]) * 1024) / 1e6;
}

/** Disk space that the files of a folder take, counted in blocks. */
export function diskMb(dir: string): number {
  let bytes = 0;
  for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
    try {
      const stat = statSync(join(dir, name));
      if (stat.isFile()) bytes += stat.blocks * 512;
    } catch {
      // The file was deleted meanwhile.
    }
  }
  return bytes / 1e6;
}
