import { humanSize } from '../base/size.ts';
import { obfuscate } from '../contract/embedders.ts';
import { type PartialSettings, renderPartialSettings } from '../contract/settings.ts';
import type { TaskDetails, TaskStatus } from '../contract/tasks.ts';
import type { TaskRow } from '../store/task-row.ts';

/**
 * The details of a task as shown, without what its outcome adds.
 * @param result the counter it ended with; null while it has not ended, or has none
 * @param nameOf uid of an index by its number
 * @returns null for a type without details
 */
export function detailsOf(
  row: TaskRow,
  status: TaskStatus,
  result: number | null,
  nameOf: (index: number) => string | null,
): TaskDetails | null {
  switch (row.type) {
    case 'documentAdditionOrUpdate':
      return { receivedDocuments: row.documents, indexedDocuments: result };
    case 'documentDeletion':
      if (row.by === 'all') return { deletedDocuments: result };
      return {
        providedIds: row.by === 'ids' ? row.ids : 0,
        deletedDocuments: result,
        originalFilter: row.by === 'ids' ? null : JSON.stringify(row.filter),
      };
    case 'documentEdition':
      return {
        deletedDocuments: status === 'succeeded' ? result : null,
        editedDocuments: result,
        context: row.context,
        function: row.function,
        originalFilter:
          row.filter === null || row.filter === undefined ? null : JSON.stringify(row.filter),
      };
    case 'settingsUpdate':
      return renderPartialSettings(row.settings as PartialSettings);
    case 'indexCreation':
      return { primaryKey: row.primaryKey };
    case 'indexUpdate': {
      const { primaryKey, rename } = row;
      if (rename === undefined) return { primaryKey };
      return { primaryKey, oldIndexUid: rename.oldUid, newIndexUid: rename.newUid };
    }
    case 'indexDeletion':
      return { deletedDocuments: result };
    case 'indexSwap':
      return {
        swaps: row.swaps.map(({ pair, rename }) => ({ indexes: pair.map(nameOf), rename })),
      };
    case 'taskCancelation':
      return {
        matchedTasks: row.matchedTasks,
        canceledTasks: result,
        originalFilter: row.originalFilter,
      };
    case 'taskDeletion':
      return {
        matchedTasks: row.matchedTasks,
        deletedTasks: result,
        originalFilter: row.originalFilter,
      };
    case 'dumpCreation':
      return { dumpUid: null };
    case 'snapshotCreation':
      return null;
    case 'export': {
      const details: TaskDetails = { url: row.url };
      if (row.apiKey !== null) details.apiKey = obfuscate(row.apiKey);
      details.payloadSize = humanSize(row.payloadSizeBytes);
      details.indexes = row.indexes;
      return details;
    }
  }
}

const COUNTERS = new Set([
  'receivedDocuments',
  'indexedDocuments',
  'providedIds',
  'deletedDocuments',
  'editedDocuments',
  'matchedTasks',
  'canceledTasks',
  'deletedTasks',
]);

/** Keys of which a batch shows that of its first task. */
const FIRST_WINS = new Set([
  'primaryKey',
  'dumpUid',
  'upgradeFrom',
  'upgradeTo',
  'function',
  'context',
  'url',
  'apiKey',
  'payloadSize',
]);

/** The details of the tasks of a batch as one. */
export class BatchDetails {
  readonly #sum: TaskDetails = {};

  add(details: TaskDetails | null): void {
    for (const [key, value] of Object.entries(details ?? {})) {
      this.#sum[key] = accumulate(key, this.#sum[key], value);
    }
  }

  /** `finished`: keys without value are left out. */
  result(finished: boolean): TaskDetails {
    if (!finished) return { ...this.#sum };
    return Object.fromEntries(Object.entries(this.#sum).filter(([, value]) => value !== null));
  }
}

function accumulate(key: string, before: unknown, value: unknown): unknown {
  if (before === undefined || before === null) return value;
  if (COUNTERS.has(key)) return (before as number) + ((value as number | null) ?? 0);
  if (key === 'originalFilter')
    return value === null ? before : `${before as string}&${value as string}`;
  if (key === 'swaps') return [...(before as unknown[]), ...(value as unknown[])];
  if (FIRST_WINS.has(key)) return before;
  return value; // a setting: the later one wins
}
