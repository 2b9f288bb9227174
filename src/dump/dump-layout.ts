/**
 * Which file of a dump holds what, for the six formats. Formats 2 to 5 name the folders of indexes
 * by uuids, format 1 keeps one folder per index and nothing beside them.
 */

export type DumpVersion = 1 | 2 | 3 | 4 | 5 | 6;

export type DumpPart =
  /** Small: read whole. */
  | { kind: 'small' }
  /** Of the index in that folder. */
  | { kind: 'documents'; folder: string }
  /** One task, update or batch a line. Of the index in that folder, or of all. */
  | { kind: 'tasks'; folder: string | null }
  | { kind: 'batches' }
  /** Of an unfinished task: its uid, or the uuid that the task names. */
  | { kind: 'payload'; name: string }
  | { kind: 'unknown' };

const SMALL: readonly RegExp[] = [
  /^metadata\.json$/,
  /^(?:keys|keys\.jsonl)$/,
  /^(?:instance-uid|instance_uid\.uuid)$/,
  /^(?:experimental-features|network|webhooks|dynamic-search-rules)\.json$/,
  /^chat-completions-settings\/[^/]+\.json$/,
  /^index_uuids\/data\.jsonl$/,
  /^indexes\/[^/]+\/(?:metadata|settings|meta)\.json$/,
];

/** Where a file counts for no version, it is unknown. */
export function partOf(path: string): DumpPart {
  if (SMALL.some((pattern) => pattern.test(path))) return { kind: 'small' };
  const documents = /^indexes\/([^/]+)\/documents\.jsonl$/.exec(path);
  if (documents !== null) return { kind: 'documents', folder: documents[1]! };
  if (path === 'tasks/queue.jsonl' || path === 'updates/data.jsonl') {
    return { kind: 'tasks', folder: null };
  }
  if (path === 'batches/queue.jsonl') return { kind: 'batches' };
  const payload =
    /^tasks\/update_files\/(\d+)\.jsonl$/.exec(path) ??
    /^updates\/updates?_files\/(?:update_)?([0-9a-f-]+)$/.exec(path);
  if (payload !== null) return { kind: 'payload', name: payload[1]! };
  const first = /^([^/]+)\/(documents\.jsonl|settings\.json|updates\.jsonl)$/.exec(path);
  if (first !== null) {
    const folder = first[1]!;
    if (first[2] === 'settings.json') return { kind: 'small' };
    return first[2] === 'documents.jsonl'
      ? { kind: 'documents', folder }
      : { kind: 'tasks', folder };
  }
  return { kind: 'unknown' };
}
