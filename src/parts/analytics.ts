/** Recorded searches and usage events, and reports of them. */
import { Completions } from '../analytics/completions.ts';
import { PeerSearches } from '../analytics/peer-searches.ts';
import { nodeSecret, Peers } from '../analytics/peers.ts';
import { Recorder } from '../analytics/recorder.ts';
import { Reporter } from '../analytics/reporter.ts';
import { systemClock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { bad, type GivenOptions, type Options } from '../base/options.ts';
import type { Analytics } from '../http/dependencies.ts';
import type { ServerCluster } from '../replica/server-cluster.ts';
import { analyticsFolder, AnalyticsStore } from '../store/analytics-store.ts';
import type { DataFolder } from '../store/data-folder.ts';
import type { AccessConfig } from './access.ts';
import type { ClusterConfig } from './cluster.ts';
import type { Part } from './part.ts';
import { address } from './values.ts';

const BYTES_MIN = 2 ** 20;

export const OPTIONS = {
  'analytics-retention-days': {
    kind: 'count',
    ours: true,
    otherwise: () => 0,
    shown: 'off',
    max: 36_500,
    help: 'Record searches and usage events, and keep them for this many days.',
  },
  'analytics-size-limit': {
    kind: 'size',
    ours: true,
    initial: '1 GiB',
    needs: ['analytics-retention-days'],
    help: 'Maximum size of the records; beyond it the oldest are deleted.',
  },
  'events-addr': {
    kind: 'text',
    ours: true,
    read: address,
    needs: ['analytics-retention-days'],
    help: 'An additional address and port that accepts only usage events.',
  },
} as const satisfies Options;

export type AnalyticsConfig = ReturnType<typeof configure>;

/** `analytics` is null when searches are not recorded. */
export function configure({ values }: GivenOptions<typeof OPTIONS>) {
  const retentionDays = values['analytics-retention-days'];
  if (retentionDays === 0) return { analytics: null };
  const bytesMax = values['analytics-size-limit'];
  if (bytesMax < BYTES_MIN) bad('analytics-size-limit', bytesMax, 'at least `1 MiB`');
  return {
    analytics: {
      retentionDays,
      bytesMax,
      /** Where usage events are taken, in addition to the main address; null: nowhere. */
      eventsAddress: values['events-addr'],
    },
  };
}

type Config = AnalyticsConfig & AccessConfig & ClusterConfig;

const DAY_MS = 86_400_000;
/** Interval between removals of old rows when nothing is recorded, ms. */
const SWEEP_MS = 60_000;

/** `analytics` is null when searches are not recorded. */
export async function open(
  config: Config,
  {
    folder,
    logger,
    cluster,
  }: { folder: DataFolder; logger: Logger; cluster: ServerCluster | null },
): Promise<Part & { analytics: Analytics | null }> {
  const { analytics } = config;
  if (analytics === null) return { analytics: null, close: () => {} };
  const retentionMs = analytics.retentionDays * DAY_MS;
  const { bytesMax } = analytics;
  const store = new AnalyticsStore(analyticsFolder(folder.dir), { bytesMax, retentionMs });
  const { peers, userKey } = await usersOfCluster(config, cluster, store);
  const completions = new Completions(retentionMs);
  const clock = systemClock;
  const searches = peers === null ? null : new PeerSearches(peers, completions, { clock, logger });
  const recorder = new Recorder({
    store,
    userKey,
    clock,
    logger,
    onWritten: (rows) => (searches ?? completions).add(rows),
  });
  const closing = new AbortController();
  const loaded = completions
    .load(recordedBefore(store, () => closing.signal.aborted))
    .catch((error: unknown) =>
      logger.error({ err: error }, 'could not load recorded searches for suggestions'),
    )
    .then(() => searches?.run(closing.signal));
  const timer = setInterval(() => void recorder.sweep(), SWEEP_MS);
  timer.unref();
  const others =
    peers === null ? {} : { others: (from: number, to: number) => peers.rows(from, to) };
  const reporter = new Reporter({ store, recorder, clock, retentionMs, ...others });
  return {
    analytics: { store, recorder, reporter, completions, peers },
    async close() {
      clearInterval(timer);
      closing.abort();
      await loaded;
      await recorder.stop();
      await store.close();
    },
  };
}

/**
 * The other nodes, and the key for hashing user ids: a user is the same one on all nodes of a
 * cluster.
 */
async function usersOfCluster(
  { masterKey, cluster: config }: Config,
  cluster: ServerCluster | null,
  store: AnalyticsStore,
): Promise<{ peers: Peers | null; userKey: Buffer }> {
  // Also in a cluster: a store without a key is not valid.
  const own = await store.userKey();
  if (cluster === null || config === null) return { peers: null, userKey: own };
  const { node, client, id } = cluster;
  const token = nodeSecret(masterKey, id, 'node of').toString('base64url');
  return {
    peers: new Peers({ name: config.nodeName, node, client, token }),
    userKey: nodeSecret(masterKey, id, 'users of'),
  };
}

/** Maximum number of chunks of recorded searches that completions are made of at a start. */
const COMPLETING_CHUNKS_MAX = 2000;

/** The last chunks of what was recorded before now. */
function* recordedBefore(store: AnalyticsStore, ends: () => boolean): Generator<string> {
  const from = store.startOfLast(COMPLETING_CHUNKS_MAX);
  const chunks = store.chunks(from, systemClock.now());
  for (let next = chunks.next(); next.done !== true; next = chunks.next()) {
    yield next.value;
    if (ends()) return;
  }
}
