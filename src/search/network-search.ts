/**
 * Searches that ask other servers of the network (docs/behaviour/network.md): queries that name a remote, queries of the
 * whole network, and those that another server sends on. Everything else is handed to {@link Search} as it is.
 */
import { jsonString } from '../base/json.ts';
import { federationFloats, queryVectorFloats, queryVectorsFloats } from '../contract/answers.ts';
import { ApiError } from '../contract/errors.ts';
import { answerTooLarge, type RequestLimits } from '../contract/limits.ts';
import type {
  FacetSearchRequest,
  Federation,
  MultiSearchQuery,
  SearchRequest,
  SimilarRequest,
} from '../contract/search.ts';
import { searchKind, SEMANTIC_RATIO_DEFAULT } from '../contract/search-kind.ts';
import type { SettingsObject } from '../contract/settings.ts';
import type { AnswerHead, EngineAnswer } from '../engine/native.ts';
import {
  type AnsweredHit,
  type FacetCounts,
  type FederatedAnswer,
  readFederatedAnswer,
} from '../network/federated-answer.ts';
import type { HeldAnswers } from '../network/answer-memory.ts';
import { readFacetHits } from '../network/facet-hits.ts';
import type { FanOut, RemoteQuestion } from '../network/fan-out.ts';
import {
  facetsJson,
  joinFacets,
  type MergedFacets,
  mergeFacets,
  mergeValues,
} from '../network/merge-facets.ts';
import { KeptHits, type MergedHit, mergedHits, type ServerHits } from '../network/merge-hits.ts';
import { pauser } from '../base/pauser.ts';
import { type Answer, headOf, joined } from './answer.ts';
import type { NetworkDocuments } from './network-documents.ts';
import { keyOfText } from '../network/document-key.ts';
import { type Search, type SearchCaller, type SearchLoad, uuidV7 } from './search-service.ts';

export interface NetworkCaller extends SearchCaller {
  /** Another server of the network asks: hits carry what it needs to merge them. */
  isProxied: boolean;
  /** Hits of a search of the whole network do not say where they are from. */
  hidesOrigin?: boolean;
}

type Holding = NetworkCaller & { held: HeldAnswers };

export interface NetworkServices {
  fanOut: FanOut;
  documents: Pick<NetworkDocuments, 'embeddings'>;
  /** undefined: the index is not here. */
  settings(uid: string): SettingsObject | undefined;
  limits: RequestLimits;
}

/** A query with its position in the request. */
interface PlacedQuery {
  query: MultiSearchQuery;
  position: number;
}

/** What a server of the network has answered. */
interface ServerAnswer extends ServerHits {
  /** As hits tell it; null: this server, which has no name. */
  name: string | null;
  queries: readonly PlacedQuery[];
  answer: FederatedAnswer;
}

/** The merged answers, before they are written. */
interface Merged {
  page: MergedHit<ServerAnswer>[];
  total: number;
  answers: ServerAnswer[];
  errors: Record<string, ApiError>;
  /** This server answered a query with the help of vectors: only then `semanticHitCount` is shown. */
  isSemantic: boolean;
}

/** What was searched for a query, by one server. */
interface PlacedMetadata {
  position: number;
  entry: { queryUid?: string };
}

const LIMIT_DEFAULT = 20;
/** Of separate searches. */
const AT_ONCE = 4;

/** What the two halves of a hybrid search count. */
interface Halves {
  words: number;
  vectors: number;
}

export class NetworkSearch {
  readonly #search: Search;
  readonly #services: NetworkServices;

  constructor(search: Search, services: NetworkServices) {
    this.#search = search;
    this.#services = services;
  }

  load(): SearchLoad {
    return this.#search.load();
  }

  async search(uid: string, params: SearchRequest, caller: NetworkCaller): Promise<Answer> {
    const { useNetwork, ...plain } = params;
    if (useNetwork !== true) return this.#search.search(uid, plain, caller);
    try {
      return await this.#holding(caller, (holding) => this.#whole(uid, plain, holding));
    } catch (error) {
      throw renamed(error, '');
    }
  }

