/**
 * Checks of embedders. A request may contain a part of an embedder, so its content is checked
 * first, and then, once merged with the stored embedder (`merge.ts`), the whole.
 */
import { compareUtf8 } from '../../base/json.ts';
import { maskedUrl } from '../../base/secrets.ts';
import { parseFragment } from '../../templates/document-template.ts';
import { TAGS_MAX, tagsOf, templateFault } from '../../templates/liquid.ts';
import { headersFault } from '../formats.ts';
import { ApiError, featureNotEnabled } from '../errors.ts';
import type { FeatureSet } from '../features.ts';
import { isGiven } from '../settings/setting.ts';
import { canBePart, REFUSED_IN } from './composite.ts';
import {
  COMMON_FIELDS,
  type FieldName,
  fragmentCount,
  type GivenEmbedder,
  hasFragments,
  isEmbedder,
  type Part,
  PARTS,
} from './fields.ts';
import { EMBEDDING, FRAGMENT, scanTemplate, TEXT } from './rest-template.ts';
import { type SourceName, sourceOf, SOURCES } from './sources.ts';

const EMBEDDERS_MAX = 255;
/** Maximum number of indexing fragments per embedder. */
const FRAGMENTS_MAX = 255;

/** The setting `embedders` of a request. */
export type GivenEmbedders = Record<string, GivenEmbedder | null>;

export function fault(message: string): ApiError {
  return new ApiError('invalid_settings_embedders', message);
}

