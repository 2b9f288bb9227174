/**
 * Rendering for a single request: documents for a chat model, or a template to preview. Runs on the
 * thread of `render-worker.ts`; pure.
 */
import { jsonString, RawJson } from '../base/json.ts';
import { err, ok, type Result } from '../base/result.ts';
import {
  parseDocumentTemplate,
  parseFragment,
  parseTemplateJson,
  searchableAttributes,
  TemplateDocument,
} from '../templates/document-template.ts';
import type { RenderFault } from '../templates/liquid.ts';
import { cutText, withTexts } from '../templates/value-text.ts';
import {
  choosePassages,
  type ChosenPassage,
  type CitedPassage,
  type PassageChoice,
} from './choose-passages.ts';

type Json = Record<string, unknown>;

/** A template: a text, or a JSON value with templates in it. `bytesMax` may be infinite. */
export type RequestTemplate =
  { kind: 'text'; text: string; bytesMax: number } | { kind: 'fragment'; value: unknown };

/** The input of a template. `searchable`: the setting; null: all attributes. */
export type RequestInput =
  | { kind: 'document'; json: string; searchable: readonly string[] | null }
  | { kind: 'inlineDocument'; document: Json }
  | { kind: 'search'; q: unknown; media: unknown };

export type RequestOutcome<T = unknown> =
  | { kind: 'rendered'; value: T }
  /** The template does not parse. */
  | { kind: 'unparsable'; reason: string }
  | { kind: 'failed'; reason: string };

/** @param input null: the template is only parsed, and the value is null */
export function renderForRequest(
  template: RequestTemplate,
  input: RequestInput | null,
): RequestOutcome {
  const parsed = template.kind === 'text' ? textRenderer(template) : fragmentRenderer(template);
  if (!parsed.ok) return { kind: 'unparsable', reason: parsed.error };
  const rendered: Result<unknown, RenderFault> = input === null ? ok(null) : parsed.value(input);
  return rendered.ok
    ? { kind: 'rendered', value: rendered.value }
    : { kind: 'failed', reason: rendered.error.message };
}

type Render = (input: RequestInput) => Result<unknown, RenderFault>;

function textRenderer({
  text,
  bytesMax,
}: Extract<RequestTemplate, { kind: 'text' }>): Result<Render, string> {
  const parsed = parseDocumentTemplate(text);
  if (!parsed.ok) return parsed;
  return ok((input) =>
    input.kind === 'search'
      ? err({ message: 'a search has no `doc`', missing: true })
      : parsed.value.render(documentOf(input), bytesMax),
  );
}

function fragmentRenderer({
  value,
}: Extract<RequestTemplate, { kind: 'fragment' }>): Result<Render, string> {
  const parsed = parseFragment(value);
  if (!parsed.ok) return parsed;
  return ok((input) =>
    parsed.value.render(
      input.kind === 'search' ? searchScope(input) : documentOf(input).documentScope(),
    ),
  );
}

function documentOf(input: Exclude<RequestInput, { kind: 'search' }>): TemplateDocument {
  return input.kind === 'inlineDocument'
    ? new TemplateDocument(input.document, null)
    : new TemplateDocument(
        parseTemplateJson(input.json) as Json,
        searchableAttributes(input.searchable),
      );
}

/** The variables of a search. Null values are left undefined. */
function searchScope({ q, media }: Extract<RequestInput, { kind: 'search' }>): Json {
  return {
    ...(q === undefined || q === null ? {} : { q }),
    ...(media === undefined || media === null ? {} : { media: withTexts(media) }),
  };
}

/** A request for the texts of documents for a chat model. */
export interface TextsRequest {
  template: string;
  /** Maximum bytes of the text of one document. */
  bytesMax: number;
  searchable: readonly string[] | null;
  /** JSON of an object whose member `member` lists the documents. */
  result: Uint8Array;
  member: 'hits' | 'results';
  /** JSON of a search response, instead of whole documents; null: whole documents. */
  passages?: { hits: Uint8Array; maxTokens: number } | null;
  /** The order of the documents; null: the order of the result. */
  order: { primaryKey: string; ids: string[] } | null;
}

/** Maximum ms for all documents of a request. */
const TEXTS_MS_MAX = 5_000;
/**
 * Maximum bytes of all texts. Models accept at most some millions of characters per conversation.
 */
const TEXTS_BYTES_MAX = 256 * 1024;

/** Renders documents and joins their texts with newlines. The result is cut to the maximum size. */
export function textsForRequest(request: TextsRequest, now = Date.now): RequestOutcome<string> {
  const { template, bytesMax, result, member } = request;
  const parsed = parseDocumentTemplate(template);
  if (!parsed.ok) return { kind: 'unparsable', reason: parsed.error };
  const documents = (parseTemplateJson(textOf(result)) as Record<string, Json[]>)[member]!;
  const searchable = searchableAttributes(request.searchable);
  const deadline = now() + TEXTS_MS_MAX;
  const texts: string[] = [];
  let bytes = 0;
  const all = ordered(documents, request.order);
  for (const { document: given, passage } of pieces(all, request)) {
    if (now() > deadline) return { kind: 'failed', reason: 'it takes too long' };
    const document = new TemplateDocument(given, searchable);
    if (passage !== null) document.textAt(passage.attribute)?.replace(passage.text);
    const rendered = parsed.value.render(document, bytesMax + (passage?.length ?? 0));
    if (!rendered.ok) return { kind: 'failed', reason: rendered.error.message };
    texts.push(rendered.value);
    bytes += Buffer.byteLength(rendered.value) + 1;
    if (bytes > TEXTS_BYTES_MAX) break;
  }
  return { kind: 'rendered', value: cutText(texts.join('\n'), TEXTS_BYTES_MAX) };
}

