/**
 * The process that compiles and runs functions, so that neither their time nor their memory is the
 * server's. When V8 runs out of memory it ends its process, whichever thread asked for the memory.
 */
import { Worker } from 'node:worker_threads';
import { compileEdit, DocumentEditor } from './edit.ts';
import { ScriptError, ScriptSyntaxError } from './errors.ts';
import type { ScriptReply, ScriptRequest } from './script-messages.ts';

/** Open as long as the server lives. */
const LIFE_LINE = 4;

const decoder = new TextDecoder();
const encoder = new TextEncoder();
let editor: DocumentEditor | null = null;

let goOn = (): void => {};

function send(reply: ScriptReply): void {
  process.send!(reply);
}

async function answer(request: Exclude<ScriptRequest, { kind: 'next' }>): Promise<ScriptReply> {
  switch (request.kind) {
    case 'check':
      compileEdit(request.text, request.withContext);
      break;
    case 'open':
      editor = new DocumentEditor(request.functionText, request.context, request.primaryKey);
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

function failed(error: unknown): ScriptReply {
  const ofScript = error instanceof ScriptError || error instanceof ScriptSyntaxError;
  return { kind: 'failed', message: (error as Error).message, ofScript };
}

// A busy loop of a function does not see that the server has died; this thread does.
const lifeLine = new Worker(
  `const { readSync } = require('node:fs');
  try { while (readSync(${LIFE_LINE}, Buffer.alloc(1)) > 0); } catch {}
  process.kill(process.pid, 'SIGKILL');`,
  { eval: true, execArgv: [] },
);
// Without it the process does not end with the server.
lifeLine.on('error', () => process.exit(1));
// Nobody reads the stacks of errors that a function throws and catches.
Error.stackTraceLimit = 0;
process.on('message', (request: ScriptRequest) => {
  if (request.kind === 'next') goOn();
  else void answer(request).catch(failed).then(send);
});
