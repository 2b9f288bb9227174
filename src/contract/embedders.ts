/**
 * The setting `embedders`: which fields a source takes, what a partial object must hold, how it merges
 * with the stored one, and how it is shown.
 *
 * The stored form of an embedder is its effective one: the source and its defaults are written out.
 */
import { compareUtf8 } from '../base/json.ts';
import { err, ok, type Result } from '../base/result.ts';
import {
  masked,
  maskedHeaders,
  maskedMembers,
  maskedUrl,
  unmasked,
  unmaskedHeaders,
  unmaskedMembers,
  unmaskedUrl,
} from '../base/secrets.ts';
import { DEFAULT_DOCUMENT_TEMPLATE, parseFragment } from '../templates/document-template.ts';
import { TAGS_MAX, tagsOf, templateFault } from '../templates/liquid.ts';
import { ApiError, featureNotEnabled } from './errors.ts';
import type { FeatureSet } from './features.ts';
import type { Schema } from './schema.ts';
import { isGiven } from './settings/setting.ts';

export { DEFAULT_DOCUMENT_TEMPLATE };

export const DEFAULT_TEMPLATE_BYTES_MAX = 400;

const EMBEDDERS_MAX = 255;
/** Of one embedder, for indexing. */
const FRAGMENTS_MAX = 255;

/** Placeholders of a text and of a fragment in requests of REST embedders. */
const TEXT = '{{text}}';
const FRAGMENT = '{{fragment}}';

/** Of an embedding; `kDimensionsMax` of the engine. */
export const DIMENSIONS_MAX = 65_536;

export type EmbedderSource =
  'openAi' | 'huggingFace' | 'ollama' | 'userProvided' | 'rest' | 'composite';

const SOURCES: readonly EmbedderSource[] = [
  'openAi',
  'huggingFace',
  'ollama',
  'userProvided',
  'rest',
  'composite',
];

/** A complete one has a source; a partial one may hold nulls. */
export type Embedder = Record<string, unknown>;
export type Embedders = Record<string, Embedder>;
export type PartialEmbedders = Record<string, Embedder | null>;

/** Fields beside `source`, `distribution` and `binaryQuantized`. M: mandatory, A: allowed. */
const FIELDS: Readonly<Record<EmbedderSource, Readonly<Record<string, 'M' | 'A'>>>> = {
  openAi: {
    model: 'A',
    apiKey: 'A',
    dimensions: 'A',
    documentTemplate: 'A',
    documentTemplateMaxBytes: 'A',
    url: 'A',
    maxBatchTexts: 'A',
    maxBatchBytes: 'A',
  },
  huggingFace: {
    model: 'A',
    revision: 'A',
    pooling: 'A',
    documentTemplate: 'A',
    documentTemplateMaxBytes: 'A',
  },
  ollama: {
    model: 'M',
    apiKey: 'A',
    dimensions: 'A',
    documentTemplate: 'A',
    documentTemplateMaxBytes: 'A',
    url: 'A',
    maxBatchTexts: 'A',
    maxBatchBytes: 'A',
  },
  userProvided: { dimensions: 'M' },
  rest: {
    apiKey: 'A',
    dimensions: 'A',
    documentTemplate: 'A',
    documentTemplateMaxBytes: 'A',
    url: 'M',
    maxBatchTexts: 'A',
    maxBatchBytes: 'A',
    indexingFragments: 'A',
    searchFragments: 'A',
    request: 'M',
    response: 'M',
    headers: 'A',
  },
  composite: { searchEmbedder: 'M', indexingEmbedder: 'M' },
};

/** The embedders that a composite one consists of. */
const PARTS = ['searchEmbedder', 'indexingEmbedder'] as const;
type Part = (typeof PARTS)[number];

/** Fields that a part cannot have, beside those that no part has. */
const REFUSED_IN: Readonly<Record<Part, readonly string[]>> = {
  searchEmbedder: ['documentTemplate', 'documentTemplateMaxBytes', 'indexingFragments'],
  indexingEmbedder: ['searchFragments'],
};

