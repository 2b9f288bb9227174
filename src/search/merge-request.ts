/** What the engine is told to make one answer out of those of several servers of the network. */
import type { ApiError } from '../contract/errors.ts';
import type { Federation } from '../contract/search.ts';
import type { SettingsObject } from '../contract/settings.ts';

/** Of the index here; null: it is not here. */
export type Faceting = SettingsObject['faceting'] | null;

export interface EngineMergeRequest {
  /** Which answer is written. */
  shape: 'federated' | 'search' | 'similar';
  /** In the order of the responses. */
  servers: {
    /** As hits tell it; null: this server has none. */
    name: string | null;
    isHere: boolean;
    /** Of the queries that it was asked, in the request. */
    positions: number[];
  }[];
  remoteErrors: Record<string, ApiError>;
  responseBytesMax: number;
  /** Which part of the merged list is wanted. */
  window: Record<'offset' | 'limit' | 'page' | 'hitsPerPage', number | null | undefined>;
  /** Values of the distinct attribute count once in the whole list, not once for each query. */
  distinctAcrossQueries?: boolean;
  /** By index that has facets, those of which were asked for. */
  faceting?: Record<string, Faceting>;
  mergeFacets?: Federation['mergeFacets'] | undefined;
  showsMetadata?: boolean;

  // Of a search.
  /** Of the index; hits behind it are not shown. */
  totalMax?: number | undefined;
  /** Absent: not shown. */
  indexUid?: string | undefined;
  query?: string;
  /** The index whose facets are shown. */
  facetsOf?: string;
  /** Hits say which server they are from. */
  showsOrigin?: boolean;
  /** What the two halves of a hybrid search count. */
  halves?: { words: number; vectors: number } | undefined;

  // Of a search for similar documents.
  target?: {
    id: string;
    offset: number;
    limit: number;
    hasEmbeddings: boolean;
    /** Of the index. */
    totalMax: number | undefined;
  };
  processingTimeMs?: number;
}

export interface EngineFacetMergeRequest {
  facetName: string;
  facetQuery: string | null;
  faceting: Faceting;
  processingTimeMs: number;
  remoteErrors: Record<string, ApiError>;
  responseBytesMax: number;
}
