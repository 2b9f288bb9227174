/** The search whose hits have the passages of `POST /indexes/{uid}/passages` and of chats. */
import type { AnyFields, Chunks } from '../contract/embedders/fields.ts';
import { type Embedders, indexingPart } from '../contract/embedders/sources.ts';
import type { SearchRequest } from '../contract/search.ts';
import { isGiven } from '../contract/settings/setting.ts';
import type { Chunked } from '../embedding/choose-passages.ts';

/** How an embedder cuts an attribute into passages; null: not at all. */
export function chunksOf(embedders: Embedders, name: string | undefined): Chunks | null {
  if (name === undefined || !Object.hasOwn(embedders, name)) return null;
  const { chunks }: AnyFields = indexingPart(embedders[name]!);
  return (chunks as Chunks | undefined) ?? null;
}

export interface PassageSearch {
  params: SearchRequest;
  /** The embedder whose embeddings choose among the passages of a hit; null: words do. */
  chunked: Chunked | null;
}

/** Without an embedder, the first that has passages counts. */
export function passageSearch(request: SearchRequest, embedders: Embedders): PassageSearch {
  const first = Object.keys(embedders).find((name) => chunksOf(embedders, name) !== null);
  const isAsked = isGiven(request.vector) || (request.q ?? '').trim() !== '';
  const hybrid = request.hybrid ?? (first !== undefined && isAsked ? { embedder: first } : null);
  const chunks = chunksOf(embedders, hybrid?.embedder);
  const params: SearchRequest = {
    ...request,
    matchingStrategy: request.matchingStrategy ?? 'natural',
    // With ranks, words are never enough: the passages of each hit are compared with the vector.
    ...(hybrid !== null && { hybrid: { ...hybrid, fusion: hybrid.fusion ?? 'rrf' } }),
    retrieveVectors: chunks !== null,
    showMatchesPosition: true,
  };
  return { params, chunked: chunks && { embedder: hybrid!.embedder, chunks } };
}
