/**
 * The batches of an import that a server has accepted, one per line, so that repeating the command
 * resumes an interrupted import.
 *
 * The first line identifies the import. An incomplete line, for example after a power failure, is
 * ignored: its batch is sent again, which changes nothing if documents have ids.
 *
 * The journal of a watched folder also has a line where a file begins and one where it has ended;
 * batches belong to the file that began last.
 */
import { type FileHandle, open, readFile, unlink } from 'node:fs/promises';
import { FileError } from './command.ts';

/** The parameters that determine the batches of an import. */
export type ImportName = Readonly<Record<string, string | null>>;

/** A file of a watched folder, as of `stamp`. */
export interface JournalFile {
  readonly file: string;
  readonly stamp: string;
}

export class Journal {
  readonly #path: string;
  readonly #file: FileHandle;
  /** Task uids of earlier runs, by batch. A batch may occur several times. */
  readonly #taken = new Map<string, number[]>();
  /** The stamps of files that have ended, by name. */
  readonly files = new Map<string, string>();
  /** The file that has begun and not ended. */
  begun: JournalFile | null = null;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
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
      const file = await open(path, isSame ? 'a' : 'w');
      await file.appendFile(isSame ? '\n' : head);
      await file.datasync();
      const journal = new Journal(path, file);
      for (const line of isSame ? lines : []) if (line !== null) journal.#read(line);
      return journal;
    } catch (error) {
      if (error instanceof FileError) throw error;
      throw unwritable(path, error);
    }
  }

  #read({ batch, taskUid, begin, end, stamp }: Record<string, unknown>): void {
    if (typeof batch === 'string' && Number.isSafeInteger(taskUid)) {
      this.#taken.set(batch, [...(this.#taken.get(batch) ?? []), taskUid as number]);
    }
    if (typeof stamp !== 'string') return;
    if (typeof begin === 'string') this.#begin({ file: begin, stamp });
    if (typeof end === 'string') this.#end({ file: end, stamp });
  }

  #begin(begun: JournalFile | null): void {
    this.#taken.clear();
    this.begun = begun;
  }

  #end({ file, stamp }: JournalFile): void {
    this.#begin(null);
    this.files.set(file, stamp);
  }

  /** Goes on with the file that has begun, or begins another one. */
  async begin(file: string, stamp: string): Promise<void> {
    if (this.begun?.file === file && this.begun.stamp === stamp) return;
    await this.#write({ begin: file, stamp });
    this.#begin({ file, stamp });
  }

  async end(file: string, stamp: string): Promise<void> {
    await this.#write({ end: file, stamp });
    this.#end({ file, stamp });
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
  add(batch: string, taskUid: number): Promise<void> {
    return this.#write({ batch, taskUid });
  }

  async #write(line: object): Promise<void> {
    try {
      await this.#file.appendFile(`${JSON.stringify(line)}\n`);
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