/** Order in which an embedder is shown. */
const SHOWN_ORDER = [
  'source',
  'model',
  'revision',
  'pooling',
  'apiKey',
  'dimensions',
  'binaryQuantized',
  'documentTemplate',
  'documentTemplateMaxBytes',
  'url',
  'maxBatchTexts',
  'maxBatchBytes',
  'indexingFragments',
  'searchFragments',
  'request',
  'response',
  'headers',
  'searchEmbedder',
  'indexingEmbedder',
  'distribution',
];

const DEFAULT_OPENAI_MODEL = 'text-embedding-3-small';
/** Of the models of OpenAI. */
export const OPENAI_DIMENSIONS: Readonly<Record<string, number>> = {
  'text-embedding-ada-002': 1536,
  'text-embedding-3-small': 1536,
  'text-embedding-3-large': 3072,
};
const DEFAULT_HUGGINGFACE_MODEL = 'BAAI/bge-base-en-v1.5';
const DEFAULT_HUGGINGFACE_REVISION = '617ca489d9e86b49b8167676d8220688b99db36e';

const RATIO: Schema = { type: 'number', minimum: 0, maximum: 1 };
const FRAGMENTS: Schema = {
  type: ['object', 'null'],
  additionalProperties: {
    type: ['object', 'null'],
    properties: { value: {} },
    required: ['value'],
    additionalProperties: false,
  },
};

const SECRET_TEXT: Schema = { type: ['string', 'null'], 'x-secret': true };

function embedderSchema(nested: boolean): Schema {
  const properties: Record<string, Schema> = {
    source: { type: ['string', 'null'], enum: SOURCES },
    model: { type: ['string', 'null'] },
    revision: { type: ['string', 'null'] },
    pooling: { type: ['string', 'null'], enum: ['useModel', 'forceCls', 'forceMean'] },
    apiKey: SECRET_TEXT,
    dimensions: { type: ['integer', 'null'], minimum: 1, maximum: DIMENSIONS_MAX },
    binaryQuantized: { type: ['boolean', 'null'] },
    documentTemplate: { type: ['string', 'null'] },
    // 0 is a fault too; of one that comes without its template the task tells.
    documentTemplateMaxBytes: { type: ['integer', 'null'], minimum: 0 },
    url: SECRET_TEXT,
    maxBatchTexts: { type: ['integer', 'null'], minimum: 1 },
    maxBatchBytes: { type: ['integer', 'null'], minimum: 1 },
    indexingFragments: FRAGMENTS,
    searchFragments: FRAGMENTS,
    request: {},
    response: {},
    headers: {
      type: ['object', 'null'],
      additionalProperties: { type: 'string', 'x-secret': true },
      'x-secret': true,
    },
    distribution: {
      type: ['object', 'null'],
      properties: { mean: RATIO, sigma: RATIO },
      required: ['mean', 'sigma'],
      additionalProperties: false,
    },
  };
  if (!nested) {
    properties.searchEmbedder = { ...embedderSchema(true), type: ['object', 'null'] };
    properties.indexingEmbedder = { ...embedderSchema(true), type: ['object', 'null'] };
  }
  return { type: ['object', 'null'], properties, additionalProperties: false };
}

export const EMBEDDERS: Schema = {
  type: ['object', 'null'],
  additionalProperties: embedderSchema(false),
};

function fault(message: string): ApiError {
  return new ApiError('invalid_settings_embedders', message);
}

/** What can be said of a partial object before the stored one is known. Names in ascending order. */
export function checkPartialEmbedders(
  partial: PartialEmbedders,
  features: FeatureSet,
): ApiError | null {
  const names = Object.keys(partial).sort(compareUtf8);
  if (names.length > EMBEDDERS_MAX) return tooMany(names.length);
  let tags = 0;
  for (const name of names) {
    const embedder = partial[name];
    if (embedder === null || embedder === undefined) continue;
    tags += tagsIn(embedder);
    if (tags > TAGS_MAX) {
      return fault(
        `\`.embedders\`: the templates have more than ${TAGS_MAX} tags and outputs together.`,
      );
    }
    const found = checkFeatures(embedder, features) ?? checkPartial(name, embedder);
    if (found !== null) return found;
  }
  return null;
}

