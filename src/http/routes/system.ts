/** Health, version, statistics, experimental features, dumps, snapshots. */
import {
  FEATURES_RESPONSE,
  HEALTH,
  INDEX_STATS,
  STATS,
  TASK_SUMMARY,
  VERSION,
  type IndexStats,
  type Stats,
} from '../../contract/responses.ts';
import { pauser } from '../../base/pauser.ts';
import { API_LEVEL } from '../../contract/api-level.ts';
import { indexNotFound } from '../../contract/errors.ts';
import { PATCH_FEATURES, type FeaturePatch } from '../../contract/features.ts';
import { STATS_QUERY, type StatsQuery } from '../../contract/indexes.ts';
import { queryParser } from '../../contract/query.ts';
import type { IndexVisibility } from '../../contract/tasks.ts';
import { humanSize } from '../../base/size.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  bodyOf,
  json,
  longJson,
  registered,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';
import type { IndexService, Services } from '../services.ts';

/** Also served at the address of usage events. */
export const HEALTH_ROUTE = route({
  method: 'GET',
  path: '/health',
  action: null,
  summary: 'Checks whether the server can serve requests.',
  atOnce: true,
  success: 200,
  response: HEALTH,
  handle: tellHealth,
});

/** For whoever restarts a server that hangs. {@link HEALTH_ROUTE} tells whether it can serve. */
const LIVE_ROUTE = route({
  method: 'GET',
  path: '/health/live',
  action: null,
  summary: 'Checks whether the process responds, also while it starts and stops.',
  atOnce: true,
  success: 200,
  response: HEALTH,
  handle: () => json(200, { status: 'alive' }),
});

const STATS_PARAMETERS = queryParser(STATS_QUERY);

export const SYSTEM_ROUTES: readonly Route[] = [
  HEALTH_ROUTE,
  LIVE_ROUTE,
  route({
    method: 'GET',
    path: '/version',
    action: 'version',
    summary: 'Shows the version of the server.',
    success: 200,
    response: VERSION,
    handle: tellVersion,
  }),
  route({
    method: 'GET',
    path: '/stats',
    action: 'stats.get',
    summary: 'Shows the statistics of all indexes.',
    query: STATS_PARAMETERS,
    success: 200,
    response: STATS,
    handle: showStats,
  }),
  route({
    method: 'GET',
    path: '/indexes/:index_uid/stats',
    action: 'stats.get',
    summary: 'Shows the statistics of an index.',
    query: STATS_PARAMETERS,
    success: 200,
    response: INDEX_STATS,
    handle: showIndexStats,
  }),
  route({
    method: 'GET',
    path: '/experimental-features',
    action: 'experimental.get',
    summary: 'Shows which experimental features are on.',
    success: 200,
    response: FEATURES_RESPONSE,
    handle: showFeatures,
  }),
  route({
    method: 'PATCH',
    path: '/experimental-features',
    action: 'experimental.update',
    summary: 'Switches experimental features on or off.',
    body: bodyOf(PATCH_FEATURES),
    success: 200,
    response: FEATURES_RESPONSE,
    handle: changeFeatures,
  }),
  route({
    method: 'POST',
    path: '/snapshots',
    action: 'snapshots.create',
    summary: 'Creates a snapshot.',
    success: 202,
    response: TASK_SUMMARY,
    handle: createSnapshot,
  }),
];

/** A change of leader, or a lost request to the object store, is over by then. */
const TROUBLE_MS = 10_000;

function tellHealth(_: RequestContext, { services, phase, cluster }: Dependencies): RouteResponse {
  const { current } = phase;
  if (current !== 'ready') {
    return { ...json(503, { status: current }), headers: [['retry-after', '10']] };
  }
  checkParts(services);
  if (cluster !== null && cluster.node.lagMs > cluster.lagMsMax) {
    return { ...json(503, { status: 'behind' }), headers: [['retry-after', '10']] };
  }
  if (cluster?.node.isDrained === true) {
    return { ...json(503, { status: 'drained' }), headers: [['retry-after', '10']] };
  }
  const trouble = cluster?.node.trouble ?? null;
  if (trouble !== null && trouble.ms > TROUBLE_MS) {
    return { ...json(503, { status: trouble.kind }), headers: [['retry-after', '10']] };
  }
  return json(200, { status: 'available' });
}

