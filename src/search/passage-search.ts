/** The search whose hits have the passages of `POST /indexes/{uid}/passages` and of chats. */
import type { AnyFields } from '../contract/embedders/fields.ts';
import { type Embedders, indexingPart } from '../contract/embedders/sources.ts';
import type { SearchRequest } from '../contract/search.ts';
import { isGiven } from '../contract/settings/setting.ts';
import { PASSAGES_PER_HIT } from '../embedding/choose-passages.ts';

/** Whether an embedder cuts an attribute into passages. */
export function cutsPassages(embedders: Embedders, name: string | undefined): boolean {
  if (name === undefined || !Object.hasOwn(embedders, name)) return false;
  const { chunks }: AnyFields = indexingPart(embedders[name]!);
  return isGiven(chunks);
}

/** Without an embedder, the first that has passages counts. */
export function passageSearch(request: SearchRequest, embedders: Embedders): SearchRequest {
  const first = Object.keys(embedders).find((name) => cutsPassages(embedders, name));
  const isAsked = isGiven(request.vector) || (request.q ?? '').trim() !== '';
  const hybrid = request.hybrid ?? (first !== undefined && isAsked ? { embedder: first } : null);
  return {
    ...request,
    matchingStrategy: request.matchingStrategy ?? 'natural',
    ...(hybrid !== null && { hybrid: { ...hybrid, fusion: hybrid.fusion ?? 'rrf' } }),
    showPassages: PASSAGES_PER_HIT,
    showMatchesPosition: true,
  };
}