  #holding<T>(caller: NetworkCaller, run: (caller: Holding) => Promise<T>): Promise<T> {
    return this.#services.fanOut.holding((held) => run({ ...caller, held }));
  }

  async facetSearch(
    uid: string,
    params: FacetSearchRequest,
    caller: NetworkCaller,
  ): Promise<EngineAnswer> {
    const { useNetwork, ...plain } = params;
    const { fanOut } = this.#services;
    if (useNetwork !== true) {
      return this.#search.facetSearch(uid, plain, {
        ...caller,
        forMerging: caller.isProxied && fanOut.isOn,
      });
    }
    return this.#holding(caller, (holding) => this.#facetHits(uid, plain, holding));
  }

  /** Values of a facet of the whole network. */
  async #facetHits(
    uid: string,
    params: FacetSearchRequest,
    caller: Holding,
  ): Promise<EngineAnswer> {
    const { fanOut, settings } = this.#services;
    const begun = performance.now();
    const request = await this.#search.embedded(uid, params);
    const { here, answers, errors } = await fanOut.askBeside(
      fanOut.isMember
        ? () =>
            this.#search
              .facetSearch(uid, request, { ...caller, forMerging: true })
              .then(({ bytes }) => readFacetHits(bytes))
        : null,
      this.#toAll(`/indexes/${uid}/facet-search`, request),
      readFacetHits,
      caller.held,
      caller.onGone,
    );
    const facetHits = await mergeValues(
      [...(here === null ? [] : [here]), ...answers.values()],
      this.#isByCount(uid, params.facetName),
      settings(uid)?.faceting.maxValuesPerFacet ?? Infinity,
    );
    const { facetQuery = null } = params;
    const processingTimeMs = Math.floor(performance.now() - begun);
    const answer = { facetHits, facetQuery, processingTimeMs, remoteErrors: errors };
    return { bytes: Buffer.from(JSON.stringify(answer)), head: headOf(processingTimeMs) };
  }

  /** The same question to all other servers. */
  #toAll(path: string, request: object): Map<string, RemoteQuestion> {
    const question: RemoteQuestion = {
      ...{ method: 'POST', path, body: bodyText(request), isOptional: true },
      key: ({ searchApiKey }) => searchApiKey,
      headers: { 'Meili-Proxy-Search': 'true' },
    };
    return new Map(this.#services.fanOut.others.map((name) => [name, question]));
  }

  async similar(
    uid: string,
    params: SimilarRequest,
    caller: NetworkCaller & { tenantFilter: (uid: string) => unknown },
  ): Promise<EngineAnswer> {
    const { useNetwork, ...plain } = params;
    if (useNetwork !== true) return this.#search.similar(uid, plain, caller);
    return this.#holding(caller, (holding) =>
      this.#similar(uid, plain, caller.tenantFilter(uid), holding),
    );
  }

  async #similar(
    uid: string,
    params: Omit<SimilarRequest, 'useNetwork'>,
    tenantFilter: unknown,
    caller: Holding,
  ): Promise<EngineAnswer> {
    const { id, embedder, offset = 0, limit = LIMIT_DEFAULT, ...shown } = params;
    const begun = performance.now();
    const vectors = await this.#services.documents.embeddings(
      uid,
      id,
      embedder,
      tenantFilter,
      caller,
    );
    if (vectors === undefined) {
      throw new ApiError(
        'not_found_similar_id',
        `No server of the network has a document \`${id}\` to compare others with.`,
      );
    }
    // The document itself is found as well, and left out.
    const federation: Federation = { offset: 0, limit: limit === 0 ? 0 : offset + limit + 1 };
    const queries = (vectors.length === 0 ? [null] : vectors).map((vector): MultiSearchQuery => ({
      ...shown,
      indexUid: uid,
      useNetwork: true,
      ...(vector === null ? {} : { vector, hybrid: { embedder, semanticRatio: 1 } }),
    }));
    const merged = await this.#merged(queries, federation, windowOf(federation), caller).catch(
      (error: unknown) => {
        throw ofSimilar(error);
      },
    );
    const isTarget = ({ hit }: MergedHit<ServerAnswer>): boolean =>
      hit.documentKey === keyOfText(id);
    // A document without embeddings is like none.
    const others = merged.page.filter((one) => !isTarget(one) && one.hit.global > 0);
    const page = vectors.length === 0 ? [] : others.slice(offset, offset + limit);
    const total = merged.total - (merged.page.some(isTarget) ? 1 : 0);
    const totalMax = this.#services.settings(uid)?.pagination.maxTotalHits ?? Infinity;
    const head = headOf(Math.floor(performance.now() - begun), Math.min(total, totalMax));
    const parts = [
      ...hitParts('{"hits":[', page, () => null, head),
      `],"id":${JSON.stringify(id)},"processingTimeMs":${head.processingTimeMs}`,
      `,"limit":${limit},"offset":${offset},"estimatedTotalHits":${head.totalHits}`,
      `,"remoteErrors":${JSON.stringify(merged.errors)}}`,
    ];
    return { bytes: joined(parts, this.#services.limits), head };
  }

  separate(queries: readonly MultiSearchQuery[], caller: NetworkCaller): Promise<Answer[]> {
    return queries.some(({ useNetwork }) => useNetwork === true)
      ? this.#separate(queries, caller)
      : this.#search.separate(queries, caller);
  }

  async federated(
    queries: readonly MultiSearchQuery[],
    federation: Federation,
    caller: NetworkCaller,
  ): Promise<Answer> {
    const { fanOut } = this.#services;
    if (!asksOthers(queries)) {
      if (!caller.isProxied || !fanOut.isOn)
        return this.#search.federated(queries, federation, caller);
      const placed = queries.map((query, n) => ({
        query,
        position: query.federationOptions?.queryPosition ?? n,
      }));
      return this.#scored(placed, federation, caller);
    }
    return this.#holding(caller, (holding) => this.#federated(queries, federation, holding));
  }

  /** A federated search of which some queries are for others. */
  async #federated(
    queries: readonly MultiSearchQuery[],
    federation: Federation,
    caller: Holding,
  ): Promise<Answer> {
    const window = windowOf(federation);
    const merged = await this.#merged(queries, federation, window, caller);
    const metadata = caller.includeMetadata ? this.#metadataOf(merged) : null;
    const head = headOf(slowest(merged), window.total(merged.total));
    const parts = hitParts('{"hits":[', merged.page, federationOf, head);
    parts.push(`],"processingTimeMs":${head.processingTimeMs},${window.describe(merged.total)}`);
    parts.push(...this.#vectorParts(merged));
    parts.push(...(await this.#facetParts(merged, federation)));
    parts.push(`,"requestUid":"${uuidV7()}"`);
    if (metadata !== null)
      parts.push(`,"metadata":${JSON.stringify(metadata.map(({ entry }) => entry))}`);
    parts.push(`,"remoteErrors":${JSON.stringify(merged.errors)}}`);
    return answered(joined(parts, this.#services.limits), head, metadata);
  }

  /** Searches of which some are of the whole network; few run at once. The first failing one in order is reported. */
  async #separate(queries: readonly MultiSearchQuery[], caller: NetworkCaller): Promise<Answer[]> {
    const { limits } = this.#services;
    const results: Answer[] = [];
    let bytesLeft = limits.answerBytes;
    let failed = queries.length;
    let failure: unknown;
    let next = 0;
    const fail = (position: number, error: unknown): void => {
      if (position >= failed) return;
      failed = position;
      failure = error;
    };
    caller.onGone(() => fail(0, new Error('the client went away')));
    const runSome = async (): Promise<void> => {
      while (next < failed) {
        const position = next++;
        try {
          const result = await this.#one(queries[position]!, caller);
          results[position] = result;
          bytesLeft -= result.bytes.length;
          if (bytesLeft < 0) fail(position, answerTooLarge(limits));
        } catch (error) {
          fail(position, renamed(error, `Inside \`.queries[${position}]\`: `));
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(queries.length, AT_ONCE) }, runSome));
    if (failed < queries.length) throw failure;
    return results;
  }

  /** A result of separate searches. */
  async #one(query: MultiSearchQuery, caller: NetworkCaller): Promise<Answer> {
    const { useNetwork, federationOptions: _, indexUid, ...params } = query;
    if (useNetwork === true) {
      const begun = performance.now();
      const answer = await this.#holding(caller, (holding) =>
        this.#whole(indexUid, params, holding, indexUid),
      );
      return { ...answer, durationMs: performance.now() - begun };
    }
    const [answer] = await this.#search.separate([{ ...params, indexUid }], caller);
    return answer!;
  }

  /**
   * One search of the whole network, answered like that of one index.
   * @param shownUid stands before everything else in the answer
   */
  async #whole(
    uid: string,
    params: SearchRequest,
    caller: Holding,
    shownUid?: string,
  ): Promise<Answer> {
    // Pins are those of one index; a merged list has none.
    const { pins: _, ...unpinned } = params as SearchRequest & { pins?: unknown };
    const made = await this.#search.embedded(uid, unpinned);
    const { offset, limit, page, hitsPerPage, facets, ...query } = made;
    const hasFacets = (facets ?? []).length > 0;
    const federation: Federation = {
      ...((page ?? hitsPerPage ?? null) === null
        ? { offset: offset ?? 0, limit: limit ?? LIMIT_DEFAULT }
        : { page: page ?? 1, hitsPerPage: hitsPerPage ?? LIMIT_DEFAULT }),
      ...(hasFacets ? { facetsByIndex: { [uid]: facets! } } : {}),
    };
    const settings = this.#services.settings(uid);
    const window = windowOf(federation, settings?.pagination.maxTotalHits);
    const queries = [{ ...query, indexUid: uid, useNetwork: true }];
    const merged = await this.#merged(queries, federation, window, caller, halvesOf(query));
    const metadata = caller.includeMetadata ? this.#metadataOf(merged)[0] : undefined;
    const shown = caller.hidesOrigin === true ? (): null => null : federationOf;
    const head = headOf(slowest(merged), window.total(merged.total));
    const named = shownUid === undefined ? '' : `"indexUid":${JSON.stringify(shownUid)},`;
    const parts = hitParts(`{${named}"hits":[`, merged.page, shown, head);
    parts.push(`],"query":${JSON.stringify(query.q ?? '')}`);
    const vector = merged.answers.map(({ answer }) => answer.queryVectors['0']).find(Boolean);
    if (vector !== undefined) parts.push(`,"queryVector":${jsonString(queryVectorFloats(vector))}`);
    parts.push(`,"processingTimeMs":${head.processingTimeMs},${window.describe(merged.total)}`);
    if (merged.isSemantic) {
      parts.push(`,"semanticHitCount":${merged.page.filter(isByVector).length}`);
    }
    if (hasFacets) {
      const { distribution, stats } = await facetsJson(await this.#facetsOf(uid, merged.answers));
      parts.push(`,"facetDistribution":${distribution},"facetStats":${stats}`);
    }
    parts.push(`,"requestUid":"${uuidV7()}"`);
    if (metadata !== undefined) parts.push(`,"metadata":${JSON.stringify(metadata.entry)}`);
    parts.push(`,"remoteErrors":${JSON.stringify(merged.errors)}}`);
    return answered(
      joined(parts, this.#services.limits),
      head,
      metadata === undefined ? null : [metadata],
    );
  }

  /** Asks this server and others at the same time, and merges what they answer. */
  async #merged(
    queries: readonly MultiSearchQuery[],
    federation: Federation,
    window: Window,
    caller: Holding,
    halves: Halves = { words: 1, vectors: 1 },
  ): Promise<Merged> {
    const { fanOut } = this.#services;
    const { here, elsewhere, whole } = partition(queries, fanOut);
    const { facetsByIndex, distinct } = federation;
    const inner: Federation = {
      ...window.whole(),
      ...(facetsByIndex === undefined ? {} : { facetsByIndex }),
      ...(distinct === undefined ? {} : { distinct }),
    };
    const questions = new Map(
      [...elsewhere].map(([name, placed]): [string, RemoteQuestion] => [
        name,
        {
          ...{ method: 'POST', path: '/multi-search', body: remoteBody(placed, inner) },
          key: ({ searchApiKey }) => searchApiKey,
          headers: {
            'Meili-Proxy-Search': 'true',
            ...(caller.includeMetadata ? { 'Meili-Include-Metadata': 'true' } : {}),
          },
          isOptional: whole.has(name),
        },
      ]),
    );
    const { here: own, ...others } = await fanOut.askBeside(
      here.length === 0
        ? null
        : () => this.#scored(here, inner, caller).then(({ bytes }) => readFederatedAnswer(bytes)),
      questions,
      readFederatedAnswer,
      caller.held,
      caller.onGone,
    );
    const answers: ServerAnswer[] = [...others.answers].map(([name, answer]) => ({
      ...{ name, queries: elsewhere.get(name)!, answer, hits: weighted(answer.hits, halves) },
    }));
    if (own !== null) {
      const { self: name } = fanOut.network;
      answers.unshift({ name, queries: here, answer: own, hits: weighted(own.hits, halves) });
    }
    return {
      ...(await mergedPage(answers, window, (distinct ?? null) !== null)),
      ...{ answers, errors: others.errors, isSemantic: own?.hasVectors === true },
    };
  }

  /** The answer of this server to some queries of a request, with what merging needs. */
  async #scored(
    placed: readonly PlacedQuery[],
    federation: Federation,
    caller: NetworkCaller,
  ): Promise<Answer> {
    const queries = placed.map(({ query, position }) => {
      const { useNetwork: _, federationOptions, ...plain } = query;
      const { remote: _remote, ...options } = federationOptions ?? {};
      return { ...plain, federationOptions: { ...options, queryPosition: position } };
    });
    try {
      return await this.#search.federated(queries, federation, { ...caller, forMerging: true });
    } catch (error) {
      throw atPosition(error, placed);
    }
  }

  /** What was searched, in the order of the queries: for each of them and each server that answered. */
  #metadataOf({ answers }: Merged): PlacedMetadata[] {
    const entries = answers.flatMap(({ name, queries, answer }) =>
      queries.map(({ position }, n) => ({
        position,
        entry: {
          ...(answer.metadata?.[n] as PlacedMetadata['entry']),
          ...(name === null ? {} : { remote: name }),
        },
      })),
    );
    return entries.sort((a, b) => a.position - b.position);
  }

  *#vectorParts({ page, answers, isSemantic }: Merged): Generator<string, undefined> {
    if (isSemantic) {
      yield `,"semanticHitCount":${page.filter(isByVector).length}`;
    }
    const vectors = Object.assign(
      {},
      ...answers.map(({ answer }) => answer.queryVectors),
    ) as object;
    if (Object.keys(vectors).length > 0)
      yield `,"queryVectors":${jsonString(queryVectorsFloats(vectors))}`;
  }

  async #facetParts({ answers }: Merged, federation: Federation): Promise<string[]> {
    const known = new Set(answers.flatMap(({ answer }) => Object.keys(answer.facetsByIndex)));
    const uids = [...known].sort();
    if (uids.length === 0) return [];
    const merged: MergedFacets[] = [];
    for (const uid of uids) merged.push(await this.#facetsOf(uid, answers));
    const { mergeFacets: merging } = federation;
    if (merging === null || merging === undefined) {
      const members: string[] = [];
      for (const [n, facets] of merged.entries()) {
        const { distribution, stats } = await facetsJson(facets);
        const uid = JSON.stringify(uids[n]);
        members.push(`${uid}:{"distribution":${distribution},"stats":${stats}}`);
      }
      return [`,"facetsByIndex":{${members.join(',')}}`];
    }
    const { distribution, stats } = await facetsJson(
      await joinFacets(merged, {
        byCount: (attribute) => uids.some((uid) => this.#isByCount(uid, attribute)),
        valuesMax: merging.maxValuesPerFacet ?? Infinity,
      }),
    );
    return [`,"facetDistribution":${distribution},"facetStats":${stats}`];
  }

  #facetsOf(uid: string, answers: readonly ServerAnswer[]): Promise<MergedFacets> {
    const { maxValuesPerFacet } = this.#services.settings(uid)?.faceting ?? {};
    return mergeFacets(facetParts(answers, uid), {
      byCount: (attribute) => this.#isByCount(uid, attribute),
      valuesMax: maxValuesPerFacet ?? Infinity,
    });
  }

  #isByCount(uid: string, attribute: string): boolean {
    const orders: Record<string, string> =
      this.#services.settings(uid)?.faceting.sortFacetValuesBy ?? {};
    return (Object.hasOwn(orders, attribute) ? orders[attribute] : orders['*']) === 'count';
  }
}

