import { readFileSync, writeFileSync } from 'node:fs';

/** Resident memory of a process, bytes: now, and the peak since `resetPeak`. Linux only. */
export function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) * 1024;
  return { now: bytes('VmRSS'), peak: bytes('VmHWM') };
}

/** Restarts the measurement of the peak. */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Whether this system reports peaks. */
export function canMeasurePeaks(): boolean {
  try {
    resetPeak(process.pid);
    return memoryOf(process.pid).peak > 0;
  } catch {
    return false;
  }
}
