import type { BlobName } from './blobs/blobs.ts';

/**
 * There is no leader, or it is now another node. Nothing was written; another attempt may succeed.
 */
export class NoLeaderError extends Error {
  override readonly name = 'NoLeaderError';
}

/**
 * Writes are refused for a while, because the log or the object store is full or cannot be reached.
 * Nothing was written.
 */
export class WritesRefusedError extends Error {
  override readonly name = 'WritesRefusedError';
}

/** It can no longer be found out whether the commit is in the log. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
}

/**
 * The log or the object store did not respond, or not completely. A requested change may still
 * happen.
 */
export class UnavailableError extends Error {
  override readonly name: string = 'UnavailableError';
}

/** The log no longer holds the requested entries: a checkpoint covers them. */
export class TrimmedError extends Error {
  override readonly name = 'TrimmedError';
}

/** Bytes from the log or the object store are not what they claim to be. They are never applied. */
export class DamagedError extends Error {
  override readonly name = 'DamagedError';
  /** The object that is not what was stored; null: other bytes. */
  readonly object: BlobName | null;

  constructor(message: string, object: BlobName | null = null) {
    super(message);
    this.object = object;
  }
}

/** The record was written by a newer version of the program. */
export class NewerFormatError extends Error {
  override readonly name = 'NewerFormatError';
}

/** The options of this node do not fit the cluster. The message says what to change. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

export class BlobMissingError extends Error {
  override readonly name = 'BlobMissingError';
  readonly object: BlobName;

  constructor(name: BlobName) {
    super(`The object ${name} does not exist`);
    this.object = name;
  }
}

/** The object of the store that an error calls damaged or missing. */
export function damagedObject(error: unknown): BlobName | null {
  return error instanceof DamagedError || error instanceof BlobMissingError ? error.object : null;
}