/** Tags of its templates. */
function tagsIn(embedder: Embedder): number {
  const own = typeof embedder.documentTemplate === 'string' ? embedder.documentTemplate : '';
  return PARTS.reduce((sum, part) => {
    const nested = embedder[part];
    return sum + (isEmbedder(nested) ? tagsIn(nested) : 0);
  }, tagsOf(own).tags);
}

function checkFeatures(embedder: Embedder, features: FeatureSet): ApiError | null {
  if (!features.multimodal) {
    for (const field of ['indexingFragments', 'searchFragments']) {
      if (isGiven(embedder[field])) {
        return featureNotEnabled(`Setting \`${field}\` of an embedder`, 'multimodal');
      }
    }
  }
  const parts = PARTS.filter((part) => isEmbedder(embedder[part]));
  if ((embedder.source === 'composite' || parts.length > 0) && !features.compositeEmbedders) {
    return featureNotEnabled('Using the embedder source `composite`', 'compositeEmbedders');
  }
  for (const part of parts) {
    const found = checkFeatures(embedder[part] as Embedder, features);
    if (found !== null) return found;
  }
  return null;
}

function isEmbedder(value: unknown): value is Embedder {
  return typeof value === 'object' && value !== null;
}

/** What a request gives, apart from features. A field that names its source must be whole. */
function checkPartial(name: string, embedder: Embedder): ApiError | null {
  const isWhole = typeof embedder.source === 'string';
  return (
    checkContent(name, embedder, isWhole, placeholdersIn(embedder)) ??
    (isWhole ? checkAllowed(name, embedder) : null)
  );
}

/**
 * Mandatory fields, values and templates. The templates of a REST embedder are checked before a missing `url`.
 * @param isWhole mandatory fields must be given
 */
function checkContent(
  name: string,
  embedder: Embedder,
  isWhole: boolean,
  placeholders: readonly string[],
): ApiError | null {
  const missing = (): ApiError | null => (isWhole ? checkMandatory(name, embedder) : null);
  const wrong = (): ApiError | null =>
    checkValues(name, embedder, isWhole) ?? checkTemplates(name, embedder, placeholders);
  const templatesFirst = embedder.source === 'rest' && isGiven(embedder.request);
  return templatesFirst ? (wrong() ?? missing()) : (missing() ?? wrong());
}

/** Before the stored fragments are known, a request without any may be for both. */
function placeholdersIn(embedder: Embedder): readonly string[] {
  return hasFragments(embedder) ? [FRAGMENT] : [TEXT, FRAGMENT];
}

/** The source must take each field of a request, nulls included. */
function checkAllowed(name: string, given: Embedder): ApiError | null {
  const source = given.source as EmbedderSource;
  const fields = FIELDS[source];
  for (const field of Object.keys(given)) {
    if (field === 'source' || field === 'distribution' || field === 'binaryQuantized') continue;
    if (fields[field] !== undefined) continue;
    const takers = SOURCES.filter((other) => FIELDS[other][field] !== undefined);
    return fault(
      `\`.embedders.${name}\`: the field \`${field}\` is not available for the source \`${source}\` ` +
        `(only for ${takers.map((other) => `\`${other}\``).join(', ')}). ` +
        `Available are ${['source', ...Object.keys(fields), 'distribution', 'binaryQuantized'].map((other) => `\`${other}\``).join(', ')}.`,
    );
  }
  return null;
}

function checkMandatory(name: string, embedder: Embedder): ApiError | null {
  const source = embedder.source as EmbedderSource;
  for (const [field, rule] of Object.entries(FIELDS[source])) {
    if (rule === 'M' && !isGiven(embedder[field])) {
      return fault(
        `\`.embedders.${name}\`: the field \`${field}\` is required for the source \`${source}\`.`,
      );
    }
  }
  return null;
}

