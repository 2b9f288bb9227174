/** Of documents to be added, those that belong to this server. */
import { createReadStream, createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { pauser } from '../base/pauser.ts';
import { linesOf, objectLines } from '../archive/json-values.ts';
import { documentIdOf, inferredKey } from './document-id.ts';
import { Owners, type Shard } from './owner.ts';

/** Documents of one task. */
export interface Addition {
  source: { file: string } | { bytes: Uint8Array };
  /** Parameter of the task. */
  primaryKey: string | null;
  /** Where the share of a file goes. */
  output: string;
}

/** What is left of it, as lines of JSON. */
export interface Share {
  /** As given for a source that is one; null: the file is `output`. */
  bytes: Uint8Array | null;
  /** That the engine must be told, since the document that it would be inferred from may be gone; null: none. */
  primaryKey: string | null;
}

/** Longest document, bytes. */
const LINE_BYTES_MAX = 2 ** 30;
/** Of output that is handed over at a time. */
const PIECE_BYTES = 64 * 1024;

export interface Shares {
  shares: Share[];
  /** Of the index once these are added, for additions that follow; null: none. */
  indexKey: string | null;
}

/**
 * The shares of additions to one index, in their order. A document without usable id is kept: the engine refuses its task
 * as it does on every other server.
 * @param indexKey of the index; null: it has none yet
 */
export async function ownShares(
  shard: Shard,
  additions: readonly Addition[],
  indexKey: string | null,
): Promise<Shares> {
  const owners = new Owners(shard.names);
  const shares: Share[] = [];
  let known = indexKey;
  for (const addition of additions) {
    const share = await ownShare(addition, known, (id) => owners.ownerOf(id) === shard.self);
    shares.push(share);
    if (share.isSound) known ??= share.primaryKey;
  }
  return { shares, indexKey: known };
}

async function ownShare(
  { source, primaryKey, output }: Addition,
  known: string | null,
  isOwn: (id: string) => boolean,
): Promise<Share & { isSound: boolean }> {
  const input = 'file' in source ? createReadStream(source.file) : [Buffer.from(source.bytes)];
  const sink = 'file' in source ? new FileSink(output) : new MemorySink();
  let key = known ?? primaryKey;
  let isSound = true;
  const pause = pauser();
  try {
    for await (const line of linesOf(objectLines(input), LINE_BYTES_MAX)) {
      key ??= inferredKey(line);
      const id = key === null ? null : documentIdOf(line, key);
      if (id === null) isSound = false;
      if (id === null || isOwn(id)) await sink.add(line);
      await pause();
    }
    await sink.end();
  } finally {
    sink.close();
  }
  return { bytes: sink.bytes(), primaryKey: known === null ? key : null, isSound };
}

const NEWLINE = Buffer.from('\n');

class MemorySink {
  readonly #parts: Buffer[] = [];

  add(line: Buffer): void {
    this.#parts.push(line, NEWLINE);
  }

  end(): void {}

  close(): void {}

  bytes(): Uint8Array | null {
    return Buffer.concat(this.#parts);
  }
}

class FileSink {
  readonly #stream;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(path: string) {
    this.#stream = createWriteStream(path);
    this.#stream.on('error', () => {});
  }

  async add(line: Buffer): Promise<void> {
    this.#parts.push(line, NEWLINE);
    this.#bytes += line.length + 1;
    if (this.#bytes >= PIECE_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    const piece = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    if (this.#stream.errored !== null) throw this.#stream.errored;
    if (!this.#stream.write(piece)) {
      await Promise.race([once(this.#stream, 'drain'), once(this.#stream, 'close')]);
    }
  }

  async end(): Promise<void> {
    await this.#flush();
    const closed = once(this.#stream, 'close');
    this.#stream.end();
    await closed;
    if (this.#stream.errored !== null) throw this.#stream.errored;
  }

  close(): void {
    this.#stream.destroy();
  }

  bytes(): Uint8Array | null {
    return null;
  }
}
