/** Documents as the server lists them, as JSON texts, so that no number loses digits. */
import { pathOf, type Client } from './client.ts';
import { member, members } from './raw-json.ts';

export interface DocumentTexts {
  readonly results: readonly string[];
  readonly total: number;
}

/** @param filter empty: all documents */
export async function fetchDocuments(
  client: Client,
  uid: string,
  page: { filter: string; offset: number; limit: number },
  signal: AbortSignal,
): Promise<DocumentTexts> {
  const { filter, offset, limit } = page;
  const body = { offset, limit, filter: filter === '' ? null : filter };
  const path = pathOf(['indexes', uid, 'documents', 'fetch']);
  const text = await (await client.open('POST', path, { body, signal })).text();
  return {
    results: members(member(text, 'results')!).map((one) => one.text),
    total: Number(member(text, 'total')),
  };
}

export async function countDocuments(
  client: Client,
  uid: string,
  filter: string,
  signal: AbortSignal,
): Promise<number> {
  return (await fetchDocuments(client, uid, { filter, offset: 0, limit: 0 }, signal)).total;
}
