/**
 * A thread that renders templates and counts tokens. Both process user input and could block the
 * event loop.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { watchRendering } from '../templates/liquid.ts';
import { fitFragment, Renderer } from './render.ts';
import { READY, type RenderResponse, type RenderRequest } from './render-messages.ts';
import {
  hitsForRequest,
  passagesForRequest,
  renderForRequest,
  textOf,
  textsForRequest,
} from './render-request.ts';

type RenderJob = Exclude<RenderRequest, { kind: 'prepare' | 'forget' }>;

const renderers = new Map<number, Renderer>();

// The number of the current rendering; 0: none.
const rendering = new Int32Array(workerData as SharedArrayBuffer);
let renderings = 0;
watchRendering((isRendering) => {
  renderings = (renderings % 0x7fff_ffff) + 1;
  Atomics.store(rendering, 0, isRendering ? renderings : 0);
});

parentPort?.postMessage(READY);
parentPort?.on('message', (request: RenderRequest) => {
  switch (request.kind) {
    case 'prepare':
      renderers.set(request.renderer, new Renderer(request.spec));
      return;
    case 'forget':
      renderers.delete(request.renderer);
      return;
    default:
      respond(request).then(
        (value) => parentPort!.postMessage({ job: request.job, value } satisfies RenderResponse),
        (error: unknown) => {
          const fault = (error as Error).message;
          parentPort!.postMessage({ job: request.job, fault } satisfies RenderResponse);
        },
      );
  }
});

async function respond(request: RenderJob): Promise<unknown> {
  switch (request.kind) {
    case 'render':
      return renderers.get(request.renderer)!.render(textOf(request.chunk));
    case 'fit':
      return fitFragment(request.fragments, request.scope);
    case 'tokens':
      return firstTokens(request.text, request.tokensMax);
    case 'request':
      return renderForRequest(request.template, request.input);
    case 'texts':
      return textsForRequest(request.request);
    case 'passages':
      return passagesForRequest(request.request);
    case 'hits':
      return hitsForRequest(request.result, request.primaryKey, request.hidden);
  }
}

let encoder: Promise<{ encode(text: string): number[] }> | null = null;

/**
 * The first `tokensMax` tokens of a text in the vocabulary cl100k_base, or null if it has fewer.
 */
async function firstTokens(text: string, tokensMax: number): Promise<number[] | null> {
  encoder ??= openEncoder();
  const tokens = (await encoder).encode(text);
  return tokens.length < tokensMax ? null : tokens.slice(0, tokensMax);
}

/** Loads the vocabulary, 2 MB, which is needed only when a provider refuses a text as too long. */
async function openEncoder(): Promise<{ encode(text: string): number[] }> {
  const [{ Tiktoken }, { default: ranks }] = await Promise.all([
    import('js-tiktoken/lite'),
    import('js-tiktoken/ranks/cl100k_base'),
  ]);
  const tiktoken = new Tiktoken(ranks);
  // Special tokens in the text are treated as ordinary text.
  return { encode: (text) => tiktoken.encode(text, [], []) };
}