function tellVersion(_: RequestContext, { version }: Dependencies): RouteResponse {
  const { commitSha, commitDate, serverVersion } = version;
  const levels = { pkgVersion: API_LEVEL, serverVersion, serverName: 'Gannet' };
  return json(200, { commitSha, commitDate, ...levels });
}

async function showStats(
  { access, query }: RequestContext<StatsQuery>,
  { services: { indexes } }: Dependencies,
): Promise<RouteResponse> {
  const stats = await instanceStats(indexes, (uid) => access.mayAccess(uid));
  if (query.showInternalDatabaseSizes === true) {
    const pause = pauser();
    for (const [uid, one] of Object.entries(stats.indexes)) {
      one.internalDatabaseSizes = indexes.partSizes(uid);
      await pause();
    }
  }
  return longJson({
    databaseSize: sized(stats.databaseSize, query),
    usedDatabaseSize: sized(stats.usedDatabaseSize, query),
    lastUpdate: stats.lastUpdate,
    indexes: Object.fromEntries(
      Object.entries(stats.indexes).map(([uid, one]) => [uid, indexStatsView(one, query)]),
    ),
  });
}

function showIndexStats(
  { params, query }: RequestContext<StatsQuery>,
  { services }: Dependencies,
): RouteResponse {
  const uid = params.index_uid!;
  const stats = services.indexes.stats(uid, query.showInternalDatabaseSizes === true);
  if (stats === undefined) throw indexNotFound(uid);
  return json(200, indexStatsView(stats, query));
}

function showFeatures(_: RequestContext, { services }: Dependencies): RouteResponse {
  return json(200, services.features.get());
}

async function changeFeatures(
  { body }: RequestContext<unknown, FeaturePatch>,
  { services }: Dependencies,
): Promise<RouteResponse> {
  return json(200, await services.features.patch(body));
}

function createSnapshot(_: RequestContext, server: Dependencies): Promise<RouteResponse> {
  return registered(server, { type: 'snapshotCreation' });
}

/** Throws when the task store or the key store is unusable. */
export function checkParts({ tasks, keys }: Pick<Services, 'tasks' | 'keys'>): void {
  tasks.storeSize();
  keys.list();
}

/** Statistics of the indexes that the caller may see; the sizes are those of the whole instance. */
export async function instanceStats(
  indexes: IndexService,
  visible: IndexVisibility,
): Promise<Stats> {
  const { databaseSize, usedDatabaseSize, indexes: all } = await indexes.allStats();
  const shown = Object.entries(all).filter(([uid]) => visible === null || visible(uid));
  let lastUpdate: string | null = null;
  for (const { uid, updatedAt } of indexes.list()) {
    const isSeen = visible === null || visible(uid);
    if (isSeen && (lastUpdate === null || updatedAt > lastUpdate)) lastUpdate = updatedAt;
  }
  return {
    databaseSize,
    usedDatabaseSize,
    lastUpdate,
    indexes: Object.fromEntries(shown),
  };
}

function sized(bytes: number, { sizeFormat }: StatsQuery): number | string {
  return sizeFormat === 'human' ? humanSize(bytes) : bytes;
}

function indexStatsView(stats: IndexStats, query: StatsQuery): Record<string, unknown> {
  const sizes = Object.entries(stats.internalDatabaseSizes ?? {});
  return {
    numberOfDocuments: stats.numberOfDocuments,
    rawDocumentDbSize: sized(stats.rawDocumentDbSize, query),
    avgDocumentSize: sized(stats.avgDocumentSize, query),
    indexSize: sized(stats.indexSize, query),
    usedIndexSize: sized(stats.usedIndexSize, query),
    isIndexing: stats.isIndexing,
    ...(query.showInternalDatabaseSizes === true
      ? {
          internalDatabaseSizes: Object.fromEntries(
            sizes.map(([name, bytes]) => [name, sized(bytes, query)]),
          ),
        }
      : {}),
    numberOfEmbeddings: stats.numberOfEmbeddings,
    numberOfEmbeddedDocuments: stats.numberOfEmbeddedDocuments,
    fieldDistribution: stats.fieldDistribution,
  };
}