/**
 * Values that can be judged without the rest of the embedder.
 * @param isWhole its parts must be whole too
 */
function checkValues(name: string, embedder: Embedder, isWhole: boolean): ApiError | null {
  const { source, model, dimensions, url, documentTemplate } = embedder;
  if (source === 'openAi') {
    const openAiModel = typeof model === 'string' ? model : DEFAULT_OPENAI_MODEL;
    const size = OPENAI_DIMENSIONS[openAiModel];
    if (size === undefined) {
      return fault(
        `\`.embedders.${name}.model\`: unknown model \`${openAiModel}\` for the source \`openAi\`; ` +
          `accepted are ${Object.keys(OPENAI_DIMENSIONS)
            .map((known) => `\`${known}\``)
            .join(', ')}.`,
      );
    }
    if (typeof dimensions === 'number') {
      if (openAiModel === 'text-embedding-ada-002' && dimensions !== size) {
        return fault(
          `\`.embedders.${name}.dimensions\`: the model \`${openAiModel}\` has ${size} dimensions, not ${dimensions}.`,
        );
      }
      if (dimensions > size) {
        return fault(
          `\`.embedders.${name}.dimensions\`: the model \`${openAiModel}\` has at most ${size} dimensions, not ${dimensions}.`,
        );
      }
    }
  }
  if (typeof url === 'string' && !isUrl(url)) {
    return fault(`\`.embedders.${name}.url\`: \`${maskedUrl(url)}\` is not an absolute URL.`);
  }
  if (typeof documentTemplate === 'string') {
    const reason = templateFault(documentTemplate);
    if (reason !== null) {
      return fault(
        `\`.embedders.${name}.documentTemplate\`: the template does not parse: ${reason}.`,
      );
    }
  }
  // Alone it is looked at when the template is known.
  if (typeof documentTemplate === 'string' && embedder.documentTemplateMaxBytes === 0) {
    return noBytes(name);
  }
  for (const part of PARTS) {
    const nested = embedder[part];
    if (!isEmbedder(nested)) continue;
    const found = checkNested(`${name}.${part}`, part, nested, isWhole);
    if (found !== null) return found;
  }
  return null;
}

function isUrl(text: string): boolean {
  try {
    const { protocol } = new URL(text);
    return protocol === 'http:' || protocol === 'https:';
  } catch {
    return false;
  }
}

function noBytes(name: string): ApiError {
  return fault(
    `\`.embedders.${name}.documentTemplateMaxBytes\`: a zero was found, at least 1 is required.`,
  );
}

/** A part of a composite embedder as a request gives it. */
function checkNested(
  path: string,
  part: Part,
  nested: Embedder,
  isWhole: boolean,
): ApiError | null {
  if (isWhole && !isGiven(nested.source)) return missingSource(path);
  return checkPart(path, part, nested) ?? checkPartial(path, nested);
}

function missingSource(path: string): ApiError {
  return fault(`\`.embedders.${path}\`: the field \`source\` is required.`);
}

/** What a part of a composite embedder may not be or have, whatever its source takes elsewhere. */
function checkPart(path: string, part: Part, { source, ...nested }: Embedder): ApiError | null {
  if (source === 'composite' || source === 'userProvided') {
    return fault(
      `\`.embedders.${path}.source\`: \`${source}\` cannot be part of a composite embedder.`,
    );
  }
  for (const field of ['distribution', 'binaryQuantized', ...REFUSED_IN[part]]) {
    if (Object.hasOwn(nested, field)) {
      return fault(`\`.embedders.${path}\`: the field \`${field}\` is not available here.`);
    }
  }
  return null;
}

/**
 * `request` and `response` of a REST embedder, and what does not go with fragments.
 * @param placeholders those of which the request must hold one
 */
