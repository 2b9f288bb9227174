import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { BadOption, type GivenOptions } from './base/options.ts';
import { DirectoryBlobs } from './cluster/blobs/directory-blobs.ts';
import { S3Blobs } from './cluster/blobs/s3-blobs.ts';
import { EncryptedBlobs } from './cluster/blobs/encrypted-blobs.ts';
import {
  BlobMissingError,
  DamagedError,
  NewerFormatError,
  RefusedError,
  TrimmedError,
  UnavailableError,
} from './cluster/errors.ts';
import type { Blobs } from './cluster/blobs/blobs.ts';
import { checkEtcd, checkStore, damagedObjects, type Finding } from './cluster/inspection.ts';
import { etcdClientOf } from './cluster/log/etcd-client.ts';
import type { LogState, Member, MemberList } from './cluster/log/log.ts';
import { EtcdLog } from './cluster/log/etcd-log.ts';
import type { RecoveryTarget } from './cluster/recovery.ts';
import { ClusterSecret } from './cluster/secret.ts';
import { type Command, command, CommandFailure, DONE, FAILED } from './commands/command.ts';
import { DB_PATH_OPTIONS, dbPathOf, OPTIONS } from './config.ts';
import { loadAddon } from './engine/addon.ts';
import {
  clusterClient,
  clusterLogOf,
  clusterStoreOf,
  LOG_OPTIONS,
  STORE_OPTIONS,
} from './parts/cluster.ts';
import { restore } from './replica/restore.ts';
import { DataFolderError } from './store/data-folder.ts';

const CLUSTER_OPTIONS = {
  ...LOG_OPTIONS,
  ...STORE_OPTIONS,
  'master-key': OPTIONS['master-key'],
} as const;

export const RESTORE_OPTIONS = {
  ...DB_PATH_OPTIONS,
  to: {
    kind: 'text',
    help: 'Sequence of the last commit, or a date such as `2026-01-31T12:00:00Z`. Default: the newest.',
  },
  ...CLUSTER_OPTIONS,
} as const;

/** What a person can do something about. */
const EXPECTED = [
  BlobMissingError,
  DamagedError,
  NewerFormatError,
  RefusedError,
  TrimmedError,
  UnavailableError,
  DataFolderError,
];

/** @param version of the program */
export function restoreCommand(version: () => string): Command {
  return command({
    name: 'restore',
    summary: 'Makes the data folder of a single server from what a cluster has stored.',
    operands: '',
    notes:
      'The object store has the commits up to the newest checkpoint. Later ones are in etcd only: name it with\n' +
      '--cluster-etcd and --cluster-name. The cluster may run meanwhile.',
    examples: [
      'restore --cluster-store /mnt/shop --db-path ./restored.gannet --to 2026-01-31T12:00:00Z',
    ],
    options: RESTORE_OPTIONS,
    run: (given, _, { output }) => {
      const secret = new ClusterSecret(given.text('master-key'));
      return withLog(given, secret, async (log) => {
        const onDamaged = (object: string): void => {
          output.write(`The object ${object} is damaged or missing: an older one serves.\n`);
        };
        const dbPath = dbPathOf(given, process.env);
        const target = targetOf(given);
        await withStore(given, async (stored) => {
          const blobs = new EncryptedBlobs(stored, secret);
          const options = { dbPath, version: version(), native: loadAddon(), blobs, log };
          const sequence = await restore({ ...options, target, onDamaged });
          output.write(`${dbPath} has the data of the cluster as of commit ${sequence}.\n`);
        });
      });
    },
  });
}

type Given = GivenOptions<typeof CLUSTER_OPTIONS>;
type Show = (line: string) => void;

const ACTIONS = ['status', 'check', 'verify-store'] as const;
/** Those that name a node. */
const NODE_ACTIONS = ['transfer-leader', 'drain', 'remove-node'] as const;

/** How long a command waits until the nodes have done what it asks for. */
const WAIT_MS = 15_000;
const POLL_MS = 200;

const OPERATION_OPTIONS = {
  ...CLUSTER_OPTIONS,
  undo: { kind: 'flag', help: 'With drain: takes the node back into service.' },
} as const;

