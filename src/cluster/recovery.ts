/**
 * Recovery to a point in time from the object store alone: installs the newest checkpoint before
 * that point, then applies the archived entries up to it. Entries after the newest checkpoint are
 * in the log and are not recovered.
 */
import type { Blobs } from './blobs/blobs.ts';
import { BlobMissingError, DamagedError, RefusedError } from './errors.ts';
import { ARCHIVE, CHECKPOINTS, firstOf, lastOf, loadArchive, loadIfWhole } from './objects.ts';
import { type CommitRecord, type Entry, recordOf, type Sequence } from './record.ts';
import type { Replica } from './replica.ts';
import { Transfers } from './transfers.ts';

/** The last record to recover, or the last time, ms since 1970 by the clocks of the leaders. */
export type RecoveryTarget = { readonly sequence: Sequence } | { readonly at: number };

/**
 * Brings an empty replica to a point in time. Throws `RefusedError` when no kept checkpoint is old
 * enough, or when the sequence is beyond the newest one; `DamagedError` or `BlobMissingError` when
 * an object is damaged or missing.
 * @returns the last record that the replica holds
 */
export async function recover(
  blobs: Blobs,
  replica: Replica,
  target: RecoveryTarget,
): Promise<Sequence> {
  const transfers = new Transfers(blobs, replica, 'recovery');
  await install(blobs, replica, transfers, target);
  for await (const entry of archived(blobs, replica.applied + 1)) {
    const record = await recordOf(entry, (ref) => transfers.fetchRecord(ref));
    if (isBeyond(record, target)) return replica.applied;
    await transfers.fetchFiles(record.database, record.files);
    await replica.apply(record);
  }
  if ('sequence' in target && target.sequence > replica.applied) {
    throw new RefusedError(`The object store holds no record after ${replica.applied}`);
  }
  return replica.applied;
}

async function install(
  blobs: Blobs,
  replica: Replica,
  transfers: Transfers,
  target: RecoveryTarget,
): Promise<void> {
  for (const name of (await blobs.list(CHECKPOINTS)).toReversed()) {
    const checkpoint = await loadIfWhole(blobs, name);
    if (checkpoint === null || isBeyond(checkpoint, target)) continue;
    try {
      for (const { name: database, copies, files } of checkpoint.databases) {
        await transfers.fetchFiles(database, [...copies, ...files]);
      }
    } catch (error) {
      // The leader was replaced before its checkpoint counted. An older checkpoint serves as well.
      if (!(error instanceof BlobMissingError || error instanceof DamagedError)) throw error;
      continue;
    }
    return replica.install(checkpoint);
  }
  throw new RefusedError('The object store holds no checkpoint of that time');
}

function isBeyond(
  { sequence, at }: Pick<CommitRecord, 'sequence' | 'at'>,
  target: RecoveryTarget,
): boolean {
  return 'sequence' in target ? sequence > target.sequence : at > target.at;
}

/** The archived entries beginning with `from`, without a gap. */
async function* archived(blobs: Blobs, from: Sequence): AsyncGenerator<Entry, undefined> {
  const names = await blobs.list(ARCHIVE);
  let next = from;
  for (;;) {
    const name = names.find((one) => firstOf(one) <= next && next <= lastOf(one));
    if (name === undefined) return;
    const entries = await loadArchive(blobs, name);
    yield* entries.filter(({ sequence }) => sequence >= next);
    next = lastOf(name) + 1;
  }
}
