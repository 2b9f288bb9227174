/**
 * Services without an engine: tasks on indexes and settings are executed at once, documents are not
 * stored, searches echo their parameters.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rfc3339, type Clock } from '../../../src/base/clock.ts';
import { indexNotFound, type ApiError } from '../../../src/contract/errors.ts';
import {
  defaultSettings,
  mergeSettings,
  renderPartialSettings,
  type SettingsObject,
} from '../../../src/contract/settings.ts';
import type { TaskRequest } from '../../../src/contract/tasks.ts';
import type { TaskSummary, TaskView } from '../../../src/contract/responses.ts';
import type { Services } from '../../../src/http/services.ts';
import { FeatureStore } from '../../../src/store/feature-store.ts';
import { KeyStore } from '../../../src/store/key-store.ts';
import { Store } from '../../../src/store/store.ts';
import type { SearchResponse } from '../../../src/search/response.ts';
import { headOf } from '../../support/result-head.ts';
import type { SearchCaller } from '../../../src/search/caller.ts';
import { metered } from '../../../src/search/search-meter.ts';
import { SearchPipeline } from '../../../src/search/execute.ts';
import type { ForeignDocuments } from '../../../src/search/foreign-documents.ts';
import type { InterleavedSearch } from '../../../src/search/run/interleaved.ts';
import type { NetworkSearch } from '../../../src/search/run/network.ts';
import { Insights } from '../../../src/search/insights.ts';
import { SearchReport } from '../../../src/search/report.ts';
import type { LocalSearch } from '../../../src/search/run/local.ts';

export interface FakeServices extends Services {
  /** Everything registered, in order. */
  readonly registered: TaskRequest[];
  readonly searches: { uid: string | null; params: unknown; caller: SearchCaller }[];
  readonly store: Store;
  readonly dir: string;
  /** What `search` runs here. */
  readonly local: Pick<
    LocalSearch,
    'search' | 'facetSearch' | 'similar' | 'separate' | 'federated' | 'load'
  >;
  addIndex(uid: string, settings?: Partial<SettingsObject>): void;
  close(): Promise<void>;
}