export const clusterCommand = command({
  name: 'cluster',
  summary: 'Shows and checks a cluster, without a node of it.',
  operands: 'status|check|verify-store|transfer-leader|drain|remove-node [NODE]',
  notes:
    'status           shows the nodes, and what is damaged\n' +
    'check            tests etcd, the object store and the clocks, and says what to mend\n' +
    'verify-store     reads all objects, and lets the leader mend the damaged ones\n' +
    'transfer-leader  lets a node lead that is fit to\n' +
    'drain            takes a node out of service: another one leads, and load balancers leave it, so that\n' +
    '                 you can stop it. A restart or --undo takes it back\n' +
    'remove-node      forgets a node that will not return, so that no upgrade waits for it: stop it first',
  examples: [
    'cluster status --cluster-etcd http://10.0.0.1:2379 --cluster-name shop',
    'cluster drain --cluster-etcd http://10.0.0.1:2379 --cluster-name shop node-3',
  ],
  options: OPERATION_OPTIONS,
  exits: '0 all is well; 1 something is not, or could not be done; 2 the command line is invalid',
  async run(given, [action, ...operands], { output }) {
    const all = [...ACTIONS, ...NODE_ACTIONS];
    const known = all.find((one) => one === action);
    if (known === undefined) throw new BadOption(`Name one of ${all.join(', ')}.`);
    const namesNode = NODE_ACTIONS.some((one) => one === known);
    if (operands.length !== (namesNode ? 1 : 0)) {
      throw new BadOption(`${NODE_ACTIONS.join(', ')} need the name of one node, others none.`);
    }
    const isUndone = given.flag('undo');
    if (isUndone && known !== 'drain') throw new BadOption('--undo is for drain.');
    const secret = new ClusterSecret(given.text('master-key'));
    let isWell = true;
    await withLog(given, secret, async (log) => {
      if (log === null) {
        throw new BadOption('--cluster-etcd is required: URLs of the etcd members.');
      }
      const show: Show = (line) => void output.write(`${line}\n`);
      if (known === 'status') isWell = await showStatus(log, show);
      else if (known === 'check') isWell = await check(given, show);
      else if (known === 'verify-store') isWell = await verifyStore(given, log, secret, show);
      else if (known === 'transfer-leader') await transferLeader(log, operands[0]!, show);
      else if (known === 'drain') await drain(log, operands[0]!, isUndone, show);
      else await removeNode(log, operands[0]!, show);
    });
    return isWell ? DONE : FAILED;
  },
});

/** @returns whether the cluster takes writes and nothing is damaged */
async function showStatus(log: EtcdLog, show: Show): Promise<boolean> {
  const { head, leader, damaged, drained } = await stateOf(log);
  const { running, formats } = await log.members();
  show(`leader: ${leader?.node ?? 'none'}, commits: ${head}`);
  for (const { name, url, applied, lagMs, isFit, storeFault } of running) {
    const fitness = storeFault ?? (isFit ? 'fit to lead' : 'not fit to lead');
    const state = drained.includes(name) ? 'drained' : fitness;
    show(`${name}  ${url}  at ${applied}, ${(lagMs / 1000).toFixed(1)} s behind, ${state}`);
  }
  const down = [...formats.keys()].filter((name) => running.every((one) => one.name !== name));
  for (const name of down.toSorted()) show(`${name}  does not run`);
  for (const object of damaged) show(`The object ${object} is damaged or missing`);
  return leader !== null && down.length === 0 && damaged.length === 0;
}

async function check(given: Given, show: Show): Promise<boolean> {
  const { name, options } = clusterLogOf(given)!;
  const client = etcdClientOf(options);
  let isWell = true;
  const tell = ({ what, mend }: Finding): void => {
    show(mend === null ? what : `${what}\n  Mend: ${mend}`);
    isWell &&= mend === null;
  };
  try {
    for await (const finding of checkEtcd(name, options, client)) tell(finding);
  } finally {
    await client.close();
  }
  const token = randomUUID().replaceAll('-', '');
  await withStore(given, async (blobs) => tell(await checkStore(blobs, token)));
  return isWell;
}

async function verifyStore(
  given: Given,
  log: EtcdLog,
  secret: ClusterSecret,
  show: Show,
): Promise<boolean> {
  let damaged: string[] = [];
  await withStore(given, async (stored) => {
    const blobs = new EncryptedBlobs(stored, secret);
    damaged = await damagedObjects(blobs, (count) => show(`${count} objects were read.`));
  });
  for (const object of damaged) {
    await log.reportDamage(object);
    show(`The object ${object} is damaged or missing: the leader mends it if a node needs it.`);
  }
  return damaged.length === 0;
}

async function stateOf(log: EtcdLog): Promise<LogState> {
  const state = await log.state();
  if (state.identity === null) throw new CommandFailure('etcd has no cluster of this name.');
  return state;
}

/** Throws `CommandFailure` unless a member has this name. */
async function membersWith(log: EtcdLog, name: string): Promise<MemberList> {
  const members = await log.members();
  if (members.formats.has(name)) return members;
  const known = [...members.formats.keys()].toSorted().join(', ');
  throw new CommandFailure(`The cluster has no node ${name}. It has: ${known || 'none'}.`);
}

