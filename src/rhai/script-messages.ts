/** Messages between the server and the process that runs functions. One request at a time. */

export type ScriptRequest =
  | { kind: 'check'; text: string; withContext: boolean }
  /** The function and context that edit the pages sent next. */
  | ({ kind: 'open' } & EditFunction)
  /** JSON text of a response to `documents/fetch`, with vectors. */
  | { kind: 'page'; page: Uint8Array }
  /** The server has processed a part. */
  | { kind: 'next' };

/**
 * The process sends parts before the end of a page: when they are large, and as a sign of life.
 * After each part it waits for `next`, so that parts do not accumulate.
 */
export type ScriptResponse =
  | ({ kind: 'part' } & EditedPart)
  | { kind: 'done' }
  /** `ofScript`: whether the function caused the failure; false: a fault of ours. */
  | { kind: 'failed'; message: string; ofScript: boolean };

export interface EditFunction {
  functionText: string;
  /** JSON text, or null. */
  context: string | null;
  primaryKey: string;
  /** Names of the embedders of the index. */
  embedders?: readonly string[];
}

export interface EditedPart {
  /** The changed documents, one JSON text per line. */
  ndjson: Uint8Array;
  edited: number;
  /** External ids of the documents to delete. */
  deleted: string[];
}
