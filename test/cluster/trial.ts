/** A cluster under load whose machines fail one after the other, and whose history is checked. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { compareIndexes, settle, tasksFrom } from '../http/kill/support/compare.ts';
import { newModel } from '../http/kill/support/kills.ts';
import type { Model, SeenTask } from '../http/kill/support/model.ts';
import { TASK_TYPE } from '../http/kill/support/operations.ts';
import { Random } from '../http/kill/support/random.ts';
import { faultsOf } from './checker.ts';
import { Clients, KEYS_PATH, namesOfKeys } from './clients.ts';
import { beginFault, type Fault, nextFault, possibleFaults } from './faults.ts';
import type { FinalNode, TaskWrite } from './history.ts';
import { Machines, type Node } from './machines.ts';

export interface TrialOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly log: (line: string) => void;
}

/** After this time without new faults, everything is compared. */
const ROUND_MS = 60_000;
const SECOND_FAULT_CHANCE = 0.25;
const POLL_MS = 50;
/** Time for requests whose clients have given up, and which links held back. */
const LATE_MS = 1000;
/** Time for all nodes to be ready and level after the faults have ended. */
const RECOVERY_MS_MAX = 120_000;

const PRINTED_CHARS = 4000;

/** Throws the first thing that is wrong. */
export async function runTrial({ seed, minutes, log }: TrialOptions): Promise<void> {
  const begin = performance.now();
  const line = (text: string): void =>
    log(`${((performance.now() - begin) / 1000).toFixed(1).padStart(7)} s  ${text}`);
  const machines = await Machines.start({ log: line });
  try {
    const trial = await Trial.begin(machines, seed, line);
    const end = begin + minutes * 60_000;
    do await trial.round(Math.min(end, performance.now() + ROUND_MS));
    while (performance.now() < end);
    await trial.verify();
  } catch (error) {
    for (const { name, printed } of machines.nodes) {
      line(`the last that ${name} has printed:\n${printed.slice(-PRINTED_CHARS)}`);
    }
    throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
  } finally {
    await machines.close();
  }
}

class Trial {
  readonly #machines: Machines;
  readonly #model: Model;
  readonly #clients: Clients;
  /** Used for the schedule only. */
  readonly #schedule: Random;
  readonly #random: Random;
  readonly #log: (line: string) => void;

  private constructor(machines: Machines, model: Model, seed: number, log: (line: string) => void) {
    this.#machines = machines;
    this.#model = model;
    this.#schedule = new Random(seed);
    this.#random = new Random(seed + 1);
    this.#log = log;
    this.#clients = new Clients(machines.nodes, model, new Random(seed + 2));
  }

  static async begin(
    machines: Machines,
    seed: number,
    log: (line: string) => void,
  ): Promise<Trial> {
    log(
      `the object store is a ${machines.store}; ${possibleFaults(machines).length} kinds of faults`,
    );
    await level(machines.nodes);
    const model = await newModel(machines.nodes[0]!.client);
    const trial = new Trial(machines, model, seed, log);
    const first = { kind: 'task', node: 'node-0', tag: null, selected: null } as const;
    const events = ['indexCreation', 'indexDeletion'].map((type, uid): TaskWrite => {
      const outcome = { kind: 'accepted', uid, commit: uid } as const;
      return { ...first, type, begin: uid, end: uid, outcome };
    });
    trial.#clients.history.push(...events);
    return trial;
  }

  /** Faults until a time, then everything must work and be right. */
  async round(until: number): Promise<void> {
    const { nodes } = this.#machines;
    this.#clients.start();
    while (performance.now() < until) await this.#fault();
    await this.#machines.heal();
    await level(nodes);
    await whole(nodes);
    await this.#clients.stop();
    await delay(LATE_MS);
    // A follower that is behind may know of no task that is left.
    await level(nodes);
    for (const { client } of nodes) await settle(client);
    await level(nodes);
    await this.#compare();
  }

