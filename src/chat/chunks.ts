/** Chunks of OpenAI's streaming format, as providers send them and clients get them. */

export interface ToolCallDelta {
  index?: number;
  id?: string | null;
  type?: string | null;
  function?: { name?: string | null; arguments?: string | null };
}

export interface ChunkChoice {
  index: number;
  delta: { tool_calls?: ToolCallDelta[] | null; content?: string | null; [field: string]: unknown };
  finish_reason?: string | null;
  [field: string]: unknown;
}

export interface Usage {
  prompt_tokens?: number;
  completion_tokens?: number;
  total_tokens?: number;
}

export interface Chunk {
  id?: string;
  object?: string;
  created?: number;
  model?: string;
  choices?: ChunkChoice[];
  usage?: Usage | null;
  error?: ErrorBody | string;
  [field: string]: unknown;
}

/** The error of a provider. */
export interface ErrorBody {
  type?: unknown;
  code?: unknown;
  message?: unknown;
  param?: unknown;
}

/** An error inside the stream. */
export interface ErrorEvent {
  event_id: string;
  type: 'error';
  error: {
    type: string;
    code: string | null;
    message: string;
    param: string | null;
    event_id: null;
  };
}

/** A call of a tool, put together from the chunks of a round. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

const PASSED = [
  'id',
  'choices',
  'created',
  'model',
  'service_tier',
  'system_fingerprint',
  'object',
  'usage',
];

/** What of a chunk the client gets. */
export function forwarded(chunk: Chunk): Chunk {
  const passed: Chunk = {};
  for (const name of PASSED) if (chunk[name] !== undefined) passed[name] = chunk[name];
  return passed;
}