/** Which part of the merged list is wanted. */
interface Window {
  /** Places in the merged list. */
  from: number;
  end: number;
  /** What each server is asked for: its list up to the end of the window. */
  whole(): Federation;
  /** Hits that can be reached. */
  total(found: number): number;
  /** Members of the answer. */
  describe(found: number): string;
}

/** @param totalMax of the index; hits behind it are not shown */
function windowOf(federation: Federation, totalMax = Infinity): Window {
  const page = federation.page ?? null;
  const hitsPerPage = federation.hitsPerPage ?? null;
  const total = (found: number): number => Math.min(found, totalMax);
  if (page === null && hitsPerPage === null) {
    const { offset = 0, limit = LIMIT_DEFAULT } = federation;
    const end = Math.min(offset + limit, Number.MAX_SAFE_INTEGER);
    return {
      from: offset,
      end: Math.min(end, totalMax),
      whole: () => ({ offset: 0, limit: limit === 0 ? 0 : end }),
      total,
      describe: (found) =>
        `"limit":${limit},"offset":${offset},"estimatedTotalHits":${total(found)}`,
    };
  }
  const number = page ?? 1;
  const size = hitsPerPage ?? LIMIT_DEFAULT;
  const end = Math.min(number * size, Number.MAX_SAFE_INTEGER);
  return {
    from: Math.max(0, end - size),
    end: Math.min(end, totalMax),
    whole: () => ({ page: 1, hitsPerPage: end }),
    total,
    describe: (found) => {
      const shown = total(found);
      const pages = size === 0 ? 0 : Math.ceil(shown / size);
      return `"hitsPerPage":${size},"page":${number},"totalPages":${pages},"totalHits":${shown}`;
    },
  };
}

