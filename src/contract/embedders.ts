/**
 * The setting `embedders`: which fields a source takes, what a partial object must hold, how it merges
 * with the stored one, and how it is shown.
 *
 * The stored form of an embedder is its effective one: the source and its defaults are written out.
 */
import { compareUtf8 } from '../base/json.ts';
import { err, ok, type Result } from '../base/result.ts';
import { DEFAULT_DOCUMENT_TEMPLATE } from '../templates/document-template.ts';
import { ApiError, featureNotEnabled } from './errors.ts';
import type { FeatureSet } from './features.ts';
import type { Schema } from './schema.ts';
import { templateFault } from './template.ts';

export { DEFAULT_DOCUMENT_TEMPLATE };

export const DEFAULT_TEMPLATE_BYTES_MAX = 400;

const EMBEDDERS_MAX = 255;

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
  },
  userProvided: { dimensions: 'M' },
  rest: {
    apiKey: 'A',
    dimensions: 'A',
    documentTemplate: 'A',
    documentTemplateMaxBytes: 'A',
    url: 'M',
    indexingFragments: 'A',
    searchFragments: 'A',
    request: 'M',
    response: 'M',
    headers: 'A',
  },
  composite: { searchEmbedder: 'M', indexingEmbedder: 'M' },
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
const OPENAI_DIMENSIONS: Readonly<Record<string, number>> = {
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

function embedderSchema(nested: boolean): Schema {
  const properties: Record<string, Schema> = {
    source: { type: ['string', 'null'], enum: SOURCES },
    model: { type: ['string', 'null'] },
    revision: { type: ['string', 'null'] },
    pooling: { type: ['string', 'null'], enum: ['useModel', 'forceCls', 'forceMean'] },
    apiKey: { type: ['string', 'null'] },
    dimensions: { type: ['integer', 'null'], minimum: 1 },
    binaryQuantized: { type: ['boolean', 'null'] },
    documentTemplate: { type: ['string', 'null'] },
    documentTemplateMaxBytes: { type: ['integer', 'null'], minimum: 0 },
    url: { type: ['string', 'null'] },
    indexingFragments: FRAGMENTS,
    searchFragments: FRAGMENTS,
    request: {},
    response: {},
    headers: { type: ['object', 'null'], additionalProperties: { type: 'string' } },
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
  for (const name of names) {
    const embedder = partial[name];
    if (embedder === null || embedder === undefined) continue;
    const found =
      checkFeatures(embedder, features) ??
      checkTemplates(name, embedder) ??
      (typeof embedder.source === 'string' ? checkFields(name, embedder, embedder) : null) ??
      checkValues(name, embedder);
    if (found !== null) return found;
  }
  return null;
}

function checkFeatures(embedder: Embedder, features: FeatureSet): ApiError | null {
  if (!features.multimodal) {
    for (const field of ['indexingFragments', 'searchFragments']) {
      if (embedder[field] !== undefined && embedder[field] !== null) {
        return featureNotEnabled(`Setting \`${field}\` of an embedder`, 'multimodal');
      }
    }
  }
  if (embedder.source === 'composite' && !features.compositeEmbedders) {
    return featureNotEnabled('Using the embedder source `composite`', 'compositeEmbedders');
  }
  return null;
}

/** Mandatory and disallowed fields of the source. `given`: what the request holds, nulls included. */
function checkFields(name: string, embedder: Embedder, given: Embedder): ApiError | null {
  const source = embedder.source as EmbedderSource;
  const fields = FIELDS[source];
  for (const field of Object.keys(given)) {
    if (field === 'source' || field === 'distribution' || field === 'binaryQuantized') continue;
    if (fields[field] === undefined) {
      const takers = SOURCES.filter((other) => FIELDS[other][field] !== undefined);
      return fault(
        `\`.embedders.${name}\`: the field \`${field}\` is not available for the source \`${source}\` ` +
          `(only for ${takers.map((other) => `\`${other}\``).join(', ')}). ` +
          `Available are ${['source', ...Object.keys(fields), 'distribution', 'binaryQuantized'].map((other) => `\`${other}\``).join(', ')}.`,
      );
    }
  }
  for (const [field, rule] of Object.entries(fields)) {
    if (rule === 'M' && (embedder[field] === undefined || embedder[field] === null)) {
      return fault(
        `\`.embedders.${name}\`: the field \`${field}\` is required for the source \`${source}\`.`,
      );
    }
  }
  return null;
}

