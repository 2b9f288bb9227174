import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../support/free-port.ts';
import { type Client, NoResponse } from './client.ts';
import { checkGroup, compareIndexes, settle, tasksFrom } from './compare.ts';
import { Model } from './model.ts';
import { acceptedStatus, type Operation, requestOf, type Settings, short } from './operations.ts';
import { Random } from './random.ts';
import { ServerProcess, verify } from './server-process.ts';
import { INDEXES, Workload, WORDS } from './workload.ts';

export interface KillOptions {
  kills: number;
  seed: number;
  /** Default: a free one. */
  port?: number;
  /** Called for every start of the server. */
  log: (line: string) => void;
  /** Default: a new one, removed on success. */
  dir?: string;
}

/** Numbers of writing and of reading clients. */
const WRITERS = 4;
const READERS = 2;
/** Longest time under load before a kill, milliseconds. */
const LIFE_MS_MAX = 1200;
/** Pause of a writer between two requests, so that the queue also shrinks. */
const WRITER_PAUSE_MS_MAX = 30;

/** Time to record one batch after a start. */
const RECOVERY_MS_MAX = 60_000;

/** With this option a server shows the stored state and runs no tasks. */
const RUN_NOTHING = ['--experimental-max-number-of-batched-tasks', '0'];

/**
 * A server under load, killed repeatedly. After each kill: acknowledged tasks exist exactly once,
 * the stored state is that of the finished tasks and nothing else, and once the rest has run,
 * everything matches the model.
 */
export async function runKills(options: KillOptions): Promise<void> {
  const { kills, seed, log } = options;
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'gannet-kill-'));
  const run = new KillRun(dir, options.port ?? (await freePort()), seed);
  log(`seed ${seed}, folder ${dir}`);
  try {
    await run.open();
    for (let kill = 1; kill <= kills; kill++) {
      await run.life();
      log(`kill ${kill}: ${run.summary()}`);
    }
    await run.close();
  } catch (error) {
    await run.abandon();
    throw new Error(`seed ${seed}, folder ${dir}: ${(error as Error).message}`, { cause: error });
  }
  rmSync(dir, { recursive: true, force: true });
}

export class KillRun {
  readonly #dir: string;
  readonly #port: number;
  readonly #random: Random;
  readonly #workload: Workload;
  #model: Model | null = null;
  #server: ServerProcess | null = null;
  #searches = 0;
  #acknowledged = 0;
  #newest = 0;
  #doubtful = 0;

  constructor(dir: string, port: number, seed: number) {
    this.#dir = dir;
    this.#port = port;
    this.#random = new Random(seed);
    this.#workload = new Workload(this.#random);
  }

  get model(): Model {
    return this.#model!;
  }

  get client(): Client {
    return this.#server!.client;
  }

  get server(): ServerProcess {
    return this.#server!;
  }

  summary(): string {
    const { tasks, indexes } = this.model;
    const documents = [...indexes.values()].map((index) => index.documents.size).join('+');
    return (
      `${tasks.size} tasks in ${this.model.nextBatchUid} batches, ${this.#acknowledged} acknowledged, ` +
      `${this.#doubtful} without response, ${this.#searches} reads, ${documents} documents`
    );
  }

  /** The first start of a folder. */
  async open(): Promise<void> {
    await this.#start();
    this.#model = await newModel(this.client);
  }

  async #start(args: readonly string[] = []): Promise<void> {
    const [dir, port] = [this.#dir, this.#port];
    this.#server = new ServerProcess({ dir, port, args });
    await this.#server.ready();
  }

