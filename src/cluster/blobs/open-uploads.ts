/**
 * Notes about uploads in parts that this server has begun, so that its next start aborts those that
 * a kill has left: their parts cost money and nothing shows them. A bucket may have uploads of
 * other servers under the same name, so only the id of an upload says whose it is.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../base/make-folder.ts';
import { syncPath } from '../../base/sync-folder.ts';

export interface OpenUpload {
  readonly endpoint: string;
  readonly bucket: string;
  readonly prefix: string;
  readonly name: string;
  readonly uploadId: string;
}

export class OpenUploads {
  readonly #folder: string;

  /** @param folder for a file per upload; made when needed */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The note is durable before a part is sent. @returns its name */
  async begun(upload: OpenUpload): Promise<string> {
    makeFolder(this.#folder);
    const note = `${randomUUID()}.json`;
    await writeFile(join(this.#folder, note), JSON.stringify(upload), { flush: true });
    await syncPath(this.#folder);
    return note;
  }

  /** A note that a crash brings back does no harm: an id is never given again. */
  ended(note: string): void {
    rmSync(join(this.#folder, note), { force: true });
  }

  /** The notes with their uploads. One that was cut off was of an upload without parts. */
  left(): [note: string, upload: OpenUpload][] {
    let names: string[];
    try {
      names = readdirSync(this.#folder);
    } catch {
      return [];
    }
    return names.flatMap((note): [string, OpenUpload][] => {
      try {
        const text = readFileSync(join(this.#folder, note), 'utf8');
        return [[note, JSON.parse(text) as OpenUpload]];
      } catch {
        this.ended(note);
        return [];
      }
    });
  }
}