function checkTemplates(
  name: string,
  embedder: Embedder,
  placeholders: readonly string[],
): ApiError | null {
  if (hasFragments(embedder) && typeof embedder.documentTemplate === 'string') {
    return templateError(name, '`documentTemplate` cannot be given together with fragments');
  }
  for (const field of ['indexingFragments', 'searchFragments']) {
    const fragments = (embedder[field] ?? {}) as Record<string, { value: unknown } | null>;
    for (const [fragment, given] of Object.entries(fragments)) {
      const parsed = given === null ? null : parseFragment(given.value);
      if (parsed?.ok === false) return templateError(`${name}.${field}.${fragment}`, parsed.error);
    }
  }
  let requestRepeats: boolean | undefined;
  let responseRepeats: boolean | undefined;
  if (isGiven(embedder.request)) {
    const scan = scanTemplate(embedder.request, placeholders);
    if (!scan.ok) return templateError(`${name}.request`, scan.error);
    requestRepeats = scan.value.repeats;
  }
  if (isGiven(embedder.response)) {
    const scan = scanTemplate(embedder.response, ['{{embedding}}']);
    if (!scan.ok) return templateError(`${name}.response`, scan.error);
    responseRepeats = scan.value.repeats;
  }
  if (
    requestRepeats !== undefined &&
    responseRepeats !== undefined &&
    requestRepeats !== responseRepeats
  ) {
    return templateError(
      name,
      '`request` and `response` must both repeat an item with `"{{..}}"` or both not',
    );
  }
  return null;
}

function fragmentCount(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).filter((fragment) => fragment !== null).length;
}

export function hasFragments({ indexingFragments, searchFragments }: Embedder): boolean {
  return fragmentCount(indexingFragments) + fragmentCount(searchFragments) > 0;
}

function templateError(path: string, reason: string): ApiError {
  return new ApiError('vector_embedding_error', `\`.embedders.${path}\`: ${reason}.`);
}

const REPEAT = '{{..}}';

/** Counts the value placeholders and checks where the repetition mark stands. */
function scanTemplate(
  template: unknown,
  placeholders: readonly string[],
): Result<{ repeats: boolean }, string> {
  const placeholder = placeholders[0]!;
  let repeats = 0;

  function count(value: unknown, repeated: boolean): Result<number, string> {
    if (placeholders.includes(value as string)) return ok(1);
    if (value === REPEAT) return err(`\`"${REPEAT}"\` may only be the second item of an array`);
    if (Array.isArray(value)) {
      if (value[1] === REPEAT) {
        if (repeated) return err(`\`"${REPEAT}"\` stands inside a repeated item`);
        repeats++;
        const inside = count(value[0], true);
        if (!inside.ok) return inside;
        return inside.value === 1
          ? ok(1)
          : err(`the item before \`"${REPEAT}"\` must hold \`"${placeholder}"\` exactly once`);
      }
      return sum(value, repeated);
    }
    if (typeof value === 'object' && value !== null) return sum(Object.values(value), repeated);
    return ok(0);
  }

  function sum(values: unknown[], repeated: boolean): Result<number, string> {
    let total = 0;
    for (const value of values) {
      const part = count(value, repeated);
      if (!part.ok) return part;
      total += part.value;
    }
    return ok(total);
  }

  const total = count(template, false);
  if (!total.ok) return total;
  if (total.value === 0) return err(`the placeholder \`"${placeholder}"\` is missing`);
  if (total.value > 1) return err(`the placeholder \`"${placeholder}"\` occurs more than once`);
  if (repeats > 1) return err(`\`"${REPEAT}"\` occurs more than once`);
  return ok({ repeats: repeats === 1 });
}

function tooMany(count: number): ApiError {
  return fault(
    `\`.embedders\`: at most ${EMBEDDERS_MAX} embedders are possible, but there are ${count}.`,
  );
}

