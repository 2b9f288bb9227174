/**
 * Which cluster an object store belongs to. Two clusters in one store would remove each other's
 * objects, and nodes of one cluster with different stores would not see each other's. So the store
 * has an object `owner`, which is written once, and etcd has the random name of the store. Every
 * node compares the two.
 */
import { type Blobs, type BlobName, bufferSource } from './blobs/blobs.ts';
import { sha256 } from './bytes.ts';
import { BlobMissingError, RefusedError, UnavailableError } from './errors.ts';

export const OWNER: BlobName = 'owner';

const BYTES_MAX = 4096;

export interface Owner {
  /** Name of the cluster, for people. */
  readonly cluster: string;
  /** Id of the cluster. */
  readonly id: string;
  /** A random name of the store. */
  readonly store: string;
  /** As in `Identity`: without etcd, the store must be enough to read the store. */
  readonly salt: string;
  readonly proof: string;
}

/** What an owner is compared with. */
export type ExpectedOwner = Pick<Owner, 'id' | 'store'>;

/** Null: the store has no owner. Throws the error of the store. */
export async function readOwner(blobs: Blobs): Promise<Owner | null> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const piece of blobs.get(OWNER)) {
      bytes += piece.length;
      if (bytes > BYTES_MAX) break;
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof BlobMissingError) return null;
    throw error;
  }
  const owner = ownerOf(Buffer.concat(pieces).toString());
  // It may have been damaged on its way.
  if (owner === null) throw new UnavailableError(`The object \`${OWNER}\` is damaged`);
  return owner;
}

function ownerOf(text: string): Owner | null {
  try {
    const { cluster, id, store, salt, proof } = JSON.parse(text) as Owner;
    const owner = { cluster, id, store, salt, proof };
    return text === textOf(owner) ? owner : null;
  } catch {
    return null;
  }
}

/** JSON of an owner with a checksum, so that no damage makes another owner of it. */
function textOf({ cluster, id, store, salt, proof }: Owner): string {
  const owner = { cluster, id, store, salt, proof };
  return JSON.stringify({
    ...owner,
    sha256: sha256(Buffer.from(JSON.stringify(owner))).toString('hex'),
  });
}

/** Makes a cluster the owner of a store that has none. Returns the owner, which may be another. */
export async function claimStore(blobs: Blobs, owner: Owner): Promise<Owner> {
  const bytes = Buffer.from(textOf(owner));
  await blobs.putNew(OWNER, bufferSource(bytes, sha256(bytes)));
  const found = await readOwner(blobs);
  if (found === null) throw new UnavailableError('The owner of the object store cannot be read');
  return found;
}

/**
 * Throws `RefusedError` unless the store is the one of this cluster.
 * @param expected id of the cluster, and the name of its store in etcd
 */
export function demandOwner(owner: Owner | null, expected: ExpectedOwner): void {
  if (owner === null) {
    throw new RefusedError(
      'The object store has no owner, but the cluster has a store: the folder may not be mounted, ' +
        'or --cluster-store is another one than that of the other nodes',
    );
  }
  if (owner.id !== expected.id) {
    throw new RefusedError(
      `The object store belongs to another cluster, named ${owner.cluster}. ` +
        'Each cluster needs a --cluster-store of its own',
    );
  }
  if (owner.store !== expected.store) {
    throw new RefusedError('The object store is not that of the other nodes');
  }
}
