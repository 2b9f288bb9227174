/** Messages between the event loop and a render thread. */
import type { RenderSpec, SearchScope } from './render.ts';
import type {
  PassagesQuery,
  RequestInput,
  RequestTemplate,
  TextsRequest,
} from './render-request.ts';

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
  | { kind: 'passages'; job: number; request: PassagesQuery }
  | {
      kind: 'hits';
      job: number;
      result: Uint8Array;
      primaryKey: string | null;
      hidden: readonly string[];
    };

export type RenderResponse = { job: number; value: unknown } | { job: number; fault: string };

/** The first message of the thread, sent once it has loaded its modules. */
export const READY = 'ready';
