/** Why a request got no usable response. A response with any status is not a failure. */
export type OutboundFailure =
  /** Not an absolute http(s) URL, or a header that cannot be sent. */
  | 'invalidRequest'
  /** The address policy forbids the address. */
  | 'addressRefused'
  /** The name does not resolve, the connection is refused, or TLS fails. */
  | 'unreachable'
  | 'timeout'
  /** The connection was lost before the response was complete, or the response is not HTTP. */
  | 'broken'
  | 'responseTooLarge'
  /** The caller's signal was aborted. */
  | 'canceled';

/** Failures for which a retry is pointless. */
export const FINAL_FAILURES: ReadonlySet<OutboundFailure> = new Set<OutboundFailure>([
  'addressRefused',
  'canceled',
  'invalidRequest',
  'responseTooLarge',
]);

/**
 * A request failed. The message contains the address without credentials, query and headers, so it
 * may be logged and shown.
 */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly failure: OutboundFailure;

  constructor(failure: OutboundFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}

/** The origin and path of a URL, which contain no secrets. */
export function addressOf(url: URL): string {
  return `${url.origin}${url.pathname}`;
}
