import type { BufferPool } from '../base/buffer-pool.ts';
import { responseTooLarge, type RequestLimits } from '../contract/limits.ts';
import type { PagedResult } from '../engine/page.ts';

/** A response body with its metadata: callers need not parse the bytes. */
export interface SearchResponse extends PagedResult {
  /** By query, if metadata were requested. */
  queryUids?: readonly string[];
  /** For one of several searches: measured from the start of its run. */
  durationMs?: number;
}

export function sizeOf({ bytes, page }: SearchResponse): number {
  return bytes.length + (page?.bytes ?? 0);
}

/**
 * Writes the responses that are pages still. Throws `ApiError` when they exceed the size limit of
 * responses.
 * @param extra what is added to a response: see `Page.write`
 */
export async function written(
  responses: readonly SearchResponse[],
  extra: (position: number) => string,
  limits: RequestLimits,
): Promise<SearchResponse[]> {
  let bytesLeft = limits.responseBytes;
  const out: SearchResponse[] = [];
  for (const [position, { page, ...response }] of responses.entries()) {
    const bytes = page === undefined ? response.bytes : await page.write(extra(position));
    bytesLeft -= bytes.length;
    if (bytesLeft < 0) throw responseTooLarge(limits);
    out.push({ ...response, bytes });
  }
  return out;
}

/** Concatenates the parts. Throws `ApiError` when they exceed the size limit of responses. */
export function joined(parts: readonly (Buffer | string)[], limits: RequestLimits): Buffer {
  const buffers = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
  const bytes = buffers.reduce((sum, { length }) => sum + length, 0);
  if (bytes > limits.responseBytes) throw responseTooLarge(limits);
  return Buffer.concat(buffers, bytes);
}

const RESULTS_OPEN = Buffer.from('{"results":[');
const COMMA = Buffer.from(',');
const RESULTS_CLOSE = Buffer.from(']}');

/** Joins the responses of several searches. Throws like {@link joined}. */
export function joinedResults(
  responses: readonly SearchResponse[],
  limits: RequestLimits,
  buffers: BufferPool,
): Buffer {
  const parts = responses.flatMap(({ bytes }, n) => (n === 0 ? [bytes] : [COMMA, bytes]));
  const body = joined([RESULTS_OPEN, ...parts, RESULTS_CLOSE], limits);
  for (const { bytes } of responses) buffers.giveBack(bytes);
  return body;
}
