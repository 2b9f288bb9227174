import { statfs } from 'node:fs/promises';
import {
  TASK_STATUSES,
  TASK_TYPES,
  type TaskFilter,
  type TaskPaging,
} from '../../contract/tasks.ts';
import type { BatchView } from '../../contract/responses.ts';
import { BACKUP_TYPES } from '../../contract/task-types/server.ts';
import { OUTBOUND_KINDS, type OutboundCount } from '../../outbound/outbound-counts.ts';
import type { Dependencies } from '../dependencies.ts';
import { MetricsText } from '../metrics.ts';
import { needFeature } from '../need-feature.ts';
import { route, type RouteResponse, type RequestContext, type Route } from '../route.ts';
import type { Services } from '../services.ts';
import { instanceStats } from './system.ts';

const LAST: TaskPaging = { limit: 1, from: null, reverse: false };

/** The metrics show a batch of documents for this long after it ended, milliseconds. */
const DOCUMENTS_SHOWN_MS = 5 * 60_000;

const UNITS_SECONDS: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-9],
  ['µs', 1e-6],
  ['ms', 1e-3],
  ['s', 1],
]);

/** The route of an address for metrics. */
export const METRICS_ROUTE = route({
  method: 'GET',
  path: '/metrics',
  action: 'metrics.get',
  summary: 'Shows metrics in the Prometheus text format.',
  success: 200,
  response: 'text',
  responseType: 'text/plain',
  handle: showMetrics,
});

/** Everywhere else, clients of the reference expect that the feature is needed. */
export const METRICS_ROUTES: readonly Route[] = [
  {
    ...METRICS_ROUTE,
    handle: (context, server) => {
      needFeature(server, 'metrics', 'Reading the metrics');
      return showMetrics(context, server);
    },
  },
];

async function showMetrics(_: RequestContext, server: Dependencies): Promise<RouteResponse> {
  const { services } = server;
  const out = new MetricsText();
  await writeTasks(out, await writeIndexes(out, services), server);
  await writeBatches(out, server);
  await writeBackups(out, server);
  writeSearches(out, services);
  writeOutbound(out, server);
  await writeDisks(out, server);
  writeChats(out, server);
  writeAnalytics(out, server);
  writeCluster(out, server);
  const parts = [server.metrics.text(), out.text(), server.processMetrics.text()];
  const body = (await Promise.all(parts)).join('\n');
  return { status: 200, body, type: 'text/plain; version=0.0.4' };
}

function writeCluster(out: MetricsText, { cluster }: Dependencies): void {
  if (cluster === null) return;
  const { node } = cluster;
  const isLeader = node.route(true).kind === 'here';
  out.gauge('cluster_is_leader', '1 while this node leads its cluster', isLeader ? 1 : 0);
  out.gauge('cluster_applied', 'Sequence of the last commit applied here', node.applied);
  out.gauge('cluster_lag_seconds', 'How far this node is behind', node.lagMs / 1000);
  const hasStore = node.storeFault === null ? 1 : 0;
  out.gauge('cluster_store_usable', '1 while this node can use the object store', hasStore);
  const damaged = node.damagedObjects.length;
  out.gauge('cluster_damaged_objects', 'Objects of the store found damaged', damaged);
  const { logBytes, commitsSinceCheckpoint: commits } = node;
  out.gauge('cluster_log_bytes', 'On the leader: the log since the newest checkpoint', logBytes);
  out.gauge('cluster_commits_since_checkpoint', 'Commits after the newest checkpoint', commits);
  const hasLeader = node.trouble?.kind === 'no_leader' ? 0 : 1;
  out.gauge('cluster_has_leader', '1 while this node knows a leader that takes writes', hasLeader);
}

async function writeIndexes(out: MetricsText, { indexes }: Services): Promise<string[]> {
  const stats = await instanceStats(indexes, null);
  out.gauge('db_size_bytes', 'Bytes on disk of the database', stats.databaseSize);
  out.gauge('used_db_size_bytes', 'Bytes that hold live data', stats.usedDatabaseSize);
  const counts = Object.entries(stats.indexes);
  out.gauge('indexes', 'Number of indexes', counts.length);
  const documents = out.family('index_documents', 'gauge', 'Number of documents of an index', [
    'index',
  ]);
  for (const [uid, { numberOfDocuments }] of counts) documents({ index: uid }, numberOfDocuments);
  const last = stats.lastUpdate === null ? 0 : Math.floor(Date.parse(stats.lastUpdate) / 1000);
  out.gauge('last_update', 'Unix seconds of the last update', last);
  const debt = indexes.mergeDebt();
  out.gauge('merge_debt_bytes', 'Bytes of the segments that are merged next', debt);
  return counts.map(([uid]) => uid);
}