/** Values that can be judged without the rest of the embedder. */
function checkValues(name: string, embedder: Embedder): ApiError | null {
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
    return fault(`\`.embedders.${name}.url\`: \`${url}\` is not an absolute URL.`);
  }
  if (typeof documentTemplate === 'string') {
    const reason = templateFault(documentTemplate);
    if (reason !== null) {
      return fault(
        `\`.embedders.${name}.documentTemplate\`: the template does not parse: ${reason}.`,
      );
    }
  }
  for (const part of ['searchEmbedder', 'indexingEmbedder']) {
    const nested = embedder[part];
    if (typeof nested !== 'object' || nested === null) continue;
    const found = checkNested(`${name}.${part}`, part, nested as Embedder);
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

function checkNested(path: string, part: string, nested: Embedder): ApiError | null {
  const { source } = nested;
  if (source === undefined || source === null) {
    return fault(`\`.embedders.${path}\`: the field \`source\` is required.`);
  }
  if (source === 'composite' || source === 'userProvided') {
    return fault(
      `\`.embedders.${path}.source\`: \`${source}\` cannot be part of a composite embedder.`,
    );
  }
  const refused =
    part === 'searchEmbedder'
      ? ['documentTemplate', 'documentTemplateMaxBytes', 'indexingFragments']
      : ['searchFragments'];
  for (const field of ['distribution', 'binaryQuantized', ...refused]) {
    if (Object.hasOwn(nested, field)) {
      return fault(`\`.embedders.${path}\`: the field \`${field}\` is not available here.`);
    }
  }
  return (
    checkTemplates(path, nested) ?? checkFields(path, nested, nested) ?? checkValues(path, nested)
  );
}

/** `request` and `response` of a REST embedder. */
function checkTemplates(name: string, embedder: Embedder): ApiError | null {
  const fragments = hasEntries(embedder.indexingFragments) || hasEntries(embedder.searchFragments);
  let requestRepeats: boolean | undefined;
  let responseRepeats: boolean | undefined;
  if (embedder.request !== undefined && embedder.request !== null) {
    const placeholder = fragments ? '{{fragment}}' : '{{text}}';
    const scan = scanTemplate(embedder.request, placeholder);
    if (!scan.ok) return templateError(`${name}.request`, scan.error);
    requestRepeats = scan.value.repeats;
  }
  if (embedder.response !== undefined && embedder.response !== null) {
    const scan = scanTemplate(embedder.response, '{{embedding}}');
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

function hasEntries(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

function templateError(path: string, reason: string): ApiError {
  return new ApiError('vector_embedding_error', `\`.embedders.${path}\`: ${reason}.`);
}

const REPEAT = '{{..}}';

/** Counts the value placeholder and checks where the repetition mark stands. */
function scanTemplate(
  template: unknown,
  placeholder: string,
): Result<{ repeats: boolean }, string> {
  let repeats = 0;

  function count(value: unknown, repeated: boolean): Result<number, string> {
    if (value === placeholder) return ok(1);
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

function mergeEmbedder(
  name: string,
  stored: Embedder | undefined,
  change: Embedder,
): Result<Embedder, ApiError> {
  const source = (
    change.source === null ? 'openAi' : (change.source ?? stored?.source ?? 'openAi')
  ) as EmbedderSource;
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
  const changesModel = change.model !== undefined && change.model !== base.model;
  if (changesModel && !Object.hasOwn(change, 'revision')) delete base.revision;
  for (const [field, value] of Object.entries(change)) {
    if (field === 'source') continue;
    if (value === null) delete base[field];
    else if (isFragments(field)) base[field] = mergeFragments(base[field], value);
    else base[field] = value;
  }
  const merged = { ...base, source };
  const found =
    checkFields(name, merged, merged) ??
    checkTemplates(name, merged) ??
    checkValues(name, merged) ??
    checkTemplateBytes(name, merged);
  return found === null ? ok(complete(merged)) : err(found);
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

function checkTemplateBytes(name: string, embedder: Embedder): ApiError | null {
  if (embedder.documentTemplateMaxBytes !== 0) return null;
  return fault(
    `\`.embedders.${name}.documentTemplateMaxBytes\`: a zero was found, at least 1 is required.`,
  );
}

/** Writes out the defaults of the source, in the order in which they are shown. */
function complete(embedder: Embedder): Embedder {
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
  const fragments = hasEntries(embedder.indexingFragments) || hasEntries(embedder.searchFragments);
  if (FIELDS[source].documentTemplate !== undefined && !fragments) {
    defaults.documentTemplate = DEFAULT_DOCUMENT_TEMPLATE;
    defaults.documentTemplateMaxBytes = DEFAULT_TEMPLATE_BYTES_MAX;
  }
  return inShownOrder({ ...defaults, ...embedder });
}

export function inShownOrder(embedder: Embedder): Embedder {
  const ordered: Embedder = {};
  for (const field of SHOWN_ORDER) {
    if (Object.hasOwn(embedder, field)) ordered[field] = embedder[field];
  }
  return ordered;
}

/**
 * What is shown of a secret; the number of bytes kept depends on its length, and the cut moves forward
 * to a character boundary.
 */
export function obfuscate(secret: string): string {
  const bytes = Buffer.from(secret);
  if (bytes.length < 10) return 'XXX...';
  const [kept, mask] =
    bytes.length < 20 ? [2, 'XXXX...'] : bytes.length < 30 ? [3, 'XXXXX...'] : [5, 'XXXXXX...'];
  let cut = kept;
  while (cut < bytes.length && (bytes[cut]! & 0xc0) === 0x80) cut++;
  return bytes.toString('utf8', 0, cut) + mask;
}

/** The embedders with their keys obfuscated, in nested ones too. Also takes partial objects. */
export function obfuscateEmbedders(embedders: PartialEmbedders): PartialEmbedders {
  return Object.fromEntries(
    Object.entries(embedders).map(([name, embedder]) => [
      name,
      embedder === null ? null : obfuscateEmbedder(embedder),
    ]),
  );
}

function obfuscateEmbedder(embedder: Embedder): Embedder {
  const shown = { ...embedder };
  if (typeof shown.apiKey === 'string') shown.apiKey = obfuscate(shown.apiKey);
  for (const part of ['searchEmbedder', 'indexingEmbedder']) {
    const nested = shown[part];
    if (typeof nested === 'object' && nested !== null) {
      shown[part] = obfuscateEmbedder(nested as Embedder);
    }
  }
  return shown;
}
