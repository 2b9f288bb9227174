import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { syncFolder } from '../base/sync-folder.ts';
import type { FeatureSet } from '../contract/features.ts';
import { shardOf } from '../network/owner.ts';
import type { NativeAddon } from '../engine/native.ts';
import { IndexRegistry } from '../engine/registry.ts';
import { AliasStore } from '../store/alias-store.ts';
import { BranchStore } from '../store/branch-store.ts';
import { CrashRecord } from '../store/crash-record.ts';
import { type DataFolder, DataFolderError } from '../store/data-folder.ts';
import { NetworkStore } from '../store/network-store.ts';
import { RuleStore } from '../store/rule-store.ts';
import { Store } from '../store/store.ts';
import { TaskStore } from '../store/task-store.ts';
import { Followers } from './followers.ts';
import { Pending } from './pending.ts';
import { aliasDeletionRunner, aliasUpdateRunner } from './run/aliases.ts';
import { branchRunner } from './run/branches.ts';
import { ruleRunner } from './run/search-rules.ts';
import { TaskQueue } from './queue.ts';
import { PRUNED_TASKS, Scheduler, type SchedulerOptions, TASKS_MAX } from './scheduler.ts';

/** Two pages, which LMDB writes at once when it creates the file. */
const LMDB_BYTES_MIN = 2 * 4096;

/** Default size of the task store, bytes. */
export const STORE_BYTES_MAX = 20 * 2 ** 30;

export interface TaskSystemOptions {
  clock: Clock;
  /** 0: tasks are accepted and never run. Infinity: no limit. */
  batchedTasksMax: number;
  batchedBytesMax: number;
  /** Address space of the task store; the store counts as full at 40 % of it. */
  storeBytesMax: number;
  log: SchedulerOptions['log'];
  /** Absent: embeddings cannot be made. */
  embedding?: SchedulerOptions['embedding'];
  /** Absent: the server belongs to no network. */
  features?: () => FeatureSet;
  runners?: SchedulerOptions['runners'];
  /** Absent: batches are not traced. */
  tracer?: SchedulerOptions['tracer'];
  onFinished?: SchedulerOptions['onFinished'];
  tasksMax?: number;
  prunedTasks?: number;
}

/** Everything that turns requests into changed indexes. */
export interface TaskSystem {
  readonly store: Store;
  readonly taskStore: TaskStore;
  readonly registry: IndexRegistry;
  readonly searchRules: RuleStore;
  readonly aliases: AliasStore;
  readonly branches: BranchStore;
  readonly network: NetworkStore;
  readonly queue: TaskQueue;
  readonly scheduler: Scheduler;
  /** Rolls back running batches, then closes the indexes and the store. */
  close(): Promise<void>;
}

/** How often indexes at rest are looked after; after twice this time, trifles are merged. */
const UPKEEP_MS = 2_000;

const NO_INDEXES = 'It holds nothing, but there are indexes';

/**
 * Throws `DataFolderError` when the file of the store is truncated, or missing although there are
 * indexes.
 */
function openStore({ storeDir, indexDir }: DataFolder, bytesMax: number): Store {
  const refuse = (what: string): DataFolderError =>
    new DataFolderError(
      `${what}: the file of the store in ${storeDir} is missing or damaged. Nothing was changed. ` +
        'Put the file back, or remove the data folder to start over.',
    );
  const bytes = statSync(join(storeDir, 'data.mdb'), { throwIfNoEntry: false })?.size ?? 0;
  if (bytes > 0 && bytes < LMDB_BYTES_MIN) throw refuse(`It has ${bytes} bytes`);
  // A start removes folders that no record names, and a store that was lost names none.
  const hasIndexes = readdirSync(indexDir).length > 0;
  if (bytes === 0 && hasIndexes) throw refuse(NO_INDEXES);
  const store = new Store(storeDir, bytesMax);
  if (store.isEmpty() && hasIndexes) throw refuse(NO_INDEXES);
  if (bytes === 0) syncFolder(storeDir);
  return store;
}

/** Opens the stores of a data folder. Batches run after you call `scheduler.start()`. */
export function openTaskSystem(
  folder: DataFolder,
  native: NativeAddon,
  options: TaskSystemOptions,
): TaskSystem {
  const store = openStore(folder, options.storeBytesMax);
  const taskStore = new TaskStore(store, folder.payloadDir, options.clock);
  const records = [...store.indexes.getRange()].map(({ key, value }) => [key, value] as const);
  const registry = new IndexRegistry(native, folder.indexDir, records);
  // In a cluster a folder may belong to an index that a record yet to come will name.
  if (store.cluster === null) registry.sweep();
  const upkeep = upkeepOf(registry, options.log);
  const searchRules = new RuleStore(store);
  const aliases = new AliasStore(store);
  const branches = new BranchStore(store);
  registry.useAliases((alias) => aliases.targetOf(alias));
  const network = new NetworkStore(store);
  const pending = new Pending(taskStore);
  const crashes = new CrashRecord(folder.dir);
  taskStore.onAppend = (record) => pending.add(record);
  const scheduler = new Scheduler(taskStore, pending, registry, {
    crashes,
    limits: { tasks: options.batchedTasksMax, bytes: options.batchedBytesMax },
    runners: {
      dsrUpdate: ruleRunner(searchRules),
      dsrClear: ruleRunner(searchRules),
      aliasUpdate: aliasUpdateRunner(aliases),
      aliasDeletion: aliasDeletionRunner(aliases),
      indexBranch: branchRunner(branches),
      ...options.runners,
    },
    branches,
    tracer: options.tracer ?? null,
    embedding: options.embedding ?? null,
    shard: () => (options.features?.().network === true ? shardOf(network.get()) : null),
    tasksMax: options.tasksMax ?? TASKS_MAX,
    prunedTasks: options.prunedTasks ?? PRUNED_TASKS,
    log: options.log,
    onFinished: options.onFinished ?? (() => {}),
  });
  const queue = new TaskQueue(
    taskStore,
    store,
    scheduler,
    registry,
    new Followers(taskStore, pending, branches),
    options.storeBytesMax,
  );
  return {
    store,
    taskStore,
    registry,
    searchRules,
    aliases,
    branches,
    network,
    queue,
    scheduler,
    close: async () => {
      await scheduler.stop();
      crashes.close();
      await taskStore.close();
      clearInterval(upkeep);
      await registry.closeAll();
      await store.close();
    },
  };
}

/** Merges and closes indexes at rest, and reports merges that have failed. */
function upkeepOf(registry: IndexRegistry, log: SchedulerOptions['log']): NodeJS.Timeout {
  return setInterval(() => {
    for (const { uuid, fault } of registry.takeMergeFaults()) {
      log(`segments of the index in ${uuid} could not be merged`, new Error(fault));
    }
    registry.mergeAtRest();
    registry.closeResting();
  }, UPKEEP_MS).unref();
}
