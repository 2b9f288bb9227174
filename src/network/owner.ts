/**
 * Determines the server to which a document belongs: rendezvous hashing over the names of the
 * remotes.
 */
import * as crypto from 'node:crypto';
import { compareUtf8 } from '../base/json.ts';
import type { Network } from '../contract/responses.ts';

/** The share of this server. */
export interface Shard {
  self: string;
  /** Names of all servers, including this one. */
  names: readonly string[];
}

/** null: every document belongs here. */
export function shardOf({ self, remotes, sharding }: Network): Shard | null {
  if (!sharding || self === null || !Object.hasOwn(remotes, self)) return null;
  return { self, names: Object.keys(remotes) };
}

/**
 * Finds the name with the greatest weight for an id; of equal ones the smallest. REQUIRES: at least
 * one name
 */
export class Owners {
  /** For each name, the prefix of its hash input. */
  readonly #begun: readonly { name: string; bytes: Buffer }[];

  constructor(names: readonly string[]) {
    this.#begun = [...names]
      .sort(compareUtf8)
      .map((name) => ({ name, bytes: Buffer.from(`${name}\0`) }));
  }

  ownerOf(id: string): string {
    if (this.#begun.length === 1) return this.#begun[0]!.name;
    const idBytes = Buffer.from(id);
    let owner = '';
    let largest: Buffer | null = null;
    for (const { name, bytes } of this.#begun) {
      const digest = sha256(Buffer.concat([bytes, idBytes]));
      if (largest !== null && largest.compare(digest, 0, WEIGHT_BYTES, 0, WEIGHT_BYTES) >= 0)
        continue;
      largest = digest;
      owner = name;
    }
    return owner;
  }
}

/** A single call where this version of Node has it: several times as fast for short texts. */
const sha256: (bytes: Buffer) => Buffer =
  typeof crypto.hash === 'function'
    ? (bytes) => crypto.hash('sha256', bytes, 'buffer')
    : (bytes) => crypto.createHash('sha256').update(bytes).digest();

/** Prefix of a hash that is compared, big-endian: the order of the numbers is that of the bytes. */
const WEIGHT_BYTES = 8;
