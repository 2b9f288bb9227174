/**
 * Rendering for embedders: the inputs of the documents of a batch, and the fragment that matches a
 * search. Runs on the thread of `render-worker.ts`; pure except for prepared renderers.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Chunks } from '../contract/embedders/fields.ts';
import {
  type DocumentTemplate,
  type Fragment,
  parseDocumentTemplate,
  parseFragment,
  parseTemplateJson,
  type SearchableAttributes,
  searchableAttributes,
  TemplateDocument,
} from '../templates/document-template.ts';
import { withTexts } from '../templates/value-text.ts';
import { passagesOf } from './passages.ts';

/** The templates and fragments that the embedders of an index render. */
export interface RenderSpec {
  /** The setting `searchableAttributes`. */
  searchable: string[] | null;
  /** Embedders by their number. */
  embedders: RenderedEmbedder[];
  /**
   * Whether a document whose template cannot be rendered gets no embedding, instead of failing its
   * batch.
   */
  ignoreFaults: boolean;
}

export type RenderedEmbedder = (
  | { kind: 'template'; template: string; bytesMax: number; chunks?: Chunks | null }
  | { kind: 'fragments'; fragments: { number: number; value: unknown }[] }
) & {
  /**
   * A document without embeddings waits for them, although its text is unchanged. One that cannot
   * be rendered goes on waiting, instead of failing its batch.
   */
  waits?: boolean;
};

/**
 * A document of a chunk, as written by the engine. `want` has an entry for each embedder that needs
 * embeddings: its number, whether to compute them even if the text is unchanged, and the fragment,
 * text hash (hexadecimal, `0` if unknown) and passage of each stored embedding.
 */
export interface ChunkDocument {
  id: unknown;
  doc: Record<string, unknown>;
  /** The previous version, if a hash is unknown or nothing is stored. */
  old?: Record<string, unknown>;
  want: [embedder: number, always: 0 | 1, stored: StoredRow[]][];
}

type StoredRow = [fragment: number, hash: string, start?: number, length?: number];

/** An input to embed, or a stored embedding that is kept. */
export interface RenderedRow {
  fragment: number;
  /** Hash of the text, hexadecimal. */
  hash: string;
  /** The bytes of the attribute that it stands for; a length of 0: it stands for the document. */
  span: readonly [start: number, length: number];
  /** null: a stored embedding is kept. */
  input: { value: unknown } | null;
  /** The fragment under which the kept embedding is stored. */
  kept: number;
}

export interface RenderedRows {
  /** The new rows by document and want; null: nothing changes. */
  rows: (RenderedRow[] | null)[][];
  /** The number of the embedder, by document and want. */
  wants: number[][];
  /** Whether embeddings are stored, by document and want. */
  stored: boolean[][];
  /** Ids by document. */
  ids: unknown[];
  /** Wants of documents that cannot be rendered, and wait. */
  faults: { document: number; embedder: number; message: string }[];
}

export type RenderedChunk = ({ kind: 'rows' } & RenderedRows) | { kind: 'fault'; message: string };

export function noRows(): RenderedRows {
  return { rows: [], wants: [], stored: [], ids: [], faults: [] };
}

/** The rows of a document that cannot be rendered, which waits without embeddings. */
export function rowsOfFaulty({ id, want }: ChunkDocument, message: string): RenderedRows {
  const stored = want.map(([, , rows]) => rows.length > 0);
  const wants = want.map(([embedder]) => embedder);
  return {
    wants: [wants],
    stored: [stored],
    ids: [id],
    rows: [stored.map((some) => (some ? [] : null))],
    faults: wants.map((embedder) => ({ document: 0, embedder, message })),
  };
}

type Prepared =
  | { kind: 'template'; template: DocumentTemplate; bytesMax: number; chunks: Chunks | null }
  | { kind: 'fragments'; fragments: { number: number; fragment: Fragment }[] };

export class Renderer {
  readonly #searchable: SearchableAttributes;
  readonly #embedders: Prepared[];
  readonly #waits: boolean[];
  readonly #ignoreFaults: boolean;

  /** REQUIRES: all templates parse, which was checked with the settings. */
  constructor({ searchable, embedders, ignoreFaults }: RenderSpec) {
    this.#searchable = searchableAttributes(searchable);
    this.#embedders = embedders.map(prepare);
    this.#waits = embedders.map(({ waits }) => waits === true);
    this.#ignoreFaults = ignoreFaults;
  }

