/** Which searches cost most, and which run: on this server, and on the other nodes of a cluster. */
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
import { durationsOf, keyOf, p99Of, type Shape, type ShapeTotals } from '../../search/insights.ts';
import type { ClusterMember, Dependencies } from '../dependencies.ts';
import { askNode, type AskedNode, otherNodes } from '../forward.ts';
import { json, route, type RequestContext, type Route, type RouteResponse } from '../route.ts';

type CostlySearch = CostlySearches['results'][number];
type RunningSearch = RunningSearches['results'][number];

/** Searches in a response, and shapes that a node is asked for. */
const RESULTS_MAX = 1000;

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
    errors: ['search_not_found', 'cluster_unavailable'],
    handle: cancelSearch,
  }),
];

async function listCostly(
  context: RequestContext<InsightsQuery>,
  server: Dependencies,
): Promise<RouteResponse> {
  const { query, access } = context;
  const { by, hours, limit } = INSIGHTS_QUERY.properties;
  const { by: order = defaultOf(by), limit: max = defaultOf(limit) } = query;
  const lastHours = query.hours ?? defaultOf(hours);
  const own = (await server.insights.totals(lastHours)).filter(visibleTo(access)).map(costlyOf);
  const { found, missingNodes } = await fromOthers<CostlySearch>(
    context,
    server,
    `/insights/searches?by=${order}&hours=${lastHours}&limit=${RESULTS_MAX}`,
  );
  const cost: Record<typeof order, (one: CostlySearch) => number> = {
    cpu: ({ cpuMs }) => cpuMs,
    count: ({ count }) => count,
    p99: ({ p99Ms }) => p99Ms,
  };
  const results = merged([...own, ...found])
    .sort((a, b) => cost[order](b) - cost[order](a))
    .slice(0, max);
  return json(200, { results, missingNodes } satisfies CostlySearches);
}

async function listRunning(context: RequestContext, server: Dependencies): Promise<RouteResponse> {
  const now = server.clock.now();
  const node = server.cluster?.name;
  const own = (await server.insights.running())
    .filter(visibleTo(context.access))
    .map(({ id, startedAt, ...one }): RunningSearch => ({
      id: node === undefined ? id : `${id}@${node}`,
      ...one,
      startedAt: rfc3339(startedAt),
      durationMs: Math.max(0, now - startedAt),
    }));
  const path = '/insights/running';
  const { found, missingNodes } = await fromOthers<RunningSearch>(context, server, path);
  const results = [...own, ...found]
    .sort((a, b) => b.durationMs - a.durationMs)
    .slice(0, RESULTS_MAX);
  return json(200, { results, missingNodes } satisfies RunningSearches);
}

async function cancelSearch(
  context: RequestContext,
  { insights, cluster }: Dependencies,
): Promise<RouteResponse> {
  const { params, access, connection } = context;
  const asked = params['search_id']!;
  const [id = '', node] = asked.split('@', 2);
  if (cluster !== null && node !== undefined && node !== cluster.name) {
    if (connection.headers.forwarded !== undefined) throw notFound(asked);
    return await cancelAt(context, cluster, node, asked);
  }
  const running = (await insights.running()).filter(visibleTo(access));
  const isFound = running.some((one) => one.id === id) && (await insights.cancel(id));
  if (isFound) return { status: 204, body: null };
  throw notFound(asked);
}

async function cancelAt(
  { connection }: RequestContext,
  cluster: ClusterMember,
  name: string,
  id: string,
): Promise<RouteResponse> {
  const node = (await otherNodes(cluster)).find((one) => one.name === name);
  if (node === undefined) throw notFound(id);
  const path = `/insights/running/${encodeURIComponent(id)}/cancel`;
  const response = await askNode(connection, cluster, node, 'POST', path);
  if (response?.status === 204) return { status: 204, body: null };
  if (response?.status === 404) throw notFound(id);
  throw new ApiError('cluster_unavailable', `The node \`${name}\` does not respond.`);
}

function notFound(id: string): ApiError {
  return new ApiError('search_not_found', `No search \`${id}\` runs.`);
}

/** A key sees the searches of indexes that it may access. */
function visibleTo(access: RequestContext['access']): (shape: Shape) => boolean {
  return ({ indexUids }) => indexUids.every((uid) => access.mayAccess(uid));
}

/** What the other nodes of the cluster list for the same caller. */
async function fromOthers<T>(
  { connection }: RequestContext,
  { cluster }: Dependencies,
  path: string,
): Promise<{ found: T[]; missingNodes: string[] }> {
  // Another node asks: it asks the others itself.
  if (cluster === null || connection.headers.forwarded !== undefined) {
    return { found: [], missingNodes: [] };
  }
  const nodes = await otherNodes(cluster);
  const lists = await Promise.all(
    nodes.map(async (node: AskedNode): Promise<T[] | null> => {
      const response = await askNode(connection, cluster, node, 'GET', path);
      if (response?.status !== 200) return null;
      const { results } = JSON.parse(response.body.toString()) as { results: T[] };
      return results;
    }),
  );
  const missing = nodes.filter((_, n) => lists[n] === null).map(({ name }) => name);
  return { found: lists.flatMap((list) => list ?? []), missingNodes: missing.sort() };
}

function costlyOf({ times, ms, cpuMs, example, ...rest }: ShapeTotals): CostlySearch {
  const durations = durationsOf({ times });
  return {
    ...rest,
    cpuMs: rounded(cpuMs),
    meanMs: rounded(ms / rest.count),
    p99Ms: p99Of(durations),
    durations,
    example: example && {
      requestId: example.requestId,
      startedAt: rfc3339(example.at),
      durationMs: rounded(example.ms),
      stages: example.stages.map((stage) => ({ ...stage })),
    },
  };
}

/** Those of equal shape added up. */
function merged(all: readonly CostlySearch[]): CostlySearch[] {
  const sums = new Map<string, CostlySearch>();
  for (const one of all) {
    const key = keyOf(one);
    const sum = sums.get(key);
    sums.set(key, sum === undefined ? one : together(sum, one));
  }
  return [...sums.values()];
}

function together(a: CostlySearch, b: CostlySearch): CostlySearch {
  const counts = new Map<number, number>();
  for (const { upToMs, count } of [...a.durations, ...b.durations]) {
    counts.set(upToMs, (counts.get(upToMs) ?? 0) + count);
  }
  const durations = [...counts]
    .map(([upToMs, count]) => ({ upToMs, count }))
    .sort((one, other) => one.upToMs - other.upToMs);
  const count = a.count + b.count;
  const slower = (a.example?.durationMs ?? 0) >= (b.example?.durationMs ?? 0) ? a : b;
  return {
    ...a,
    count,
    failed: a.failed + b.failed,
    cpuMs: rounded(a.cpuMs + b.cpuMs),
    meanMs: rounded((a.meanMs * a.count + b.meanMs * b.count) / count),
    p99Ms: p99Of(durations),
    durations,
    example: slower.example,
  };
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
