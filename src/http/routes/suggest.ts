import { foldedWords } from '../../analytics/completion-match.ts';
import { indexNotFound } from '../../contract/errors.ts';
import { SUGGEST_RESPONSE, type Suggestion } from '../../contract/responses.ts';
import { SUGGEST, SUGGESTIONS, type SuggestRequest } from '../../contract/suggest.ts';
import type { SettingsObject } from '../../contract/settings.ts';
import type { SearchCaller } from '../../search/caller.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  bodyOf,
  json,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';
import { callerOf } from './search.ts';

/** Longer values complete nothing. */
const VALUE_CHARS_MAX = 200;
/** Responses of the engine that are parsed, bytes. */
const VALUES_BYTES_MAX = 2 ** 20;

export const SUGGEST_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/indexes/:index_uid/suggest',
    action: 'search',
    summary: 'Completes a query: by recorded searches, and by values of documents.',
    body: bodyOf(SUGGEST, { kind: 'search' }),
    isSearch: true,
    success: 200,
    response: SUGGEST_RESPONSE,
    handle: suggest,
  }),
];

async function suggest(
  context: RequestContext<unknown, SuggestRequest>,
  server: Dependencies,
): Promise<RouteResponse> {
  const startedAt = performance.now();
  const uid = context.params.index_uid!;
  const settings = server.services.indexes.settings(uid);
  if (settings === undefined) throw indexNotFound(uid);
  const q = context.body.q ?? '';
  const limit = context.body.limit ?? SUGGESTIONS;
  const searches = await recordedSearches(context, settings, { uid, q, limit }, server);
  const lists = [searches];
  const caller = callerOf(context);
  for (const attribute of settings.suggestions.attributes) {
    lists.push(await valuesOf(attribute, { uid, q, limit }, caller, server));
  }
  const processingTimeMs = Math.floor(performance.now() - startedAt);
  return json(200, { suggestions: alternating(lists, limit), query: q, processingTimeMs });
}

interface Asked {
  uid: string;
  q: string;
  limit: number;
}

/** None for a tenant: the searches are those of all tenants. */
async function recordedSearches(
  { access }: RequestContext,
  { suggestions, typoTolerance }: SettingsObject,
  { uid, q, limit }: Asked,
  { analytics, clock }: Dependencies,
): Promise<Suggestion[]> {
  if (analytics === null || access.tenantFilter(uid) !== null) return [];
  const { oneTypo: one, twoTypos: two } = typoTolerance.minWordSizeForTypos;
  const request = { indexUid: uid, q, limit, usersMin: suggestions.minUsers };
  const typos = typoTolerance.enabled ? { one, two } : null;
  const found = await analytics.completions.find({ ...request, typos }, clock.now());
  return found.map(({ text, count }) => ({ text, source: 'searches', count }));
}

/** Values of documents that the caller may see, by a facet search. */
async function valuesOf(
  attribute: string,
  { uid, q, limit }: Asked,
  caller: SearchCaller,
  { services: { search }, responseBuffers }: Dependencies,
): Promise<Suggestion[]> {
  const params = { facetName: attribute, facetQuery: q, mostFrequent: limit };
  const [{ bytes }] = await search.execute({ kind: 'facet-search', uid, params }, caller);
  const text = bytes.length > VALUES_BYTES_MAX ? '{"facetHits":[]}' : bytes.toString();
  responseBuffers.giveBack(bytes);
  const { facetHits } = JSON.parse(text) as { facetHits: { value: string; count: number }[] };
  return facetHits
    .filter(({ value }) => value.length <= VALUE_CHARS_MAX)
    .map(({ value, count }) => ({ text: value, source: 'attribute', attribute, count }));
}

/** The first of each list, then the second of each, and so on; equal texts once. */
function alternating(lists: readonly Suggestion[][], limit: number): Suggestion[] {
  const chosen = new Map<string, Suggestion>();
  const longest = Math.max(...lists.map(({ length }) => length));
  for (let n = 0; n < longest; n++) {
    for (const list of lists) {
      const suggestion = list[n];
      if (suggestion === undefined) continue;
      const key = foldedWords(suggestion.text).join(' ') || suggestion.text;
      if (!chosen.has(key)) chosen.set(key, suggestion);
    }
  }
  return [...chosen.values()].slice(0, limit);
}