/**
 * The hits of a window, and how many there are in all: the totals of the servers, less what was met again.
 * @param acrossQueries as of {@link KeptHits}
 */
async function mergedPage(
  answers: readonly ServerAnswer[],
  window: Window,
  acrossQueries: boolean,
): Promise<Pick<Merged, 'page' | 'total'>> {
  const page: MergedHit<ServerAnswer>[] = [];
  const kept = new KeptHits(acrossQueries);
  const pause = pauser();
  // Totals of pages are exact where all values of the distinct attribute are told.
  const countsAll = answers.some(({ answer }) => answer.further !== null);
  let place = 0;
  if (window.end > window.from || countsAll) {
    for (const merged of mergedHits(answers, (hit) => kept.add(hit))) {
      if (place >= window.from && place < window.end) page.push(merged);
      if (++place >= window.end && !countsAll) break;
      await pause();
    }
  }
  for (const { answer } of answers) {
    for (const hit of answer.further ?? []) {
      kept.addValues(hit);
      await pause();
    }
  }
  const sum = answers.reduce((total, { answer }) => total + answer.total, 0);
  return { page, total: sum - kept.refused };
}

/** Whether a query names a remote, or asks the whole network. */
export function asksOthers(queries: readonly MultiSearchQuery[]): boolean {
  return queries.some(
    ({ useNetwork, federationOptions }) =>
      useNetwork === true || (federationOptions?.remote ?? null) !== null,
  );
}

