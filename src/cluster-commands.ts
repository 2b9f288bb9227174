import { BadOption, type GivenOptions } from './base/options.ts';
import { DirectoryBlobs } from './cluster/blobs/directory-blobs.ts';
import { S3Blobs } from './cluster/blobs/s3-blobs.ts';
import { SealedBlobs } from './cluster/blobs/sealed-blobs.ts';
import {
  BlobMissingError,
  DamagedError,
  NewerFormatError,
  RefusedError,
  TrimmedError,
  UnavailableError,
} from './cluster/errors.ts';
import { etcdClientOf } from './cluster/log/etcd-client.ts';
import { EtcdLog } from './cluster/log/etcd-log.ts';
import type { RecoveryTarget } from './cluster/recovery.ts';
import { ClusterSecret } from './cluster/secret.ts';
import { type Command, command, CommandFailure, DONE } from './commands/command.ts';
import { clusterLogOf, clusterStoreOf, DB_PATH_OPTIONS, dbPathOf, OPTIONS } from './config.ts';
import { loadAddon } from './engine/addon.ts';
import { OutboundClient } from './outbound/outbound-client.ts';
import { restore } from './replica/restore.ts';
import { DataFolderError } from './store/data-folder.ts';

/** Where the log of a cluster is. */
const LOG_OPTIONS = {
  'cluster-etcd': OPTIONS['cluster-etcd'],
  'cluster-etcd-user': OPTIONS['cluster-etcd-user'],
  'cluster-etcd-ca': OPTIONS['cluster-etcd-ca'],
  'cluster-etcd-cert': OPTIONS['cluster-etcd-cert'],
  'cluster-etcd-key': OPTIONS['cluster-etcd-key'],
  'cluster-name': OPTIONS['cluster-name'],
} as const;

export const RESTORE_OPTIONS = {
  ...DB_PATH_OPTIONS,
  to: {
    kind: 'text',
    help: 'Sequence of the last commit, or a date such as `2026-01-31T12:00:00Z`. Default: the newest.',
  },
  'cluster-store': OPTIONS['cluster-store'],
  'cluster-store-endpoint': OPTIONS['cluster-store-endpoint'],
  'cluster-store-region': OPTIONS['cluster-store-region'],
  'cluster-store-access-key': OPTIONS['cluster-store-access-key'],
  'cluster-store-secret-key': OPTIONS['cluster-store-secret-key'],
  'master-key': OPTIONS['master-key'],
  ...LOG_OPTIONS,
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
        const client = new OutboundClient({ denyPrivate: false, allow: [] });
        const store = clusterStoreOf(given);
        const dbPath = dbPathOf(given, process.env);
        const target = targetOf(given);
        try {
          const stored =
            store.kind === 'folder' ? new DirectoryBlobs(store.dir) : new S3Blobs(store, client);
          const blobs = new SealedBlobs(stored, secret);
          const options = { dbPath, version: version(), native: loadAddon(), blobs, log };
          const sequence = await restore({ ...options, target, onDamaged });
          output.write(`${dbPath} has the data of the cluster as of commit ${sequence}.\n`);
        } finally {
          await client.close();
        }
      });
    },
  });
}

export const removeNodeCommand = command({
  name: 'remove-node',
  summary: 'Makes a cluster forget a node that will not return, so that no upgrade waits for it.',
  operands: 'NAME',
  notes: 'Stop the node first. One that starts again is a member again.',
  examples: ['remove-node --cluster-etcd http://10.0.0.1:2379 --cluster-name shop node-3'],
  options: LOG_OPTIONS,
  run: (given, operands, { output }) =>
    withLog(given, null, async (log) => {
      const [name, ...others] = operands;
      if (name === undefined || others.length > 0) throw new BadOption('Name one node.');
      if (log === null)
        throw new BadOption('--cluster-etcd is required: URLs of the etcd members.');
      const { running, formats } = await log.members();
      if (running.some((member) => member.name === name)) {
        throw new CommandFailure(`The node ${name} is running: stop it first.`);
      }
      if (!formats.has(name)) {
        const known = [...formats.keys()].toSorted().join(', ');
        throw new CommandFailure(`The cluster has no node ${name}. It has: ${known || 'none'}.`);
      }
      await log.forget(name);
      output.write(`The cluster has forgotten the node ${name}.\n`);
    }),
});

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
