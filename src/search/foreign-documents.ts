/**
 * Searches and listings with foreign keys: conditions on other indexes are resolved before the
 * engine runs, and hits get the documents that they refer to. Without foreign keys nothing changes.
 */
import { combineFilters } from '../auth/tenant-token.ts';
import { elementsAt, membersAt, stringAt } from '../base/json-spans.ts';
import type { FeatureSet } from '../contract/features.ts';
import { fieldView } from '../contract/fields.ts';
import { isDocumentId } from '../contract/formats.ts';
import type { FetchRequest } from '../contract/documents.ts';
import { indexNotFound } from '../contract/errors.ts';
import { responseTooLarge, type RequestLimits } from '../contract/limits.ts';
import type { SettingsObject } from '../contract/settings.ts';
import { Page } from '../engine/page.ts';
import {
  checkForeignSyntax,
  foreignNotEnabled,
  type ForeignKey,
  hasForeign,
  resolvedFilter,
} from './foreign-filter.ts';
import type { SearchResponse } from './response.ts';
import type { SearchCaller } from './caller.ts';
import { type Reader, wholeListing } from './index-service.ts';
import { metered } from './search-meter.ts';

/** The caller, as far as other indexes are concerned. */
export type ForeignCaller = Pick<SearchCaller, 'access' | 'signal' | 'meter'>;

export interface ForeignServices {
  features(): FeatureSet;
  settings(uid: string): SettingsObject | undefined;
  primaryKey(uid: string): string | null;
  /** Throws `ApiError`. */
  checkFilter(filter: string): void;
  /** The result of a listing. */
  fetch(
    uid: string,
    request: FetchRequest,
    reader: Reader,
  ): Promise<Buffer | AsyncIterable<Buffer>>;
  limits: RequestLimits;
}

/** Reports a filter with conditions on other indexes where the feature is off. */
function refuseForeign(filter: unknown, checkSyntax: (filter: string) => void): never {
  checkForeignSyntax(filter, checkSyntax);
  throw foreignNotEnabled();
}

/** For searches and listings that are served only while the feature is off. */
export class NoForeignDocuments implements Pick<
  ForeignDocuments,
  'filter' | 'needsHits' | 'hydrate'
> {
  readonly #services: { isKnown(uid: string): boolean; checkFilter(filter: string): void };

  constructor(services: { isKnown(uid: string): boolean; checkFilter(filter: string): void }) {
    this.#services = services;
  }

  async filter(uid: string, filter: unknown): Promise<unknown> {
    const { isKnown, checkFilter } = this.#services;
    return hasForeign(filter) && isKnown(uid) ? refuseForeign(filter, checkFilter) : filter;
  }

  needsHits(): boolean {
    return false;
  }

  async hydrate(): Promise<void> {}
}

/** Documents of another index. */
interface ForeignListing {
  /** The response to a listing. */
  bytes: Buffer;
  primaryKey: string;
  /** Documents are shown without it. */
  hidesKey: boolean;
}

const NO_DOCUMENTS = Buffer.from('{"results":[]}');

export class ForeignDocuments {
  readonly #services: ForeignServices;

  constructor(services: ForeignServices) {
    this.#services = services;
  }

  #keysOf(uid: string): readonly ForeignKey[] {
    return (this.#services.settings(uid)?.foreignKeys ?? []) as readonly ForeignKey[];
  }

  /**
   * The filter of a search or listing of an index, ready for the engine. Rejects with `ApiError`.
   */
  async filter(uid: string, filter: unknown, caller: ForeignCaller): Promise<unknown> {
    if (!hasForeign(filter)) return filter;
    const services = this.#services;
    const settings = services.settings(uid);
    // An index that does not exist needs no look-ups.
    if (settings === undefined) return filter;
    const checkSyntax = (text: string): void => services.checkFilter(text);
    if (!services.features().foreignKeys) refuseForeign(filter, checkSyntax);
    return resolvedFilter(filter, {
      keys: this.#keysOf(uid),
      isFilterable: (field) => fieldView(field, settings).filterable.equality,
      mayRead: (foreign) => this.#readable(foreign, caller) !== undefined,
      checkSyntax,
      select: (foreign, expression, max) => this.#select(foreign, expression, max, caller),
    });
  }

