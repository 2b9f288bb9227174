import { SEARCH_RULE, SEARCH_RULES, TASK_SUMMARY } from '../../contract/answers.ts';
import { Readable } from 'node:stream';
import { CUSTOM_METADATA_QUERY, type CustomMetadataQuery } from '../../contract/documents.ts';
import { ApiError, featureNotEnabled } from '../../contract/errors.ts';
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
  type SearchRule,
  type SearchRulePatch,
} from '../../contract/search-rules.ts';
import { bytesOf } from '../../store/rule-store.ts';
import type { Dependencies } from '../dependencies.ts';
import { bodyOf, bytes, json, type Reply, route, type Route } from '../route.ts';
import { metadata } from './documents.ts';
import { page } from './indexes.ts';

export function searchRuleRoutes({ services, searchRules: rules }: Dependencies): Route[] {
  const { features, tasks } = services;

  function need(action: string): void {
    if (!features.get().dynamicSearchRules) throw featureNotEnabled(action, 'dynamicSearchRules');
  }

  function unknown(uid: string): ApiError {
    return new ApiError(
      'dynamic_search_rule_not_found',
      `There is no dynamic search rule \`${uid}\`.`,
    );
  }

  /** A malformed uid is that of no rule, whatever else is wrong. */
  const pathFault = ({ uid }: Readonly<Record<string, string>>): ApiError | null =>
    isRuleUid(uid!) ? null : unknown(uid!);

  const metadataQuery = queryParser<CustomMetadataQuery>(CUSTOM_METADATA_QUERY);

  return [
    route<unknown, ListRulesRequest>({
      method: 'POST',
      path: '/dynamic-search-rules',
      action: 'dynamicSearchRules.get',
      summary: 'Lists the dynamic search rules.',
      body: bodyOf<ListRulesRequest>(LIST_RULES),
      success: 200,
      answer: SEARCH_RULES,
      handle: async ({ body }) => {
        need('Listing dynamic search rules');
        const { query, active } = body.filter ?? {};
        const all = rules.list().filter((rule) => (active ?? rule.active) === rule.active);
        const found = query ? await matchRules(all, query) : all;
        const limit = Math.min(body.limit ?? 20, LISTED_RULES_MAX);
        return listing(page(found, { ...body, limit }));
      },
    }),
    route<CustomMetadataQuery, unknown>({
      method: 'DELETE',
      path: '/dynamic-search-rules',
      action: 'dynamicSearchRules.delete',
      summary: 'Deletes all dynamic search rules.',
      query: metadataQuery,
      success: 202,
      answer: TASK_SUMMARY,
      handle: async ({ query }) => {
        need('Deleting dynamic search rules');
        return json(202, await tasks.register({ type: 'dsrClear', ...metadata(query) }));
      },
    }),
    route({
      method: 'GET',
      path: '/dynamic-search-rules/:uid',
      action: 'dynamicSearchRules.get',
      summary: 'Shows a dynamic search rule.',
      pathFault,
      success: 200,
      answer: SEARCH_RULE,
      handle: ({ params }) => {
        need('Reading a dynamic search rule');
        const rule = rules.get(params.uid!);
        if (rule === undefined) throw unknown(params.uid!);
        return json(200, ruleView(rule));
      },
    }),
    route<CustomMetadataQuery, SearchRulePatch>({
      method: 'PATCH',
      path: '/dynamic-search-rules/:uid',
      action: 'dynamicSearchRules.update',
      summary: 'Creates or changes a dynamic search rule.',
      query: metadataQuery,
      // Faults beyond the kinds of values count as faults of the body: before the feature.
      body: { ...bodyOf<SearchRulePatch>(PATCH_RULE), fault: rulePatchFault },
      pathFault,
      success: 202,
      answer: TASK_SUMMARY,
      handle: async ({ params, query, body }) => {
        need('Changing a dynamic search rule');
        const request = { ruleUid: params.uid!, patch: body };
        return json(
          202,
          await tasks.register({ type: 'dsrUpdate', ...request, ...metadata(query) }),
        );
      },
    }),
    route<CustomMetadataQuery, unknown>({
      method: 'DELETE',
      path: '/dynamic-search-rules/:uid',
      action: 'dynamicSearchRules.delete',
      summary: 'Deletes a dynamic search rule.',
      query: metadataQuery,
      pathFault,
      success: 202,
      answer: TASK_SUMMARY,
      handle: async ({ params, query }) => {
        need('Deleting a dynamic search rule');
        const request = { ruleUid: params.uid!, patch: null };
        return json(
          202,
          await tasks.register({ type: 'dsrUpdate', ...request, ...metadata(query) }),
        );
      },
    }),
  ];
}

/** A longer list is written in parts, bytes. */
const PART_BYTES = 64 * 1024;

function listing({ results, ...rest }: ReturnType<typeof page<SearchRule>>): Reply {
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
