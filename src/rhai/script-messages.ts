/** What the server and the process that runs functions say to each other. One request at a time. */

export type ScriptRequest =
  | { kind: 'check'; text: string; withContext: boolean }
  /** What the pages that follow are edited by. `context`: JSON text. */
  | ({ kind: 'open' } & EditFunction)
  /** JSON text of an answer to `documents/fetch`, with vectors. */
  | { kind: 'page'; page: Uint8Array }
  /** The part is dealt with. */
  | { kind: 'next' };

/**
 * Parts come before the end of a page: when they are large, and as a sign of life. After each one
 * the process waits for `next`, so that parts do not gather where they are written.
 */
export type ScriptReply =
  | ({ kind: 'part' } & EditedPart)
  | { kind: 'done' }
  /** @param ofScript false: it is our fault */
  | { kind: 'failed'; message: string; ofScript: boolean };

export interface EditFunction {
  functionText: string;
  /** JSON text; null without one. */
  context: string | null;
  primaryKey: string;
}

export interface EditedPart {
  /** The documents that changed, one JSON text a line. */
  ndjson: Uint8Array;
  edited: number;
  /** External ids of the documents to delete. */
  deleted: string[];
}
