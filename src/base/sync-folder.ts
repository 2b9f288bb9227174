import { closeSync, fsyncSync, openSync } from 'node:fs';

/**
 * Makes the entries of a folder durable: files created, renamed or removed, and folders created.
 */
export function syncFolder(dir: string): void {
  const fd = openSync(dir, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
