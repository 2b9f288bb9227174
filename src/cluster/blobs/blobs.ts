/**
 * Storage that all nodes share: files of segments, large records, checkpoints.
 *
 * An object is written once and never changed. Its name is never used for other content, so a
 * request that arrives late or twice does no harm.
 */
export type BlobName = string;

/** A larger object is stored in parts of this size. */
export const WHOLE_BYTES_MAX = 16 * 1024 * 1024;

/** How files are read: each piece costs a thread's work and a buffer. */
export const READING = { highWaterMark: 256 * 1024 };

/** The content of an object; read again from the beginning when an upload is retried. */
export interface BlobSource {
  readonly size: number;
  /** Known once the content was read to its end, if it is above `WHOLE_BYTES_MAX`. */
  readonly sha256: Buffer;
  open(): AsyncIterable<Uint8Array>;
}

export interface Blobs {
  /**
   * Resolves once the object is durable, complete, and visible to every node. You may repeat it
   * with the same content.
   */
  put(name: BlobName, source: BlobSource): Promise<void>;
  /**
   * Like `put`, for a small object, but only if it does not exist. Of several attempts, one
   * succeeds. False: the object exists.
   */
  putNew(name: BlobName, source: BlobSource): Promise<boolean>;
  /** Throws `BlobMissingError`. The reader checks size and checksum. */
  get(name: BlobName): AsyncIterable<Uint8Array>;
  /** All names that begin with `prefix`, ascending. */
  list(prefix: string): Promise<BlobName[]>;
  /** Deletes an object. No error when it does not exist. */
  delete(name: BlobName): Promise<void>;
}

export function bufferSource(bytes: Buffer, sum: Buffer): BlobSource {
  return piecesSource({ pieces: [bytes], size: bytes.length, sha256: sum });
}

export function piecesSource({
  pieces,
  size,
  sha256,
}: {
  pieces: readonly Uint8Array[];
  size: number;
  sha256: Buffer;
}): BlobSource {
  return {
    size,
    sha256,
    async *open() {
      yield* pieces;
    },
  };
}
