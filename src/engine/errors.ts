import { ApiError, toApiError } from '../contract/errors.ts';

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
  const { code } = thrown as { code?: unknown };
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (code === CANCELED) return new BatchCanceled();
  const known = toApiError(thrown);
  if (known.code !== 'internal' || code === 'internal') return withLocation(known);
  return new ApiError('internal', `The engine failed: ${message}`);
}

/** The prefix with which the engine names the query that an error is about. */
const QUERY = /^Inside `\.queries\[(\d+)\]`: /;

function withLocation(error: ApiError): ApiError {
  const [prefix, query] = QUERY.exec(error.text) ?? [];
  if (prefix === undefined) return error;
  const text = error.text.slice(prefix.length);
  return new ApiError(error.code, text, error.status, { query: Number(query) });
}

/** The result of an index; adds the uid of the index to a failure. */
export async function resultFrom<T>(uid: string, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw error instanceof ApiError ? error.locatedAt({ index: uid }) : error;
  }
}
