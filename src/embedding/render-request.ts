/**
 * Rendering for one request, of what its user wrote: documents that a chat model is shown, or one
 * template to be looked at. Runs on the thread of `render-worker.ts`; pure.
 */
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

type Json = Record<string, unknown>;

/** What is rendered: a text, or any JSON with templates in it. `bytesMax` may be infinite. */
export type RequestTemplate =
  { kind: 'text'; text: string; bytesMax: number } | { kind: 'fragment'; value: unknown };

/** What it is rendered with. `searchable`: the setting; null: every attribute. */
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

/** What is null is not there. */
function searchScope({ q, media }: Extract<RequestInput, { kind: 'search' }>): Json {
  return {
    ...(q === undefined || q === null ? {} : { q }),
    ...(media === undefined || media === null ? {} : { media: withTexts(media) }),
  };
}

/** Documents that a model is shown. */
export interface TextsRequest {
  template: string;
  /** Of one document. */
  bytesMax: number;
  searchable: readonly string[] | null;
  /** JSON of an object whose member `member` lists the documents. */
  answer: Uint8Array;
  member: 'hits' | 'results';
  /** In which order; null: as they come. */
  order: { primaryKey: string; ids: string[] } | null;
}

/** Of all documents of a request. */
const TEXTS_MS_MAX = 5_000;
/** A model takes no more than some millions of characters for a whole conversation. */
const TEXTS_BYTES_MAX = 256 * 1024;

/**
 * The texts of the documents, one after the other, with newlines between; cut where they get too
 * long.
 */
export function textsForRequest(request: TextsRequest, now = Date.now): RequestOutcome<string> {
  const { template, bytesMax, answer, member } = request;
  const parsed = parseDocumentTemplate(template);
  if (!parsed.ok) return { kind: 'unparsable', reason: parsed.error };
  const documents = (parseTemplateJson(textOf(answer)) as Record<string, Json[]>)[member]!;
  const searchable = searchableAttributes(request.searchable);
  const deadline = now() + TEXTS_MS_MAX;
  const texts: string[] = [];
  let bytes = 0;
  for (const document of ordered(documents, request.order)) {
    if (now() > deadline) return { kind: 'failed', reason: 'it takes too long' };
    const rendered = parsed.value.render(new TemplateDocument(document, searchable), bytesMax);
    if (!rendered.ok) return { kind: 'failed', reason: rendered.error.message };
    texts.push(rendered.value);
    bytes += Buffer.byteLength(rendered.value) + 1;
    if (bytes > TEXTS_BYTES_MAX) break;
  }
  return { kind: 'rendered', value: cutText(texts.join('\n'), TEXTS_BYTES_MAX) };
}

/** Documents that are gone by now are left out. */
function ordered(documents: Json[], order: TextsRequest['order']): Json[] {
  if (order === null) return documents;
  const byId = new Map(documents.map((document) => [String(document[order.primaryKey]), document]));
  return order.ids
    .map((id) => byId.get(id))
    .filter((document): document is Json => document !== undefined);
}

/** What an answer of the engine lists. */
export interface Hits {
  /** null: some hit does not show its id. */
  ids: string[] | null;
  /** JSON of each hit, of the first ones as far as their length allows. */
  documents: string[];
}

/** Characters of the hits that are handed on: what the event loop has to write. */
const HITS_LENGTH_MAX = 2 ** 20;

/** @param answer JSON of an object whose member `hits` lists the documents */
export function hitsForRequest(answer: Uint8Array, primaryKey: string | null): Hits {
  const { hits } = JSON.parse(textOf(answer)) as { hits: Json[] };
  const ids = hits.map((hit) => (primaryKey === null ? undefined : hit[primaryKey]));
  const documents: string[] = [];
  let length = 0;
  for (const hit of hits) {
    const document = JSON.stringify(hit);
    length += document.length;
    if (length > HITS_LENGTH_MAX) break;
    documents.push(document);
  }
  return { ids: ids.includes(undefined) ? null : ids.map(String), documents };
}

/** Of UTF-8. */
export function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString();
}