/** Who is asked what. `whole`: remotes that no query names, asked because a query is one of the whole network. */
function partition(
  queries: readonly MultiSearchQuery[],
  { network: { self }, others, isMember }: FanOut,
): { here: PlacedQuery[]; elsewhere: Map<string, PlacedQuery[]>; whole: Set<string> } {
  const here: PlacedQuery[] = [];
  const elsewhere = new Map<string, PlacedQuery[]>();
  const whole = new Set<string>();
  const add = (name: string, placed: PlacedQuery): void => {
    const queriesOf = elsewhere.get(name);
    if (queriesOf === undefined) elsewhere.set(name, [placed]);
    else queriesOf.push(placed);
  };
  for (const [position, query] of queries.entries()) {
    const placed = { query, position };
    const remote = query.federationOptions?.remote ?? null;
    if (query.useNetwork === true) {
      if (isMember) here.push(placed);
      for (const name of others) {
        if (!elsewhere.has(name)) whole.add(name);
        add(name, placed);
      }
    } else if (remote === null || remote === self) here.push(placed);
    else {
      whole.delete(remote);
      add(remote, placed);
    }
  }
  return { here, elsewhere, whole };
}

function remoteBody(placed: readonly PlacedQuery[], federation: Federation): string {
  const queries = placed.map(({ query, position }) => {
    const { useNetwork: _, federationOptions, ...plain } = query;
    const weight = federationOptions?.weight;
    return {
      ...plain,
      federationOptions: { ...(weight === undefined ? {} : { weight }), queryPosition: position },
    };
  });
  return bodyText({ queries, federation });
}

