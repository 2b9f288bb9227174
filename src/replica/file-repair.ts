/**
 * Files of this node whose bytes are not those that the cluster has stored: found by their
 * checksums, and fetched again.
 *
 * The engine checks each block when it is first read, so it responds with an error, never from a
 * damaged block. That is reported here, and the files of the index are compared with the checksums
 * of the records that named them. Damage that nothing has read is found by a slow comparison of all
 * files.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { ClusterNode } from '../cluster/node.ts';
import type { FileRef } from '../cluster/record.ts';
import type { Runtime } from '../cluster/runtime.ts';
import { isDamage } from '../engine/errors.ts';
import type { IndexEntry, IndexRegistry } from '../engine/registry.ts';
import { databaseOf, type ServerReplica, STORE, uuidOf } from './server-replica.ts';

/** How often this node looks whether the engine has found damage, ms. */
const LOOK_MS = 1000;
/** Pause between two comparisons of all files, ms. */
const PAUSE_MS = 24 * 3_600_000;
/** Maximum rate of comparing, bytes per second: of all files, and of an index with damage. */
const ALL_RATE = 8e6;
const DAMAGED_RATE = 64e6;
/** After a report of damage in an index whose files are all right, further ones wait, ms. */
const DOUBT_MS = 3_600_000;
const PIECE_BYTES = 64 * 1024;
export interface FileRepairParts {
  readonly node: Pick<ClusterNode, 'files' | 'fetch' | 'exclusive'>;
  readonly replica: Pick<ServerReplica, 'fileOf' | 'replace'>;
  readonly registry: Pick<IndexRegistry, 'takeDamaged' | 'byUuid' | 'uidOf' | 'suspend'>;
  readonly runtime: Runtime;
  /** Between two comparisons of all files, ms. */
  readonly pauseMs?: number;
  /** Lets another node lead. Resolves once this node has ended all work of a leader. */
  readonly follow: () => Promise<void>;
  /** A database, not one of its files, is damaged. */
  readonly onDatabaseDamaged: (database: string) => void;
  readonly signal: AbortSignal;
}

export class FileRepair {
  readonly #parts: FileRepairParts;
  /** Folders of the indexes whose files have to be compared. */
  readonly #suspected = new Set<string>();
  /** Damaged files by database. */
  readonly #damaged = new Map<string, readonly FileRef[]>();
  readonly #suspended = new Set<IndexEntry>();
  /** When the files of an index were last all right although damage was reported. */
  readonly #doubted = new Map<string, number>();
  #reported = '';

  constructor(parts: FileRepairParts) {
    this.#parts = parts;
  }

  /** Resolves after the signal. */
  async run(): Promise<void> {
    const { runtime, pauseMs = PAUSE_MS, signal } = this.#parts;
    const rounds = async (): Promise<void> => {
      while (!signal.aborted) {
        const isDone = await this.#attempt(() => this.compareAll());
        await runtime.sleep(isDone ? pauseMs : LOOK_MS, signal);
      }
    };
    const repairs = async (): Promise<void> => {
      while (!signal.aborted) {
        await this.repair();
        await runtime.sleep(LOOK_MS, signal);
      }
    };
    await Promise.all([rounds(), repairs()]);
  }

  /** Compares all files once. */
  async compareAll(): Promise<void> {
    for (const [database, files] of await this.#parts.node.files()) {
      const damaged = await this.#damagedOf(database, files, ALL_RATE);
      if (damaged.length > 0) this.#damaged.set(database, damaged);
    }
  }

