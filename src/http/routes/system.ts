/** Health, version, statistics, metrics, experimental features, dumps, snapshots. */
import { featureNotEnabled, indexNotFound } from '../../contract/errors.ts';
import { PATCH_FEATURES, type FeaturePatch } from '../../contract/features.ts';
import {
  STATS_QUERY,
  type IndexStats,
  type InstanceStats,
  type StatsQuery,
} from '../../contract/indexes.ts';
import { queryParser } from '../../contract/query.ts';
import { TASK_STATUSES, TASK_TYPES, type IndexVisibility } from '../../contract/tasks.ts';
import { humanSize } from '../../base/size.ts';
import type { Dependencies } from '../dependencies.ts';
import { label, MetricsText } from '../metrics.ts';
import { bodyOf, json, route, type Reply, type Route } from '../route.ts';

export function systemRoutes(dependencies: Dependencies): Route[] {
  const { services, version, metrics } = dependencies;
  const { indexes, tasks, features } = services;

  function instanceStats(visible: IndexVisibility): InstanceStats & { lastUpdate: string | null } {
    const { databaseSize, usedDatabaseSize, indexes: all } = indexes.allStats();
    const shown = Object.entries(all).filter(([uid]) => visible === null || visible(uid));
    const dates = indexes
      .list()
      .filter(({ uid }) => visible === null || visible(uid))
      .map(({ updatedAt }) => updatedAt)
      .sort();
    return {
      databaseSize,
      usedDatabaseSize,
      lastUpdate: dates.at(-1) ?? null,
      indexes: Object.fromEntries(shown),
    };
  }

  function metricsText(): string {
    const out = new MetricsText();
    metrics.write(out);
    const stats = instanceStats(null);
    out.gauge('db_size_bytes', 'Bytes on disk of the database', stats.databaseSize);
    out.gauge('used_db_size_bytes', 'Bytes that hold live data', stats.usedDatabaseSize);
    const counts = Object.entries(stats.indexes);
    out.gauge('index_count', 'Number of indexes', counts.length);
    out.head('index_docs_count', 'gauge', 'Number of documents of an index');
    for (const [uid, { numberOfDocuments }] of counts) {
      out.value('index_docs_count', label('index', uid), numberOfDocuments);
    }
    out.head('nb_tasks', 'gauge', 'Number of tasks');
    const taskCount = (kind: string, value: string, filter: object): void =>
      out.value(
        'nb_tasks',
        `${label('kind', kind)},${label('value', value)}`,
        tasks.countMatching(filter, null),
      );
    for (const status of TASK_STATUSES) taskCount('statuses', status, { statuses: [status] });
    for (const type of TASK_TYPES) taskCount('types', type, { types: [type] });
    for (const [uid] of counts) taskCount('indexes', uid, { indexUids: [uid] });
    const last = stats.lastUpdate === null ? 0 : Math.floor(Date.parse(stats.lastUpdate) / 1000);
    out.gauge('last_update', 'Unix seconds of the last update', last);
    const indexing = tasks.countMatching({ statuses: ['processing'] }, null) > 0;
    out.gauge('is_indexing', '1 while a batch is running', indexing ? 1 : 0);
    return out.toString();
  }

  async function snapshotTask(type: 'dumpCreation' | 'snapshotCreation'): Promise<Reply> {
    return json(202, await tasks.register({ type }));
  }

  return [
    route({
      method: 'GET',
      path: '/health',
      action: null,
      summary: 'Tells that the server is available.',
      success: 200,
      handle: () => {
        // Throws when the task store or the key store is unusable.
        tasks.countMatching({ uids: [] }, null);
        services.keys.list();
        return json(200, { status: 'available' });
      },
    }),
    route({
      method: 'GET',
      path: '/version',
      action: 'version',
      summary: 'Shows the version of the server.',
      success: 200,
      handle: () => json(200, version),
    }),
    route<StatsQuery, unknown>({
      method: 'GET',
      path: '/stats',
      action: 'stats.get',
      summary: 'Shows the statistics of all indexes.',
      query: queryParser(STATS_QUERY),
      success: 200,
      handle: ({ access, query }) => {
        const stats = instanceStats(access.visible);
        return json(200, {
          databaseSize: sized(stats.databaseSize, query),
          usedDatabaseSize: sized(stats.usedDatabaseSize, query),
          lastUpdate: stats.lastUpdate,
          indexes: Object.fromEntries(
            Object.entries(stats.indexes).map(([uid, one]) => [uid, indexStatsView(one, query)]),
          ),
        });
      },
    }),
    route<StatsQuery, unknown>({
      method: 'GET',
      path: '/indexes/:index_uid/stats',
      action: 'stats.get',
      summary: 'Shows the statistics of an index.',
      query: queryParser(STATS_QUERY),
      success: 200,
      handle: ({ params, query }) => {
        const uid = params.index_uid!;
        const stats = indexes.stats(uid);
        if (stats === undefined) throw indexNotFound(uid);
        return json(200, indexStatsView(stats, query));
      },
    }),
    route({
      method: 'GET',
      path: '/metrics',
      action: 'metrics.get',
      summary: 'Shows metrics in the Prometheus text format.',
      success: 200,
      handle: () => {
        if (!features.get().metrics) throw featureNotEnabled('Reading the metrics', 'metrics');
        return { status: 200, body: metricsText(), type: 'text/plain; version=0.0.4' };
      },
    }),
    route({
      method: 'GET',
      path: '/experimental-features',
      action: 'experimental.get',
      summary: 'Shows which experimental features are on.',
      success: 200,
      handle: () => json(200, features.get()),
    }),
    route<unknown, FeaturePatch>({
      method: 'PATCH',
      path: '/experimental-features',
      action: 'experimental.update',
      summary: 'Switches experimental features on or off.',
      body: bodyOf(PATCH_FEATURES),
      success: 200,
      handle: async ({ body }) => json(200, await features.patch(body)),
    }),
    route({
      method: 'POST',
      path: '/dumps',
      action: 'dumps.create',
      summary: 'Creates a dump.',
      success: 202,
      handle: () => snapshotTask('dumpCreation'),
    }),
    route({
      method: 'POST',
      path: '/snapshots',
      action: 'snapshots.create',
      summary: 'Creates a snapshot.',
      success: 202,
      handle: () => snapshotTask('snapshotCreation'),
    }),
  ];
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
