/** What goes to and fro between the event loop and the thread that renders. */
import type { RenderSpec, SearchScope } from './render.ts';
import type { RequestInput, RequestTemplate, TextsRequest } from './render-request.ts';

export type RenderRequest =
  | { kind: 'prepare'; renderer: number; spec: RenderSpec }
  | { kind: 'forget'; renderer: number }
  | { kind: 'render'; job: number; renderer: number; chunk: Uint8Array }
  | {
      kind: 'fit';
      job: number;
      fragments: Record<string, { value: unknown }>;
      scope: SearchScope;
    }
  | { kind: 'tokens'; job: number; text: string; tokensMax: number }
  | { kind: 'request'; job: number; template: RequestTemplate; input: RequestInput | null }
  | { kind: 'texts'; job: number; request: TextsRequest }
  | { kind: 'hits'; job: number; answer: Uint8Array; primaryKey: string | null };

export type RenderAnswer = { job: number; value: unknown } | { job: number; fault: string };

/** The first message of the thread: it has loaded what it needs. */
export const READY = 'ready';
