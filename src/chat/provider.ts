/**
 * Chat providers: requests to them and the streams they respond with. The sources differ in the
 * URL, the header of the key, the role of the system prompt and the format of errors.
 */
import { randomUUID } from 'node:crypto';
import { TextDecoder } from 'node:util';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { excessIn } from '../base/json.ts';
import type { ChatMessage, ChatWorkspace } from '../contract/chats.ts';
import type {
  OutboundClient,
  OutboundRequest,
  OutboundStream,
} from '../outbound/outbound-client.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import { type ErrorEvent, type ProviderChunk, readChunk } from './chunks.ts';

/** Maximum ms until the first byte of the response. Models may think for a long time. */
const HEAD_TIMEOUT_MS = 120_000;
/** Maximum ms between two pieces of the response. */
const IDLE_TIMEOUT_MS = 120_000;
/** Maximum bytes of one event, and of an error body. */
const EVENT_BYTES_MAX = 8 * 2 ** 20;
const ERROR_BYTES_MAX = 2 ** 20;

const DEFAULT_URLS: Record<string, string> = {
  openAi: 'https://api.openai.com/v1',
  mistral: 'https://api.mistral.ai/v1',
  gemini: 'https://generativelanguage.googleapis.com/v1beta/openai',
};

/** OpenAI models that support the role `system` but not `developer`. */
const SYSTEM_ROLE_MODELS = /^(?:gpt-3\.5|gpt-4|gpt-4\.1|gpt-4\.5|gpt-4o|chatgpt-4o)(?:-|$)/;

/** The error object of a provider. */
interface ErrorBody {
  type?: unknown;
  code?: unknown;
  message?: unknown;
  param?: unknown;
}

/** A failure of the provider, as reported to the client. */
export class ProviderError extends Error {
  readonly event: ErrorEvent;
  constructor(event: ErrorEvent) {
    super(event.error.message);
    this.event = event;
  }
}

export function errorEvent(
  type: string,
  message: string,
  code: string | null = null,
  param: string | null = null,
): ErrorEvent {
  const error = { type, code, message, param, event_id: null };
  return { event_id: randomUUID(), type: 'error', error };
}

export function providerError(
  type: string,
  message: string,
  code: string | null = null,
): ProviderError {
  return new ProviderError(errorEvent(type, message, code));
}

function endpointOf(workspace: ChatWorkspace): string {
  const { source, deploymentId, apiVersion } = workspace;
  const base = (workspace.baseUrl || DEFAULT_URLS[source] || '').replace(/\/+$/, '');
  if (source !== 'azureOpenAi') return `${base}/chat/completions`;
  const deployment = encodeURIComponent(deploymentId ?? '');
  const version = encodeURIComponent(apiVersion ?? '');
  return `${base}/openai/deployments/${deployment}/chat/completions?api-version=${version}`;
}

function headersOf({ source, apiKey, orgId, projectId }: ChatWorkspace): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'text/event-stream',
  };
  if (source === 'azureOpenAi') {
    if (apiKey) headers['api-key'] = apiKey;
    return headers;
  }
  if (apiKey) headers.authorization = `Bearer ${apiKey}`;
  if (orgId) headers['openai-organization'] = orgId;
  if (projectId) headers['openai-project'] = projectId;
  return headers;
}

function isOpenAi({ source }: ChatWorkspace): boolean {
  return source === 'openAi' || source === 'azureOpenAi';
}

export function systemMessage(
  workspace: ChatWorkspace,
  model: string,
  content: string,
): ChatMessage {
  const developer = isOpenAi(workspace) && !SYSTEM_ROLE_MODELS.test(model);
  return { role: developer ? 'developer' : 'system', content };
}

/**
 * The request body. OpenAI is always asked to report usage. Other sources may not support the
 * option, so they are asked only if the client asks.
 */
export function requestBody(workspace: ChatWorkspace, body: Record<string, unknown>): string {
  const { stream_options: given, ...rest } = body;
  const wantsUsage = isOpenAi(workspace) || includesUsage(given);
  const options = wantsUsage ? { stream_options: { include_usage: true } } : {};
  return JSON.stringify({ ...rest, stream: true, ...options });
}

/** @param options the member `stream_options` of a request */
export function includesUsage(options: unknown): boolean {
  return (options as { include_usage?: unknown } | null | undefined)?.include_usage === true;
}

/**
 * Sends a conversation and yields the chunks of the response until `[DONE]` or the end of the
 * stream. The generator applies backpressure to the provider. Throws `ProviderError`.
 */
export async function* completion(
  outbound: OutboundClient,
  workspace: ChatWorkspace,
  body: string,
  signal: AbortSignal,
): AsyncGenerator<ProviderChunk> {
  const response = await opened(outbound, workspace, body, signal);
  try {
    for await (const event of events(response)) {
      if (event.data === '[DONE]') return;
      yield parsedChunk(event.data, response.hide);
    }
  } finally {
    response.discard();
  }
}

