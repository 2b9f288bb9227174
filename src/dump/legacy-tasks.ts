/** Converts tasks and updates of the formats 1 to 5 to lines of the newest format. */
import { dateOfNanos, nanosOf } from '../base/exact-date.ts';
import type { DumpVersion } from './dump-layout.ts';
import { textOf } from '../contract/task-types/dump-form.ts';
import { firstSettings, legacySettings } from './legacy-settings.ts';

type Json = Record<string, unknown>;

/** A task in the newest format, and the name of its payload file. */
export interface TaskLine {
  line: Json;
  payload: string | null;
}

/**
 * @param index uid of the index that the update belongs to, for formats 1 to 3
 * @param number the new uid of the task, for formats 1 to 3
 * @returns null for an unfinished addition of format 1: such dumps lack its documents, so it cannot
 * be run
 */
export function legacyTask(
  version: DumpVersion,
  old: Json,
  index: string | null,
  number: number,
): TaskLine | null {
  if (version >= 4) return taskOfEvents(old);
  return version === 1 ? firstUpdate(old, index, number) : update(old, index, number);
}

// --- Formats 4 and 5: a task with events ---------------------------------------------------------

function taskOfEvents(old: Json): TaskLine {
  const [kind, content] = only(old.content);
  const events = (Array.isArray(old.events) ? old.events : []).map(only);
  const last = events.at(-1);
  const dateIn = (name: string): unknown => events.find(([event]) => event === name)?.[1] ?? null;
  // Dumps contain either spelling.
  const succeeded = events.find(([event]) => event === 'Succeeded' || event === 'Succeded');
  const failed = events.find(([event]) => event === 'Failed');
  const end = (succeeded ?? failed)?.[1] as Json | undefined;
  const [resultKind, result] = only(succeeded === undefined ? 'Other' : end!.result);
  const { type, details, payload } = legacyKind(kind, content as Json, resultKind, result as Json);
  const isDump = kind === 'Dump';
  // The task that wrote this dump was running then, but has finished, since the dump is complete.
  const isRunningDump = isDump && events.some(([event]) => event === 'Processing');
  const status =
    succeeded !== undefined || (isRunningDump && failed === undefined)
      ? 'succeeded'
      : failed === undefined
        ? 'enqueued'
        : 'failed';
  const started = dateIn('Processing') ?? dateIn('Created');
  const line: Json = {
    uid: old.id,
    indexUid: isDump ? null : ((old.index_uid ?? (content as Json)?.index_uid ?? null) as unknown),
    status,
    type,
    details,
    enqueuedAt: dateIn('Created'),
  };
  if (failed !== undefined) line.error = end!.error;
  if (status !== 'enqueued') {
    const batch = (dateIn('Batched') as Json | null)?.batch_id;
    if (batch !== undefined) line.batchUid = batch;
    line.startedAt = started;
    line.finishedAt = end?.timestamp ?? (last?.[1] as unknown) ?? started;
  }
  return { line, payload: status === 'enqueued' ? payload : null };
}

interface LegacyKind {
  type: unknown;
  details: unknown;
  payload: string | null;
}

function legacyAddition(content: Json, indexed: unknown): LegacyKind {
  const { primary_key, merge_strategy, documents_count, allow_index_creation } = content;
  return {
    type: {
      documentImport: {
        primary_key: primary_key ?? null,
        method: merge_strategy,
        documents_count,
        allow_index_creation,
      },
    },
    details: {
      DocumentAdditionOrUpdate: { received_documents: documents_count, indexed_documents: indexed },
    },
    payload: typeof content.content_uuid === 'string' ? content.content_uuid : null,
  };
}

function legacyDeletion(content: Json, deleted: unknown): LegacyKind {
  const [way, ids] = only(content.deletion ?? content);
  if (way !== 'Ids' && way !== 'ids') {
    return {
      type: 'documentClear',
      details: { ClearAll: { deleted_documents: deleted } },
      payload: null,
    };
  }
  const list = Array.isArray(ids) ? ids : ((ids as Json)?.ids ?? []);
  const provided_ids = (list as unknown[]).length;
  return {
    type: { documentDeletion: { documents_ids: list } },
    details: { DocumentDeletion: { provided_ids, deleted_documents: deleted } },
    payload: null,
  };
}

function legacyKind(kind: string, content: Json, resultKind: string, result: Json): LegacyKind {
  const without = { payload: null };
  const deleted = result?.deleted_documents ?? null;
  switch (kind) {
    case 'DocumentAddition':
      return legacyAddition(content, resultKind === kind ? result.indexed_documents : null);
    case 'DocumentDeletion':
      return legacyDeletion(content, deleted);
    case 'SettingsUpdate': {
      const { is_deletion, allow_index_creation } = content;
      const settings = legacySettings((content.settings ?? {}) as Json);
      return {
        type: { settings: { settings, is_deletion, allow_index_creation } },
        details: { SettingsUpdate: { settings } },
        ...without,
      };
    }
    case 'IndexCreation':
    case 'IndexUpdate': {
      const primary_key = content?.primary_key ?? null;
      const name = kind === 'IndexCreation' ? 'indexCreation' : 'indexUpdate';
      return {
        type: { [name]: { primary_key } },
        details: { IndexInfo: { primary_key } },
        ...without,
      };
    }
    case 'IndexDeletion':
      return {
        type: 'indexDeletion',
        details: { ClearAll: { deleted_documents: deleted } },
        ...without,
      };
    case 'Dump':
      return {
        type: { dumpCreation: { keys: [], instance_uid: null } },
        details: { Dump: { dump_uid: content.uid ?? null } },
        ...without,
      };
    default:
      return { type: kind, details: null, ...without };
  }
}

