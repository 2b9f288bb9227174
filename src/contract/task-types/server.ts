/** Types of tasks on the whole server. */
import { shortSize } from '../../base/size.ts';
import { masked, maskedUrl } from '../../base/secrets.ts';
import type { TaskDetails } from './fields.ts';
import { numberOf, type ReadTask, type TaskLine, textOf } from './dump-form.ts';
import { type TaskDraft, taskType } from './task-type.ts';

interface DumpCreation {
  type: 'dumpCreation';
}

export const dumpCreation = taskType({
  name: 'dumpCreation',
  words: 'Create a dump',
  code: 11,
  batching: { priority: 7, take: 'lowest' },
  inBatch: { dumpUid: 'first' },
  draft: ({ type }: DumpCreation): TaskDraft<DumpCreation> => ({
    indexUid: null,
    row: () => ({ type }),
  }),
  // The uid is part of the result.
  details: (_row: DumpCreation) => ({ dumpUid: null }),
  dump: {
    write: (_row: DumpCreation, { details }) => ({
      type: { dumpCreation: { keys: [], instance_uid: null } },
      details: { Dump: { dump_uid: details.dumpUid ?? null } },
    }),
    read: {
      dumpCreation: ({ details }): ReadTask<DumpCreation> => ({
        request: { type: 'dumpCreation' },
        details: { dumpUid: textOf(details.dump_uid) },
      }),
    },
  },
});

interface SnapshotCreation {
  type: 'snapshotCreation';
}

export const snapshotCreation = taskType({
  name: 'snapshotCreation',
  words: 'Create a snapshot',
  code: 12,
  batching: { priority: 6, take: 'all' },
  draft: ({ type }: SnapshotCreation): TaskDraft<SnapshotCreation> => ({
    indexUid: null,
    row: () => ({ type }),
  }),
  details: (_row: SnapshotCreation) => null,
  dump: {
    write: (_row: SnapshotCreation) => ({ type: 'snapshotCreation', details: null }),
    read: {
      snapshotCreation: (): ReadTask<SnapshotCreation> => ({
        request: { type: 'snapshotCreation' },
      }),
    },
  },
});

/** Types that save the whole server. */
export const BACKUP_TYPES = [snapshotCreation.name, dumpCreation.name] as const;

interface NetworkTopologyChange {
  type: 'networkTopologyChange';
}

export const networkTopologyChange = taskType({
  name: 'networkTopologyChange',
  words: 'Move documents',
  code: 16,
  batching: { priority: 2, take: 'lowest' },
  counts: true,
  inBatch: { movedDocuments: 'sum' },
  draft: ({ type }: NetworkTopologyChange): TaskDraft<NetworkTopologyChange> => ({
    indexUid: null,
    row: () => ({ type }),
  }),
  details: (_row: NetworkTopologyChange, { result }) => ({ movedDocuments: result }),
  dump: {
    write: (_row: NetworkTopologyChange, { details }) => ({
      type: 'networkTopologyChange',
      details: { NetworkTopologyChange: { moved_documents: details.movedDocuments ?? 0 } },
    }),
    read: {
      networkTopologyChange: ({ details }): ReadTask<NetworkTopologyChange> => ({
        request: { type: 'networkTopologyChange' },
        result: numberOf(details.moved_documents),
      }),
    },
  },
});

/** The request of an export; stored unchanged. */
export interface ExportRequest {
  type: 'export';
  url: string;
  apiKey: string | null;
  /** null: not given. */
  payloadSizeBytes: number | null;
  indexes: Record<string, { filter: unknown; overrideSettings: boolean }>;
}

export const exportType = taskType({
  name: 'export',
  words: 'Export to another server',
  code: 13,
  batching: { priority: 5, take: 'lowest' },
  detachedMax: 4,
  inBatch: { url: 'first', apiKey: 'first', payloadSize: 'first' },
  draft: ({ type, url, apiKey, payloadSizeBytes, indexes }: ExportRequest) => ({
    indexUid: null,
    row: (): ExportRequest => ({ type, url, apiKey, payloadSizeBytes, indexes }),
  }),
  details(row: ExportRequest): TaskDetails {
    const details: TaskDetails = { url: maskedUrl(row.url) };
    if (row.apiKey !== null) details.apiKey = masked(row.apiKey);
    if (row.payloadSizeBytes !== null) details.payloadSize = shortSize(row.payloadSizeBytes);
    details.indexes = row.indexes;
    return details;
  },
  dump: {
    write({ url, apiKey, payloadSizeBytes, indexes }: ExportRequest, { details }) {
      const common = { url, api_key: apiKey, payload_size: payloadSizeBytes };
      return {
        type: { export: { ...common, indexes } },
        details: { Export: { ...common, indexes: details.indexes } },
      };
    },
    read: { export: readExport },
  },
});

function readExport({ content, details, succeeded }: TaskLine): ReadTask<ExportRequest> {
  const patterns = Object.entries((content.indexes ?? {}) as Record<string, TaskDetails>);
  const indexes = patterns.map(([pattern, options]) => {
    const overrides = options.overrideSettings ?? options.override_settings;
    return [pattern, { filter: options.filter ?? null, overrideSettings: overrides === true }];
  });
  const request: ExportRequest = {
    type: 'export',
    url: textOf(content.url) ?? '',
    apiKey: textOf(content.api_key),
    payloadSizeBytes: numberOf(content.payload_size),
    indexes: Object.fromEntries(indexes) as ExportRequest['indexes'],
  };
  if (!succeeded || details.indexes === undefined) return { request };
  return { request, details: { indexes: details.indexes } };
}
