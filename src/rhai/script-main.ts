/**
 * The process that compiles and runs functions. A process of its own keeps their time and memory
 * apart from the server: when V8 runs out of memory in any thread, it ends the whole process.
 */
import { Worker } from 'node:worker_threads';
import { compileEdit, DocumentEditor } from './edit.ts';
import { ScriptError, ScriptSyntaxError } from './errors.ts';
import type { ScriptResponse, ScriptRequest } from './script-messages.ts';

/** File descriptor of a pipe that is open while the server lives. */
const LIFE_LINE = 4;

const decoder = new TextDecoder();
const encoder = new TextEncoder();
let editor: DocumentEditor | null = null;

let goOn = (): void => {};

function send(response: ScriptResponse): void {
  process.send!(response);
}

async function respond(request: Exclude<ScriptRequest, { kind: 'next' }>): Promise<ScriptResponse> {
  switch (request.kind) {
    case 'check':
      compileEdit(request.text, request.withContext);
      break;
    case 'open':
      editor = new DocumentEditor(
        request.functionText,
        request.context,
        request.primaryKey,
        request.embedders,
      );
      break;
    case 'page':
      for (const { ndjson, ...part } of editor!.parts(decoder.decode(request.page))) {
        const next = new Promise<void>((done) => (goOn = done));
        send({ kind: 'part', ndjson: encoder.encode(ndjson), ...part });
        await next;
      }
  }
  return { kind: 'done' };
}

function failed(error: unknown): ScriptResponse {
  const ofScript = error instanceof ScriptError || error instanceof ScriptSyntaxError;
  return { kind: 'failed', message: (error as Error).message, ofScript };
}

// This thread notices that the server has died even while a function runs a busy loop. It takes no
// calls, so it is no `Isolate`.
const lifeLine = new Worker(
  `const { readSync } = require('node:fs');
  try { while (readSync(${LIFE_LINE}, Buffer.alloc(1)) > 0); } catch {}
  process.kill(process.pid, 'SIGKILL');`,
  { eval: true, execArgv: [] },
);
// Without this thread the process would not end with the server.
lifeLine.on('error', () => process.exit(1));
// Stack traces of errors that a function throws and catches are not needed.
Error.stackTraceLimit = 0;
process.on('message', (request: ScriptRequest) => {
  if (request.kind === 'next') goOn();
  else void respond(request).catch(failed).then(send);
});
