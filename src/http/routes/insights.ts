/** Which searches cost most, and which run. Of a cluster, each node shows its own. */
import { rfc3339 } from '../../base/clock.ts';
import { defaultOf } from '../../contract/declare.ts';
import { ApiError } from '../../contract/errors.ts';
import {
  COSTLY_SEARCHES,
  INSIGHTS_QUERY,
  RUNNING_SEARCHES,
  type CostlySearches,
  type InsightsQuery,
  type RunningSearches,
} from '../../contract/insights.ts';
import { queryParser } from '../../contract/query.ts';
import { p99Of, type Shape, type ShapeTotals } from '../../search/insights.ts';
import type { Dependencies } from '../dependencies.ts';
import { json, route, type RequestContext, type Route, type RouteResponse } from '../route.ts';

/** Running searches in a response, those that have run longest first. */
const RUNNING_MAX = 1000;

export const INSIGHT_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/insights/searches',
    action: 'metrics.get',
    summary: 'Lists the shapes of the searches of the last hours, the costliest first.',
    query: queryParser(INSIGHTS_QUERY),
    success: 200,
    response: COSTLY_SEARCHES,
    handle: listCostly,
  }),
  route({
    method: 'GET',
    path: '/insights/running',
    action: 'metrics.get',
    summary: 'Lists the searches that run or wait, those that began first in front.',
    success: 200,
    response: RUNNING_SEARCHES,
    handle: listRunning,
  }),
  route({
    method: 'POST',
    path: '/insights/running/:search_id/cancel',
    action: 'metrics.update',
    summary: 'Cancels a search that runs or waits; its client gets an error.',
    success: 204,
    errors: ['search_not_found'],
    handle: cancelSearch,
  }),
];

async function listCostly(
  { query, access }: RequestContext<InsightsQuery>,
  server: Dependencies,
): Promise<RouteResponse> {
  const { by, hours, limit } = INSIGHTS_QUERY.properties;
  const { by: order = defaultOf(by), limit: max = defaultOf(limit) } = query;
  const totals = await server.insights.totals(query.hours ?? defaultOf(hours));
  const cost: Record<typeof order, (one: ShapeTotals) => number> = {
    cpu: ({ cpuMs }) => cpuMs,
    count: ({ count }) => count,
    p99: p99Of,
  };
  const results = totals
    .filter(visibleTo(access))
    .sort((a, b) => cost[order](b) - cost[order](a))
    .slice(0, max)
    .map((one): CostlySearches['results'][number] => {
      const { times: _, ms, cpuMs, example, ...rest } = one;
      return {
        ...rest,
        cpuMs: rounded(cpuMs),
        meanMs: rounded(ms / one.count),
        p99Ms: rounded(p99Of(one)),
        example:
          example === null
            ? null
            : {
                requestId: example.requestId,
                startedAt: rfc3339(example.at),
                durationMs: rounded(example.ms),
                stages: example.stages.map((stage) => ({ ...stage })),
              },
      };
    });
  return json(200, { results, missingNodes: await otherNodes(server) } satisfies CostlySearches);
}

async function listRunning(
  { access }: RequestContext,
  server: Dependencies,
): Promise<RouteResponse> {
  const now = server.clock.now();
  const results = (await server.insights.running())
    .filter(visibleTo(access))
    .sort((a, b) => a.startedAt - b.startedAt)
    .slice(0, RUNNING_MAX)
    .map(({ startedAt, ...one }) => ({
      ...one,
      startedAt: rfc3339(startedAt),
      durationMs: Math.max(0, now - startedAt),
    }));
  return json(200, { results, missingNodes: await otherNodes(server) } satisfies RunningSearches);
}

async function cancelSearch(
  { params, access }: RequestContext,
  { insights }: Dependencies,
): Promise<RouteResponse> {
  const id = params['search_id']!;
  const running = (await insights.running()).filter(visibleTo(access));
  const isFound = running.some((one) => one.id === id) && (await insights.cancel(id));
  if (isFound) return { status: 204, body: null };
  throw new ApiError('search_not_found', `No search \`${id}\` runs on this server.`);
}

/** A key sees the searches of indexes that it may access. */
function visibleTo(access: RequestContext['access']): (shape: Shape) => boolean {
  return ({ indexUids }) => indexUids.every((uid) => access.mayAccess(uid));
}

async function otherNodes({ cluster }: Dependencies): Promise<string[]> {
  if (cluster === null) return [];
  const { nodes, registered } = await cluster.node.status();
  const names = [...(registered ?? []), ...nodes.map((node) => node.name)];
  return [...new Set(names)].filter((name) => name !== cluster.name).sort();
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
