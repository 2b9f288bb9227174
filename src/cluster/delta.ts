/**
 * A delta: what a commit puts into and removes from the tables of an LMDB environment, in order.
 *
 * Bytes: number of tables, a text name for each; then per write a number (place of the table * 4 +
 * kind: 0 put, 1 remove, 2 clear the table, 3 patch), for all but 2 the bytes of the key, for 0 of
 * the value, for 3 of the patch. Only the store patches.
 */
import { ByteReader, ByteWriter } from './bytes.ts';
import { DamagedError } from './errors.ts';

export type Write =
  | { readonly kind: 'put'; readonly table: string; readonly key: Buffer; readonly value: Buffer }
  | { readonly kind: 'remove'; readonly table: string; readonly key: Buffer }
  /** Empties the table. */
  | { readonly kind: 'clear'; readonly table: string }
  /** Changes parts of the value that the record before has left; see `patch.ts`. */
  | {
      readonly kind: 'patch';
      readonly table: string;
      readonly key: Buffer;
      readonly patch: Buffer;
    };

const KINDS = ['put', 'remove', 'clear', 'patch'] as const;
const TABLES_MAX = 1024;

export function encodeDelta(writes: readonly Write[]): Buffer {
  const tables = [...new Set(writes.map(({ table }) => table))];
  const numbers = new Map(tables.map((table, number) => [table, number]));
  const writer = new ByteWriter().number(tables.length);
  for (const table of tables) writer.text(table);
  for (const write of writes) {
    writer.number(numbers.get(write.table)! * 4 + KINDS.indexOf(write.kind));
    if (write.kind !== 'clear') writer.bytes(write.key);
    if (write.kind === 'put') writer.bytes(write.value);
    if (write.kind === 'patch') writer.bytes(write.patch);
  }
  return writer.done();
}

/**
 * The writes of a delta, borrowed from its bytes. Throws `DamagedError`, so read to the end before
 * you change anything.
 * @param isTable whether the database has a table of this name
 */
export function decodeDelta(delta: Buffer, isTable: (name: string) => boolean): Write[] {
  const reader = new ByteReader(delta);
  const count = reader.number();
  if (count > TABLES_MAX) throw new DamagedError('There are too many tables');
  const tables = Array.from({ length: count }, () => reader.text());
  const unknown = tables.find((table) => !isTable(table));
  if (unknown !== undefined) throw new DamagedError(`There is no table ${JSON.stringify(unknown)}`);
  const writes: Write[] = [];
  while (!reader.isDone) {
    const head = reader.number();
    const table = tables[Math.floor(head / 4)];
    const kind = KINDS[head % 4]!;
    if (table === undefined) throw new DamagedError('Not a write of a table');
    if (kind === 'clear') writes.push({ kind, table });
    else if (kind === 'remove') writes.push({ kind, table, key: reader.bytes() });
    else if (kind === 'put')
      writes.push({ kind, table, key: reader.bytes(), value: reader.bytes() });
    else writes.push({ kind, table, key: reader.bytes(), patch: reader.bytes() });
  }
  return writes;
}
