import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { IndexVisibility, TaskFilter, TaskRequest } from '../../src/contract/tasks.ts';
import type { TaskView } from '../../src/contract/responses.ts';
import { type DataFolder, openDataFolder } from '../../src/store/data-folder.ts';
import {
  type TaskSystemOptions,
  openTaskSystem,
  type TaskSystem,
} from '../../src/tasks/task-system.ts';
import { MemoryEngine } from './memory-engine.ts';

/** A data folder of its own with tasks and an engine in memory, restarted at will. */
export class TestTaskSystem {
  readonly dir: string;
  readonly engine: MemoryEngine;
  readonly logged: string[] = [];
  readonly finished: number[][] = [];
  #options: Partial<TaskSystemOptions>;
  #folder: DataFolder | null = null;
  #system: TaskSystem | null = null;

  private constructor(dir: string, engine: MemoryEngine, options: Partial<TaskSystemOptions>) {
    this.dir = dir;
    this.engine = engine;
    this.#options = options;
  }

  /** @param started false: batches do not run until `start` */
  static async open(
    options: Partial<TaskSystemOptions> & {
      started?: boolean;
      engine?: MemoryEngine;
      dir?: string;
    } = {},
  ): Promise<TestTaskSystem> {
    const { started = true, engine = new MemoryEngine(), dir, ...rest } = options;
    const folder = dir ?? mkdtempSync(join(tmpdir(), 'gannet-test-'));
    const test = new TestTaskSystem(folder, engine, rest);
    await test.#open();
    if (started) await test.start();
    return test;
  }

  async #open(): Promise<void> {
    this.#folder = await openDataFolder(this.dir, { version: '1.0.0', upgrade: false });
    this.#system = openTaskSystem(this.#folder, this.engine, {
      clock: systemClock as Clock,
      batchedTasksMax: Infinity,
      batchedBytesMax: Infinity,
      storeBytesMax: 2 ** 30,
      log: (message, error) =>
        this.logged.push(error === undefined ? message : `${message}: ${error}`),
      onFinished: (uids) => this.finished.push([...uids]),
      ...this.#options,
    });
  }

  get system(): TaskSystem {
    return this.#system!;
  }

  start(): Promise<void> {
    return this.system.scheduler.start();
  }

  /** Waits until all tasks have ended. */
  async settle(): Promise<void> {
    await this.system.scheduler.idle();
  }

  async restart({
    started = true,
    ...options
  }: Partial<TaskSystemOptions> & { started?: boolean } = {}): Promise<void> {
    await this.close();
    this.#options = { ...this.#options, ...options };
    await this.#open();
    if (started) await this.start();
  }

  /** Leaves the folder as it is. */
  async close(): Promise<void> {
    await this.#system?.close();
    await this.#folder?.close();
    this.#system = null;
    this.#folder = null;
  }

  async remove(): Promise<void> {
    await this.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  async register(request: TaskRequest): Promise<number> {
    return (await this.system.queue.register(request)).taskUid;
  }

  /**
   * Registers all before any of them runs, and waits for the end. REQUIRES: opened with `started:
   * false`
   */
  async together(requests: readonly TaskRequest[]): Promise<number[]> {
    const uids = await Promise.all(requests.map((request) => this.register(request)));
    await this.start();
    await this.settle();
    return uids;
  }

  /** Registers and waits for the end. */
  async run(request: TaskRequest): Promise<TaskView> {
    const uid = await this.register(request);
    await this.settle();
    return this.task(uid);
  }

  task(uid: number): TaskView {
    const view = this.system.queue.get(uid, null);
    if (view === undefined) throw new Error(`no task ${uid}`);
    return view;
  }

  tasks(): TaskView[] {
    const { queue } = this.system;
    const uids = Array.from({ length: queue.nextUids.task }, (_, uid) => uid);
    return uids.map((uid) => queue.get(uid, null)).filter((view) => view !== undefined);
  }

  async find(filter: TaskFilter, visible: IndexVisibility = null): Promise<TaskView[]> {
    const paging = { limit: 1000, from: null, reverse: true };
    return (await this.system.queue.page(filter, paging, visible)).results;
  }

  async documents(uid: string): Promise<unknown[]> {
    const handle = this.system.registry.get(uid)!.handle;
    const body = await handle.fetchAllDocuments(JSON.stringify({ offset: 0, limit: 100_000 }));
    return (JSON.parse(body.toString()) as { results: unknown[] }).results;
  }

  get indexUids(): string[] {
    return this.system.registry.list().map(([uid]) => uid);
  }
}

export function add(
  indexUid: string,
  documents: unknown[],
  more: Partial<Extract<TaskRequest, { type: 'documentAdditionOrUpdate' }>> = {},
): TaskRequest {
  return {
    type: 'documentAdditionOrUpdate',
    indexUid,
    method: 'replace',
    payload: { bytes: Buffer.from(JSON.stringify(documents)) },
    format: 'json',
    documents: documents.length,
    primaryKey: null,
    skipCreation: false,
    allowIndexCreation: true,
    ...more,
  };
}

export function settings(
  indexUid: string,
  values: Record<string, unknown>,
  more: { isReset?: boolean; allowIndexCreation?: boolean } = {},
): TaskRequest {
  return {
    type: 'settingsUpdate',
    indexUid,
    settings: values,
    isReset: false,
    allowIndexCreation: true,
    ...more,
  };
}

export function cancel(filter: TaskFilter, visible: IndexVisibility = null): TaskRequest {
  return { type: 'taskCancelation', filter, originalFilter: '?test', visible };
}

export function forget(filter: TaskFilter, visible: IndexVisibility = null): TaskRequest {
  return { type: 'taskDeletion', filter, originalFilter: '?test', visible };
}
