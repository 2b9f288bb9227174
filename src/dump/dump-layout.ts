/**
 * The layout of the files in a dump, for all six formats. Formats 2 to 5 name the folders of
 * indexes by uuids; format 1 contains only one folder per index.
 */

export type DumpVersion = 1 | 2 | 3 | 4 | 5 | 6;

export type DumpPart =
  /** A small file, which is read as a whole. */
  | { kind: 'small' }
  /** The documents of the index in that folder. */
  | { kind: 'documents'; folder: string }
  /** One task or update per line, of the index in that folder; null: of all indexes. */
  | { kind: 'tasks'; folder: string | null }
  | { kind: 'batches' }
  /** The payload of an unfinished task. `name`: its uid, or the uuid that the task names. */
  | { kind: 'payload'; name: string }
  | { kind: 'unknown' };

const SMALL: readonly RegExp[] = [
  /^metadata\.json$/,
  /^(?:keys|keys\.jsonl)$/,
  /^(?:instance-uid|instance_uid\.uuid)$/,
  /^(?:experimental-features|network|webhooks|dynamic-search-rules|aliases)\.json$/,
  /^chat-completions-settings\/[^/]+\.json$/,
  /^index_uuids\/data\.jsonl$/,
  /^indexes\/[^/]+\/(?:metadata|settings|meta)\.json$/,
];

/** The part that a file belongs to. A file that no format defines is unknown. */
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