/** A document, or a passage that takes the place of the text that it is from. */
interface Piece {
  document: Json;
  passage: CitedPassage | null;
}

function pieces(documents: readonly Json[], { passages = null, order }: TextsRequest): Piece[] {
  if (passages === null) return documents.map((document) => ({ document, passage: null }));
  const primaryKey = order?.primaryKey ?? null;
  const { hits } = responseOf(passages.hits, primaryKey);
  const byId = new Map(documents.map((document) => [String(document[primaryKey ?? '']), document]));
  const chosen = choosePassages(hits, { ...passages, primaryKey });
  // A text in a list is not replaced: its document is rendered whole, and once.
  const isNeeded = ({ passage, hit }: ChosenPassage, n: number): boolean =>
    passage.indices === undefined || chosen.findIndex((one) => one.hit === hit) === n;
  return chosen.filter(isNeeded).map(({ passage, hit }) => {
    const whole = primaryKey === null ? hit : (byId.get(String(passage.id)) ?? hit);
    // Rendering changes a document, which may have several passages.
    const { _matchesPosition, _passages, ...document } = structuredClone(whole);
    return { document, passage };
  });
}

/** Puts documents in order. Documents that were deleted meanwhile are skipped. */
function ordered(documents: Json[], order: TextsRequest['order']): Json[] {
  if (order === null) return documents;
  const byId = new Map(documents.map((document) => [String(document[order.primaryKey]), document]));
  return order.ids
    .map((id) => byId.get(id))
    .filter((document): document is Json => document !== undefined);
}

/** A request for passages of the hits of an engine result. */
export interface PassagesQuery extends PassageChoice {
  /** JSON of a search response. */
  result: Uint8Array;
}

export interface FoundPassages {
  passages: CitedPassage[];
  tokens: number;
  degraded?: unknown;
  remoteErrors?: unknown;
}

export function passagesForRequest(request: PassagesQuery): FoundPassages {
  const { hits, degraded, remoteErrors } = responseOf(request.result, request.primaryKey);
  const chosen = choosePassages(hits, request);
  return {
    passages: chosen.map(({ passage }) => passage),
    tokens: chosen.reduce((sum, { passage }) => sum + passage.tokens, 0),
    ...(degraded !== undefined && { degraded }),
    ...(remoteErrors !== undefined && { remoteErrors }),
  };
}

/** The hits of an engine result. */
export interface Hits {
  /** Ids of the hits; null: some hit does not display its id. */
  ids: string[] | null;
  /** The JSON text of each hit, up to a total length of `HITS_LENGTH_MAX`. */
  documents: string[];
}

/** Maximum characters of hits passed to the event loop, which has to write them. */
const HITS_LENGTH_MAX = 2 ** 20;

/**
 * @param result JSON of an object whose member `hits` lists the documents
 * @param hidden members of the hits that are left out
 */
export function hitsForRequest(
  result: Uint8Array,
  primaryKey: string | null,
  hidden: readonly string[] = [],
): Hits {
  const { hits } = responseOf(result, primaryKey);
  for (const hit of hits) for (const name of hidden) delete hit[name];
  const ids = hits.map((hit) => (primaryKey === null ? undefined : hit[primaryKey]));
  const documents: string[] = [];
  let length = 0;
  for (const hit of hits) {
    const id = primaryKey === null ? null : hit[primaryKey];
    const document =
      typeof id === 'bigint'
        ? jsonString({ ...hit, [primaryKey!]: new RawJson(String(id)) })
        : JSON.stringify(hit);
    length += document.length;
    if (length > HITS_LENGTH_MAX) break;
    documents.push(document);
  }
  return { ids: ids.includes(undefined) ? null : ids.map(String), documents };
}

/**
 * A search response. An id that is a whole number beyond those that JavaScript represents exactly
 * is a `bigint`.
 */
function responseOf(
  result: Uint8Array,
  primaryKey: string | null,
): { hits: Json[] } & Pick<FoundPassages, 'degraded' | 'remoteErrors'> {
  const text = textOf(result);
  const response = JSON.parse(text) as ReturnType<typeof responseOf>;
  if (primaryKey === null) return response;
  const rounded = [...response.hits.entries()].filter(([, { [primaryKey]: id }]) => isRounded(id));
  if (rounded.length === 0) return response;
  const { hits } = parseTemplateJson(text) as { hits: Json[] };
  for (const [n, hit] of rounded) hit[primaryKey] = BigInt(hits[n]![primaryKey] as string);
  return response;
}

function isRounded(id: unknown): boolean {
  return typeof id === 'number' && !Number.isSafeInteger(id);
}

/** Decodes UTF-8. */
export function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString();
}
