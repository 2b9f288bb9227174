/** Determines which stored embeddings a change of settings affects. */
import { compareUtf8 } from '../base/json.ts';
import { own } from '../base/own.ts';
import type { AnyFields, FieldName, Fragments } from '../contract/embedders/fields.ts';
import {
  computes,
  type Embedder,
  type Embedders,
  indexingPart,
  searchPart,
  type SimpleEmbedder,
  sourceOf,
} from '../contract/embedders/sources.ts';
import type { EmbedderStates } from '../engine/embedder-states.ts';

export function indexingFragments(embedder: Embedder): Fragments {
  return (indexingPart(embedder) as AnyFields).indexingFragments ?? {};
}

export function searchFragments(embedder: Embedder): Fragments {
  return (searchPart(embedder) as AnyFields).searchFragments ?? {};
}

/**
 * Numbers fragments. Existing ones keep their numbers; new ones, in the order of their names, get
 * the smallest free numbers.
 */
export function numberFragments(
  names: readonly string[],
  before: Readonly<Record<string, number>> = {},
): Record<string, number> {
  const kept = names.filter((name) => Object.hasOwn(before, name));
  const numbers = new Map(kept.map((name) => [name, before[name]!]));
  const used = new Set(numbers.values());
  let next = 0;
  for (const name of names.filter((other) => !numbers.has(other)).toSorted(compareUtf8)) {
    while (used.has(next)) next++;
    used.add(next);
    numbers.set(name, next);
  }
  return Object.fromEntries(numbers);
}

/** The settings that determine the embeddings. */
export function identity(embedder: Embedder): string {
  return JSON.stringify(identifying(indexingPart(embedder), []));
}

/**
 * The settings that determine the dimensions, and whether the parts of a composite embedder agree.
 */
export function setUpIdentity(embedder: Embedder): string {
  const parts = [indexingPart(embedder), searchPart(embedder)];
  const fields = parts.map((part) => identifying(part, ['url', 'dimensions']));
  return JSON.stringify([embedder.source, ...fields]);
}

/** The source, and the fields that identify its model. */
function identifying(embedder: SimpleEmbedder, more: readonly FieldName[]): unknown {
  const fields: Partial<Record<FieldName, unknown>> = embedder;
  const names = [...sourceOf(embedder.source).identifiedBy, ...more];
  return [embedder.source, ...names.map((name) => fields[name])];
}

/**
 * `all`: the embeddings of all documents that are not opted out are computed again; `changed`: only
 * those of documents whose text has changed.
 */
export type EmbeddingChange = 'all' | 'changed';

export interface EmbedderSettings {
  embedders: Embedders;
  searchableAttributes: readonly string[];
  states: EmbedderStates;
}

/**
 * Changes by name of the embedder. Embedders that are not listed stay unchanged (embedders.md 11).
 */
export function embeddingChanges(
  before: EmbedderSettings,
  after: EmbedderSettings,
): Record<string, EmbeddingChange> {
  const changes = new Map<string, EmbeddingChange>();
  const searchableChanged =
    JSON.stringify(before.searchableAttributes) !== JSON.stringify(after.searchableAttributes);
  for (const [name, embedder] of Object.entries(after.embedders)) {
    if (!computes(embedder)) continue;
    const old = own(before.embedders, name);
    const isNew =
      old === undefined ||
      !computes(old) ||
      identity(old) !== identity(embedder) ||
      own(before.states, name)?.dimensions !== own(after.states, name)?.dimensions;
    if (isNew) changes.set(name, 'all');
    // Those that were still to be made in the background are made now.
    else if (old.mode === 'background' && embedder.mode !== 'background') {
      changes.set(name, 'changed');
    } else if (rendersOtherwise(old, embedder, searchableChanged)) changes.set(name, 'changed');
  }
  return Object.fromEntries(changes);
}

function rendersOtherwise(before: Embedder, after: Embedder, searchableChanged: boolean): boolean {
  if (JSON.stringify(indexingFragments(before)) !== JSON.stringify(indexingFragments(after))) {
    return true;
  }
  const old: AnyFields = indexingPart(before);
  const now: AnyFields = indexingPart(after);
  return (
    JSON.stringify(old.chunks) !== JSON.stringify(now.chunks) ||
    old.documentTemplate !== now.documentTemplate ||
    (old.documentTemplateMaxBytes ?? 0) < (now.documentTemplateMaxBytes ?? 0) ||
    (searchableChanged && now.documentTemplate?.includes('is_searchable') === true)
  );
}