/** Applies a partial object to the stored one and checks the outcome. */
export function mergeEmbedders(
  stored: Embedders,
  partial: PartialEmbedders | null,
): Result<Embedders, ApiError> {
  if (partial === null) return ok({});
  const merged = new Map(Object.entries(stored));
  for (const name of Object.keys(partial).sort(compareUtf8)) {
    const change = partial[name];
    if (change === null || change === undefined) {
      merged.delete(name);
      continue;
    }
    const outcome = mergeEmbedder(name, merged.get(name), change);
    if (!outcome.ok) return outcome;
    merged.set(name, outcome.value);
  }
  if (merged.size > EMBEDDERS_MAX) return err(tooMany(merged.size));
  return ok(Object.fromEntries([...merged].sort(([a], [b]) => compareUtf8(a, b))));
}

/** @param part of a composite embedder; null: an embedder of its own */
function mergeEmbedder(
  name: string,
  stored: Embedder | undefined,
  change: Embedder,
  part: Part | null = null,
): Result<Embedder, ApiError> {
  const initial = part === null ? 'openAi' : undefined;
  const source = (
    change.source === null ? initial : (change.source ?? stored?.source ?? initial)
  ) as EmbedderSource | undefined;
  // The embedder of searches is replaced whole.
  if (source === undefined || (part === 'searchEmbedder' && !isGiven(change.source))) {
    return err(missingSource(name));
  }
  const base: Embedder = stored !== undefined && stored.source === source ? { ...stored } : {};
  if (
    stored?.binaryQuantized === true &&
    Object.hasOwn(change, 'binaryQuantized') &&
    change.binaryQuantized !== true
  ) {
    return err(
      fault(
        `\`.embedders.${name}.binaryQuantized\`: quantization cannot be switched off again; ` +
          'remove the embedder and add it anew.',
      ),
    );
  }
  if (stored !== undefined) change = withStoredSecrets(change, stored);
  const changesModel = change.model !== undefined && change.model !== base.model;
  if (changesModel && !Object.hasOwn(change, 'revision')) delete base.revision;
  for (const [field, value] of Object.entries(change)) {
    if (field === 'source') continue;
    if (value === null) delete base[field];
    else if (isFragments(field)) base[field] = mergeFragments(base[field], value);
    else if (isPart(field)) {
      const before = base[field] as Embedder | undefined;
      const nested = mergeEmbedder(`${name}.${field}`, before, value as Embedder, field);
      if (!nested.ok) return nested;
      base[field] = nested.value;
    } else base[field] = value;
  }
  const merged: Embedder = { ...base, source };
  if (hasFragments(merged)) {
    // They take its place.
    if (!isGiven(change.documentTemplate)) delete merged.documentTemplate;
    delete merged.documentTemplateMaxBytes;
  }
  const found =
    (part === null ? null : checkPart(name, part, merged)) ??
    checkContent(name, merged, true, [hasFragments(merged) ? FRAGMENT : TEXT]) ??
    checkAllowed(name, merged) ??
    (merged.documentTemplateMaxBytes === 0 ? noBytes(name) : null) ??
    checkFragments(name, merged, part);
  return found === null ? ok(complete(merged, part)) : err(found);
}

function isPart(field: string): field is Part {
  return (PARTS as readonly string[]).includes(field);
}

/** Of a whole embedder. */
function checkFragments(name: string, embedder: Embedder, part: Part | null): ApiError | null {
  if (!hasFragments(embedder)) return null;
  const indexing = fragmentCount(embedder.indexingFragments);
  const search = fragmentCount(embedder.searchFragments);
  if (part === null && (indexing === 0 || search === 0)) {
    return templateError(name, '`indexingFragments` and `searchFragments` go together');
  }
  if (indexing > FRAGMENTS_MAX) {
    return templateError(
      name,
      `at most ${FRAGMENTS_MAX} indexing fragments are possible, but there are ${indexing}`,
    );
  }
  if (typeof embedder.dimensions !== 'number') {
    return templateError(name, 'with fragments `dimensions` is required');
  }
  return null;
}

function isFragments(field: string): boolean {
  return field === 'indexingFragments' || field === 'searchFragments';
}

