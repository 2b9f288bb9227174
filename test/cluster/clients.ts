/** Clients that write to and read from random nodes of a cluster, and record what they see. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { type ClientResponse, NoResponse } from '../http/kill/support/client.ts';
import type { Model } from '../http/kill/support/model.ts';
import {
  acceptedStatus,
  type Operation,
  type Request,
  requestOf,
  selectionOf,
  short,
  tagOf,
  TASK_TYPE,
} from '../http/kill/support/operations.ts';
import { Random } from '../http/kill/support/random.ts';
import { INDEXES, Workload, WORDS } from '../http/kill/support/workload.ts';
import type { HistoryEvent, Outcome } from './history.ts';
import type { Node } from './machines.ts';

const WRITERS = 3;
const READERS = 2;
const PAUSE_MS_MAX = 60;
/** A node that is paused, or whose leader is, does not respond. */
const PATIENCE_MS = 6000;
/** The index whose only document each write replaces. */
export const MARK_INDEX = 'marks';
const MARK_ID = 'mark';
const KEYS_MAX = 400;
/** Tasks of a read. */
const SHOWN = 50;

const WRITES = { operation: 80, mark: 14, createKey: 4, deleteKey: 2 };
const READS = { tasks: 4, mark: 3, keys: 1, search: 2 };

/** Kinds of operations whose task shows the tag of its request. */
const TAGGED: ReadonlySet<Operation['kind']> = new Set<Operation['kind']>([
  ...(['add', 'deleteIds', 'deleteFilter', 'clear', 'cancel'] as const),
]);

/** Whether it is a change of settings that no other one equals. */
function hasPatch(operation: Operation): boolean {
  return operation.kind === 'settings' && operation.patch !== null;
}

export class Clients {
  readonly history: HistoryEvent[] = [];
  readonly #nodes: readonly Node[];
  readonly #random: Random;
  readonly #workload: Workload;
  readonly #model: Model;
  readonly #keys: { name: string; uid: string }[] = [];
  /** The commit that the newest response to a write names. */
  #commit = 0;
  #newest = 0;
  /**
   * Types of tasks that show nothing of their request, while the outcome of one is not known: a
   * second one could be taken for the first.
   */
  readonly #uncertain = new Set<string>();
  #serial = 1_000_000;
  #keyCount = 0;
  #isOver = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(nodes: readonly Node[], model: Model, random: Random) {
    this.#nodes = nodes;
    this.#model = model;
    this.#random = random;
    this.#workload = new Workload(random);
  }

  start(): void {
    this.#isOver = false;
    this.#uncertain.clear();
    this.#running = Promise.all([
      ...Array.from({ length: WRITERS }, () => this.#loop(() => this.#write())),
      ...Array.from({ length: READERS }, () => this.#read()),
    ]);
    // Reported by `stop`.
    this.#running.catch(() => {});
  }

  /** Throws the first response that no client may get. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #loop(task: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      await task();
      await delay(this.#random.int(0, PAUSE_MS_MAX));
    }
  }

  /** null: no response, or none that says anything. */
  async #send(
    node: Node,
    request: Request,
    waitFor: number | null,
  ): Promise<ClientResponse | null> {
    const { method, path, bytes, type } = request;
    try {
      return await node.client.call(method, path, {
        ...(bytes === undefined ? {} : { bytes }),
        ...(type === undefined ? {} : { type }),
        headers: waitFor === null ? {} : { 'gannet-wait-for': String(waitFor) },
        timeoutMs: PATIENCE_MS,
      });
    } catch (error) {
      if (error instanceof NoResponse) return null;
      throw error;
    }
  }

  // --- Writes ------------------------------------------------------------------------------------

  async #write(): Promise<void> {
    switch (this.#random.weighted(WRITES)) {
      case 'operation':
        return this.#operate(this.#workload.next(this.#newest));
      case 'mark': {
        const serial = this.#serial++;
        const documents = [{ id: MARK_ID, tag: tagOf(serial) }];
        return this.#operate({
          ...{ serial, kind: 'add', index: MARK_INDEX, method: 'replace', documents },
          ...{ format: 'json', primaryKey: null, skipCreation: false },
        });
      }
      case 'createKey':
        return this.#createKey();
      case 'deleteKey':
        return this.#deleteKey();
    }
  }

  async #operate(operation: Operation): Promise<void> {
    const type = TASK_TYPE[operation.kind];
    const showsNothing = !TAGGED.has(operation.kind) && !hasPatch(operation);
    if (showsNothing && this.#uncertain.has(type)) return;
    if (showsNothing) this.#uncertain.add(type);
    const node = this.#random.pick(this.#nodes);
    const begin = performance.now();
    const response = await this.#send(node, requestOf(operation), null);
    const outcome = this.#outcomeOf(response, acceptedStatus(operation), short(operation));
    if (outcome.kind === 'accepted') {
      this.#newest = Math.max(this.#newest, outcome.uid);
      this.#model.acknowledge(outcome.uid, operation);
    } else if (outcome.kind === 'unknown') this.#model.doubt(operation);
    if (outcome.kind !== 'unknown') this.#uncertain.delete(type);
    const tag =
      operation.kind === 'cancel'
        ? selectionOf(operation)
        : TAGGED.has(operation.kind)
          ? tagOf(operation.serial)
          : null;
    const selected = operation.kind === 'cancel' ? operation.selected : null;
    const end = performance.now();
    const at = { node: node.name, begin, end };
    this.history.push({ kind: 'task', ...at, type, tag, selected, outcome });
  }

  async #createKey(): Promise<void> {
    if (this.#keyCount === KEYS_MAX) return;
    const name = `key-${this.#keyCount++}`;
    const body = { name, actions: ['search'], indexes: ['*'], expiresAt: null };
    const key = await this.#sendKey('create', name, { method: 'POST', path: '/keys' }, body);
    if (key !== null) this.#keys.push({ name, uid: key.uid });
  }

  async #deleteKey(): Promise<void> {
    const key = this.#keys.pop();
    if (key === undefined) return;
    await this.#sendKey('delete', key.name, { method: 'DELETE', path: `/keys/${key.uid}` });
  }

  async #sendKey(
    method: 'create' | 'delete',
    name: string,
    request: Request,
    body?: object,
  ): Promise<{ uid: string } | null> {
    const node = this.#random.pick(this.#nodes);
    const begin = performance.now();
    const json = body && { bytes: Buffer.from(JSON.stringify(body)), type: 'application/json' };
    const response = await this.#send(node, { ...request, ...json }, null);
    const outcome = this.#outcomeOf(response, method === 'create' ? 201 : 204, name);
    const end = performance.now();
    this.history.push({ kind: 'key', node: node.name, begin, end, method, name, outcome });
    return response?.status === 201 ? response.json<{ uid: string }>() : null;
  }

  #outcomeOf(response: ClientResponse | null, expected: number, what: string): Outcome {
    const outcome = outcomeOf(response, expected, what);
    if (outcome.kind === 'accepted') this.#commit = Math.max(this.#commit, outcome.commit);
    return outcome;
  }

  // --- Reads -------------------------------------------------------------------------------------

  async #read(): Promise<void> {
    await this.#loop(async () => {
      const random = this.#random;
      const node = random.pick(this.#nodes);
      const waitFor = random.chance(0.4) ? this.#commit : null;
      const kind = random.weighted(READS);
      const begin = performance.now();
      const response = await this.#send(node, readOf(kind, random), waitFor);
      const end = performance.now();
      const at = { node: node.name, begin, end };
      if (response === null || response.status === 503) return;
      // The node has met flipped bits.
      const isOfIndex = kind === 'search' || kind === 'mark';
      if (isOfIndex && response.json<{ code?: string }>().code === 'invalid_store_file') return;
      // The index need not exist, nor the attribute be filterable now.
      const allowed = kind === 'search' ? [200, 400, 404] : kind === 'mark' ? [200, 404] : [200];
      assert.ok(allowed.includes(response.status), `${kind}: ${response.status} ${response.text}`);
      if (response.status !== 200) return;
      this.#record(kind, at, waitFor, response);
    });
  }

  #record(
    kind: keyof typeof READS,
    at: { node: string; begin: number; end: number },
    waitedFor: number | null,
    response: ClientResponse,
  ): void {
    if (kind === 'tasks') {
      const { results } = response.json<{ results: { uid: number; status: string }[] }>();
      const tasks = results.map(({ uid, status }) => ({ uid, status }));
      this.history.push({ kind, ...at, waitedFor, tasks });
    } else if (kind === 'mark') {
      this.history.push({ kind, ...at, tag: response.json<{ tag: string }>().tag });
    } else if (kind === 'keys') {
      const names = namesOfKeys(response);
      this.history.push({ kind, ...at, waitedFor, names });
    }
  }
}

