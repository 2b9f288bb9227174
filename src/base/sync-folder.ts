import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes the names in a folder durable: of files made, renamed or removed, and of folders made. */
export function syncFolder(dir: string): void {
  const fd = openSync(dir, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