function mergeFragments(stored: unknown, change: unknown): Record<string, unknown> {
  const merged = new Map(Object.entries((stored ?? {}) as Record<string, unknown>));
  for (const [name, fragment] of Object.entries(change as Record<string, unknown>)) {
    if (fragment === null) merged.delete(name);
    else merged.set(name, fragment);
  }
  return Object.fromEntries([...merged].sort(([a], [b]) => compareUtf8(a, b)));
}

/** Writes out the defaults of the source, in the order in which they are shown. */
function complete(embedder: Embedder, part: Part | null): Embedder {
  const source = embedder.source as EmbedderSource;
  const defaults: Embedder = {};
  if (source === 'openAi') defaults.model = DEFAULT_OPENAI_MODEL;
  if (source === 'huggingFace') {
    defaults.model = DEFAULT_HUGGINGFACE_MODEL;
    if ((embedder.model ?? DEFAULT_HUGGINGFACE_MODEL) === DEFAULT_HUGGINGFACE_MODEL) {
      defaults.revision = DEFAULT_HUGGINGFACE_REVISION;
    }
    defaults.pooling = 'useModel';
  }
  if (source === 'rest') defaults.headers = {};
  const isRendered = FIELDS[source].documentTemplate !== undefined && part !== 'searchEmbedder';
  if (isRendered && !hasFragments(embedder)) {
    defaults.documentTemplate = DEFAULT_DOCUMENT_TEMPLATE;
    defaults.documentTemplateMaxBytes = DEFAULT_TEMPLATE_BYTES_MAX;
  }
  return inShownOrder({ ...defaults, ...embedder });
}

export function inShownOrder(embedder: Embedder): Embedder {
  const ordered: Embedder = {};
  for (const field of SHOWN_ORDER) {
    if (!Object.hasOwn(embedder, field)) continue;
    const value = embedder[field];
    ordered[field] = isPart(field) && isEmbedder(value) ? inShownOrder(value) : value;
  }
  return ordered;
}

/** The embedders as settings show them: without credentials, but for `headers`, which clients send back. */
export function shownEmbedders(embedders: PartialEmbedders): PartialEmbedders {
  return mapEmbedders(embedders, withoutKeys);
}

/** The same for details of tasks, without those in headers too. */
export function reportedEmbedders(embedders: PartialEmbedders): PartialEmbedders {
  return mapEmbedders(embedders, (embedder) => {
    const shown = withoutKeys(embedder);
    if (isGiven(shown.headers)) shown.headers = maskedHeaders(shown.headers as Headers);
    return shown;
  });
}

type Headers = Record<string, string>;

function withoutKeys(embedder: Embedder): Embedder {
  const shown = { ...embedder };
  if (typeof shown.apiKey === 'string') shown.apiKey = masked(shown.apiKey);
  if (typeof shown.url === 'string') shown.url = maskedUrl(shown.url);
  if (shown.request !== undefined) shown.request = maskedMembers(shown.request);
  return shown;
}

function mapEmbedders(
  embedders: PartialEmbedders,
  map: (embedder: Embedder) => Embedder,
): PartialEmbedders {
  const withParts = (embedder: Embedder): Embedder => {
    const shown = map(embedder);
    for (const part of PARTS) {
      const nested = shown[part];
      if (isEmbedder(nested)) shown[part] = map(nested);
    }
    return shown;
  };
  return Object.fromEntries(
    Object.entries(embedders).map(([name, embedder]) => [
      name,
      embedder === null ? null : withParts(embedder),
    ]),
  );
}

/** A change in which what is shown of a stored secret is that secret. */
function withStoredSecrets(change: Embedder, stored: Embedder): Embedder {
  const { apiKey, url, request, headers } = change;
  const secrets: Embedder = {};
  if (typeof apiKey === 'string') secrets.apiKey = unmasked(apiKey, stored.apiKey);
  if (typeof url === 'string') secrets.url = unmaskedUrl(url, stored.url);
  if (isGiven(request)) secrets.request = unmaskedMembers(request, stored.request);
  if (isGiven(headers))
    secrets.headers = unmaskedHeaders(headers as Headers, (stored.headers ?? {}) as Headers);
  return { ...change, ...secrets };
}