/** The cluster as it has to be for a change of who serves: the node runs, and some node leads. */
async function operable(
  log: EtcdLog,
  name: string,
): Promise<{ state: LogState; leader: string; others: readonly Member[] }> {
  const state = await stateOf(log);
  const { running } = await membersWith(log, name);
  const others = running.filter((one) => one.name !== name);
  if (others.length === running.length) {
    throw new CommandFailure(`The node ${name} does not run.`);
  }
  if (state.leader === null) throw new CommandFailure('No node leads at present.');
  return { state, leader: state.leader.node, others };
}

/** @returns whether the cluster has come into a state in time */
async function becomes(
  log: EtcdLog,
  isDone: (leader: string | null, running: readonly Member[]) => boolean,
): Promise<boolean> {
  for (const begun = performance.now(); performance.now() - begun < WAIT_MS;) {
    const { leader } = await log.state();
    const { running } = await log.members();
    if (isDone(leader?.node ?? null, running)) return true;
    await delay(POLL_MS);
  }
  return false;
}

async function transferLeader(log: EtcdLog, name: string, show: Show): Promise<void> {
  const { state, leader } = await operable(log, name);
  if (state.drained.includes(name)) {
    throw new CommandFailure(`The node ${name} is drained: take it back with drain --undo first.`);
  }
  if (leader !== name) {
    const lease = await log.grantLease(WAIT_MS);
    try {
      await log.nameSuccessor(name, lease.id);
      if (!(await becomes(log, (leads) => leads === name))) {
        throw new CommandFailure(
          `The node ${name} does not lead: it is not fit to, see cluster status.`,
        );
      }
    } finally {
      await log.revokeLease(lease.id);
    }
  }
  show(`The node ${name} leads.`);
}

async function drain(log: EtcdLog, name: string, isUndone: boolean, show: Show): Promise<void> {
  if (isUndone) {
    await stateOf(log);
    await membersWith(log, name);
    await log.drain(name, false);
    show(`The node ${name} is in service.`);
    return;
  }
  const { state, others } = await operable(log, name);
  if (others.every((one) => state.drained.includes(one.name))) {
    throw new CommandFailure(`The node ${name} stays in service: no other one is.`);
  }
  await log.drain(name, true);
  const isOut = await becomes(log, (leader, running) => {
    const isFit = running.find((one) => one.name === name)?.isFit === true;
    return leader !== null && leader !== name && !isFit;
  });
  if (!isOut) {
    await log.drain(name, false);
    throw new CommandFailure(
      `The node ${name} stays in service: no other one is fit to lead, see cluster status.`,
    );
  }
  show(`The node ${name} is drained: you can stop it when no requests arrive any more.`);
}

async function removeNode(log: EtcdLog, name: string, show: Show): Promise<void> {
  const { running } = await membersWith(log, name);
  if (running.some((member) => member.name === name)) {
    throw new CommandFailure(`The node ${name} is running: stop it first.`);
  }
  await log.forget(name);
  show(`The cluster has forgotten the node ${name}.`);
}

/** Runs a task with the object store that the options name, as it is. */
async function withStore(
  given: Parameters<typeof clusterStoreOf>[0],
  run: (blobs: Blobs) => Promise<void>,
): Promise<void> {
  const store = clusterStoreOf(given);
  const client = clusterClient(given.values['cluster-ca']);
  try {
    await run(store.kind === 'folder' ? new DirectoryBlobs(store.dir) : new S3Blobs(store, client));
  } finally {
    await client.close();
  }
}

/** Runs a command with the log that the options name; null: they name none. */
async function withLog(
  given: GivenOptions<typeof LOG_OPTIONS>,
  secret: ClusterSecret | null,
  run: (log: EtcdLog | null) => Promise<void>,
): Promise<number> {
  const etcd = clusterLogOf(given);
  const client = etcd === null ? null : etcdClientOf(etcd.options);
  try {
    await run(etcd === null ? null : new EtcdLog(etcd.name, etcd.options, client!, secret));
    return DONE;
  } catch (error) {
    if (!EXPECTED.some((kind) => error instanceof kind)) throw error;
    throw new CommandFailure((error as Error).message);
  } finally {
    await client?.close();
  }
}

function targetOf(given: GivenOptions<typeof RESTORE_OPTIONS>): RecoveryTarget {
  const to = given.text('to');
  if (to === null) return { at: Infinity };
  if (/^\d{1,15}$/.test(to)) return { sequence: Number(to) };
  const at = Date.parse(to);
  if (Number.isNaN(at)) throw new BadOption(`--to must be a sequence or a date, not \`${to}\`.`);
  return { at };
}
