/**
 * Where bytes are kept that all nodes share: files of segments, large records, checkpoints.
 *
 * An object is written once and never changed. Its name is never used for another content, so a request that arrives
 * late, or twice, does no harm.
 */
export type BlobName = string;

/** The content of an object; read again from the beginning when an upload is repeated. */
export interface BlobSource {
  readonly size: number;
  readonly sha256: Buffer;
  open(): AsyncIterable<Uint8Array>;
}

export interface Blobs {
  /** Resolves once the object is durable, whole, and visible to every node. May be repeated with the same content. */
  put(name: BlobName, source: BlobSource): Promise<void>;
  /** Throws `BlobMissingError`. Who reads checks size and checksum. */
  get(name: BlobName): AsyncIterable<Uint8Array>;
  /** All names that begin with `prefix`, ascending. */
  list(prefix: string): Promise<BlobName[]>;
  /** No error when there is none. */
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
    ...{ size, sha256 },
    async *open() {
      yield* pieces;
    },
  };
}
