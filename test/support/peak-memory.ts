import { readFileSync, writeFileSync } from 'node:fs';

/** Bytes of a process that are in memory: now, and at most since `resetPeak`. Linux alone. */
export function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) * 1024;
  return { now: bytes('VmRSS'), peak: bytes('VmHWM') };
}

/** The peak of the process is counted from here on. */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Whether this system tells of peaks. */
export function canMeasurePeaks(): boolean {
  try {
    resetPeak(process.pid);
    return memoryOf(process.pid).peak > 0;
  } catch {
    return false;
  }
}