/** Parameters that were not given stay so. Filters that are text already are written as what they say. */
function bodyText(request: object): string {
  return JSON.stringify(request, (_, value: unknown) => (value === null ? undefined : value));
}

/** An error of one of several queries tells its position in the request, not in what this server was asked. */
function atPosition(error: unknown, placed: readonly PlacedQuery[]): unknown {
  if (!(error instanceof ApiError)) return error;
  const message = error.message.replace(
    /^Inside `\.queries\[(\d+)\]`/,
    (_, n: string) => `Inside \`.queries[${placed[Number(n)]?.position ?? n}]\``,
  );
  return new ApiError(error.code, message, error.status);
}

/** The beginning of an answer, up to its last hit. The head learns where the hits stand. */
function hitParts(
  opening: string,
  page: readonly MergedHit<ServerAnswer>[],
  federation: (merged: MergedHit<ServerAnswer>) => string | null,
  head: AnswerHead,
): (Buffer | string)[] {
  const parts: (Buffer | string)[] = [opening];
  const spans = new Uint32Array(2 * page.length);
  let at = Buffer.byteLength(opening);
  for (const [n, merged] of page.entries()) {
    if (n > 0) {
      parts.push(',');
      at++;
    }
    spans[2 * n] = at;
    for (const part of hitTexts(merged, federation(merged))) {
      parts.push(part);
      at += Buffer.byteLength(part);
    }
    spans[2 * n + 1] = at;
  }
  head.hitSpans = spans;
  head.hitQueries = Uint32Array.from(page, ({ hit }) => hit.position);
  return parts;
}