async function writeTasks(
  out: MetricsText,
  uids: readonly string[],
  { services: { tasks }, clock }: Dependencies,
): Promise<void> {
  const counted = out.family('nb_tasks', 'gauge', 'Number of tasks', ['kind', 'value']);
  const { ofStatus, ofType, byIndex } = await tasks.totals();
  const count = (kind: string, value: string, n: number): void => counted({ kind, value }, n);
  for (const status of TASK_STATUSES) count('statuses', status, ofStatus(status));
  for (const type of TASK_TYPES) count('types', type, ofType(type));
  for (const uid of uids) count('indexes', uid, byIndex.get(uid) ?? 0);
  const unfinished: TaskFilter = { statuses: ['enqueued', 'processing'] };
  const [oldest] = (await tasks.page(unfinished, { ...LAST, reverse: true }, null)).results;
  const age = oldest === undefined ? 0 : clock.now() - Date.parse(oldest.enqueuedAt);
  const name = 'task_queue_latency_seconds';
  out.gauge(name, 'Age of the oldest unfinished task', Math.max(0, age) / 1000);
  const { maxBytes, usedBytes, freeBytes } = tasks.storeSize();
  out.gauge('task_queue_max_size', 'Bytes that the task store may grow to', maxBytes);
  out.gauge('task_queue_used_size', 'Bytes of the task store in use', usedBytes);
  out.gauge(
    'task_queue_size_until_stop_registering',
    'Bytes of the task store that are left before new tasks are refused',
    freeBytes,
  );
}

async function writeBatches(
  out: MetricsText,
  { services: { tasks }, clock }: Dependencies,
): Promise<void> {
  const last = async (filter: TaskFilter): Promise<BatchView | undefined> =>
    (await tasks.batchPage(filter, LAST, null)).results[0];
  const steps = (name: string, help: string, batch: BatchView | undefined): StepWriter => {
    const write = out.family(name, 'gauge', help, ['batch_uid', 'step_name']);
    return (step, value) => write({ batch_uid: `${batch!.uid}`, step_name: step }, value);
  };

  const running = await last({ statuses: ['processing'] });
  out.gauge('is_indexing', '1 while a batch is running', running === undefined ? 0 : 1);
  const step = steps('batch_running_progress_trace', 'Share done of each running step', running);
  for (const { currentStep, finished, total } of running?.progress?.steps ?? []) {
    step(currentStep, total === 0 ? 0 : finished / total);
  }

  const ended = await last({ statuses: ['succeeded', 'failed', 'canceled'] });
  const name = 'last_finished_batch_step_duration_seconds';
  const time = steps(name, 'Time of each step of the last finished batch', ended);
  for (const [path, text] of Object.entries(ended?.stats.progressTrace ?? {})) {
    time(path, secondsOf(text));
  }

  const ofDocuments = await last({
    statuses: ['succeeded'],
    types: ['documentAdditionOrUpdate', 'documentDeletion', 'documentEdition'],
  });
  writeDocuments(out, ofDocuments, clock.now());
}

/** `batch`: the last successful one of documents. */
function writeDocuments(out: MetricsText, batch: BatchView | undefined, now: number): void {
  const finishedAt = Date.parse(batch?.finishedAt ?? '');
  const duration = finishedAt - Date.parse(batch?.startedAt ?? '');
  const shown = now - finishedAt <= duration + DOCUMENTS_SHOWN_MS;
  const write = (name: string, help: string, value: number): void => {
    const writeValue = out.family(name, 'gauge', help, ['batch_uid', 'index']);
    if (batch === undefined || !shown) return;
    const index = Object.keys(batch.stats.indexUids)[0] ?? '';
    writeValue({ batch_uid: `${batch.uid}`, index }, value);
  };
  const { indexedDocuments, editedDocuments, deletedDocuments } = batch?.details ?? {};
  const documents = [indexedDocuments, editedDocuments, deletedDocuments]
    .map((count) => (typeof count === 'number' ? count : 0))
    .reduce((sum, count) => sum + count, 0);
  write('last_indexed_documents', 'Documents of the last batch of documents', documents);
  write(
    'last_indexed_documents_duration_seconds',
    'Time of the last batch of documents',
    duration / 1000,
  );
}

