import { ApiError, type ErrorLocation, toApiError } from '../contract/errors.ts';

/** The error code of a canceled batch. Not a code of the API. */
export const CANCELED = 'canceled';

/** A batch was stopped by `cancelBatch`: it has changed nothing. */
export class BatchCanceled extends Error {
  override readonly name = 'BatchCanceled';

  constructor() {
    super('the batch was canceled');
  }
}

/** Converts an error thrown by the engine. */
export function fromEngine(thrown: unknown): Error {
  const { code, at = {} } = thrown as { code?: unknown; at?: ErrorLocation };
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (code === CANCELED) return new BatchCanceled();
  const known = toApiError(thrown);
  if (known.code !== 'internal' || code === 'internal') return known.locatedAt(at);
  return new ApiError('internal', `The engine failed: ${message}`);
}

/** Whether stored bytes are damaged. */
export function isDamage(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'invalid_store_file';
}

/** The result of an index; adds the uid of the index to a failure. */
export async function resultFrom<T>(uid: string, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw error instanceof ApiError ? error.locatedAt({ index: uid }) : error;
  }
}
