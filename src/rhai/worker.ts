/**
 * A thread that edits pages of documents, so that neither the time nor the memory of a function is the server's.
 * Messages: `{ page: Uint8Array }`, answered with `{ ok: true, ndjson, edited, deleted }` or `{ ok: false, message }`.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { DocumentEditor } from './edit.ts';
import { ScriptError } from './errors.ts';

export interface EditWorkerData {
  functionText: string;
  /** JSON text. */
  context: string | null;
  primaryKey: string;
}

export type EditReply =
  | { ok: true; ndjson: Uint8Array; edited: number; deleted: string[] }
  | { ok: false; message: string; ofScript: boolean };

const { functionText, context, primaryKey } = workerData as EditWorkerData;
const editor = new DocumentEditor(functionText, context, primaryKey);
const decoder = new TextDecoder();
const encoder = new TextEncoder();

parentPort!.on('message', ({ page }: { page: Uint8Array }) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of Node
  parentPort!.postMessage(reply(page));
});

function reply(page: Uint8Array): EditReply {
  try {
    const { ndjson, edited, deleted } = editor.page(decoder.decode(page));
    return { ok: true, ndjson: encoder.encode(ndjson), edited, deleted };
  } catch (error) {
    const ofScript = error instanceof ScriptError;
    return { ok: false, message: error instanceof Error ? error.message : String(error), ofScript };
  }
}
