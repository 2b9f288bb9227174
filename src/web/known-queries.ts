/** Queries that are known of an index, and what they find. */
import type { ReportRow } from '../contract/responses.ts';
import { pathOf, unless, type Client } from './client.ts';
import { HITS_JUDGED, judgedIndex, type JudgedQuery } from './judged.ts';
import type { Hit } from './search-request.ts';

/** Searches in one request. */
const TOGETHER = 20;

/** Judged queries; none without their index. */
export async function judgedQueries(
  client: Client,
  uid: string,
  limit: number,
  signal: AbortSignal,
): Promise<readonly JudgedQuery[]> {
  const path = pathOf(['indexes', judgedIndex(uid), 'documents'], { limit });
  const page = client.send<{ results: JudgedQuery[] }>('GET', path, { signal });
  return (await page.catch(unless('index_not_found')))?.results ?? [];
}

/** What visitors search for most; none where nothing is recorded. */
export async function recordedQueries(
  client: Client,
  uid: string,
  limit: number,
  signal: AbortSignal,
): Promise<readonly { readonly q: string; readonly searches: number }[]> {
  const asked = { indexUids: uid, limit, finalQueries: true };
  const path = pathOf(['analytics', 'top-searches'], asked);
  const page = client.send<{ results: ReportRow[] }>('GET', path, { signal });
  const rows = (await page.catch(unless('feature_not_enabled')))?.results ?? [];
  return rows.map(({ query = '', searches }) => ({ q: query, searches }));
}

/** The ids of the first hits of each query. */
export async function hitsOf(
  client: Client,
  { uid, key }: { uid: string; key: string },
  queries: readonly { readonly q: string }[],
  signal?: AbortSignal,
): Promise<string[][]> {
  const found: string[][] = [];
  for (let at = 0; at < queries.length; at += TOGETHER) {
    const sent = queries.slice(at, at + TOGETHER).map(({ q }) => ({
      ...{ indexUid: uid, q, limit: HITS_JUDGED, attributesToRetrieve: [key] },
    }));
    const { results } = await client.send<{ results: { hits: Hit[] }[] }>('POST', '/multi-search', {
      body: { queries: sent },
      isTest: true,
      ...(signal && { signal }),
    });
    found.push(...results.map(({ hits }) => hits.map((hit) => idOf(hit, key))));
  }
  return found;
}

/** The id of a hit, by which it is found in another list. */
export function idOf(hit: Hit, key: string): string {
  if (key in hit) return String(hit[key]);
  throw new Error(`The primary key \`${key}\` is not displayed, so hits cannot be compared.`);
}
