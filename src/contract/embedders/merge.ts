/** Merges a request with the stored embedders. */
import { compareUtf8 } from '../../base/json.ts';
import { err, ok, type Result } from '../../base/result.ts';
import { unmasked, unmaskedHeaders, unmaskedMembers, unmaskedUrl } from '../../base/secrets.ts';
import {
  DEFAULT_DOCUMENT_TEMPLATE,
  DEFAULT_TEMPLATE_BYTES_MAX,
} from '../../templates/document-template.ts';
import { complete as completed } from '../declare.ts';
import type { ApiError } from '../errors.ts';
import { isGiven } from '../settings/setting.ts';
import {
  checkAllowed,
  checkContent,
  checkFragments,
  checkPart,
  fault,
  type GivenEmbedders,
  missingSource,
  noBytes,
  tooMany,
} from './check.ts';
import {
  CHUNKS_DEFAULTS,
  type GivenEmbedder,
  hasFragments,
  inShownOrder,
  isPart,
  type Part,
} from './fields.ts';
import { FRAGMENT, TEXT } from './rest-template.ts';
import { type Embedder, type Embedders, type SourceName, sourceOf } from './sources.ts';

/** Applies a partial object to the stored one and checks the result. */
export function mergeEmbedders(
  stored: Embedders,
  partial: GivenEmbedders | null,
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
  const excess = tooMany(merged.size);
  if (excess !== null) return err(excess);
  return ok(Object.fromEntries([...merged].sort(([a], [b]) => compareUtf8(a, b))));
}

/** @param part role in a composite embedder; null: not part of one */
function mergeEmbedder(
  name: string,
  stored: Embedder | undefined,
  given: GivenEmbedder,
  part: Part | null = null,
): Result<Embedder, ApiError> {
  const initial = part === null ? 'openAi' : undefined;
  const source = given.source === null ? initial : (given.source ?? stored?.source ?? initial);
  // A search embedder is replaced as a whole.
  if (source === undefined || (part === 'searchEmbedder' && !isGiven(given.source))) {
    return err(missingSource(name));
  }
  if (
    stored?.binaryQuantized === true &&
    Object.hasOwn(given, 'binaryQuantized') &&
    given.binaryQuantized !== true
  ) {
    return err(
      fault(
        `\`.embedders.${name}.binaryQuantized\`: quantization cannot be switched off again; ` +
          'remove the embedder and add it again.',
      ),
    );
  }
  const change = stored === undefined ? given : withStoredSecrets(given, stored);
  const fields = mergeFields(name, stored?.source === source ? stored : {}, change);
  if (!fields.ok) return fields;
  const merged: GivenEmbedder = { ...fields.value, source };
  if (hasFragments(merged)) {
    // Fragments replace the document template.
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

/** Field by field: null removes, parts and fragments are merged recursively. */
function mergeFields(
  name: string,
  stored: GivenEmbedder,
  change: GivenEmbedder,
): Result<GivenEmbedder, ApiError> {
  const merged: Record<string, unknown> = { ...stored };
  const changesModel = change.model !== undefined && change.model !== stored.model;
  if (changesModel && !Object.hasOwn(change, 'revision')) delete merged.revision;
  for (const [field, value] of Object.entries(change)) {
    if (field === 'source') continue;
    if (value === null) delete merged[field];
    else if (field === 'indexingFragments' || field === 'searchFragments') {
      merged[field] = mergeFragments(stored[field], value as Record<string, unknown>);
    } else if (isPart(field)) {
      const before = stored[field] as Embedder | undefined;
      const nested = mergeEmbedder(`${name}.${field}`, before, value as GivenEmbedder, field);
      if (!nested.ok) return nested;
      merged[field] = nested.value;
    } else merged[field] = value;
  }
  return ok(merged);
}

function mergeFragments(
  stored: object | null | undefined,
  change: Record<string, unknown>,
): Record<string, unknown> {
  const merged = new Map<string, unknown>(Object.entries(stored ?? {}));
  for (const [name, fragment] of Object.entries(change)) {
    if (fragment === null) merged.delete(name);
    else merged.set(name, fragment);
  }
  return Object.fromEntries([...merged].sort(([a], [b]) => compareUtf8(a, b)));
}

/** Adds the defaults of the source. */
function complete(embedder: GivenEmbedder, part: Part | null): Embedder {
  const source = sourceOf(embedder.source as SourceName);
  const defaults = source.defaults?.(embedder) ?? {};
  const isRendered = source.fields.documentTemplate !== undefined && part !== 'searchEmbedder';
  if (isRendered && !hasFragments(embedder)) {
    defaults.documentTemplate = DEFAULT_DOCUMENT_TEMPLATE;
    defaults.documentTemplateMaxBytes = DEFAULT_TEMPLATE_BYTES_MAX;
  }
  const chunks = isGiven(embedder.chunks)
    ? { chunks: { ...embedder.chunks, ...completed(embedder.chunks, CHUNKS_DEFAULTS) } }
    : {};
  return inShownOrder({ ...defaults, ...embedder, ...chunks }) as Embedder;
}

/** The change, with masked secrets replaced by the stored ones. */
function withStoredSecrets(change: GivenEmbedder, embedder: Embedder): GivenEmbedder {
  const stored: GivenEmbedder = embedder;
  const { apiKey, url, request, headers } = change;
  const secrets: GivenEmbedder = {};
  if (isGiven(apiKey)) secrets.apiKey = unmasked(apiKey, stored.apiKey);
  if (isGiven(url)) secrets.url = unmaskedUrl(url, stored.url);
  if (isGiven(request)) secrets.request = unmaskedMembers(request, stored.request);
  if (isGiven(headers)) secrets.headers = unmaskedHeaders(headers, stored.headers ?? {});
  return { ...change, ...secrets };
}
