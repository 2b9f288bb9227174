/**
 * A limit of memory that the kernel enforces: a cgroup of version 2 or 1, which needs root, without
 * swap, so that exceeding the limit kills the process. Where that is not permitted, the private
 * address space is limited.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface MemoryLimit {
  /** Command put before the program. */
  wrapper: string[];
  describe: string;
  /** Reads the kernel's counters; empty where there are none. */
  read: () => Record<string, number>;
  remove: () => void;
}

function numberIn(path: string): number {
  return Number(readFileSync(path, 'utf8'));
}

/** Version 2: the limit and the counter are files of a group below the root. */
function groupV2(bytes: number): MemoryLimit {
  const dir = `/sys/fs/cgroup/gannet-${process.pid}`;
  mkdirSync(dir);
  if (!existsSync(join(dir, 'memory.max'))) {
    rmdirSync(dir);
    throw new Error('no memory controller');
  }
  writeFileSync(join(dir, 'memory.max'), String(bytes));
  if (existsSync(join(dir, 'memory.swap.max'))) writeFileSync(join(dir, 'memory.swap.max'), '0');
  const peak = join(dir, 'memory.peak');
  const kills = (): number =>
    Number(/^oom_kill (\d+)/m.exec(readFileSync(join(dir, 'memory.events'), 'utf8'))?.[1] ?? 0);
  return inGroup(dir, 'cgroup v2', () => ({
    ...(existsSync(peak) ? { groupPeakMb: numberIn(peak) / 1e6 } : {}),
    outOfMemoryKills: kills(),
  }));
}

function groupV1(bytes: number): MemoryLimit {
  const dir = `/sys/fs/cgroup/memory/gannet-${process.pid}`;
  mkdirSync(dir);
  writeFileSync(join(dir, 'memory.limit_in_bytes'), String(bytes));
  const kills = (): number =>
    Number(
      /^oom_kill (\d+)/m.exec(readFileSync(join(dir, 'memory.oom_control'), 'utf8'))?.[1] ?? 0,
    );
  return inGroup(dir, 'cgroup v1', () => ({
    groupPeakMb: numberIn(join(dir, 'memory.max_usage_in_bytes')) / 1e6,
    timesAtLimit: numberIn(join(dir, 'memory.failcnt')),
    outOfMemoryKills: kills(),
  }));
}

function inGroup(dir: string, describe: string, read: MemoryLimit['read']): MemoryLimit {
  return {
    wrapper: ['sh', '-c', `echo $$ > ${dir}/cgroup.procs && exec "$@"`, 'sh'],
    describe,
    read,
    remove: () => rmdirSync(dir),
  };
}

/** @param bytes of memory that the process behind `wrapper` may use */
export function memoryLimit(bytes: number): MemoryLimit {
  for (const make of [groupV2, groupV1]) {
    try {
      return make(bytes);
    } catch {
      // This version does not exist, or is not permitted.
    }
  }
  execFileSync('prlimit', ['--version']);
  return {
    wrapper: ['prlimit', `--data=${bytes}`],
    describe: 'prlimit --data',
    read: () => ({}),
    remove: () => {},
  };
}
