/**
 * Recovery to a point in time: installs the newest checkpoint before that point, or begins with
 * nothing, then applies the entries up to it, from the object store and, if it is still there, from
 * the log. Only the log holds the entries after the newest checkpoint.
 */
import type { BlobName, Blobs } from './blobs/blobs.ts';
import type { Checkpoint } from './checkpoint.ts';
import { DamagedError, damagedObject, RefusedError } from './errors.ts';
import { ARCHIVE, CHECKPOINTS, firstOf, lastOf, loadArchive, loadIfWhole } from './objects.ts';
import type { Log } from './log/log.ts';
import { type CommitRecord, type Entry, recordOf, type Sequence } from './record.ts';
import type { Replica } from './replica.ts';
import { Transfers } from './transfers.ts';

const READ_ENTRIES = 64;

const NOTHING: Checkpoint = { sequence: 0, epoch: 0, at: 0, databases: [], passed: [] };

/** The last record to recover, or the last time, ms since 1970 by the clocks of the leaders. */
export type RecoveryTarget = { readonly sequence: Sequence } | { readonly at: number };

/**
 * Brings an empty replica to a point in time. Throws `RefusedError` when nothing that old is kept,
 * or when the sequence is beyond the newest entry; `DamagedError` or `BlobMissingError` when an
 * object is damaged or missing.
 * @param log null: it is lost, or not to be used
 * @param onDamaged called with each damaged or missing object for which an older checkpoint is used
 * @returns the last record that the replica holds
 */
export async function recover(
  blobs: Blobs,
  replica: Replica,
  target: RecoveryTarget,
  log: Pick<Log, 'read'> | null = null,
  onDamaged: (object: BlobName) => void = () => {},
): Promise<Sequence> {
  const transfers = new Transfers(blobs, replica, 'recovery');
  const damaged: BlobName[] = [];
  let hasBegun = await install(blobs, replica, transfers, target, damaged);
  damaged.forEach(onDamaged);
  for await (const entry of entriesOf(blobs, log, replica.applied + 1)) {
    const record = await recordOf(entry, (ref) => transfers.fetchRecord(ref));
    if (isBeyond(record, target)) break;
    // All records are still there.
    if (!hasBegun) await replica.install(NOTHING);
    hasBegun = true;
    await transfers.fetchFiles(record.database, record.files);
    await replica.apply(record);
    if ('sequence' in target && target.sequence === record.sequence) break;
  }
  if (!hasBegun) throw new RefusedError('There is no checkpoint of that time');
  if ('sequence' in target && target.sequence > replica.applied) {
    throw new RefusedError(`There is no record after ${replica.applied}`);
  }
  return replica.applied;
}

/** @returns whether there is a checkpoint */
async function install(
  blobs: Blobs,
  replica: Replica,
  transfers: Transfers,
  target: RecoveryTarget,
  damaged: BlobName[],
): Promise<boolean> {
  for (const name of (await blobs.list(CHECKPOINTS)).toReversed()) {
    const checkpoint = await loadIfWhole(blobs, name);
    if (checkpoint === null) damaged.push(name);
    if (checkpoint === null || isBeyond(checkpoint, target)) continue;
    try {
      for (const { name: database, copies, files } of checkpoint.databases) {
        await transfers.fetchFiles(database, [...copies, ...files]);
      }
    } catch (error) {
      // The leader was replaced before its checkpoint counted. An older checkpoint serves as well.
      const object = damagedObject(error);
      if (object === null) throw error;
      damaged.push(object);
      continue;
    }
    await replica.install(checkpoint);
    return true;
  }
  return false;
}

function isBeyond(
  { sequence, at }: Pick<CommitRecord, 'sequence' | 'at'>,
  target: RecoveryTarget,
): boolean {
  return 'sequence' in target ? sequence > target.sequence : at > target.at;
}

/** The entries beginning with `from`, without a gap. */
async function* entriesOf(
  blobs: Blobs,
  log: Pick<Log, 'read'> | null,
  from: Sequence,
): AsyncGenerator<Entry, undefined> {
  let next = from;
  for await (const entry of archived(blobs, from)) {
    yield entry;
    next = entry.sequence + 1;
  }
  for (;;) {
    const entries = (await log?.read(next, READ_ENTRIES)) ?? [];
    if (entries.length === 0) return;
    yield* entries;
    next += entries.length;
  }
}

/** The archived entries beginning with `from`, without a gap. */
async function* archived(blobs: Blobs, from: Sequence): AsyncGenerator<Entry, undefined> {
  const names = await blobs.list(ARCHIVE);
  let next = from;
  for (;;) {
    const name = names.find((one) => firstOf(one) <= next && next <= lastOf(one));
    if (name === undefined) {
      const isGap = from > 1 && names.some((one) => firstOf(one) > next);
      if (isGap) throw new DamagedError(`The archive of the commits after ${next - 1} is missing`);
      return;
    }
    const entries = await loadArchive(blobs, name);
    yield* entries.filter(({ sequence }) => sequence >= next);
    next = lastOf(name) + 1;
  }
}
