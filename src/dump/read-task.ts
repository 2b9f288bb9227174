/** A line of `tasks/queue.jsonl`, turned into what the task store holds. */
import type { ErrorBody } from '../contract/errors.ts';
import type { SearchRulePatch } from '../contract/search-rules.ts';
import { parseSettings } from '../contract/settings.ts';
import type { TaskRequest } from '../contract/task-types.ts';
import type { ExactDates, TaskDetails, TaskNetwork, TaskStatus } from '../contract/tasks.ts';
import { DumpError } from './dump-error.ts';
import { dateOf, exactDates, knownSettings, numberOf, textOf } from './dump-values.ts';
import { decodeUids } from './task-bitmap.ts';

type Json = Record<string, unknown>;

/** A task of a dump. Dates are milliseconds with microseconds as fraction, and exact ones where that is not enough. */
export interface DumpedTask {
  uid: number;
  batchUid: number | null;
  status: Exclude<TaskStatus, 'processing'>;
  /** An addition has no payload in it. */
  request: TaskRequest;
  /** Of a cancelation or deletion of tasks: which, ascending. */
  matched: number[];
  /** The counter that it ended with. */
  result: number | null;
  error?: ErrorBody;
  /** Replace or add keys of the details. */
  details?: TaskDetails;
  canceledBy: number | null;
  enqueuedAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  exactDates?: ExactDates;
}

/** Null: of a type that this program does not know. Throws `DumpError`. */
export function readTask(line: Json, place: string): DumpedTask | null {
  const bad = (what: string): never => {
    throw new DumpError(`${place}: ${what}`);
  };
  const uid = line.uid;
  if (!isUid(uid)) return bad('`uid` is no number of a task');
  const enqueuedAt = dateOf(line.enqueuedAt) ?? bad('`enqueuedAt` is no date');
  const status = line.status === 'processing' ? 'enqueued' : line.status;
  if (!isStatus(status)) return bad(`\`status\` is ${JSON.stringify(status)}`);
  const [kind, content] = variantOf(line.type);
  const read = readKind(kind, content, line);
  if (read === null) return null;
  const finishedAt = status === 'enqueued' ? null : dateOf(line.finishedAt);
  if (status !== 'enqueued' && finishedAt === null) return bad('`finishedAt` is no date');
  const task: DumpedTask = {
    uid,
    batchUid: status !== 'enqueued' && isUid(line.batchUid) ? line.batchUid : null,
    status,
    request: read.request,
    matched: read.matched ?? [],
    result: status === 'enqueued' ? null : (read.result ?? null),
    canceledBy: status === 'canceled' && isUid(line.canceledBy) ? line.canceledBy : null,
    enqueuedAt,
    startedAt:
      finishedAt === null ? null : Math.min(dateOf(line.startedAt) ?? finishedAt, finishedAt),
    finishedAt,
  };
  const exact = exactDates(
    status === 'enqueued'
      ? { enqueuedAt: line.enqueuedAt }
      : { startedAt: line.finishedAt, ...line },
  );
  if (exact !== undefined) task.exactDates = exact;
  const network = networkOf(line.network);
  if (network !== undefined) task.request.network = network;
  if (typeof line.customMetadata === 'string') task.request.customMetadata = line.customMetadata;
  if (status === 'failed') task.error = (line.error ?? undefined) as ErrorBody;
  if (status !== 'enqueued' && read.details !== undefined) task.details = read.details;
  return task;
}

