/** Why a request got no usable answer. A status, whatever it is, is an answer. */
export type OutboundFailure =
  /** Not an absolute http(s) URL, or a header that cannot be sent. */
  | 'invalidRequest'
  /** The address policy forbids where the URL leads. */
  | 'addressRefused'
  /** The name does not resolve, nobody listens, TLS fails. */
  | 'unreachable'
  | 'timeout'
  /** The connection broke before the answer was complete, or the answer is not HTTP. */
  | 'broken'
  | 'responseTooLarge'
  /** The caller's signal. */
  | 'canceled';

/** Another attempt would fail alike. */
export const FINAL_FAILURES: ReadonlySet<OutboundFailure> = new Set<OutboundFailure>([
  'addressRefused',
  'canceled',
  'invalidRequest',
  'responseTooLarge',
]);

/**
 * Its message names the place without credentials, query and headers, so it may be logged and
 * shown.
 */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly failure: OutboundFailure;

  constructor(failure: OutboundFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}

/** Origin and path: what of a URL holds no secret. */
export function placeOf(url: URL): string {
  return `${url.origin}${url.pathname}`;
}
