import type { BlobName } from './blobs/blobs.ts';

/** There is no leader, or it is another node by now. Nothing was written; another attempt may succeed. */
export class NoLeaderError extends Error {
  override readonly name = 'NoLeaderError';
}

/** Writes are refused for a while: the log or the object store has no space or cannot be reached. Nothing was written. */
export class WritesRefusedError extends Error {
  override readonly name = 'WritesRefusedError';
}

/** Nobody can say any more whether the commit is in the log. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
}

/** The log or the object store did not answer, or not completely. A change that was asked for may still happen. */
export class UnavailableError extends Error {
  override readonly name: string = 'UnavailableError';
}

/** The log no longer holds the entries that were asked for: a checkpoint covers them. */
export class TrimmedError extends Error {
  override readonly name = 'TrimmedError';
}

/** Bytes from the log or the object store are not what they claim to be. Never applied. */
export class DamagedError extends Error {
  override readonly name = 'DamagedError';
}

/** The record was written by a newer version of the program. */
export class NewerFormatError extends Error {
  override readonly name = 'NewerFormatError';
}

/** What the node was started with does not fit the cluster. The message says what to change. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

export class BlobMissingError extends Error {
  override readonly name = 'BlobMissingError';

  constructor(name: BlobName) {
    super(`The object ${name} does not exist`);
  }
}