/** The names that clients have given. */
export function namesOfKeys(response: ClientResponse): string[] {
  return response
    .json<{ results: { name: string | null }[] }>()
    .results.flatMap(({ name }) => (name?.startsWith('key-') === true ? [name] : []))
    .toSorted();
}

export const KEYS_PATH = '/keys?limit=1000';

function readOf(kind: keyof typeof READS, random: Random): Request {
  switch (kind) {
    case 'tasks':
      return { method: 'GET', path: `/tasks?limit=${SHOWN}` };
    case 'mark':
      return { method: 'GET', path: `/indexes/${MARK_INDEX}/documents/${MARK_ID}` };
    case 'keys':
      return { method: 'GET', path: KEYS_PATH };
    case 'search': {
      const body = random.chance(0.5)
        ? { q: random.pick(WORDS).slice(0, random.int(2, 8)) }
        : { filter: `bucket = ${random.int(0, 7)}`, facets: ['bucket'] };
      return {
        method: 'POST',
        path: `/indexes/${random.pick(INDEXES)}/search`,
        bytes: Buffer.from(JSON.stringify(body)),
        type: 'application/json',
      };
    }
  }
}

/** Codes of refusals: the write has not happened and never will. */
const REFUSED = new Set(['no_leader', 'no_space_left_on_device']);

function outcomeOf(response: ClientResponse | null, expected: number, what: string): Outcome {
  if (response === null) return { kind: 'unknown' };
  if (response.status === expected) {
    const commit = Number(response.headers['gannet-commit']);
    assert.ok(commit > 0, `${what} is accepted without a commit`);
    const isTask = expected === 200 || expected === 202;
    const uid = isTask ? response.json<{ taskUid: number }>().taskUid : -1;
    return { kind: 'accepted', uid, commit };
  }
  const { code } = response.json<{ code?: string }>();
  if (REFUSED.has(code ?? '')) return { kind: 'refused' };
  if (code === 'cluster_unavailable') return { kind: 'unknown' };
  // The server is starting.
  if (response.status === 503) return { kind: 'refused' };
  throw new Error(`${what}: ${response.status} ${response.text}`);
}