  async #select(
    uid: string,
    expression: string,
    max: number,
    caller: ForeignCaller,
  ): Promise<string[] | undefined> {
    const primaryKey = this.#readable(uid, caller);
    if (primaryKey === undefined) return undefined;
    if (primaryKey === null) return [];
    const request = { limit: max + 1, fields: [primaryKey], filter: expression };
    const text = String(await this.#list(uid, caller, request));
    const results = membersAt(text, 0).find(({ name }) => name === 'results')!;
    return elementsAt(text, results.begin).map(({ begin }) => idAt(text, begin, primaryKey));
  }

  /**
   * The primary key of an index that the caller may search, null for none; undefined: it does not
   * exist for the caller.
   */
  #readable(uid: string, caller: ForeignCaller): string | null | undefined {
    if (this.#services.settings(uid) === undefined || !caller.access.mayAccess(uid))
      return undefined;
    return this.#services.primaryKey(uid);
  }

  async #list(
    uid: string,
    caller: ForeignCaller,
    request: Partial<FetchRequest> & { limit: number },
  ): Promise<Buffer> {
    const all = { offset: 0, fields: null, sort: null, ids: null, retrieveVectors: false };
    const rule = caller.access.tenantFilter(uid);
    const filter = rule === null ? (request.filter ?? null) : combineFilters(request.filter, rule);
    const response = await metered(caller.meter, 1, () =>
      this.#services.fetch(uid, { ...all, ...request, filter }, caller),
    );
    return wholeListing(response, this.#services.limits);
  }

  /** Whether hits of these indexes may refer to documents of others. */
  needsHits(uids: readonly string[]): boolean {
    return (
      this.#services.features().foreignKeys && uids.some((uid) => this.#keysOf(uid).length > 0)
    );
  }

  /**
   * Replaces the ids in the pages of responses by the documents that they name: one pass collects
   * them, one request per foreign index fetches the documents.
   * @param uids for each response: those of its queries
   */
  async hydrate(
    responses: readonly SearchResponse[],
    uids: readonly (readonly string[])[],
    caller: ForeignCaller,
  ): Promise<void> {
    const { limits } = this.#services;
    const shown = responses.flatMap(({ page }, n) =>
      page === undefined ? [] : [{ page, keys: uids[n]!.map((uid) => this.#keysOf(uid)) }],
    );
    const pages = shown.map(({ page }) => page);
    const found = await Page.findReferences(
      pages,
      shown.map(({ keys }) => keys),
    );
    for (const { uid, ids, tooMany } of found) {
      if (tooMany) throw responseTooLarge(limits);
      const listing = await this.#documents(uid, ids, caller);
      if (listing === null) continue;
      await Page.attach(pages, uid, listing.bytes, listing.primaryKey, listing.hidesKey);
    }
  }

  /** As displayed. null: the caller may not search the index. */
  async #documents(
    uid: string,
    ids: readonly string[],
    caller: ForeignCaller,
  ): Promise<ForeignListing | null> {
    const settings = this.#services.settings(uid);
    if (settings === undefined) throw indexNotFound(uid);
    const primaryKey = this.#readable(uid, caller);
    if (primaryKey === undefined) return null;
    const known = ids.filter(isDocumentId);
    if (primaryKey === null || known.length === 0) {
      return { bytes: NO_DOCUMENTS, primaryKey: '', hidesKey: false };
    }
    const { displayedAttributes } = settings;
    const isAll = displayedAttributes === null || displayedAttributes.includes('*');
    const fields = isAll ? null : [...new Set([...displayedAttributes, primaryKey])];
    const bytes = await this.#list(uid, caller, { limit: known.length, fields, ids: known });
    return { bytes, primaryKey, hidesKey: !isAll && !displayedAttributes.includes(primaryKey) };
  }
}

/**
 * The id of the document that begins at `from`. It has the field: engine and listing treat it as
 * its primary key.
 */
function idAt(text: string, from: number, primaryKey: string): string {
  const { begin, end } = membersAt(text, from).find(({ name }) => name === primaryKey)!;
  return text[begin] === '"' ? stringAt(text, { begin, end }) : text.slice(begin, end);
}
