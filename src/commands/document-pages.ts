/** Reads the documents of an index from a running server, as the bytes that it sends. */
import { objectLines } from '../archive/json-values.ts';
import { MalformedJson } from '../base/json-scanner.ts';
import { readListing } from '../network/listing.ts';
import { jsonBody, RefusedRequest } from '../outbound/api-peer.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import type { Connection } from './connection.ts';

const FIRST_LIMIT = 100;
const LIMIT_MAX = 10_000;
/** Target size of a page in bytes. */
const PAGE_BYTES = 8 * 2 ** 20;
const PAGE_BYTES_MAX = 256 * 2 ** 20;

export interface Page {
  /** One document per line, with numbers as sent. */
  lines: Buffer;
  documents: number;
  /** The total number of documents reported with this page. */
  total: number;
}

export interface PagesOf {
  index: string;
  filter: string | null;
  withVectors: boolean;
}

/**
 * Yields all pages. The number of documents per page adapts to their size. If the index changes
 * meanwhile, documents may be missing or repeated. Throws `RefusedRequest` and `OutboundError`.
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
    let response: Buffer;
    try {
      response = await connection.send({
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
    const page = await pageOf(response);
    if (page.documents === 0) return;
    yield page;
    offset += page.documents;
    if (offset >= page.total) return;
    limit = Math.ceil((limit * PAGE_BYTES) / response.length);
    limit = Math.max(1, Math.min(LIMIT_MAX, limit));
  }
}

async function pageOf(response: Buffer): Promise<Page> {
  try {
    const { documents, total } = await readListing(response);
    const parts: Buffer[] = [];
    for await (const lines of objectLines(documents)) parts.push(lines);
    return { lines: Buffer.concat(parts), documents: documents.length, total };
  } catch (error) {
    if (!(error instanceof MalformedJson)) throw error;
    throw new RefusedRequest(200, { message: 'the response is not a page of documents' }, null);
  }
}