  /** @param chunk JSON of a list of `ChunkDocument` */
  render(chunk: string): RenderedChunk {
    const rows: RenderedRows['rows'] = [];
    const faults: RenderedRows['faults'] = [];
    const items = parseTemplateJson(chunk) as ChunkDocument[];
    for (const item of items) {
      const document = new TemplateDocument(item.doc, this.#searchable);
      const old = item.old === undefined ? null : new TemplateDocument(item.old, this.#searchable);
      const wanted: (RenderedRow[] | null)[] = [];
      for (const want of item.want) {
        const outcome = this.#rowsOf(want, document, old);
        if (typeof outcome !== 'string') wanted.push(outcome);
        else if (this.#ignoreFaults) wanted.push([]);
        else {
          const names = document.fieldNames.map((name) => `\`doc.${name}\``).join(', ');
          const message =
            `The template of an embedder cannot be rendered for the document ${JSON.stringify(item.id)}: ${outcome}. ` +
            `Available are ${names}.`;
          const [embedder, , storedRows] = want;
          if (this.#waits[embedder] !== true) return { kind: 'fault', message };
          faults.push({ document: rows.length, embedder, message });
          wanted.push(storedRows.length > 0 ? [] : null);
        }
      }
      rows.push(wanted);
    }
    const wants = items.map(({ want }) => want.map(([embedder]) => embedder));
    const stored = items.map(({ want }) => want.map(([, , rows]) => rows.length > 0));
    return { kind: 'rows', rows, wants, stored, ids: items.map(({ id }) => id), faults };
  }

  /** @returns the rows, or a text that says why the document cannot be rendered */
  #rowsOf(
    [number, isForced, stored]: ChunkDocument['want'][number],
    document: TemplateDocument,
    old: TemplateDocument | null,
  ): RenderedRow[] | null | string {
    const embedder = this.#embedders[number]!;
    const always = isForced === 1 || (this.#waits[number]! && stored.length === 0);
    const texts = textsOf(embedder, document);
    if (typeof texts === 'string') return texts;
    if (!always && old !== null && embedder.kind === 'template' && stored.every(isUnknown)) {
      const before = textsOf(embedder, old);
      if (isDeepStrictEqual(before, texts)) return null;
    }
    return rowsOf(texts, always ? [] : stored, always);
  }
}

const UNKNOWN = '0';

function isUnknown([, hash]: StoredRow): boolean {
  return hash === UNKNOWN;
}

function prepare(embedder: RenderedEmbedder): Prepared {
  if (embedder.kind === 'fragments') {
    const fragments = embedder.fragments.map(({ number, value }) => {
      const parsed = parseFragment(value);
      if (!parsed.ok) throw new Error(parsed.error);
      return { number, fragment: parsed.value };
    });
    return { kind: 'fragments', fragments };
  }
  const parsed = parseDocumentTemplate(embedder.template);
  if (!parsed.ok) throw new Error(parsed.error);
  const { bytesMax, chunks = null } = embedder;
  return { kind: 'template', template: parsed.value, bytesMax, chunks };
}

/** A text to embed, or one of the fragments or passages of a document. */
interface Rendered {
  fragment: number;
  value: unknown;
  span: readonly [start: number, length: number];
}

/** @returns a text if the document cannot be rendered */
function textsOf(embedder: Prepared, document: TemplateDocument): Rendered[] | string {
  if (embedder.kind === 'fragments') return fragmentsOf(embedder.fragments, document);
  const { template, bytesMax, chunks } = embedder;
  const field = chunks === null ? null : document.textAt(chunks.attribute);
  const passages = field === null ? [] : passagesOf(field.text, chunks!);
  if (passages.length === 0) {
    const rendered = template.render(document, bytesMax);
    if (!rendered.ok) return rendered.error.message;
    return [{ fragment: 0, value: rendered.value, span: [0, 0] }];
  }
  const texts: Rendered[] = [];
  try {
    for (const [fragment, { text, start, length }] of passages.entries()) {
      field!.replace(text);
      const rendered = template.render(document, bytesMax + length);
      if (!rendered.ok) return rendered.error.message;
      texts.push({ fragment, value: rendered.value, span: [start, length] });
    }
    return texts;
  } finally {
    // Other embedders see the document as it is.
    field!.replace(field!.text);
  }
}

function fragmentsOf(
  fragments: readonly { number: number; fragment: Fragment }[],
  document: TemplateDocument,
): Rendered[] {
  const texts: Rendered[] = [];
  for (const { number, fragment } of fragments) {
    // A fragment that cannot be rendered is skipped.
    const rendered = fragment.render(document.documentScope());
    if (rendered.ok) texts.push({ fragment: number, value: rendered.value, span: [0, 0] });
  }
  return texts;
}

/** @returns null if the stored rows stay */
function rowsOf(
  texts: readonly Rendered[],
  stored: readonly StoredRow[],
  always: boolean,
): RenderedRow[] | null {
  const rows = texts.map(({ fragment, value, span }): RenderedRow => {
    const hash = hashOf(typeof value === 'string' ? value : JSON.stringify(value));
    const equal = stored.filter(([, text]) => text === hash);
    // A passage may move in its text.
    const moved = span[1] > 0 ? equal.at(-1) : undefined;
    const same = equal.find(([number]) => number === fragment) ?? moved;
    if (same !== undefined) return { fragment, hash, span, input: null, kept: same[0] };
    return { fragment, hash, span, input: { value }, kept: 0 };
  });
  const isStored = ({ fragment, hash, span }: RenderedRow, at: number): boolean => {
    const [number, text, start = 0, length = 0] = stored[at]!;
    return number === fragment && text === hash && start === span[0] && length === span[1];
  };
  return !always && rows.length === stored.length && rows.every(isStored) ? null : rows;
}

/** A 64-bit hash of a text, never 0. */
function hashOf(text: string): string {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return /^0+$/.test(hash) ? '1'.padStart(16, '0') : hash;
}

export interface SearchScope {
  q?: string;
  media?: unknown;
}

export type FittingFragment =
  { kind: 'one'; value: unknown } | { kind: 'none' } | { kind: 'several'; names: [string, string] };

/** Finds the search fragment whose variables are all in `scope`. */
export function fitFragment(
  fragments: Readonly<Record<string, { value: unknown }>>,
  scope: SearchScope,
): FittingFragment {
  const variables = withTexts(structuredClone(scope)) as object;
  let found: { name: string; value: unknown } | null = null;
  for (const [name, { value }] of Object.entries(fragments)) {
    const parsed = parseFragment(value);
    if (!parsed.ok) continue;
    const rendered = parsed.value.render(variables);
    if (!rendered.ok) continue;
    if (found !== null) return { kind: 'several', names: [found.name, name] };
    found = { name, value: rendered.value };
  }
  return found === null ? { kind: 'none' } : { kind: 'one', value: found.value };
}