  /**
   * Load, one or several kills, a check of the stored state, and a run in which everything
   * finishes.
   */
  async life(): Promise<void> {
    const random = this.#random;
    await this.load(random.int(20, LIFE_MS_MAX), 'kill');
    while (random.chance(0.25)) {
      // Kill again while the rest of the previous run is executed, or during the start.
      const server = new ServerProcess({ dir: this.#dir, port: this.#port });
      this.#server = server;
      if (random.chance(0.5)) await server.ready();
      await sleep(random.int(0, 600));
      assert.equal(server.hasExited, false, `the server ended by itself:\n${server.stderr}`);
      await server.kill();
    }
    if (random.chance(0.5)) await this.#verify();
    if (random.chance(0.6)) {
      await this.#start(RUN_NOTHING);
      await this.#compareAtStart();
      await this.server.kill();
    }
    await this.#start();
    for (const index of INDEXES) await checkGroup(this.client, index);
    await settle(this.client);
    await this.#compare();
    assert.equal(this.model.nextUid, this.model.tasks.size, 'all tasks have ended');
    assert.deepEqual(readdirSync(join(this.#dir, 'payloads')), [], 'payload files are left');
    const folders = readdirSync(join(this.#dir, 'indexes')).length;
    assert.equal(folders, this.model.indexes.size, 'folders of indexes are left');
  }

  /** Everything in the folder is valid. REQUIRES: no server runs there. */
  async #verify(): Promise<void> {
    const { status, text } = await verify('--db-path', this.#dir);
    assert.equal(status, 0, text);
  }

  /** The stored state is that of the tasks that have ended. */
  async #compare(): Promise<void> {
    const seen = await tasksFrom(this.client, this.model.nextUid);
    this.model.identify(seen);
    this.model.advance(seen);
    await compareIndexes(this.client, this.model, this.#random);
  }

  /**
   * As `#compare`, for a server that has just started. It responds while it still records a batch
   * that the engine had committed before the kill; only a lasting difference counts.
   */
  async #compareAtStart(): Promise<void> {
    const until = performance.now() + RECOVERY_MS_MAX;
    for (;;) {
      try {
        await this.#compare();
        return;
      } catch (error) {
        if (!(error instanceof assert.AssertionError) || performance.now() > until) throw error;
        await sleep(100);
      }
    }
  }

  /** Everything has finished correctly, including the tasks of earlier runs. */
  async settleAndCompare(): Promise<void> {
    await settle(this.client);
    await this.#compare();
  }

  /**
   * Requests from several clients for a while.
   * @param end called at the end
   */
  async load(milliseconds: number, end: 'kill' | 'wait'): Promise<void> {
    const { server } = this;
    let ended = false;
    const clients = [
      ...Array.from({ length: WRITERS }, () => this.#write(server, () => ended)),
      ...Array.from({ length: READERS }, () => this.#read(server, () => ended)),
    ];
    const all = Promise.all(clients);
    // It settles early only when one of them fails.
    await Promise.race([sleep(milliseconds), all]);
    ended = true;
    assert.equal(server.hasExited, false, `the server ended by itself:\n${server.stderr}`);
    if (end === 'kill') await server.kill();
    await all;
  }

  async #write(server: ServerProcess, ended: () => boolean): Promise<void> {
    while (!ended()) {
      const operation = this.#workload.next(this.#newest);
      const { method, path, ...content } = requestOf(operation);
      try {
        const received = await server.client.call(method, path, content);
        if (received.status !== acceptedStatus(operation)) {
          throw new Error(`${received.status} ${received.text} for ${short(operation)}`);
        }
        const uid = received.json<{ taskUid: number }>().taskUid;
        this.model.acknowledge(uid, operation);
        this.#newest = Math.max(this.#newest, uid);
        this.#acknowledged++;
      } catch (error) {
        if (!(error instanceof NoResponse)) throw error;
        this.model.doubt(operation satisfies Operation);
        this.#doubtful++;
        if (!ended()) throw new Error('no response from a running server', { cause: error });
      }
      await sleep(this.#random.int(0, WRITER_PAUSE_MS_MAX));
    }
  }

  async #read(server: ServerProcess, ended: () => boolean): Promise<void> {
    const random = this.#random;
    while (!ended()) {
      const index = random.pick(INDEXES);
      try {
        const kind = random.weighted({ group: 1, search: 2, filter: 1 });
        if (kind === 'group') await checkGroup(server.client, index);
        else {
          const body =
            kind === 'search'
              ? { q: random.pick(WORDS).slice(0, random.int(2, 8)) }
              : { filter: `bucket = ${random.int(0, 7)}`, facets: ['bucket'] };
          const received = await server.client.call('POST', `/indexes/${index}/search`, { body });
          // The index need not exist, nor the attribute be filterable now.
          const allowed = kind === 'search' ? [200, 404] : [200, 400, 404];
          assert.ok(
            allowed.includes(received.status),
            `search: ${received.status} ${received.text}`,
          );
        }
        this.#searches++;
      } catch (error) {
        if (!(error instanceof NoResponse)) throw error;
        if (!ended()) throw new Error('no response from a running server', { cause: error });
      }
    }
  }

  /** Stops in order; the last start finds everything again. */
  async close(): Promise<void> {
    assert.equal(await this.server.stop(), 0, `exit status:\n${this.server.stderr}`);
    await this.#start();
    const seen = await tasksFrom(this.client, 0);
    this.model.review(seen);
    await this.settleAndCompare();
    assert.equal(await this.server.stop(), 0, `exit status:\n${this.server.stderr}`);
    await this.#verify();
  }

  async abandon(): Promise<void> {
    await this.#server?.kill();
  }
}

/**
 * The model of a new server. It learns the default settings from an index that is deleted
 * afterwards.
 */
export async function newModel(client: Client): Promise<Model> {
  const create: Operation = { serial: -1, kind: 'create', index: 'pristine', primaryKey: null };
  const remove: Operation = { serial: -2, kind: 'deleteIndex', index: 'pristine' };
  const send = async (operation: Operation): Promise<number> => {
    const { method, path, ...content } = requestOf(operation);
    const received = await client.call(method, path, content);
    assert.equal(received.status, 202, received.text);
    await settle(client);
    return received.json<{ taskUid: number }>().taskUid;
  };
  const created = await send(create);
  const model = new Model(await client.get<Settings>('/indexes/pristine/settings'));
  model.acknowledge(created, create);
  model.acknowledge(await send(remove), remove);
  return model;
}
