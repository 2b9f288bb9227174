/** The indexes that the key may see, and the settings of an index. */
import { pathOf, type Client } from './client.ts';

export interface IndexEntry {
  readonly uid: string;
  readonly primaryKey: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface IndexStats {
  readonly numberOfDocuments: number;
  /** Bytes on disk, and of the part that holds live data. */
  readonly indexSize: number;
  readonly usedIndexSize: number;
  readonly isIndexing: boolean;
  readonly numberOfEmbeddings: number;
  readonly numberOfEmbeddedDocuments: number;
  readonly fieldDistribution: Readonly<Record<string, number>>;
}

export interface Stats {
  /** Bytes on disk of all indexes, tasks and keys, and of the part that holds live data. */
  readonly databaseSize: number;
  readonly usedDatabaseSize: number;
  readonly lastUpdate: string | null;
  readonly indexes: Readonly<Record<string, IndexStats>>;
}

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
