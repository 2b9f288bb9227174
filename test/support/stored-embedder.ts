import type { PartEmbedder } from '../../src/contract/embedders/composite.ts';
import { type SourceName, sourceOf } from '../../src/contract/embedders/sources.ts';

/** An embedder of some fields with the defaults of its source, as it is stored. */
export function storedEmbedder(given: Readonly<Record<string, unknown>>): PartEmbedder {
  const defaults = sourceOf(given.source as SourceName).defaults?.(given) ?? {};
  return { ...defaults, ...given } as unknown as PartEmbedder;
}
