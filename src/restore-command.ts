import { BadOption, type GivenOptions } from './base/options.ts';
import { DirectoryBlobs } from './cluster/blobs/directory-blobs.ts';
import { S3Blobs } from './cluster/blobs/s3-blobs.ts';
import {
  BlobMissingError,
  DamagedError,
  NewerFormatError,
  RefusedError,
  TrimmedError,
  UnavailableError,
} from './cluster/errors.ts';
import { EtcdLog } from './cluster/log/etcd-log.ts';
import type { RecoveryTarget } from './cluster/recovery.ts';
import { type Command, command, CommandFailure, DONE } from './commands/command.ts';
import { clusterLogOf, clusterStoreOf, DB_PATH_OPTIONS, dbPathOf, OPTIONS } from './config.ts';
import { loadAddon } from './engine/addon.ts';
import { OutboundClient } from './outbound/outbound-client.ts';
import { DataFolderError } from './store/data-folder.ts';
import { restore } from './replica/restore.ts';

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
  'cluster-etcd': OPTIONS['cluster-etcd'],
  'cluster-etcd-user': OPTIONS['cluster-etcd-user'],
  'cluster-name': OPTIONS['cluster-name'],
} as const;

/** What a person can do something about. */
const EXPECTED = [
  ...[BlobMissingError, DamagedError, NewerFormatError, RefusedError, TrimmedError],
  ...[UnavailableError, DataFolderError],
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
    run: async (given, _, { output }) => {
      const client = new OutboundClient({ denyPrivate: false, allow: [] });
      const store = clusterStoreOf(given);
      const etcd = clusterLogOf(given);
      const dbPath = dbPathOf(given, process.env);
      try {
        const sequence = await restore({
          ...{ dbPath, version: version(), native: loadAddon(), target: targetOf(given) },
          blobs:
            store.kind === 'folder' ? new DirectoryBlobs(store.dir) : new S3Blobs(store, client),
          log: etcd === null ? null : new EtcdLog(etcd.name, etcd.options, client),
        });
        output.write(`${dbPath} has the data of the cluster as of commit ${sequence}.\n`);
        return DONE;
      } catch (error) {
        if (!EXPECTED.some((kind) => error instanceof kind)) throw error;
        throw new CommandFailure((error as Error).message);
      } finally {
        await client.close();
      }
    },
  });
}

function targetOf(given: GivenOptions<typeof RESTORE_OPTIONS>): RecoveryTarget {
  const to = given.text('to');
  if (to === null) return { at: Infinity };
  if (/^\d{1,15}$/.test(to)) return { sequence: Number(to) };
  const at = Date.parse(to);
  if (Number.isNaN(at)) throw new BadOption(`--to must be a sequence or a date, not \`${to}\`.`);
  return { at };
}