/** Nothing is written for a kind without a successful task in the store. */
async function writeBackups(
  out: MetricsText,
  { services: { tasks }, clock }: Dependencies,
): Promise<void> {
  const help = 'Time since the last successful backup of a kind has ended';
  const write = out.family('last_backup_age_seconds', 'gauge', help, ['kind']);
  for (const type of BACKUP_TYPES) {
    const filter: TaskFilter = { statuses: ['succeeded'], types: [type] };
    const [last] = (await tasks.page(filter, LAST, null)).results;
    if (last === undefined) continue;
    const age = Math.max(0, clock.now() - Date.parse(last.finishedAt!)) / 1000;
    write({ kind: type.replace('Creation', '') }, age);
  }
}

function writeSearches(out: MetricsText, { search }: Services): void {
  const { running, permits, waiting, waitingMax, degraded } = search.load();
  out.gauge('degraded_search_requests', 'Searches that their time limit has cut', degraded);
  out.gauge('search_queue_size', 'Searches that may wait', waitingMax);
  out.gauge('searches_running', 'Searches that run', running);
  out.gauge('search_permits', 'Searches that may run at once', permits);
  out.gauge('searches_waiting_to_be_processed', 'Searches that wait', waiting);
}

function writeOutbound(out: MetricsText, { outbound }: Dependencies): void {
  const write = (name: string, help: string, value: (count: OutboundCount) => number): void => {
    const count = out.family(name, 'counter', help, ['kind']);
    for (const kind of OUTBOUND_KINDS) count({ kind }, value(outbound.counts.of(kind)));
  };
  write('outbound_requests_total', 'Requests to other servers', ({ requests }) => requests);
  write('outbound_failures_total', 'Requests that failed', ({ failures }) => failures);
}

/** Bytes of a block in the counts of the kernel. */
const BLOCK_BYTES = 512;

async function writeDisks(out: MetricsText, { folders }: Dependencies): Promise<void> {
  const size = out.family('disk_size_bytes', 'gauge', 'Size of the file system', ['folder']);
  const free = out.family('disk_free_bytes', 'gauge', 'Free bytes of the file system', ['folder']);
  for (const [folder, path] of Object.entries(folders)) {
    // Folders of backups are made when needed.
    const found = await statfs(path).catch(() => null);
    if (found === null) continue;
    size({ folder }, found.bsize * found.blocks);
    free({ folder }, found.bsize * found.bavail);
  }
  const { majorPageFault, fsRead } = process.resourceUsage();
  const missed = 'Pages of mapped files and of the program that were not in memory';
  out.family('page_cache_misses_total', 'counter', missed, [])({}, majorPageFault);
  const read = 'Bytes that this process caused to be read from disks';
  out.family('disk_read_bytes_total', 'counter', read, [])({}, fsRead * BLOCK_BYTES);
}

function writeAnalytics(out: MetricsText, { analytics }: Dependencies): void {
  if (analytics === null) return;
  const name = 'analytics_dropped_searches_total';
  const help = 'Searches that could not be recorded';
  out.family(name, 'counter', help, [])({}, analytics.recorder.dropped);
}

function writeChats(out: MetricsText, { chatTotals }: Dependencies): void {
  const totals = chatTotals.list();
  const counter = (
    name: string,
    help: string,
    value: (total: (typeof totals)[number]) => number,
  ): void => {
    const count = out.family(name, 'counter', help, ['workspace', 'model']);
    for (const total of totals) {
      const { workspace, model } = total;
      count({ workspace, model }, value(total));
    }
  };
  const countSearches = out.family('chat_searches_total', 'counter', 'Searches of chat models', [
    'type',
  ]);
  const searches = totals.reduce((sum, total) => sum + total.searches, 0);
  if (totals.length > 0) countSearches({ type: 'internal' }, searches);
  counter(
    'chat_prompt_tokens_total',
    'Tokens of prompts, as providers report them',
    (total) => total.promptTokens,
  );
  counter('chat_completion_tokens_total', 'Tokens of answers', (total) => total.completionTokens);
  counter('chat_tokens_total', 'Tokens of prompts and answers', (total) => total.totalTokens);
}

type StepWriter = (step: string, value: number) => void;

/** Parses a text such as `12.34ms`. */
function secondsOf(text: string): number {
  const [, number, unit] = /^([\d.]+)(.+)$/.exec(text)!;
  return Number((Number(number) * UNITS_SECONDS.get(unit!)!).toPrecision(12));
}
