/**
 * The naive model of a server: maps of values, and files by name. A single server is this, and so
 * is each node.
 */
import { createHash } from 'node:crypto';
import { decodeDelta, encodeDelta, type Write } from '../../src/cluster/delta.ts';
import type { CommitRecord } from '../../src/cluster/record.ts';
import { patched, patchOf } from '../../src/cluster/patch.ts';

export const STORE = 'store';
export const INDEX = 'index/movies';
const TABLES = new Set(['tasks', 'manifest']);
const COLUMNS = 40;

/** All values as of a sequence. Never changed. */
export interface State {
  readonly applied: number;
  /** Uid of a task to its token. */
  readonly tasks: ReadonlyMap<string, string>;
  /** Names of the files that count, by database. */
  readonly manifest: ReadonlyMap<string, string>;
}

export const EMPTY: State = { applied: 0, tasks: new Map(), manifest: new Map() };

export function writesOf(record: CommitRecord): Write[] {
  return decodeDelta(record.delta, (table) => TABLES.has(table));
}

export function after(state: State, record: CommitRecord): State {
  const tables = { tasks: new Map(state.tasks), manifest: new Map(state.manifest) };
  for (const write of writesOf(record)) {
    const table = tables[write.table as keyof typeof tables];
    if (write.kind === 'put') table.set(write.key.toString(), write.value.toString());
    else if (write.kind === 'remove') table.delete(write.key.toString());
    else if (write.kind === 'patch') table.set(write.key.toString(), patchedText(table, write));
    else table.clear();
  }
  return { applied: record.sequence, ...tables };
}

/** Names of the files that count. */
export function filesOf(state: State, database: string): string[] {
  const names = state.manifest.get(database) ?? '';
  return names === '' ? [] : names.split(' ');
}

export function put(table: string, key: string, value: string): Write {
  return { kind: 'put', table, key: Buffer.from(key), value: Buffer.from(value) };
}

/** Changes one of many columns, as each task does: a patch of what the record before has left. */
export function columnsWith({ manifest, tasks }: State, token: string): Write {
  const key = 'columns';
  const before = manifest.get(key);
  const columns = [...(before ?? '.'.repeat(COLUMNS))];
  columns[tasks.size % COLUMNS] = token.at(-1)!;
  const whole = put('manifest', key, columns.join(''));
  const patch =
    before === undefined ? null : patchOf(Buffer.from(before), Buffer.from(columns.join('')));
  return patch === null
    ? whole
    : { kind: 'patch', table: 'manifest', key: Buffer.from(key), patch };
}

function patchedText(table: ReadonlyMap<string, string>, write: Write & { kind: 'patch' }): string {
  return patched(Buffer.from(table.get(write.key.toString()) ?? ''), write.patch).toString();
}

export { encodeDelta };

/** Whether reads see the same, but for the files. */
export function isSame(a: State, b: State): boolean {
  const has = (from: ReadonlyMap<string, string>, all: ReadonlyMap<string, string>): boolean =>
    from.size === all.size && [...all].every(([key, value]) => from.get(key) === value);
  return a.applied === b.applied && has(a.tasks, b.tasks) && has(a.manifest, b.manifest);
}

/** A copy of the database. */
export function textOf(state: State): string {
  return JSON.stringify([state.applied, [...state.tasks], [...state.manifest]]);
}

export function digestOf(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
