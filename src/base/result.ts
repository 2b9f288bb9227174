/**
 * An expected outcome as a value: failures that the caller has to handle are returned, not thrown.
 */
export type Result<T, E = Error> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E };

export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

export function err<E>(error: E): { readonly ok: false; readonly error: E } {
  return { ok: false, error };
}

/** The value; throws the error. For code where a failure ends the request anyway. */
export function unwrap<T>(result: Result<T, Error>): T {
  if (result.ok) return result.value;
  throw result.error;
}