export function fakeServices(clock: Clock): FakeServices {
  const dir = mkdtempSync(join(tmpdir(), 'gannet-http-'));
  const store = new Store(join(dir, 'store'), 2 ** 26);
  const keys = new KeyStore(store);
  const features = new FeatureStore(store);
  const indexes = new Map<string, SettingsObject>();
  const registered: TaskRequest[] = [];
  const searches: FakeServices['searches'] = [];
  let files = 0;

  const views: TaskView[] = [];

  /** Executes a task; returns the reason of its failure. */
  function perform(request: TaskRequest): ApiError | null {
    switch (request.type) {
      case 'indexCreation':
        indexes.set(request.indexUid, indexes.get(request.indexUid) ?? defaultSettings());
        return null;
      case 'indexDeletion':
        return indexes.delete(request.indexUid) ? null : indexNotFound(request.indexUid);
      case 'documentAdditionOrUpdate':
      case 'settingsUpdate': {
        const uid = request.indexUid;
        if (!indexes.has(uid)) {
          if (!request.allowIndexCreation) return indexNotFound(uid);
          indexes.set(uid, defaultSettings());
        }
        if (request.type !== 'settingsUpdate') return null;
        const merged = mergeSettings(indexes.get(uid)!, request.settings);
        if (!merged.ok) return merged.error;
        indexes.set(uid, merged.value);
        return null;
      }
      default:
        return null;
    }
  }

  const response = (
    uid: string | null,
    params: unknown,
    caller: SearchCaller,
    count = 1,
  ): Promise<SearchResponse> =>
    metered(caller.meter, count, async () => {
      searches.push({ uid, params, caller });
      if (uid !== null && !indexes.has(uid)) throw indexNotFound(uid);
      const bytes = Buffer.from(JSON.stringify({ hits: [], params }));
      return { bytes, head: headOf(0) };
    });
  const local: FakeServices['local'] = {
    search: (uid, params, caller) => response(uid, params, caller),
    facetSearch: (uid, params, caller) => response(uid, params, caller),
    similar: (uid, params, caller) => response(uid, params, caller),
    separate: async (queries, caller) => {
      const one = await response(null, { queries }, caller, queries.length);
      return queries.map(() => one);
    },
    federated: (queries, federation, caller) =>
      response(null, { queries, federation }, caller, queries.length),
    load: () => ({ running: 2, permits: 8, waiting: 1, waitingMax: 1000, degraded: 3 }),
  };
  const info = (uid: string) => ({
    uid,
    createdAt: rfc3339(clock.now()),
    updatedAt: rfc3339(clock.now()),
    primaryKey: null,
  });
  const emptyStats = {
    numberOfDocuments: 0,
    rawDocumentDbSize: 0,
    avgDocumentSize: 0,
    indexSize: 0,
    usedIndexSize: 0,
    isIndexing: false,
    numberOfEmbeddings: 0,
    numberOfEmbeddedDocuments: 0,
    fieldDistribution: {},
  };

  return {
    registered,
    searches,
    local,
    store,
    dir,
    keys,
    features,
    addIndex: (uid, settings = {}) => void indexes.set(uid, { ...defaultSettings(), ...settings }),
    async close() {
      await store.close();
      rmSync(dir, { recursive: true });
    },
    tasks: {
      setNetwork: () => Promise.resolve(),
      watch: () => () => {},
      nextUids: { task: 0, batch: 0 },
      register(request) {
        registered.push(request);
        const summary: TaskSummary = {
          taskUid: registered.length - 1,
          indexUid: 'indexUid' in request ? request.indexUid : null,
          status: 'enqueued',
          type: request.type,
          enqueuedAt: rfc3339(clock.now()),
        };
        const failure = perform(request);
        views.push({
          uid: summary.taskUid,
          batchUid: summary.taskUid,
          indexUid: summary.indexUid,
          status: failure === null ? 'succeeded' : 'failed',
          type: request.type,
          canceledBy: null,
          details:
            request.type === 'settingsUpdate' ? renderPartialSettings(request.settings) : null,
          error: failure === null ? null : failure.toJSON(),
          duration: 'PT0S',
          enqueuedAt: summary.enqueuedAt,
          startedAt: summary.enqueuedAt,
          finishedAt: summary.enqueuedAt,
        });
        return Promise.resolve(summary);
      },
      page: (_, { limit }) =>
        Promise.resolve({ results: [], total: 0, limit, from: null, next: null }),
      get: (uid) => views[uid],
      batchPage: (_, { limit }) =>
        Promise.resolve({ results: [], total: 0, limit, from: null, next: null }),
      getBatch: () => undefined,
      countMatching: () => Promise.resolve(0),
      totals: () =>
        Promise.resolve({ ofStatus: () => 0, ofType: () => 0, byIndex: new Map<string, number>() }),
      compact: () => Promise.resolve({ before: 4096, after: 4096 }),
      documents: () => null,
      storeSize: () => ({ maxBytes: 1000, usedBytes: 100, freeBytes: 300 }),
      newPayloadFile: () => ({ path: join(dir, `payload-${files++}`) }),
      removePayloadFile: (path) => rmSync(path, { force: true }),
    },
    indexes: {
      list: () => [...indexes.keys()].sort().map(info),
      get: (uid) => (indexes.has(uid) ? info(uid) : undefined),
      stats: (uid) => (indexes.has(uid) ? emptyStats : undefined),
      partSizes: () => ({}),
      allStats: async () => ({
        databaseSize: 4096,
        usedDatabaseSize: 1024,
        indexes: Object.fromEntries([...indexes.keys()].sort().map((uid) => [uid, emptyStats])),
      }),
      mergeDebt: () => 5000,
      settings: (uid) => indexes.get(uid),
      fields: (uid) => (indexes.has(uid) ? [] : undefined),
      documents: {
        getDocument: () => null,
        fetch: (_, { offset, limit }) =>
          Promise.resolve(Buffer.from(JSON.stringify({ results: [], offset, limit, total: 0 }))),
      },
    },
    networkDocuments: {
      getDocument: () => Promise.resolve(null),
      fetch: () => Promise.resolve(Buffer.from('{}')),
    },
    foreign: { filter: (_, filter) => Promise.resolve(filter) },
    search: new SearchPipeline({
      local: local as unknown as LocalSearch,
      network: { isAskedBy: () => false } as unknown as NetworkSearch,
      interleaved: {} as InterleavedSearch,
      foreign: {
        filter: (_: string, filter: unknown) => Promise.resolve(filter),
        needsHits: () => false,
      } as unknown as ForeignDocuments,
      pins: () => [],
      report: new SearchReport(null, { warn: () => {} }, { ended: () => {} }, new Insights('0')),
      settings: (uid) => indexes.get(uid),
    }),
  };
}
