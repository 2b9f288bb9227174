/** Requests to a provider of embeddings and its answers, and what several protocols have in common. */
import { err, ok, type Result } from '../../base/result.ts';
import type { AnyFields } from './fields.ts';

/** Inputs of one request, unless the embedder says otherwise. */
export const INPUTS_MAX = 10;

export interface Protocol {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** As of `OutboundRequest`. */
  bodySecrets?: unknown;
  /** Inputs of one request. */
  inputsMax: number;
  /** Bytes of the inputs of one request, or null for any number. A larger input goes alone. */
  bytesMax: number | null;
  body(inputs: readonly unknown[]): string;
  embeddings(response: unknown): Result<Float32Array[], string>;
  /** What a status means to this provider. */
  explain(status: number): string | null;
  /** A request was refused with 400: what goes instead of each of its inputs alone. null: nothing does. */
  shorten: ((input: unknown, signal: AbortSignal | undefined) => Promise<unknown>) | null;
}

/** What protocols are made with, besides the embedder. */
export interface ProtocolContext {
  options: { openAiKey: string | null; ollamaUrl: string | null };
  /** The text, or the first token numbers of one that is too long for OpenAI. */
  shortenText: (text: string, signal: AbortSignal | undefined) => Promise<string | number[]>;
}

/** How many inputs, and how many bytes of them, go into one request. */
export function sizes(
  { maxBatchTexts, maxBatchBytes }: AnyFields,
  inputsMax: number,
): Pick<Protocol, 'inputsMax' | 'bytesMax'> {
  // A provider that takes one input at a time takes no more when it is asked to.
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

/** The embeddings of a list that is the member `name` of an answer. */
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

/** An embedding as it is stored, or why `value` is none. */
export function embeddingOf(value: unknown, path: string): Result<Float32Array, string> {
  if (!Array.isArray(value)) return err(`\`${path}\` is not a list of numbers`);
  if (value.length === 0) return err(`\`${path}\` is empty`);
  const embedding = new Float32Array(value.length);
  for (let i = 0; i < value.length; i++) {
    const number: unknown = value[i];
    // Single precision is checked, not what came: 1e39 is beyond it.
    if (typeof number === 'number') embedding[i] = number;
    if (typeof number !== 'number' || !Number.isFinite(embedding[i])) {
      return err(`\`${path}[${i}]\` is not a number`);
    }
  }
  return ok(embedding);
}
