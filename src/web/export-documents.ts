/** Writes the documents of an index to a file, page by page. */
import type { Client } from './client.ts';
import { Columns } from './csv.ts';
import { fetchDocuments } from './documents.ts';

export type ExportFormat = 'ndjson' | 'csv';

const PAGE = 1000;

interface Source {
  readonly client: Client;
  readonly uid: string;
  /** Empty: all documents. */
  readonly filter: string;
  readonly signal: AbortSignal;
}

/** The documents as JSON texts, with the digits that are stored. */
async function* pages({ client, uid, filter, signal }: Source): AsyncGenerator<readonly string[]> {
  for (let offset = 0; ; offset += PAGE) {
    const asked = { filter, offset, limit: PAGE };
    const { results: page } = await fetchDocuments(client, uid, asked, signal);
    yield page;
    if (page.length < PAGE) return;
  }
}

/**
 * CSV is read twice, because its first line names all fields.
 * @param onRead is called with the number of documents read so far
 */
export async function exportDocuments(
  source: Source,
  format: ExportFormat,
  onRead: (documents: number) => void,
): Promise<Blob> {
  const columns = new Columns();
  const parts: BlobPart[] = [];
  let read = 0;
  if (format === 'csv') {
    for await (const page of pages(source)) for (const one of page) columns.see(one);
    parts.push(columns.header());
  }
  for await (const page of pages(source)) {
    const line = (one: string): string => (format === 'csv' ? columns.row(one) : `${one}\n`);
    // A blob for each page: the browser may keep blobs on disk.
    parts.push(new Blob([page.map(line).join('')]));
    onRead((read += page.length));
  }
  return new Blob(parts, { type: format === 'csv' ? 'text/csv' : 'application/x-ndjson' });
}