// --- Formats 2 and 3: an update of one index -----------------------------------------------------

function update(line: Json, index: string | null, number: number): TaskLine {
  const old = line.update as Json;
  const [success, counts] = only(old.success ?? 'Other');
  const added =
    success === 'DocumentsAddition' ? ((counts as Json).nb_documents as number | undefined) : null;
  const deleted =
    success === 'DocumentDeletion' ? ((counts as Json).deleted as number | undefined) : null;
  const { type, details, payload } = updateKind(old, added ?? null, deleted ?? null);
  const ended = old.status === 'processed' || old.status === 'failed';
  const task: Json = {
    uid: number,
    indexUid: index,
    status: old.status === 'processed' ? 'succeeded' : ended ? 'failed' : 'enqueued',
    type,
    details,
    enqueuedAt: old.enqueuedAt,
  };
  if (old.status === 'failed') {
    const error = (old.error ?? {}) as Json;
    task.error = errorOf(error.message ?? old.msg, error.errorCode ?? old.code);
  }
  if (ended) {
    task.startedAt = old.startedProcessingAt ?? old.enqueuedAt;
    task.finishedAt = old.processedAt ?? old.failedAt;
  }
  return { line: task, payload: ended ? null : payload };
}

function updateKind(
  old: Json,
  added: number | null,
  deleted: number | null,
): { type: unknown; details: unknown; payload: string | null } {
  const meta = old.meta as Json | string;
  // Format 2 stores the kind inside the object.
  const tagged = typeof meta === 'object' && typeof meta.type === 'string';
  const [name, content] = tagged ? [meta.type as string, meta] : only(meta);
  const given = (content ?? {}) as Json;
  switch (name) {
    case 'DocumentsAddition':
    case 'DocumentAddition':
      return {
        type: {
          documentImport: {
            primary_key: given.primary_key ?? null,
            method: given.method,
            documents_count: added ?? 0,
            allow_index_creation: true,
          },
        },
        details: {
          DocumentAdditionOrUpdate: { received_documents: added ?? 0, indexed_documents: added },
        },
        payload: textOf(given.content_uuid) ?? textOf(old.content),
      };
    case 'Settings': {
      const { type: _, ...changes } = given;
      const settings = legacySettings(tagged ? changes : given);
      return {
        type: { settings: { settings, is_deletion: false, allow_index_creation: true } },
        details: { SettingsUpdate: { settings } },
        payload: null,
      };
    }
    case 'DeleteDocuments': {
      const ids = Array.isArray(content) ? content : ((given.ids ?? []) as unknown[]);
      return {
        type: { documentDeletion: { documents_ids: ids } },
        details: { DocumentDeletion: { provided_ids: ids.length, deleted_documents: deleted } },
        payload: null,
      };
    }
    case 'ClearDocuments':
      return {
        type: 'documentClear',
        details: { ClearAll: { deleted_documents: deleted } },
        payload: null,
      };
    default:
      return { type: name, details: null, payload: null };
  }
}

// --- Format 1 ------------------------------------------------------------------------------------

function firstUpdate(old: Json, index: string | null, number: number): TaskLine | null {
  const ended = old.status === 'processed' || old.status === 'failed';
  if (!ended) return null;
  const { name, number: count = 0, settings: changes } = old.type as Json;
  const failed = old.status === 'failed';
  let type: unknown;
  let details: unknown;
  if (name === 'Settings') {
    const settings = firstSettings(changes as Json);
    type = { settings: { settings, is_deletion: false, allow_index_creation: true } };
    details = { SettingsUpdate: { settings } };
  } else if (name === 'ClearAll') {
    type = 'documentClear';
    details = { ClearAll: { deleted_documents: null } };
  } else if (name === 'DocumentsDeletion') {
    type = { documentDeletion: { documents_ids: [] } };
    details = { DocumentDeletion: { provided_ids: count, deleted_documents: failed ? 0 : count } };
  } else {
    const method = name === 'DocumentsPartial' ? 'UpdateDocuments' : 'ReplaceDocuments';
    type = {
      documentImport: {
        primary_key: null,
        method,
        documents_count: count,
        allow_index_creation: true,
      },
    };
    details = {
      DocumentAdditionOrUpdate: {
        received_documents: count,
        indexed_documents: failed ? 0 : count,
      },
    };
  }
  const line: Json = {
    uid: number,
    indexUid: index,
    status: failed ? 'failed' : 'succeeded',
    type,
    details,
    enqueuedAt: old.enqueuedAt,
    startedAt: beginOf(old.processedAt, old.duration) ?? old.enqueuedAt,
    finishedAt: old.processedAt,
  };
  if (failed) line.error = errorOf(old.error, old.errorCode);
  return { line, payload: null };
}

/** The start date, computed from the end date and the duration; null: unknown. */
function beginOf(end: unknown, seconds: unknown): string | null {
  const nanos = nanosOf(String(end));
  if (nanos === null || typeof seconds !== 'number' || !(seconds >= 0 && seconds < 1e9))
    return null;
  return dateOfNanos(nanos - BigInt(Math.round(seconds * 1e9)));
}

function errorOf(message: unknown, code: unknown): Json {
  const name = typeof code === 'string' ? snakeCase(code) : 'internal';
  return { message: textOf(message) ?? '', code: name, type: 'invalid_request', link: '' };
}

function snakeCase(name: string): string {
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

/** Reads a variant: a name, or an object with the name as its only key. */
function only(value: unknown): [name: string, content: unknown] {
  if (typeof value === 'object' && value !== null) {
    const entry = Object.entries(value)[0];
    if (entry !== undefined) return entry;
  }
  return [String(value), undefined];
}
