/**
 * The fields of embedders. A field has the same meaning for every source; each source declares
 * which fields it supports.
 */
import {
  boolean,
  declared,
  defaultsOf,
  each,
  integer,
  map,
  nullable,
  number,
  object,
  oneOf,
  optionals,
  string,
  type Static,
} from '../declare.ts';
import type { Schema } from '../schema.ts';

/** Maximum dimensions of an embedding; `kDimensionsMax` of the engine. */
export const DIMENSIONS_MAX = 65_536;

export type Fragments = Record<string, { value: unknown }>;

/**
 * `batch`: the embeddings of documents are stored together with them. `background`: later, as fast
 * as the provider makes them.
 */
export const EMBEDDING_MODES = ['batch', 'background'] as const;

/** See `src/embedding/passages.ts`. Passages are numbered by one byte. */
const CHUNKS_PROPERTIES = {
  attribute: string({
    minLength: 1,
    maxLength: 500,
    description: 'The attribute with the text: a path of names with dots between them.',
  }),
  maxTokens: nullable(
    integer({
      minimum: 16,
      maximum: 2_000,
      default: 200,
      description: 'Maximum length of a passage. One token is four bytes of UTF-8.',
    }),
  ),
  overlap: nullable(
    integer({
      minimum: 0,
      maximum: 10,
      default: 1,
      description:
        'Number of sentences with which a passage repeats the end of the one before, as far as they fill at most half of it.',
    }),
  ),
  max: nullable(
    integer({
      minimum: 1,
      maximum: 255,
      default: 64,
      description:
        'Maximum number of passages of a document; the rest of its text is not embedded.',
    }),
  ),
};

export const CHUNKS_DEFAULTS = defaultsOf(CHUNKS_PROPERTIES, 'maxTokens', 'overlap', 'max');
export type Chunks = { attribute: string } & typeof CHUNKS_DEFAULTS;

const { attribute: CHUNKED, ...CHUNKS_OPTIONS } = CHUNKS_PROPERTIES;
const CHUNKS = nullable(object({ attribute: CHUNKED, ...optionals(CHUNKS_OPTIONS) }), {
  description:
    'Cuts the text of an attribute into passages by its sentences; each gets an embedding of its own.',
});

const TEXT = nullable(string());
const SECRET_TEXT = nullable(string({ 'x-secret': true }));
const COUNT = nullable(integer({ minimum: 1 }));
const RATIO = number({ minimum: 0, maximum: 1 });
const ANY = declared<unknown>({});
const FRAGMENTS = declared<Fragments | null>(nullable(map(nullable(object({ value: ANY })))));

/**
 * In the order in which an embedder is shown, except for the parts, which come before
 * `distribution` there.
 */
export const FIELD_SCHEMAS = {
  model: TEXT,
  revision: TEXT,
  pooling: nullable(oneOf(['useModel', 'forceCls', 'forceMean'])),
  apiKey: SECRET_TEXT,
  dimensions: nullable(integer({ minimum: 1, maximum: DIMENSIONS_MAX })),
  binaryQuantized: nullable(boolean()),
  documentTemplate: TEXT,
  // 0 is refused too: by the task, when the template is not given with it.
  documentTemplateMaxBytes: nullable(integer({ minimum: 0 })),
  chunks: CHUNKS,
  url: SECRET_TEXT,
  maxBatchTexts: COUNT,
  maxBatchBytes: COUNT,
  indexingFragments: FRAGMENTS,
  searchFragments: FRAGMENTS,
  request: ANY,
  response: ANY,
  headers: nullable(map(string({ 'x-secret': true }), { 'x-secret': true })),
  /** A search shifts the similarities of a model so that the mean becomes a score of 0.5. */
  distribution: nullable(object({ mean: RATIO, sigma: RATIO })),
  mode: nullable(oneOf(EMBEDDING_MODES)),
};

export type EmbedderFields = {
  [Name in keyof typeof FIELD_SCHEMAS]: Exclude<Static<(typeof FIELD_SCHEMAS)[Name]>, null>;
};
export type Distribution = EmbedderFields['distribution'];

/** The embedders inside a composite one. */
export const PARTS = ['searchEmbedder', 'indexingEmbedder'] as const;
export type Part = (typeof PARTS)[number];

export type FieldName = keyof EmbedderFields | Part;

/**
 * An embedder of a request, or one merged from it: the values have been checked, but all are
 * optional.
 */
export type GivenEmbedder = { source?: string | null } & {
  [Name in keyof EmbedderFields]?: EmbedderFields[Name] | null;
} & { [Name in Part]?: GivenEmbedder | null };

/** Any embedder, typed as if it might have every field. */
export type AnyFields = Readonly<Partial<EmbedderFields>>;

/**
 * Fields that a source supports: `default` if the stored embedder always has the field, because the
 * source has a default.
 */
export type FieldRules = Readonly<Partial<Record<FieldName, 'required' | 'default' | 'optional'>>>;

type FieldsWith<Rules, Rule> = {
  [Name in keyof Rules]: Rules[Name] extends Rule ? Name : never;
}[keyof Rules];

/** The stored embedder of a source. */
export type EmbedderOf<Source extends string, Rules> = { source: Source } & {
  [Name in FieldsWith<Rules, 'required' | 'default'> & keyof EmbedderFields]: EmbedderFields[Name];
} & {
  [
    Name in (FieldsWith<Rules, 'optional'> & keyof EmbedderFields) | CommonField
  ]?: EmbedderFields[Name];
};

/** Supported by every source. */
export const COMMON_FIELDS = ['distribution', 'binaryQuantized'] as const;
type CommonField = (typeof COMMON_FIELDS)[number];

/** Schema of the setting `embedders`. */
export function embeddersSchema(sources: readonly string[]): Schema {
  const fields = { source: nullable(oneOf(sources)), ...FIELD_SCHEMAS };
  const part = nullable(object(optionals(fields)));
  return nullable(map(nullable(object(optionals({ ...fields, ...each(PARTS, () => part) })))));
}

const SHOWN_ORDER: readonly string[] = [
  'source',
  ...Object.keys(FIELD_SCHEMAS).filter((name) => name !== 'distribution'),
  ...PARTS,
  'distribution',
];

/** The fields of an embedder in the order in which they are shown. */
export function inShownOrder<E extends object>(embedder: E): E {
  const fields = embedder as Record<string, unknown>;
  const shown = SHOWN_ORDER.filter((name) => Object.hasOwn(fields, name)).map((name) => {
    const value = fields[name];
    return [name, isPart(name) && isEmbedder(value) ? inShownOrder(value) : value];
  });
  return Object.fromEntries(shown) as E;
}

export function isPart(field: string): field is Part {
  return (PARTS as readonly string[]).includes(field);
}

export function isEmbedder(value: unknown): value is GivenEmbedder {
  return typeof value === 'object' && value !== null;
}

export function fragmentCount(fragments: object | null | undefined): number {
  return Object.values(fragments ?? {}).filter((fragment) => fragment !== null).length;
}

export function hasFragments({
  indexingFragments,
  searchFragments,
}: Pick<GivenEmbedder, 'indexingFragments' | 'searchFragments'>): boolean {
  return fragmentCount(indexingFragments) + fragmentCount(searchFragments) > 0;
}