async function opened(
  outbound: OutboundClient,
  workspace: ChatWorkspace,
  body: string,
  signal: AbortSignal,
): Promise<OutboundStream> {
  let response: OutboundStream;
  try {
    const request: OutboundRequest = {
      method: 'POST',
      url: endpointOf(workspace),
      headers: headersOf(workspace),
      body,
      timeoutMs: HEAD_TIMEOUT_MS,
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      signal,
    };
    response = await outbound.counts.counted(
      'chat',
      signal,
      () => outbound.stream(request),
      ({ status }) => status === 200,
    );
  } catch (error) {
    throw transportError(error);
  }
  const type = String(response.headers['content-type'] ?? '');
  if (response.status === 200 && type.toLowerCase().startsWith('text/event-stream'))
    return response;
  try {
    throw refusal(response.status, await errorText(response), response.hide);
  } finally {
    response.discard();
  }
}

function transportError(error: unknown): Error {
  if (!(error instanceof OutboundError)) return error as Error;
  const type = error.failure === 'invalidRequest' ? 'invalid_argument' : 'transport_error';
  return providerError(type, error.message);
}

async function errorText(response: OutboundStream): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response.body) {
      bytes += chunk.length;
      if (bytes > ERROR_BYTES_MAX) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw transportError(error);
  }
  return Buffer.concat(chunks).toString();
}

type Hide = OutboundStream['hide'];

/**
 * The error of a response that is not a stream: under `error`, or at the top level with Mistral.
 */
function refusal(status: number, text: string, hide: Hide): ProviderError {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  // Some providers wrap the object in a list.
  const [first] = Array.isArray(body) ? (body as unknown[]) : [body];
  const error = (first as { error?: unknown } | null | undefined)?.error ?? first;
  if (isErrorBody(error)) return new ProviderError(eventOf(error, hide));
  if (typeof error === 'string') return providerError('unknown', hide(error));
  return providerError('reqwest_error', `The provider answered ${status} with what cannot be read`);
}

function isErrorBody(value: unknown): value is ErrorBody {
  return (
    typeof value === 'object' && value !== null && typeof (value as ErrorBody).message === 'string'
  );
}

/** Converts numbers and booleans to text. Objects become null, because no client expects them. */
function textOrNull(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

function eventOf({ type, code, message, param }: ErrorBody, hide: Hide): ErrorEvent {
  const shown = (value: unknown): string | null => {
    const text = textOrNull(value);
    return text === null ? null : hide(text);
  };
  return errorEvent(
    typeof type === 'string' ? hide(type) : 'unknown',
    shown(message) ?? 'The provider reports an error',
    shown(code),
    shown(param),
  );
}

/** Yields the events of a body. */
async function* events(response: OutboundStream): AsyncGenerator<EventSourceMessage> {
  let ready: EventSourceMessage[] = [];
  let pendingBytes = 0;
  const parser = createParser({ onEvent: (event) => ready.push(event) });
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const bytes of response.body) {
      pendingBytes += bytes.length;
      parser.feed(decoded(decoder, bytes));
      if (ready.length > 0) pendingBytes = 0;
      else if (pendingBytes > EVENT_BYTES_MAX) {
        throw providerError(
          'parser_error',
          `An event of the provider has more than ${EVENT_BYTES_MAX} bytes`,
        );
      }
      const batch = ready;
      ready = [];
      yield* batch;
    }
  } catch (error) {
    throw transportError(error);
  }
  // The last event may lack its terminating empty line.
  parser.feed('\n\n');
  yield* ready;
}

function decoded(decoder: TextDecoder, bytes: Buffer): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch {
    throw providerError('invalid_utf8_error', 'The stream of the provider is not UTF-8');
  }
}

/** @param hide removes credentials from provider texts before they are shown */
function parsedChunk(data: string, hide: Hide): ProviderChunk {
  // A value that is nested deeper could not be serialized again.
  const excess = excessIn(Buffer.from(data));
  if (excess !== null) throw badChunk(excess);
  let chunk: unknown;
  try {
    chunk = JSON.parse(data);
  } catch (error) {
    throw badChunk(`it is not JSON: ${hide((error as Error).message)}`);
  }
  if (typeof chunk !== 'object' || chunk === null || Array.isArray(chunk)) {
    throw badChunk('it is not a JSON object');
  }
  const { error, object } = chunk as { error?: unknown; object?: unknown };
  if (typeof error === 'string' && error !== '') throw providerError('unknown', hide(error));
  if (typeof error === 'object' && error !== null) throw new ProviderError(eventOf(error, hide));
  if (object === 'error' && isErrorBody(chunk)) throw new ProviderError(eventOf(chunk, hide));
  const read = readChunk(chunk as Record<string, unknown>);
  if (!read.ok) throw badChunk(read.error);
  return read.value;
}

function badChunk(reason: string): ProviderError {
  return providerError(
    'json_deserialize_error',
    `A chunk of the provider cannot be used: ${reason}`,
    'internal',
  );
}
