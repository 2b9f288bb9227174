/**
 * The batches of an import that a server has accepted, one per line, so that repeating the command
 * resumes an interrupted import.
 *
 * The first line identifies the import. An incomplete line, for example after a power failure, is
 * ignored: its batch is sent again, which changes nothing if documents have ids.
 */
import { type FileHandle, open, readFile, unlink } from 'node:fs/promises';
import { FileError } from './command.ts';

/** The parameters that determine the batches of an import. */
export type ImportName = Readonly<Record<string, string | null>>;

export class Journal {
  readonly #path: string;
  readonly #file: FileHandle;
  /** Task uids of earlier runs, by batch. A batch may occur several times. */
  readonly #taken: Map<string, number[]>;

  private constructor(path: string, file: FileHandle, taken: Map<string, number[]>) {
    this.#path = path;
    this.#file = file;
    this.#taken = taken;
  }

  /** Creates or continues a journal. Throws `FileError`, also if it belongs to another import. */
  static async open(path: string, name: ImportName): Promise<Journal> {
    try {
      const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return '';
        throw error;
      });
      const [first = null, ...lines] = text.split('\n').map(parsed);
      const isSame = JSON.stringify(first) === JSON.stringify(name);
      const head = `${JSON.stringify(name)}\n`;
      if (!isSame && !head.startsWith(text)) {
        throw new FileError(`${path} is not the journal of this import.`);
      }
      const taken = new Map<string, number[]>();
      for (const line of isSame ? lines : []) {
        if (line === null) continue;
        const { batch, taskUid } = line;
        if (typeof batch !== 'string' || !Number.isSafeInteger(taskUid)) continue;
        taken.set(batch, [...(taken.get(batch) ?? []), taskUid as number]);
      }
      const file = await open(path, isSame ? 'a' : 'w');
      await file.appendFile(isSame ? '\n' : head);
      await file.datasync();
      return new Journal(path, file, taken);
    } catch (error) {
      if (error instanceof FileError) throw error;
      throw unwritable(path, error);
    }
  }

  /** The uids of all tasks of earlier runs. */
  get taskUids(): number[] {
    return [...this.#taken.values()].flat();
  }

  /** Drops batches whose tasks are not among these. */
  keep(taskUids: ReadonlySet<number>): void {
    for (const [batch, uids] of this.#taken) {
      this.#taken.set(
        batch,
        uids.filter((uid) => taskUids.has(uid)),
      );
    }
  }

  /** Takes the task of a batch sent by an earlier run, each once; null: the batch must be sent. */
  take(batch: string): number | null {
    return this.#taken.get(batch)?.shift() ?? null;
  }

  /** Resolves once the line is on disk. */
  async add(batch: string, taskUid: number): Promise<void> {
    try {
      await this.#file.appendFile(`${JSON.stringify({ batch, taskUid })}\n`);
      await this.#file.datasync();
    } catch (error) {
      throw unwritable(this.#path, error);
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /** Deletes the journal of a complete import. */
  async erase(): Promise<void> {
    await unlink(this.#path);
  }
}

function parsed(line: string): Record<string, unknown> | null {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return null;
  }
}

function unwritable(path: string, error: unknown): FileError {
  return new FileError(`The journal ${path} cannot be written: ${(error as Error).message}.`);
}