  async #fault(): Promise<void> {
    const possible = possibleFaults(this.#machines);
    const count = this.#machines.nodes.length;
    const faults = [nextFault(this.#schedule, possible, count)];
    if (this.#schedule.chance(SECOND_FAULT_CHANCE)) {
      faults.push(nextFault(this.#schedule, possible, count));
    }
    await delay(faults[0]!.restMs);
    // Both of one node would not be ended independently.
    const nodes = new Set<Node>();
    const running: Promise<void>[] = [];
    for (const fault of faults) {
      const node = await this.#nodeOf(fault);
      if (nodes.has(node)) continue;
      nodes.add(node);
      running.push(this.#run(fault, node));
    }
    await Promise.all(running);
  }

  async #run(fault: Fault, node: Node): Promise<void> {
    this.#log(`${node.name}: ${fault.name}, ${fault.holdMs} ms`);
    const end = await beginFault(fault, this.#machines, node);
    await delay(fault.holdMs);
    await end();
  }

  async #nodeOf({ node }: Fault): Promise<Node> {
    const { nodes } = this.#machines;
    if (node !== 'leader') return nodes[node]!;
    for (const { client } of nodes) {
      const found = await client.call('GET', '/cluster', { timeoutMs: 500 }).catch(() => null);
      if (found?.status !== 200) continue;
      const { leader } = found.json<{ leader: string | null }>();
      const leading = nodes.find(({ name }) => name === leader);
      if (leading !== undefined) return leading;
    }
    return nodes[0]!;
  }

  /** All nodes show the same, it is what the model shows, and the history is right. */
  async #compare(): Promise<void> {
    const { nodes } = this.#machines;
    const finals = [];
    for (const node of nodes) finals.push(await finalOf(node));
    const { history } = this.#clients;
    const faults = faultsOf(history, finals);
    assert.equal(faults.length, 0, `${faults.length} faults:\n${faults.slice(0, 20).join('\n')}`);
    const { client } = this.#random.pick(nodes);
    const seen = await tasksFrom(client, this.#model.nextUid);
    this.#model.identify(seen);
    this.#model.advance(seen);
    await compareIndexes(client, this.#model, this.#random);
    const { tasks } = finals[0]!;
    const count = (kind: string): number =>
      history.filter((event) => 'outcome' in event && event.outcome.kind === kind).length;
    this.#log(
      `all is right: ${count('accepted')} writes accepted, ${count('refused')} refused, ` +
        `${count('unknown')} without a certain response, ` +
        `${tasks.filter(({ status }) => status === 'canceled').length} tasks canceled, ` +
        `${history.filter((event) => !('outcome' in event)).length} reads`,
    );
  }

  /** The folders of all nodes are valid. Ends the nodes. */
  async verify(): Promise<void> {
    for (const node of this.#machines.nodes) {
      await node.end('stop');
      const { status, text } = await node.verify();
      assert.equal(status, 0, `${node.name}: ${text}`);
    }
  }
}

/**
 * Resolves once all nodes are healthy and equal. One of them leads and has the whole log, which the
 * others may not know yet.
 */
async function level(nodes: readonly Node[]): Promise<void> {
  const until = performance.now() + RECOVERY_MS_MAX;
  for (;;) {
    const states = await Promise.all(nodes.map(stateOf));
    const [first] = states;
    const isLevel = states.every(
      (state) => state?.leader !== null && state?.applied === first?.applied,
    );
    if (first !== null && isLevel) return;
    assert.ok(performance.now() < until, `The nodes do not recover: ${JSON.stringify(states)}`);
    await delay(POLL_MS);
  }
}

/** Resolves once the nodes have replaced all damaged files. */
async function whole(nodes: readonly Node[]): Promise<void> {
  const until = performance.now() + RECOVERY_MS_MAX;
  while (!nodes.every((node) => node.isWhole())) {
    assert.ok(performance.now() < until, 'Damaged files are not replaced');
    await delay(POLL_MS);
  }
}

interface State {
  leader: string | null;
  applied: number;
}

/** null: the node is not healthy. */
async function stateOf({ client }: Node): Promise<State | null> {
  const health = await client.call('GET', '/health').catch(() => null);
  const shown = await client.call('GET', '/cluster').catch(() => null);
  return health?.status === 200 && shown?.status === 200 ? shown.json<State>() : null;
}

async function finalOf({ name, client }: Node): Promise<FinalNode> {
  const seen = await tasksFrom(client, 0);
  const tasks = seen.map((task: SeenTask) => ({
    ...{ uid: task.uid, type: task.type, status: task.status, tag: tagIn(task) },
    ...{ batchUid: task.batchUid, canceledBy: task.canceledBy },
  }));
  const keys = namesOfKeys(await client.call('GET', KEYS_PATH));
  const digests: Record<string, string> = { 'what tasks show': digestOf(seen) };
  const { results } = await client.get<{ results: { uid: string }[] }>('/indexes?limit=1000');
  digests['the indexes'] = digestOf(results);
  for (const { uid } of results) {
    const get = <T>(path: string): Promise<T> => client.get<T>(`/indexes/${uid}/${path}`);
    digests[`the documents of ${uid}`] = digestOf(await get('documents?limit=100000'));
    digests[`the settings of ${uid}`] = digestOf(await get('settings'));
    // Sizes change with each merge.
    const stats = await get<{ numberOfDocuments: number; fieldDistribution: object }>('stats');
    const { numberOfDocuments, fieldDistribution } = stats;
    digests[`the statistics of ${uid}`] = digestOf({ numberOfDocuments, fieldDistribution });
  }
  return { name, tasks, keys, digests };
}

function tagIn({ type, customMetadata, details }: SeenTask): string | null {
  return type === TASK_TYPE.cancel ? String(details?.['originalFilter']) : (customMetadata ?? null);
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}
