import { readdirSync, unlinkSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncPath } from '../base/sync-folder.ts';

/**
 * The files of large payloads, each named after the uid of its task, and uploads that do not yet
 * belong to a task.
 */
export class PayloadFolder {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  path(name: string): string {
    return join(this.#dir, name);
  }

  /** The file of a task. */
  file(uid: number): string {
    return this.path(String(uid));
  }

  /** Makes an upload, which is synced, the payload of a task. Durable after `sync`. */
  move(upload: string, uid: number): Promise<void> {
    return rename(upload, this.file(uid));
  }

  /** Durable after `sync`. */
  write(uid: number, bytes: Buffer): Promise<void> {
    return writeFile(this.file(uid), bytes, { flush: true });
  }

  sync(): Promise<void> {
    return syncPath(this.#dir);
  }

  remove(uid: number): void {
    removeFile(this.file(uid));
  }

  /** Removes uploads without a task, and payloads of tasks that have ended. */
  removeOrphans(waits: (uid: number) => boolean): void {
    for (const name of readdirSync(this.#dir)) {
      if (!/^\d+$/.test(name) || !waits(Number(name))) removeFile(this.path(name));
    }
  }
}

/**
 * Removes a file of the payload folder if possible. If not, it is an orphan that the next start
 * removes.
 */
export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It does not exist any more, or the disk refuses.
  }
}