/** Checks a partial object before the stored one is known. Names in ascending order. */
export function checkPartialEmbedders(
  partial: GivenEmbedders,
  features: FeatureSet,
): ApiError | null {
  const names = Object.keys(partial).sort(compareUtf8);
  const excess = tooMany(names.length);
  if (excess !== null) return excess;
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

export function tooMany(count: number): ApiError | null {
  if (count <= EMBEDDERS_MAX) return null;
  return fault(
    `\`.embedders\`: at most ${EMBEDDERS_MAX} embedders are possible, but there are ${count}.`,
  );
}

/** Tags of the templates of an embedder. */
function tagsIn({ documentTemplate, ...embedder }: GivenEmbedder): number {
  return PARTS.reduce(
    (sum, part) => {
      const nested = embedder[part];
      return sum + (isEmbedder(nested) ? tagsIn(nested) : 0);
    },
    tagsOf(documentTemplate ?? '').tags,
  );
}

function checkFeatures(embedder: GivenEmbedder, features: FeatureSet): ApiError | null {
  if (!features.multimodal) {
    for (const field of ['indexingFragments', 'searchFragments'] as const) {
      if (isGiven(embedder[field])) {
        return featureNotEnabled(`Setting \`${field}\` of an embedder`, 'multimodal');
      }
    }
  }
  const parts = PARTS.map((part) => embedder[part]).filter(isEmbedder);
  if ((embedder.source === 'composite' || parts.length > 0) && !features.compositeEmbedders) {
    return featureNotEnabled('Using the embedder source `composite`', 'compositeEmbedders');
  }
  for (const part of parts) {
    const found = checkFeatures(part, features);
    if (found !== null) return found;
  }
  return null;
}

/**
 * Checks an embedder of a request, except for features. One that names its source must be complete.
 */
function checkPartial(name: string, embedder: GivenEmbedder): ApiError | null {
  const isWhole = typeof embedder.source === 'string';
  return (
    checkContent(name, embedder, isWhole, placeholdersIn(embedder)) ??
    (isWhole ? checkAllowed(name, embedder) : null) ??
    checkHeaders(name, embedder)
  );
}

function checkHeaders(name: string, { headers }: GivenEmbedder): ApiError | null {
  const reason = isGiven(headers) ? headersFault(headers) : null;
  return reason === null ? null : fault(`\`.embedders.${name}.headers\`: ${reason}.`);
}

/**
 * Checks required fields, values and templates. The templates of a REST embedder are checked before
 * a missing `url`.
 * @param isWhole required fields must be present
 */
export function checkContent(
  name: string,
  embedder: GivenEmbedder,
  isWhole: boolean,
  placeholders: readonly string[],
): ApiError | null {
  const missing = (): ApiError | null => (isWhole ? checkRequired(name, embedder) : null);
  const wrong = (): ApiError | null =>
    checkValues(name, embedder, isWhole) ?? checkTemplates(name, embedder, placeholders);
  const templatesFirst = embedder.source === 'rest' && isGiven(embedder.request);
  return templatesFirst ? (wrong() ?? missing()) : (missing() ?? wrong());
}

/** Before the stored fragments are known, a request with no placeholder may suit both. */
function placeholdersIn(embedder: GivenEmbedder): readonly string[] {
  return hasFragments(embedder) ? [FRAGMENT] : [TEXT, FRAGMENT];
}

/** The source must support each field of a request, including nulls. */
export function checkAllowed(name: string, given: GivenEmbedder): ApiError | null {
  const source = given.source as SourceName;
  const taken = ['source', ...Object.keys(sourceOf(source).fields), ...COMMON_FIELDS];
  const field = Object.keys(given).find((one) => !taken.includes(one));
  if (field === undefined) return null;
  const takers = SOURCES.filter(({ fields }) => fields[field as FieldName] !== undefined);
  return fault(
    `\`.embedders.${name}\`: the field \`${field}\` is not available for the source \`${source}\` ` +
      `(only for ${listed(takers.map((taker) => taker.name))}). Available are ${listed(taken)}.`,
  );
}

function listed(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

function checkRequired(name: string, embedder: GivenEmbedder): ApiError | null {
  const source = sourceOf(embedder.source as SourceName);
  for (const [field, rule] of Object.entries(source.fields)) {
    if (rule === 'required' && !isGiven(embedder[field as FieldName])) {
      return fault(
        `\`.embedders.${name}\`: the field \`${field}\` is required for the source \`${source.name}\`.`,
      );
    }
  }
  return null;
}

/**
 * Checks values that do not depend on the rest of the embedder.
 * @param isWhole its parts must be complete too
 */
function checkValues(name: string, embedder: GivenEmbedder, isWhole: boolean): ApiError | null {
  const { source, url, documentTemplate, documentTemplateMaxBytes } = embedder;
  const at = (field: FieldName, reason: string): ApiError =>
    fault(`\`.embedders.${name}.${field}\`: ${reason}`);
  const wrong = isGiven(source) ? sourceOf(source as SourceName).check?.(embedder) : null;
  if (isGiven(wrong)) return at(wrong.field, wrong.reason);
  if (isGiven(url) && !isUrl(url)) {
    return at('url', `\`${maskedUrl(url)}\` is not an absolute URL.`);
  }
  if (isGiven(documentTemplate)) {
    const reason = templateFault(documentTemplate);
    if (reason !== null) {
      return at('documentTemplate', `the template does not parse: ${reason}.`);
    }
    // Without the template, this is checked when the template is known.
    if (documentTemplateMaxBytes === 0) return noBytes(name);
  }
  for (const part of PARTS) {
    const nested = embedder[part];
    if (!isEmbedder(nested)) continue;
    const found = checkNested(`${name}.${part}`, part, nested, isWhole);
    if (found !== null) return found;
  }
  return null;
}

export function isUrl(text: string): boolean {
  try {
    const { protocol } = new URL(text);
    return protocol === 'http:' || protocol === 'https:';
  } catch {
    return false;
  }
}

export function noBytes(name: string): ApiError {
  return fault(
    `\`.embedders.${name}.documentTemplateMaxBytes\`: a zero was found, at least 1 is required.`,
  );
}

/** Checks a part of a composite embedder in a request. */
function checkNested(
  path: string,
  part: Part,
  nested: GivenEmbedder,
  isWhole: boolean,
): ApiError | null {
  if (isWhole && !isGiven(nested.source)) return missingSource(path);
  return checkPart(path, part, nested) ?? checkPartial(path, nested);
}

export function missingSource(path: string): ApiError {
  return fault(`\`.embedders.${path}\`: the field \`source\` is required.`);
}

/**
 * Checks what a part of a composite embedder may not be or have, whatever its source supports
 * elsewhere.
 */
export function checkPart(
  path: string,
  part: Part,
  { source, ...nested }: GivenEmbedder,
): ApiError | null {
  if (isGiven(source) && !canBePart(source)) {
    return fault(
      `\`.embedders.${path}.source\`: \`${source}\` cannot be part of a composite embedder.`,
    );
  }
  for (const field of [...COMMON_FIELDS, 'mode' as const, ...REFUSED_IN[part]]) {
    if (Object.hasOwn(nested, field)) {
      return fault(`\`.embedders.${path}\`: the field \`${field}\` is not available here.`);
    }
  }
  return null;
}

/**
 * Checks `request` and `response` of a REST embedder, and conflicts with fragments.
 * @param placeholders the request must contain one of these
 */
function checkTemplates(
  name: string,
  embedder: GivenEmbedder,
  placeholders: readonly string[],
): ApiError | null {
  if (hasFragments(embedder) && isGiven(embedder.documentTemplate)) {
    return templateError(name, '`documentTemplate` cannot be given together with fragments');
  }
  if (hasFragments(embedder) && isGiven(embedder.chunks)) {
    return fault(`\`.embedders.${name}\`: \`chunks\` cannot be given together with fragments.`);
  }
  for (const field of ['indexingFragments', 'searchFragments'] as const) {
    for (const [fragment, given] of Object.entries(embedder[field] ?? {})) {
      // Null removes one.
      const parsed = isGiven(given) ? parseFragment(given.value) : null;
      if (parsed?.ok === false) return templateError(`${name}.${field}.${fragment}`, parsed.error);
    }
  }
  const repeats: boolean[] = [];
  for (const [field, expected] of [
    ['request', placeholders],
    ['response', [EMBEDDING]],
  ] as const) {
    if (!isGiven(embedder[field])) continue;
    const scan = scanTemplate(embedder[field], expected);
    if (!scan.ok) return templateError(`${name}.${field}`, scan.error);
    repeats.push(scan.value.repeats);
  }
  if (repeats.length === 2 && repeats[0] !== repeats[1]) {
    return templateError(
      name,
      '`request` and `response` must both repeat an item with `"{{..}}"` or both not',
    );
  }
  return null;
}

function templateError(path: string, reason: string): ApiError {
  return new ApiError('vector_embedding_error', `\`.embedders.${path}\`: ${reason}.`);
}

/** Checks the fragments of a complete embedder. */
export function checkFragments(
  name: string,
  embedder: GivenEmbedder,
  part: Part | null,
): ApiError | null {
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
