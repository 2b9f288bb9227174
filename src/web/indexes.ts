/** The indexes that the key may see, and the settings of an index. */
import type { IndexInfo, IndexStats, Stats } from '../contract/responses.ts';
import { pathOf, type Client } from './client.ts';

export type { IndexStats, Stats };
export type IndexEntry = IndexInfo;

/** Maximum number of indexes listed. The uid of an index not in the list can be typed. */
const INDEXES_MAX = 1000;

export async function listIndexes(client: Client, signal?: AbortSignal): Promise<IndexEntry[]> {
  const path = pathOf(['indexes'], { limit: INDEXES_MAX });
  const { results } = await client.send<{ results: IndexEntry[] }>('GET', path, {
    ...(signal && { signal }),
  });
  return results;
}

export type Settings = Readonly<Record<string, unknown>>;

export function settingsOf(client: Client, uid: string, signal?: AbortSignal): Promise<Settings> {
  const path = pathOf(['indexes', uid, 'settings']);
  return client.send('GET', path, { ...(signal && { signal }) });
}
