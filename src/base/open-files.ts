import { readFileSync } from 'node:fs';

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
