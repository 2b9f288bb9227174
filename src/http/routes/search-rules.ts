import { SEARCH_RULES, TASK_SUMMARY } from '../../contract/responses.ts';
import { Readable } from 'node:stream';
import { CUSTOM_METADATA_QUERY, type CustomMetadataQuery } from '../../contract/documents.ts';
import { ApiError } from '../../contract/errors.ts';
import { pageOf } from '../../contract/pages.ts';
import { queryParser } from '../../contract/query.ts';
import { matchRules } from '../../search/rule-search.ts';
import {
  isRuleUid,
  LIST_RULES,
  LISTED_RULES_MAX,
  type ListRulesRequest,
  PATCH_RULE,
  rulePatchFault,
  ruleView,
  SEARCH_RULE,
  type SearchRule,
  type SearchRulePatch,
} from '../../contract/search-rules.ts';
import { bytesOf } from '../../store/rule-store.ts';
import type { Dependencies } from '../dependencies.ts';
import { needFeature } from '../need-feature.ts';
import {
  bodyOf,
  bytes,
  json,
  registered,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';
import { metadata } from './documents.ts';
import { page } from './indexes.ts';

const METADATA = queryParser(CUSTOM_METADATA_QUERY);

export const SEARCH_RULE_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/dynamic-search-rules',
    action: 'dynamicSearchRules.get',
    summary: 'Lists the dynamic search rules.',
    body: bodyOf(LIST_RULES),
    success: 200,
    response: SEARCH_RULES,
    handle: listRules,
  }),
  route({
    method: 'DELETE',
    path: '/dynamic-search-rules',
    action: 'dynamicSearchRules.delete',
    summary: 'Deletes all dynamic search rules.',
    query: METADATA,
    success: 202,
    response: TASK_SUMMARY,
    handle: deleteRules,
  }),
  route({
    method: 'GET',
    path: '/dynamic-search-rules/:uid',
    action: 'dynamicSearchRules.get',
    summary: 'Shows a dynamic search rule.',
    pathFault,
    success: 200,
    response: SEARCH_RULE,
    handle: showRule,
  }),
  route({
    method: 'PATCH',
    path: '/dynamic-search-rules/:uid',
    action: 'dynamicSearchRules.update',
    summary: 'Creates or changes a dynamic search rule.',
    query: METADATA,
    // Faults beyond the types of values count as faults of the body: they are reported before the
    // feature.
    body: { ...bodyOf(PATCH_RULE), fault: rulePatchFault },
    pathFault,
    success: 202,
    response: TASK_SUMMARY,
    handle: changeRule,
  }),
  route({
    method: 'DELETE',
    path: '/dynamic-search-rules/:uid',
    action: 'dynamicSearchRules.delete',
    summary: 'Deletes a dynamic search rule.',
    query: METADATA,
    pathFault,
    success: 202,
    response: TASK_SUMMARY,
    handle: deleteRule,
  }),
];

async function listRules(
  { body }: RequestContext<unknown, ListRulesRequest>,
  server: Dependencies,
): Promise<RouteResponse> {
  needFeature(server, FEATURE, 'Listing dynamic search rules');
  const { query, active } = body.filter ?? {};
  const all = server.searchRules.list().filter((rule) => (active ?? rule.active) === rule.active);
  const found = query ? await matchRules(all, query) : all;
  const { offset, limit } = pageOf(body);
  return listing(page(found, { offset, limit: Math.min(limit, LISTED_RULES_MAX) }));
}

async function deleteRules(
  { query }: RequestContext<CustomMetadataQuery>,
  server: Dependencies,
): Promise<RouteResponse> {
  needFeature(server, FEATURE, 'Deleting dynamic search rules');
  return registered(server, { type: 'dsrClear', ...metadata(query) });
}

function showRule({ params }: RequestContext, server: Dependencies): RouteResponse {
  needFeature(server, FEATURE, 'Reading a dynamic search rule');
  const rule = server.searchRules.get(params.uid!);
  if (rule === undefined) throw unknown(params.uid!);
  return json(200, ruleView(rule));
}

async function changeRule(
  { params, query, body }: RequestContext<CustomMetadataQuery, SearchRulePatch>,
  server: Dependencies,
): Promise<RouteResponse> {
  needFeature(server, FEATURE, 'Changing a dynamic search rule');
  const request = { ruleUid: params.uid!, patch: body };
  return registered(server, { type: 'dsrUpdate', ...request, ...metadata(query) });
}

async function deleteRule(
  { params, query }: RequestContext<CustomMetadataQuery>,
  server: Dependencies,
): Promise<RouteResponse> {
  needFeature(server, FEATURE, 'Deleting a dynamic search rule');
  const request = { ruleUid: params.uid!, patch: null };
  return registered(server, { type: 'dsrUpdate', ...request, ...metadata(query) });
}

const FEATURE = 'dynamicSearchRules';

/** A malformed uid matches no rule, whatever else is wrong. */
function pathFault({ uid }: Readonly<Record<string, string>>): ApiError | null {
  return isRuleUid(uid!) ? null : unknown(uid!);
}

function unknown(uid: string): ApiError {
  return new ApiError(
    'dynamic_search_rule_not_found',
    `There is no dynamic search rule \`${uid}\`.`,
  );
}

/** Longer lists are written in parts, bytes. */
const PART_BYTES = 64 * 1024;

function listing({ results, ...rest }: ReturnType<typeof page<SearchRule>>): RouteResponse {
  const length = results.reduce((sum, rule) => sum + bytesOf(rule), 0);
  if (length <= PART_BYTES) return json(200, { results: results.map(ruleView), ...rest });
  function* parts(): Generator<Buffer> {
    let text = '{"results":[';
    for (const [n, rule] of results.entries()) {
      text += (n === 0 ? '' : ',') + JSON.stringify(ruleView(rule));
      if (text.length < PART_BYTES) continue;
      yield Buffer.from(text);
      text = '';
    }
    yield Buffer.from(`${text}],${JSON.stringify(rest).slice(1)}`);
  }
  return bytes(Readable.from(parts()));
}
