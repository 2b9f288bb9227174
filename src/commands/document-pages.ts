/** The documents of an index of a running server, as the bytes that it sends. */
import { objectLines } from '../archive/json-values.ts';
import { MalformedJson } from '../base/json-scanner.ts';
import { readListing } from '../network/listing.ts';
import { jsonBody, RefusedRequest } from '../outbound/api-peer.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import type { Connection } from './connection.ts';

const FIRST_LIMIT = 100;
const LIMIT_MAX = 10_000;
/** Bytes that a page is to have, about. */
const PAGE_BYTES = 8 * 2 ** 20;
const PAGE_BYTES_MAX = 256 * 2 ** 20;

export interface Page {
  /** One document a line; numbers are as they were sent. */
  lines: Buffer;
  documents: number;
  /** Documents that there are, as the server says with this page. */
  total: number;
}

export interface PagesOf {
  index: string;
  filter: string | null;
  withVectors: boolean;
}

/**
 * Pages one after another, of sizes that follow those of the documents. A server that is written to
 * meanwhile may leave out documents or send some twice. Throws `RefusedRequest` and
 * `OutboundError`.
 */
export async function* documentPages(
  connection: Connection,
  { index, filter, withVectors }: PagesOf,
): AsyncGenerator<Page, undefined> {
  let limit = FIRST_LIMIT;
  for (let offset = 0; ;) {
    const query = {
      offset,
      limit,
      retrieveVectors: withVectors,
      ...(filter !== null && { filter }),
    };
    let answer: Buffer;
    try {
      answer = await connection.send({
        method: 'POST',
        path: `/indexes/${encodeURIComponent(index)}/documents/fetch`,
        body: jsonBody(query),
        responseBytesMax: PAGE_BYTES_MAX,
      });
    } catch (error) {
      const isTooLarge = error instanceof OutboundError && error.failure === 'responseTooLarge';
      if (!isTooLarge || limit === 1) throw error;
      limit = Math.ceil(limit / 10);
      continue;
    }
    const page = await pageOf(answer);
    if (page.documents === 0) return;
    yield page;
    offset += page.documents;
    if (offset >= page.total) return;
    limit = Math.ceil((limit * PAGE_BYTES) / answer.length);
    limit = Math.max(1, Math.min(LIMIT_MAX, limit));
  }
}

async function pageOf(answer: Buffer): Promise<Page> {
  try {
    const { documents, total } = await readListing(answer);
    const parts: Buffer[] = [];
    for await (const lines of objectLines(documents)) parts.push(lines);
    return { lines: Buffer.concat(parts), documents: documents.length, total };
  } catch (error) {
    if (!(error instanceof MalformedJson)) throw error;
    throw new RefusedRequest(200, { message: 'the answer is no page of documents' }, null);
  }
}
