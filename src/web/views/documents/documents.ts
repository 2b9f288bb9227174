/** Documents as the server lists them. */
import type { DocumentPage } from '../../../contract/responses.ts';
import { pathOf, type Client } from '../../client.ts';

/** @param filter empty: all documents */
export function fetchDocuments(
  client: Client,
  uid: string,
  page: { filter: string; offset: number; limit: number },
  signal: AbortSignal,
): Promise<DocumentPage> {
  const { filter, offset, limit } = page;
  return client.send<DocumentPage>('POST', pathOf(['indexes', uid, 'documents', 'fetch']), {
    body: { offset, limit, filter: filter === '' ? null : filter },
    signal,
  });
}

export async function countDocuments(
  client: Client,
  uid: string,
  filter: string,
  signal: AbortSignal,
): Promise<number> {
  return (await fetchDocuments(client, uid, { filter, offset: 0, limit: 0 }, signal)).total;
}
