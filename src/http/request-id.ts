/** Ids of requests, which relate a client's response to the lines of the log. */
import { randomBytes } from 'node:crypto';

/** Prefix of this process; the number of the request follows. */
const PREFIX = `${randomBytes(6).toString('base64url')}-`;

/** Ids accepted from a client or proxy: they break no line and are not long. */
const TAKEN_OVER = /^[\w.:-]{1,64}$/;

let last = 0;

/** @param given the header `X-Request-Id` of the request */
export function requestIdOf(given: string | undefined): string {
  if (given !== undefined && TAKEN_OVER.test(given)) return given;
  return PREFIX + (++last).toString(36);
}
