/** What a search needs of the indexes, in the main thread and in other threads. */
import type { CancelSignal } from '../base/cancel-signal.ts';
import type { SettingsObject } from '../contract/settings.ts';
import type { EngineResult, EngineText, ListingPart, NativeAddon } from './native.ts';

export interface SearchedIndexes {
  readonly native: NativeAddon;
  /** The index with that uid, or the one that the alias stands for. */
  get(name: string): SearchedIndex | undefined;
}

export interface SearchedIndex {
  readonly handle: SearchedHandle;
  readonly settings: SearchedSettings;
  readonly summary: { readonly primaryKey: string | null };
}

export interface SearchedSettings extends Readonly<
  Pick<SettingsObject, 'displayedAttributes' | 'searchCutoffMs' | 'semanticCutoff'>
> {
  readonly embedders: Readonly<Record<string, object>>;
  readonly rerankers: Readonly<Record<string, object>>;
}

/** See `IndexHandle`. */
export interface SearchedHandle {
  /** @param timed the result has its stages */
  search(request: EngineText, signal?: CancelSignal, timed?: boolean): Promise<EngineResult>;
  facetSearch(request: EngineText, signal?: CancelSignal, timed?: boolean): Promise<EngineResult>;
  similar(request: EngineText, signal?: CancelSignal, timed?: boolean): Promise<EngineResult>;
  fetchDocuments(request: EngineText, signal?: CancelSignal): Promise<ListingPart>;
  getDocument(
    id: string,
    fields: string[] | null,
    retrieveVectors: boolean,
  ): Promise<Buffer | null> | Buffer | null;
  /** Keeps the index open until `release`. Returns its number, for the engine. */
  hold(): Promise<number> | number;
  release(): void;
}