function hitTexts(
  { hit: { before, after } }: MergedHit<ServerAnswer>,
  federation: string | null,
): (Buffer | string)[] {
  if (federation !== null) return [before, federation, after];
  // The member goes with one comma beside it.
  const name = before.lastIndexOf('"_federation"');
  const comma = before.lastIndexOf(',', name);
  const isFirst = before.subarray(0, name).toString().trim() === '{';
  const follows = after.indexOf(',');
  return [
    isFirst ? before.subarray(0, name) : before.subarray(0, comma),
    isFirst && follows >= 0 && after.subarray(0, follows).toString().trim() === ''
      ? after.subarray(follows + 1)
      : after,
  ];
}

function answered(bytes: Buffer, head: AnswerHead, metadata: PlacedMetadata[] | null): Answer {
  if (metadata === null) return { bytes, head };
  const queryUids: string[] = [];
  for (const { position, entry } of metadata) {
    if (entry.queryUid !== undefined) queryUids[position] ??= entry.queryUid;
  }
  return { bytes, head, queryUids };
}

function federationOf({ hit, server }: MergedHit<ServerAnswer>): string {
  return jsonString(
    federationFloats({
      indexUid: hit.indexUid,
      queriesPosition: hit.position,
      weightedRankingScore: hit.global,
      remote: server.name,
    }),
  );
}

function halvesOf(query: SearchRequest): Halves {
  if (searchKind(query) !== 'hybrid') return { words: 1, vectors: 1 };
  const vectors = query.hybrid?.semanticRatio ?? SEMANTIC_RATIO_DEFAULT;
  return { words: 1 - vectors, vectors };
}

function weighted(hits: AnsweredHit[], { words, vectors }: Halves): AnsweredHit[] {
  if (words === 1 && vectors === 1) return hits;
  return hits.map((hit) => ({
    ...hit,
    values: hit.values.map((value) => {
      if ('weightedScore' in value) return { weightedScore: value.weightedScore * words };
      return 'vectorSort' in value ? { vectorSort: value.vectorSort * vectors } : value;
    }),
  }));
}

/** Faults of the filter have codes of their own where similar documents are looked for. */
function ofSimilar(error: unknown): unknown {
  const plain = renamed(error, '');
  if (!(plain instanceof ApiError) || plain.code !== 'invalid_search_filter') return plain;
  return new ApiError('invalid_similar_filter', plain.message);
}

/** An error of the only query of a request, with another place in front. */
function renamed(error: unknown, place: string): unknown {
  if (!(error instanceof ApiError)) return error;
  const message = error.message.replace(/^Inside `\.queries\[0\]`: /, '');
  return new ApiError(error.code, place + message, error.status);
}

function isByVector({ hit }: MergedHit<ServerAnswer>): boolean {
  return hit.values.some((value) => 'vectorSort' in value);
}

function slowest({ answers }: Merged): number {
  return Math.max(0, ...answers.map(({ answer }) => answer.processingTimeMs));
}

function facetParts(answers: readonly ServerAnswer[], uid: string): FacetCounts[] {
  return answers.flatMap(({ answer }) =>
    Object.hasOwn(answer.facetsByIndex, uid) ? [answer.facetsByIndex[uid]!] : [],
  );
}
