/**
 * Requests to a provider of embeddings and their responses, and code shared by several protocols.
 */
import { err, ok, type Result } from '../../base/result.ts';
import type { AnyFields } from './fields.ts';

/** Default number of inputs per request. */
export const INPUTS_MAX = 10;

export interface Protocol {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** See `OutboundRequest`. */
  bodySecrets?: unknown;
  /** Maximum inputs per request. */
  inputsMax: number;
  /**
   * Maximum bytes of the inputs of one request, or null for no limit. A larger input is sent alone.
   */
  bytesMax: number | null;
  body(inputs: readonly unknown[]): string;
  embeddings(response: unknown): Result<Float32Array[], string>;
  /** What a status means for this provider. */
  explain(status: number): string | null;
  /**
   * Called when a request was refused with 400: returns a shorter form of an input to retry alone.
   * null: inputs cannot be shortened.
   */
  shorten: ((input: unknown, signal: AbortSignal | undefined) => Promise<unknown>) | null;
}

/** What creating a protocol takes, apart from the embedder. */
export interface ProtocolContext {
  options: { openAiKey: string | null; ollamaUrl: string | null };
  /** The text, or its first token numbers if it is too long for OpenAI. */
  shortenText: (text: string, signal: AbortSignal | undefined) => Promise<string | number[]>;
}

/** Maximum inputs, and bytes of inputs, per request. */
export function sizes(
  { maxBatchTexts, maxBatchBytes }: AnyFields,
  inputsMax: number,
): Pick<Protocol, 'inputsMax' | 'bytesMax'> {
  // A provider that takes one input at a time keeps this limit even if more are requested.
  const texts = inputsMax === 1 ? 1 : (maxBatchTexts ?? inputsMax);
  return { inputsMax: texts, bytesMax: maxBatchBytes ?? null };
}

export function jsonHeaders(apiKey: string | null | undefined): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (typeof apiKey === 'string') headers.authorization = `Bearer ${apiKey}`;
  return headers;
}

export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

/** The embeddings of the list in the member `name` of a response. */
export function embeddingsIn(
  response: unknown,
  name: string,
  embeddingIn: (item: unknown) => unknown,
): Result<Float32Array[], string> {
  const items = memberOf(response, name);
  if (!Array.isArray(items)) return err(`\`answer.${name}\` is not a list`);
  const embeddings: Float32Array[] = [];
  for (const [number, item] of items.entries()) {
    const embedding = embeddingOf(embeddingIn(item), `answer.${name}[${number}]`);
    if (!embedding.ok) return embedding;
    embeddings.push(embedding.value);
  }
  return ok(embeddings);
}

/** The embedding in stored form, or why `value` is not one. */
export function embeddingOf(value: unknown, path: string): Result<Float32Array, string> {
  if (!Array.isArray(value)) return err(`\`${path}\` is not a list of numbers`);
  if (value.length === 0) return err(`\`${path}\` is empty`);
  const embedding = new Float32Array(value.length);
  for (let i = 0; i < value.length; i++) {
    const number: unknown = value[i];
    // Check the single-precision value, not the received one: 1e39 is out of range.
    if (typeof number === 'number') embedding[i] = number;
    if (typeof number !== 'number' || !Number.isFinite(embedding[i])) {
      return err(`\`${path}[${i}]\` is not a number`);
    }
  }
  return ok(embedding);
}
