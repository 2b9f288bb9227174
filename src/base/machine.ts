/** What this process may use of its machine. */
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/** With fewer open files, a start fails somewhere in libraries that do not report why. */
export const OPEN_FILES_MIN = 256;

/** How many files this process may have open; Infinity where that is unknown. */
export function openFilesMax(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const found = /^Max open files\s+(\d+)/m.exec(limits);
    return found === null ? Infinity : Number(found[1]);
  } catch {
    return Infinity;
  }
}

/** Memory of the machine or of the container, whichever is less. */
export function memoryBytes(): number {
  const limit = process.constrainedMemory();
  const total = totalmem();
  return limit > 0 && limit < total ? limit : total;
}
