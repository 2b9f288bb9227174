/**
 * Rendering for embedders: which inputs the documents of a batch give, and which fragment a search
 * fits. Runs on the thread of `render-worker.ts`; pure but for what is prepared.
 */
import { createHash } from 'node:crypto';
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

/** What the embedders of an index render from a document. */
export interface RenderSpec {
  /** The setting. */
  searchable: string[] | null;
  /** By number of the embedder. */
  embedders: RenderedEmbedder[];
  /** A document whose template does not render has no embedding, instead of failing its batch. */
  ignoreFaults: boolean;
}

export type RenderedEmbedder =
  | { kind: 'template'; template: string; bytesMax: number }
  | { kind: 'fragments'; fragments: { number: number; value: unknown }[] };

/**
 * A document of a chunk, as the engine writes it. `want`: for each embedder whose embeddings are to
 * be made its number, whether they are made even if the text is the same, and fragment and hash of
 * the text of each stored embedding (hexadecimal, `0` when it is not known).
 */
export interface ChunkDocument {
  id: unknown;
  doc: Record<string, unknown>;
  /** As it was, where a hash is not known or nothing is stored. */
  old?: Record<string, unknown>;
  want: [embedder: number, always: 0 | 1, stored: [fragment: number, hash: string][]][];
}

/** What is to be embedded, or an embedding that stays. */
export interface RenderedRow {
  fragment: number;
  /** Hexadecimal. */
  hash: string;
  /** null: the stored embedding of the fragment stays. */
  input: { value: unknown } | null;
}

export type RenderedChunk =
  | {
      kind: 'rows';
      /** By document and want: the rows it has from now on, or null when nothing changes. */
      rows: (RenderedRow[] | null)[][];
      /** By document and want: the number of the embedder. */
      wants: number[][];
      /** By document. */
      ids: unknown[];
    }
  | { kind: 'fault'; message: string };

type Prepared =
  | { kind: 'template'; template: DocumentTemplate; bytesMax: number }
  | { kind: 'fragments'; fragments: { number: number; fragment: Fragment }[] };

export class Renderer {
  readonly #searchable: SearchableAttributes;
  readonly #embedders: Prepared[];
  readonly #ignoreFaults: boolean;

  /** REQUIRES: all templates parse; it was checked with the settings. */
  constructor({ searchable, embedders, ignoreFaults }: RenderSpec) {
    this.#searchable = searchableAttributes(searchable);
    this.#embedders = embedders.map(prepare);
    this.#ignoreFaults = ignoreFaults;
  }

  /** @param chunk JSON of a list of `ChunkDocument` */
  render(chunk: string): RenderedChunk {
    const rows: (RenderedRow[] | null)[][] = [];
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
          return { kind: 'fault', message };
        }
      }
      rows.push(wanted);
    }
    const wants = items.map(({ want }) => want.map(([embedder]) => embedder));
    return { kind: 'rows', rows, wants, ids: items.map(({ id }) => id) };
  }

  /** A text: why it cannot be rendered. */
  #rowsOf(
    [number, always, stored]: ChunkDocument['want'][number],
    document: TemplateDocument,
    old: TemplateDocument | null,
  ): RenderedRow[] | null | string {
    const embedder = this.#embedders[number]!;
    if (embedder.kind === 'fragments')
      return fragmentRows(embedder.fragments, always === 1, stored, document);
    const { template, bytesMax } = embedder;
    const rendered = template.render(document, bytesMax);
    if (!rendered.ok) return rendered.error.message;
    const hash = hashOf(rendered.value);
    if (always === 0) {
      if (stored.length === 1 && stored[0]![1] === hash) return null;
      if (old !== null && stored.every(([, known]) => known === UNKNOWN)) {
        const before = template.render(old, bytesMax);
        if (before.ok && before.value === rendered.value) return null;
      }
    }
    return [{ fragment: 0, hash, input: { value: rendered.value } }];
  }
}

const UNKNOWN = '0';

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
  return { kind: 'template', template: parsed.value, bytesMax: embedder.bytesMax };
}

function fragmentRows(
  fragments: readonly { number: number; fragment: Fragment }[],
  always: boolean,
  stored: readonly [number, string][],
  document: TemplateDocument,
): RenderedRow[] | null {
  const known = new Map(stored);
  const rows: RenderedRow[] = [];
  for (const { number, fragment } of fragments) {
    // One that does not render is left out.
    const rendered = fragment.render(document.documentScope());
    if (!rendered.ok) continue;
    const hash = hashOf(JSON.stringify(rendered.value));
    const stays = !always && known.get(number) === hash;
    rows.push({ fragment: number, hash, input: stays ? null : { value: rendered.value } });
  }
  const same =
    !always && rows.length === stored.length && rows.every(({ input }) => input === null);
  return same ? null : rows;
}

/** 64 bits that tell texts apart, never 0. */
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

/** The search fragment all of whose variables are in `scope`. */
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
