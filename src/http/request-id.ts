/** Names of requests, by which a client's answer and the lines of the log are found together. */
import { randomBytes } from 'node:crypto';

/** Of this process; the number of a request follows. */
const PREFIX = `${randomBytes(6).toString('base64url')}-`;

/** What is taken over from a client or proxy: nothing that breaks a line, and nothing long. */
const TAKEN_OVER = /^[\w.:-]{1,64}$/;

let last = 0;

/** @param given the header `X-Request-Id` of the request */
export function requestIdOf(given: string | undefined): string {
  if (given !== undefined && TAKEN_OVER.test(given)) return given;
  return PREFIX + (++last).toString(36);
}
