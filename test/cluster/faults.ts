/** What can happen to the machines of a cluster, and a schedule of it that follows from a seed. */
import { Random } from '../http/kill/support/random.ts';
import { LEASE_SECONDS, type Machines, type Node } from './machines.ts';

/** Undoes the fault. */
type End = () => Promise<void>;

interface FaultKind {
  readonly weight: number;
  /** How long it lasts at most, ms. */
  readonly holdMsMax: number;
  readonly isPossible?: (machines: Machines) => boolean;
  readonly begin: (machines: Machines, node: Node, random: Random) => Promise<End>;
}

const LONGER_THAN_LEASE_MS = LEASE_SECONDS * 2500;
const CLOCK_JUMP_SECONDS = 7200;

const none: End = async () => {};

const KINDS = {
  kill: {
    weight: 4,
    holdMsMax: 2000,
    begin: async (_, node) => {
      await node.end('kill');
      return () => node.start();
    },
  },
  'disk lost': {
    weight: 1,
    holdMsMax: 2000,
    begin: async (_, node) => {
      await node.end('kill');
      node.wipe();
      return () => node.start();
    },
  },
  'bits flipped': {
    weight: 2,
    holdMsMax: 1000,
    begin: async (_, node, random) => {
      await node.end('kill');
      node.flipBits(random);
      return () => node.start();
    },
  },
  stop: {
    weight: 1,
    holdMsMax: 2000,
    begin: async (_, node) => {
      await node.end('stop');
      return () => node.start();
    },
  },
  pause: {
    weight: 3,
    holdMsMax: LONGER_THAN_LEASE_MS,
    begin: async (_, node) => {
      node.signal('SIGSTOP');
      return async () => node.signal('SIGCONT');
    },
  },
  'no etcd': {
    weight: 2,
    holdMsMax: LONGER_THAN_LEASE_MS,
    begin: async (_, { etcd }, random) => {
      const state = random.pick(['stalled', 'refused'] as const);
      for (const link of etcd) await link.set(state);
      return async () => {
        for (const link of etcd) await link.set('open');
      };
    },
  },
  'no response of etcd': {
    weight: 1.5,
    holdMsMax: LONGER_THAN_LEASE_MS,
    begin: async (_, { etcd }) => {
      for (const link of etcd) await link.set('deaf');
      return async () => {
        for (const link of etcd) await link.set('open');
      };
    },
  },
  'no link to a member of etcd': {
    weight: 1,
    holdMsMax: LONGER_THAN_LEASE_MS,
    begin: async (_, { etcd }, random) => {
      const link = random.pick(etcd);
      await link.set(random.pick(['stalled', 'refused'] as const));
      return () => link.set('open');
    },
  },
  'slow network': {
    weight: 2,
    holdMsMax: LONGER_THAN_LEASE_MS,
    begin: async (_, { etcd, link }, random) => {
      for (const each of [...etcd, link]) each.delayMs = random.int(5, 300);
      return async () => {
        for (const each of [...etcd, link]) each.delayMs = 0;
      };
    },
  },
  'no link from other nodes': {
    weight: 2,
    holdMsMax: LONGER_THAN_LEASE_MS,
    begin: async (_, { link }, random) => {
      await link.set(random.pick(['stalled', 'deaf', 'refused'] as const));
      return () => link.set('open');
    },
  },
  'cut off from everything': {
    weight: 3,
    holdMsMax: LONGER_THAN_LEASE_MS,
    begin: async (_, { etcd, link, store }) => {
      for (const each of [...etcd, link, store]) await each.set('stalled');
      return async () => {
        for (const each of [...etcd, link, store]) await each.set('open');
      };
    },
  },
  'no object store': {
    weight: 1,
    holdMsMax: LONGER_THAN_LEASE_MS,
    begin: async (_, { store }, random) => {
      await store.set(random.pick(['stalled', 'deaf', 'refused'] as const));
      return () => store.set('open');
    },
  },
  'full disk': {
    weight: 1,
    holdMsMax: LONGER_THAN_LEASE_MS,
    isPossible: ({ nodes }) => nodes.every(({ hasDisk }) => hasDisk),
    begin: async (_, node) => {
      node.fill();
      return async () => node.empty();
    },
  },
  'clock jump': {
    weight: 1.5,
    holdMsMax: LONGER_THAN_LEASE_MS,
    isPossible: ({ nodes }) => nodes.every(({ hasClock }) => hasClock),
    begin: async (_, node, random) => {
      node.jump(random.int(-CLOCK_JUMP_SECONDS, CLOCK_JUMP_SECONDS));
      return random.chance(0.5) ? none : async () => node.jump(0);
    },
  },
  'a member of etcd killed': {
    weight: 1.5,
    holdMsMax: LONGER_THAN_LEASE_MS,
    begin: async ({ etcd }, _, random) => {
      const member = random.pick(etcd);
      await member.kill();
      return async () => member.restart();
    },
  },
  'no object store for any node': {
    weight: 1,
    holdMsMax: LONGER_THAN_LEASE_MS,
    begin: async ({ nodes }) => {
      for (const { store } of nodes) await store.set('refused');
      return async () => {
        for (const { store } of nodes) await store.set('open');
      };
    },
  },
} as const satisfies Record<string, FaultKind>;

export type FaultName = keyof typeof KINDS;

export function possibleFaults(machines: Machines): FaultName[] {
  return (Object.keys(KINDS) as FaultName[]).filter((name) => {
    const { isPossible }: FaultKind = KINDS[name];
    return isPossible === undefined || isPossible(machines);
  });
}

/** One fault of a schedule. */
export interface Fault {
  readonly name: FaultName;
  /** Whether it happens to the leader of the moment, otherwise to the node of this number. */
  readonly node: 'leader' | number;
  /** How long everything works before it, ms. */
  readonly restMs: number;
  readonly holdMs: number;
  /** The seed of its details. */
  readonly seed: number;
}

const REST_MS_MAX = 2500;
const HOLD_MS_MIN = 300;

/** The next fault; the same seed has the same schedule, on machines where the same is possible. */
export function nextFault(random: Random, possible: readonly FaultName[], nodes: number): Fault {
  const weights = Object.fromEntries(possible.map((name) => [name, KINDS[name].weight]));
  const name = random.weighted(weights) as FaultName;
  return {
    name,
    node: random.chance(0.5) ? 'leader' : random.int(0, nodes),
    restMs: random.int(0, REST_MS_MAX),
    holdMs: random.int(HOLD_MS_MIN, KINDS[name].holdMsMax),
    seed: random.int(0, 2 ** 31),
  };
}

/** @returns what ends it */
export function beginFault({ name, seed }: Fault, machines: Machines, node: Node): Promise<End> {
  return KINDS[name].begin(machines, node, new Random(seed));
}
