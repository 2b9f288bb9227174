/** The engine's request to merge the responses of several servers of the network into one. */
import type { ApiError } from '../contract/errors.ts';
import type { Federation, HitsPage } from '../contract/search.ts';
import type { SettingsObject } from '../contract/settings.ts';
import type { Grouping } from './groups.ts';

/** The setting of the index here; null: it is not here. */
export type Faceting = SettingsObject['faceting'] | null;

export interface EngineMergeRequest {
  /** The kind of response to write. */
  shape: 'federated' | 'search' | 'similar' | 'groups';
  /** In the order of the responses. */
  servers: {
    /** As shown in hits; null: this server has no name. */
    name: string | null;
    isHere: boolean;
    /** Positions of its queries in the request. */
    positions: number[];
  }[];
  /** Absent: only for drafts, which show none. */
  remoteErrors?: Record<string, ApiError>;
  /** Totals are less by the duplicates on the first page, whatever the page. */
  countsFirstPage?: boolean;
  responseBytesMax: number;
  /** The response is changed before it is written. */
  keepsPage?: boolean | undefined;
  /** The requested part of the merged list. */
  window: HitsPage;
  /** Values of the distinct attribute count once in the whole list, not once per query. */
  distinctAcrossQueries?: boolean;
  /** For each index with requested facets. */
  faceting?: Record<string, Faceting>;
  mergeFacets?: Federation['mergeFacets'] | undefined;
  /** The two lists are taken from alternately, instead of by scores. */
  draft?: { seed: number };
  showsMetadata?: boolean;

  // For groups.
  grouping?: Pick<Grouping, 'hits' | 'facetsPer'>;

  // For a search.
  /** Limit of the index; hits after it are not shown. */
  totalMax?: number | undefined;
  /** Absent: not shown. */
  indexUid?: string | undefined;
  query?: string;
  /** The index whose facets are shown. */
  facetsOf?: string;
  /** Hits name the server they are from. */
  showsOrigin?: boolean;
  /** Sizes of the two halves of a hybrid search. */
  halves?: { words: number; vectors: number } | undefined;

  // For a search for similar documents.
  target?: {
    id: string;
    offset: number;
    limit: number;
    hasEmbeddings: boolean;
    /** Limit of the index. */
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