  /** Attends once to all damage that is known. */
  async repair(): Promise<void> {
    for (const uuid of this.#parts.registry.takeDamaged()) this.#suspected.add(uuid);
    for (const uuid of this.#suspected) {
      if (await this.#attempt(() => this.#examine(uuid))) this.#suspected.delete(uuid);
    }
    for (const [database, files] of this.#damaged) {
      if (await this.#attempt(() => this.#replace(database, files))) this.#damaged.delete(database);
    }
  }

  /** @returns whether the task has succeeded. Otherwise it has to be done again */
  async #attempt(task: () => Promise<void>): Promise<boolean> {
    const { runtime, signal } = this.#parts;
    try {
      await task();
      this.#reported = '';
      return true;
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#reported && !signal.aborted)
        runtime.log(`Files cannot be compared or fetched at present: ${message}`);
      this.#reported = message;
      return false;
    }
  }

  /** Looks for the damage of an index that the engine has reported. */
  async #examine(uuid: string): Promise<void> {
    const { node, registry, runtime } = this.#parts;
    const doubted = this.#doubted.get(uuid) ?? -Infinity;
    const isDoubted = runtime.elapsed() - doubted < DOUBT_MS;
    if (registry.uidOf(uuid) === null || isDoubted) return;
    const database = databaseOf(uuid);
    const files = (await node.files()).get(database) ?? [];
    const entry = registry.byUuid(uuid);
    // An index does not open without its files. Some more may be fetched, which it then removes.
    const missing =
      entry.openHandle === null ? files.filter((file) => !this.#exists(database, file)) : [];
    const damaged = [...missing, ...(await this.#damagedOf(database, files, DAMAGED_RATE))];
    if (damaged.length > 0) this.#damaged.set(database, damaged);
    else if (registry.uidOf(uuid) !== null) await this.#reopen(entry);
  }

  /** The engine may still have a damaged file open that was replaced meanwhile. */
  async #reopen(entry: IndexEntry): Promise<void> {
    const { registry, runtime, onDatabaseDamaged } = this.#parts;
    await registry.suspend(entry);
    entry.resume();
    try {
      void entry.handle;
      runtime.log(`The files of the index in ${entry.uuid} are as they have to be`);
      this.#doubted.set(entry.uuid, runtime.elapsed());
    } catch (error) {
      if (isDamage(error)) onDatabaseDamaged(databaseOf(entry.uuid));
    }
  }

  async #replace(database: string, damaged: readonly FileRef[]): Promise<void> {
    const { node, registry, replica, runtime, follow } = this.#parts;
    const uuid = database === STORE ? null : uuidOf(database);
    // It was deleted meanwhile.
    if (uuid !== null && registry.uidOf(uuid) === null) return;
    const entry = uuid === null ? null : registry.byUuid(uuid);
    if (entry !== null && !this.#suspended.has(entry)) {
      // A batch of this node would wait for a record that cannot be applied.
      await follow();
      this.#suspended.add(entry);
      await registry.suspend(entry);
    }
    const names = damaged.map(({ name }) => name).join(', ');
    runtime.log(`Damaged files of ${database} are fetched again: ${names}`);
    await node.fetch(database, damaged);
    await node.exclusive(() => replica.replace(database, damaged));
    if (entry === null) return;
    this.#suspended.delete(entry);
    entry.resume();
  }

  /** The files that exist with other bytes. */
  async #damagedOf(database: string, files: readonly FileRef[], rate: number): Promise<FileRef[]> {
    const damaged: FileRef[] = [];
    for (const file of files) {
      if (this.#parts.signal.aborted) break;
      if (!this.#exists(database, file)) continue;
      const path = this.#parts.replica.fileOf(database, file);
      const isWhole = await this.#hasBytes(path, file, rate).catch(outcomeOf);
      if (!isWhole) damaged.push(file);
    }
    return damaged;
  }

  #exists(database: string, file: FileRef): boolean {
    return existsSync(this.#parts.replica.fileOf(database, file));
  }

  /** @param rate maximum number of bytes read per second */
  async #hasBytes(path: string, { size, sha256 }: FileRef, rate: number): Promise<boolean> {
    const { runtime, signal } = this.#parts;
    const file = await open(path, 'r');
    try {
      if ((await file.stat()).size !== size) return false;
      const hash = createHash('sha256');
      const piece = Buffer.allocUnsafe(PIECE_BYTES);
      for (let at = 0; at < size && !signal.aborted;) {
        const { bytesRead } = await file.read(piece, 0, PIECE_BYTES, at);
        if (bytesRead === 0) return false;
        hash.update(piece.subarray(0, bytesRead));
        at += bytesRead;
        await runtime.sleep((bytesRead / rate) * 1000, signal);
      }
      return signal.aborted || hash.digest().equals(sha256);
    } finally {
      await file.close();
    }
  }
}

/** Whether a file that could not be read counts as whole. */
function outcomeOf(error: NodeJS.ErrnoException): boolean {
  // It was removed meanwhile.
  if (error.code === 'ENOENT') return true;
  if (error.code === 'EIO') return false;
  throw error;
}