/** Dumps of other programs name the parts otherwise, or have none. */
function networkOf(value: unknown): TaskNetwork | undefined {
  const { origin, remotes } = (value ?? {}) as Json;
  if (isObject(origin)) {
    const { remoteName, taskUid } = origin;
    return typeof remoteName === 'string' && isUid(taskUid)
      ? { origin: { remoteName, taskUid } }
      : undefined;
  }
  if (!isObject(remotes)) return undefined;
  const known = new Map<string, { task_uid: number } | { error: string }>();
  for (const [name, result] of Object.entries(remotes)) {
    const { task_uid: taskUid, error } = (result ?? {}) as Json;
    if (isUid(taskUid)) known.set(name, { task_uid: taskUid });
    else if (typeof error === 'string') known.set(name, { error });
  }
  return { remotes: Object.fromEntries(known) };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isUid(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < 0xffff_ffff;
}

function isStatus(value: unknown): value is DumpedTask['status'] {
  return ['enqueued', 'succeeded', 'failed', 'canceled'].includes(value as string);
}

interface ReadKind {
  request: TaskRequest;
  result?: number | null;
  matched?: number[];
  details?: TaskDetails;
}

function readKind(kind: string, content: Json, line: Json): ReadKind | null {
  const [, details] = variantOf(line.details);
  const indexUid = typeof line.indexUid === 'string' ? line.indexUid : '';
  const deleted = numberOf(details.deleted_documents);
  switch (kind) {
    case 'documentImport':
      return {
        request: {
          type: 'documentAdditionOrUpdate',
          indexUid,
          method: content.method === 'UpdateDocuments' ? 'update' : 'replace',
          payload: { bytes: Buffer.alloc(0) },
          format: 'ndjson',
          documents: numberOf(content.documents_count) ?? numberOf(details.received_documents) ?? 0,
          primaryKey: textOf(content.primary_key),
          skipCreation: content.skip_creation === true,
          allowIndexCreation: content.allow_index_creation === true,
        },
        result: numberOf(details.indexed_documents),
      };
    case 'documentDeletion': {
      const ids = Array.isArray(content.documents_ids) ? content.documents_ids.map(String) : [];
      const provided = numberOf(details.provided_ids) ?? ids.length;
      const request: TaskRequest = { type: 'documentDeletion', indexUid, by: { ids } };
      if (provided === ids.length) return { request, result: deleted };
      return { request, result: deleted, details: { providedIds: provided } };
    }
    case 'documentDeletionByFilter':
      return {
        request: { type: 'documentDeletion', indexUid, by: { filter: content.filter } },
        result: deleted,
      };
    case 'documentClear':
      return {
        request: { type: 'documentDeletion', indexUid, by: { all: true } },
        result: deleted,
      };
    case 'documentEdition':
      return {
        request: {
          type: 'documentEdition',
          indexUid,
          function: textOf(content.function) ?? '',
          context: (content.context ?? null) as Json | null,
          filter: content.filter ?? null,
        },
        result: numberOf(details.edited_documents),
      };
    case 'settings':
      return {
        request: {
          type: 'settingsUpdate',
          indexUid,
          settings: partialSettings((content.settings ?? {}) as Json),
          isReset: content.is_deletion === true,
          allowIndexCreation: content.allow_index_creation === true,
        },
      };
    case 'indexCreation':
      return {
        request: { type: 'indexCreation', indexUid, primaryKey: textOf(content.primary_key) },
      };
    case 'indexDeletion':
      return { request: { type: 'indexDeletion', indexUid }, result: deleted };
    case 'indexUpdate':
      return { request: indexUpdate(indexUid, content, details) };
    case 'indexSwap': {
      const swaps = Array.isArray(content.swaps) ? (content.swaps as Json[]) : [];
      return {
        request: {
          type: 'indexSwap',
          swaps: swaps.map(({ indexes, rename }) => ({
            indexes: (indexes as unknown[]).map(String) as [string, string],
            rename: rename === true,
          })),
        },
      };
    }
    case 'tasksCancelation':
    case 'tasksDeletion': {
      const isCancelation = kind === 'tasksCancelation';
      const matched = decodeUids(content.tasks) ?? [];
      const found = numberOf(details.matched_tasks) ?? matched.length;
      return {
        request: {
          type: isCancelation ? 'taskCancelation' : 'taskDeletion',
          filter: {},
          originalFilter: textOf(details.original_filter) ?? textOf(content.query) ?? '',
          visible: null,
        },
        matched,
        result: numberOf(isCancelation ? details.canceled_tasks : details.deleted_tasks),
        ...(found === matched.length ? {} : { details: { matchedTasks: found } }),
      };
    }
    case 'dumpCreation':
      return {
        request: { type: 'dumpCreation' },
        details: { dumpUid: textOf(details.dump_uid) },
      };
    case 'networkTopologyChange':
      return {
        request: { type: 'networkTopologyChange' },
        result: numberOf(details.moved_documents),
      };
    case 'snapshotCreation':
      return { request: { type: 'snapshotCreation' } };
    case 'indexCompaction': {
      const [before, after] = [details.pre_compaction_size, details.post_compaction_size];
      return {
        request: { type: 'indexCompaction', indexUid },
        ...(textOf(before) === null || textOf(after) === null
          ? {}
          : { details: { preCompactionSize: before, postCompactionSize: after } }),
      };
    }
    case 'dsrUpdate':
      if (textOf(content.rule_uid) === null) return null;
      return {
        request: {
          type: 'dsrUpdate',
          ruleUid: content.rule_uid as string,
          patch: (content.patch ?? null) as SearchRulePatch | null,
        },
      };
    case 'dsrClear':
      return { request: { type: 'dsrClear' }, result: deleted };
    case 'export':
      return readExport(content, details, line.status === 'succeeded');
    default:
      return null;
  }
}

/** In canonical form where they can be brought into it. */
function partialSettings(given: Json): Json {
  const settings = knownSettings(given);
  const parsed = parseSettings(settings);
  return parsed.ok ? parsed.value : settings;
}

function indexUpdate(
  indexUid: string,
  content: Json,
  details: Json,
): Extract<TaskRequest, { type: 'indexUpdate' }> {
  const request: Extract<TaskRequest, { type: 'indexUpdate' }> = { type: 'indexUpdate', indexUid };
  const primaryKey = textOf(content.primary_key);
  const newUid =
    textOf(content.uid) ?? textOf(content.new_index_uid) ?? textOf(details.new_index_uid);
  if (primaryKey !== null) request.primaryKey = primaryKey;
  if (newUid !== null) {
    request.newUid = newUid;
    request.indexUid = textOf(details.old_index_uid) ?? indexUid;
  }
  return request;
}

function readExport(content: Json, details: Json, succeeded: boolean): ReadKind {
  const indexes = Object.entries((content.indexes ?? {}) as Record<string, Json>);
  const request: TaskRequest = {
    type: 'export',
    url: textOf(content.url) ?? '',
    apiKey: textOf(content.api_key),
    payloadSizeBytes: numberOf(content.payload_size),
    indexes: Object.fromEntries(
      indexes.map(([pattern, options]) => [
        pattern,
        {
          filter: options.filter ?? null,
          overrideSettings: (options.overrideSettings ?? options.override_settings) === true,
        },
      ]),
    ),
  };
  if (!succeeded || details.indexes === undefined) return { request };
  return { request, details: { indexes: details.indexes } };
}

/** A variant: its name alone, or the name as the only key of its content. */
function variantOf(value: unknown): [name: string, content: Json] {
  if (typeof value === 'object' && value !== null) {
    const entry = Object.entries(value)[0];
    if (entry !== undefined && typeof entry[1] === 'object' && entry[1] !== null) {
      return [entry[0], entry[1] as Json];
    }
    if (entry !== undefined) return [entry[0], {}];
  }
  return [typeof value === 'string' ? value : '', {}];
}
