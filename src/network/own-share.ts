/** Selects the documents of an addition that belong to this server. */
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { pauser } from '../base/pauser.ts';
import { linesOf, objectLines } from '../archive/json-values.ts';
import { documentIdOf, inferredKey } from './document-id.ts';
import { Owners, type Shard } from './owner.ts';

/** Documents of one task. */
export interface Addition {
  source: { file: string } | { bytes: Uint8Array };
  /** Parameter `primaryKey` of the task. */
  primaryKey: string | null;
  /** Path for the share of a file. */
  output: string;
}

/** The share of an addition, as lines of JSON. */
export interface Share {
  /** Bytes, for a source of bytes; null: the file is `output`. */
  bytes: Uint8Array | null;
  /**
   * The key to pass to the engine, since the document from which it would be inferred may not be in
   * the share; null: none.
   */
  primaryKey: string | null;
}

/** Longest document, bytes. */
const LINE_BYTES_MAX = 2 ** 30;
/** Bytes of output written at a time. */
const PIECE_BYTES = 64 * 1024;
const NEWLINE = Buffer.from('\n');

export interface Shares {
  shares: Share[];
  /** Primary key of the index once these are added, for later additions; null: none. */
  indexKey: string | null;
}

/**
 * The shares of additions to one index, in their order. Documents without a usable id are kept: the
 * engine refuses their task as on every other server.
 * @param indexKey primary key of the index; null: it has none yet
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
    if (share.isValid) known ??= share.primaryKey;
  }
  return { shares, indexKey: known };
}

async function ownShare(
  { source, primaryKey, output }: Addition,
  known: string | null,
  isOwn: (id: string) => boolean,
): Promise<Share & { isValid: boolean }> {
  const input = 'file' in source ? createReadStream(source.file) : [Buffer.from(source.bytes)];
  let key = known ?? primaryKey;
  let isValid = true;
  const pause = pauser();
  async function* ownPieces(): AsyncGenerator<Buffer, undefined> {
    let parts: Buffer[] = [];
    let bytes = 0;
    for await (const line of linesOf(objectLines(input), LINE_BYTES_MAX)) {
      key ??= inferredKey(line);
      const id = key === null ? null : documentIdOf(line, key);
      if (id === null) isValid = false;
      if (id === null || isOwn(id)) {
        parts.push(line, NEWLINE);
        bytes += line.length + 1;
      }
      if (bytes >= PIECE_BYTES) {
        yield Buffer.concat(parts);
        parts = [];
        bytes = 0;
      }
      await pause();
    }
    yield Buffer.concat(parts);
  }
  const pieces: Buffer[] = [];
  if ('file' in source) await pipeline(ownPieces, createWriteStream(output));
  else for await (const piece of ownPieces()) pieces.push(piece);
  return {
    bytes: 'file' in source ? null : Buffer.concat(pieces),
    primaryKey: known === null ? key : null,
    isValid,
  };
}
