/** The providers by source: which requests they take and what their answers look like. */
import { err, ok, type Result } from '../base/result.ts';
import { type Embedder, hasFragments, OPENAI_DIMENSIONS } from '../contract/embedders.ts';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import { EmbeddingError } from './embedding-error.ts';
import { type Protocol, type Provider, type RequestLimits, RequestProvider } from './provider.ts';
import { embeddingOf, RequestTemplate, ResponseTemplate } from './rest-template.ts';

/** Inputs of one request, unless the embedder says otherwise. */
const INPUTS_MAX = 10;

const OPENAI_URL = 'https://api.openai.com/v1/embeddings';
const OLLAMA_URL = 'http://localhost:11434/api/embeddings';
const NOT_FOUND = 404;

export interface ProviderOptions extends RequestLimits {
  openAiKey: string | null;
  ollamaUrl: string | null;
}

/** What providers are made with. */
export interface ProviderParts {
  client: OutboundClient;
  options: ProviderOptions;
  /** The text, or the first token numbers of one that is too long for OpenAI. */
  shortenText: (text: string, signal: AbortSignal | undefined) => Promise<string | number[]>;
  /** A provider that runs a model on this machine. */
  localModel: (embedder: Embedder) => Provider;
}

/**
 * The provider of an embedder of a source that computes embeddings, or of a part of a composite one.
 * Throws `EmbeddingError` when there can be none.
 */
export function openProvider(embedder: Embedder, parts: ProviderParts): Provider {
  switch (embedder.source) {
    case 'openAi':
      return requestProvider(openAi(embedder, parts), openAiDimensions(embedder), parts);
    case 'ollama':
      return requestProvider(ollama(embedder, parts.options), given(embedder.dimensions), parts);
    case 'rest':
      return requestProvider(rest(embedder), given(embedder.dimensions), parts);
    case 'huggingFace':
      return parts.localModel(embedder);
    default:
      throw new Error(`the source ${String(embedder.source)} computes no embeddings`);
  }
}

function requestProvider(
  protocol: Protocol,
  dimensions: number | null,
  { client, options }: ProviderParts,
): Provider {
  return new RequestProvider(protocol, dimensions, client, options);
}

function given(dimensions: unknown): number | null {
  return typeof dimensions === 'number' ? dimensions : null;
}

function openAiDimensions({ dimensions, model }: Embedder): number | null {
  return given(dimensions) ?? OPENAI_DIMENSIONS[String(model)] ?? null;
}

/** How many inputs, and how many bytes of them, go into one request. */
function sizes(
  { maxBatchTexts, maxBatchBytes }: Embedder,
  inputsMax: number,
): Pick<Protocol, 'inputsMax' | 'bytesMax'> {
  // A provider that takes one input at a time takes no more when it is asked to.
  const texts = inputsMax === 1 ? 1 : (given(maxBatchTexts) ?? inputsMax);
  return { inputsMax: texts, bytesMax: given(maxBatchBytes) };
}

function jsonHeaders(apiKey: unknown): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (typeof apiKey === 'string') headers.authorization = `Bearer ${apiKey}`;
  return headers;
}

function openAi(embedder: Embedder, { options, shortenText }: ProviderParts): Protocol {
  const { model, dimensions, url, apiKey } = embedder;
  return {
    ...sizes(embedder, INPUTS_MAX),
    url: typeof url === 'string' ? url : OPENAI_URL,
    headers: jsonHeaders(apiKey ?? options.openAiKey),
    body(inputs) {
      // Token numbers are one input of their own.
      const [first] = inputs;
      const input = inputs.length === 1 && Array.isArray(first) ? first : inputs;
      return JSON.stringify(
        dimensions === undefined ? { model, input } : { model, input, dimensions },
      );
    },
    embeddings: (answer) => embeddingsIn(answer, 'data', (item) => memberOf(item, 'embedding')),
    explain: () => null,
    shorten: (input, signal) => shortenText(String(input), signal),
  };
}

function ollama(embedder: Embedder, options: ProviderOptions): Protocol {
  const { model, apiKey } = embedder;
  const url = typeof embedder.url === 'string' ? embedder.url : (options.ollamaUrl ?? OLLAMA_URL);
  const path = URL.canParse(url) ? new URL(url).pathname.replace(/\/+$/, '') : '';
  const common = {
    url,
    headers: jsonHeaders(apiKey),
    shorten: null,
    explain: (status: number) =>
      status === NOT_FOUND ? `the model \`${String(model)}\` is not found, pull it first` : null,
  };
  if (path.endsWith('/api/embed')) {
    return {
      ...common,
      ...sizes(embedder, INPUTS_MAX),
      body: (inputs) => JSON.stringify({ model, input: inputs }),
      embeddings: (answer) => embeddingsIn(answer, 'embeddings', (item) => item),
    };
  }
  if (path.endsWith('/api/embeddings')) {
    return {
      ...common,
      ...sizes(embedder, 1),
      body: ([prompt]) => JSON.stringify({ model, prompt }),
      embeddings(answer) {
        const embedding = embeddingOf(memberOf(answer, 'embedding'), 'answer.embedding');
        return embedding.ok ? ok([embedding.value]) : embedding;
      },
    };
  }
  throw new EmbeddingError(
    `The url of an embedder of the source \`ollama\` must end with \`/api/embed\` or \`/api/embeddings\`; \`${path}\` does not.`,
  );
}

function rest(embedder: Embedder): Protocol {
  const placeholder = hasFragments(embedder) ? '{{fragment}}' : '{{text}}';
  const request = new RequestTemplate(embedder.request, placeholder);
  const response = new ResponseTemplate(embedder.response);
  const headers = jsonHeaders(embedder.apiKey);
  for (const [name, value] of Object.entries(embedder.headers ?? {})) {
    headers[name.toLowerCase()] = String(value);
  }
  return {
    ...sizes(embedder, request.repeats ? INPUTS_MAX : 1),
    url: String(embedder.url),
    headers,
    bodySecrets: embedder.request,
    body: (inputs) => request.body(inputs),
    embeddings: (answer) => response.embeddings(answer),
    explain: () => null,
    shorten: null,
  };
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function embeddingsIn(
  answer: unknown,
  name: string,
  embeddingIn: (item: unknown) => unknown,
): Result<Float32Array[], string> {
  const items = memberOf(answer, name);
  if (!Array.isArray(items)) return err(`\`answer.${name}\` is not a list`);
  const embeddings: Float32Array[] = [];
  for (const [number, item] of items.entries()) {
    const embedding = embeddingOf(embeddingIn(item), `answer.${name}[${number}]`);
    if (!embedding.ok) return embedding;
    embeddings.push(embedding.value);
  }
  return ok(embeddings);
}
