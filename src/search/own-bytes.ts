import { ApiError } from '../contract/errors.ts';

/** Maximum bytes of the result of a search, and of the documents it finds. */
const RESULT_BYTES_MAX = 32 * 2 ** 20;

/**
 * Copies a result so that it can be transferred to a thread: the result's buffer is larger and is
 * reused. Throws `ApiError` if the result is too large.
 * @param remedy what the user can do then
 */
export function ownBytes(result: Buffer, remedy: string): Uint8Array {
  if (result.length <= RESULT_BYTES_MAX) return new Uint8Array(result);
  throw new ApiError(
    'bad_request',
    `The documents found have more than ${RESULT_BYTES_MAX} bytes; ${remedy}.`,
  );
}
