/** What becomes of the fields of a file, and of its records. Pure functions. */
import { members, objectOf, type Member } from '../raw-json.ts';
import { cellsOf, numberOf, rowOf } from './csv-cells.ts';
import type { FileRecord, FileType } from './record-files.ts';

export type ColumnType = 'text' | 'number' | 'boolean';

export interface Column {
  /** In the file. */
  readonly source: string;
  /** In the index. */
  readonly name: string;
  readonly kept: boolean;
  /** How cells of CSV are read. */
  readonly type: ColumnType;
  /** What was seen, for people: `text`, `number`, `list`, `number or text`. */
  readonly seen: string;
  /** Values of the first records, as text. */
  readonly samples: readonly string[];
  /** Whether each record that was read has another value, and each value can be an id. */
  readonly identifies: boolean;
}

/** How the records of a file become documents. */
export interface Mapping {
  readonly type: FileType;
  readonly delimiter: string;
  /** Those of a CSV header, in order. Further fields of JSON keep their names. */
  readonly columns: readonly Column[];
  /** Name in the index; empty: the server finds it. */
  readonly primaryKey: string;
}

/** A record that cannot become a document, or could not before it was mended. */
export interface BadRow extends FileRecord {
  /** The number of the record in the file, from 0: several may begin in one line. */
  readonly position: number;
  /** null: it is mended. */
  readonly reason: string | null;
}

/** Texts that stand for those of the file, by the position of their record. */
export type Mended = ReadonlyMap<number, string>;

const SAMPLES = 3;
/** Texts that can be ids. */
const ID = /^[\w-]{1,511}$/;

/** The columns of the first records. For CSV the first record is the header. */
export function detectColumns(
  type: FileType,
  delimiter: string,
  records: readonly FileRecord[],
): Column[] {
  if (type !== 'csv') return jsonColumns(records);
  const rows = records.map(({ text }) => cellsOf(text, delimiter));
  const [header = [], ...others] = rows;
  return header.map((cell, at) => {
    const declared = /^(.*):(number|boolean|string)$/s.exec(cell);
    const source = declared === null ? cell : declared[1]!;
    const cells = others.map((row) => row[at] ?? '');
    const given = declared?.[2] === 'string' ? 'text' : (declared?.[2] as ColumnType | undefined);
    const cellType = given ?? typeOf(source, cells);
    const samples = cells.slice(0, SAMPLES);
    const identifies = areIds(cells);
    return {
      source,
      name: source,
      kept: true,
      type: cellType,
      seen: cellType,
      samples,
      identifies,
    };
  });
}

/** Names of fields whose digits are no numbers to calculate with. */
export const CODES = /(?:id|sku|key|code|isbn|ean|asin|slug|zip|phone)$/i;

/**
 * The type of most cells that are not empty: a few that do not fit are mistakes, which the form
 * shows. Zeros before a number, and names of codes, make a text.
 */
function typeOf(name: string, cells: readonly string[]): ColumnType {
  const given = cells.map((cell) => cell.trim()).filter((cell) => cell !== '');
  if (given.length === 0) return 'text';
  const numbers = given.filter((cell) => /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/.test(cell));
  if (numbers.length === given.length) return 'number';
  if (given.every((cell) => cell === 'true' || cell === 'false')) return 'boolean';
  const isCode = CODES.test(name) || given.some((cell) => /^0\d/.test(cell));
  return !isCode && numbers.length >= 2 && numbers.length > given.length / 2 ? 'number' : 'text';
}

function areIds(values: readonly unknown[]): boolean {
  const areValid = values.every((value) => ID.test(String(value)) && typeof value !== 'object');
  return values.length > 0 && areValid && new Set(values).size === values.length;
}

function jsonColumns(records: readonly FileRecord[]): Column[] {
  const found = new Map<string, { kinds: Set<string>; samples: string[] }>();
  const objects = records.map(({ text }) => objectIn(text)).filter((one) => one !== null);
  for (const [at, value] of objects.entries()) {
    for (const [name, member] of Object.entries(value)) {
      const column = found.get(name) ?? { kinds: new Set(), samples: [] };
      found.set(name, column);
      if (member !== null) column.kinds.add(kindOf(member));
      if (at < SAMPLES) {
        column.samples[at] = typeof member === 'string' ? member : JSON.stringify(member);
      }
    }
  }
  return [...found].map(([source, { kinds, samples }]) => ({
    source,
    name: source,
    kept: true,
    type: 'text' as const,
    seen: [...kinds].sort().join(' or ') || 'null',
    samples: Array.from(samples, (sample) => sample ?? ''),
    identifies: areIds(objects.map((value) => value[source] ?? null)),
  }));
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  return typeof value === 'string' ? 'text' : typeof value;
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text) as unknown;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/**
 * The field that identifies a document: the only name that ends in `id`, as the server chooses it,
 * or else the first field whose values all differ, one with the name of a code first; empty: none.
 */
export function detectPrimaryKey(columns: readonly Column[]): string {
  const kept = columns.filter((column) => column.kept);
  const ending = kept.filter(({ name }) => name.toLowerCase().endsWith('id'));
  const byName = ending.length === 1 ? ending[0] : kept.find(({ name }) => name === 'id');
  const unique = kept.filter(({ identifies }) => identifies);
  const found = byName ?? unique.find(({ name }) => CODES.test(name)) ?? unique[0];
  return found?.name ?? '';
}

/** An index that documents may be added to. */
export interface Target {
  readonly uid: string;
  readonly primaryKey: string | null;
  readonly fields: readonly string[];
}

/**
 * Share of the fields of a file that an index must have to be proposed. An index that is not
 * selected must also have few others, which a file with less of them would take away.
 */
const FIELDS_SHARED = 0.5;

/**
 * The index that a file belongs to: the selected one if it is empty or has these fields, or else
 * the one that has most of them, or else a new one with the name of the file.
 */
export function proposedIndex(
  fileName: string,
  columns: readonly Column[],
  targets: readonly Target[],
  selected: string | null,
): string {
  const names = columns.map(({ name }) => name);
  const shared = ({ primaryKey, fields }: Target, others = 0): number => {
    if (primaryKey !== null && !names.includes(primaryKey)) return 0;
    const common = names.filter((name) => fields.includes(name)).length;
    return common / Math.max(names.length, others);
  };
  const likeness = (target: Target): number => shared(target, target.fields.length);
  const own = targets.find(({ uid }) => uid === selected);
  const isOwn = own !== undefined && (own.primaryKey === null || shared(own) >= FIELDS_SHARED);
  if (isOwn) return own.uid;
  const [best] = targets.toSorted((a, b) => likeness(b) - likeness(a));
  if (best !== undefined && likeness(best) >= FIELDS_SHARED) return best.uid;
  const name = fileName.replace(/\.[^.]*$/, '').replaceAll(/[^\w-]+/g, '-');
  return name.replaceAll(/^-+|-+$/g, '').slice(0, UID_CHARACTERS_MAX) || 'documents';
}

const UID_CHARACTERS_MAX = 100;

/** The document of a record as JSON, or why there is none. */
export function convert(
  record: FileRecord,
  mapping: Mapping,
): { readonly document: string } | { readonly reason: string } {
  const parts =
    mapping.type === 'csv' ? fromCells(record.text, mapping) : fromJson(record.text, mapping);
  if (typeof parts === 'string') return { reason: parts };
  const reason = refusedId(parts, mapping.primaryKey);
  // Line ends inside JSON are space: in strings they are escaped.
  return reason === null ? { document: objectOf(parts).replaceAll(/[\r\n]+/g, ' ') } : { reason };
}

function fromCells(text: string, { delimiter, columns }: Mapping): Member[] | string {
  const cells = cellsOf(text, delimiter);
  if (cells.length !== columns.length) {
    return `This row has ${cells.length} values, and the header has ${columns.length}.`;
  }
  const parts: Member[] = [];
  for (const [at, { name, kept, type }] of columns.entries()) {
    if (!kept) continue;
    const value = valueOf(cells[at]!, type);
    if (value === null) return `The value ${shortened(cells[at]!)} of ${name} is not a ${type}.`;
    parts.push({ name, text: value });
  }
  return parts;
}

/** A cell as JSON; null if it does not have the type. */
function valueOf(cell: string, type: ColumnType): string | null {
  if (type === 'text') return cell === '' ? 'null' : JSON.stringify(cell);
  const trimmed = cell.trim();
  if (trimmed === '') return 'null';
  if (type === 'number') return numberOf(trimmed);
  return trimmed === 'true' || trimmed === 'false' ? trimmed : null;
}

function fromJson(text: string, { columns }: Mapping): Member[] | string {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return `A document is an object; this is ${shortened(text.trim())}.`;
    }
  } catch (error) {
    return `This is not valid JSON: ${(error as Error).message}`;
  }
  const known = new Map(columns.map((column) => [column.source, column]));
  return members(text).flatMap((part) => {
    const column = known.get(part.name!);
    return column === undefined ? part : column.kept ? { ...part, name: column.name } : [];
  });
}

function refusedId(parts: readonly Member[], primaryKey: string): string | null {
  if (primaryKey === '' || primaryKey.includes('.')) return null;
  const text = parts.findLast(({ name }) => name === primaryKey)?.text;
  if (text === undefined || text === 'null') return `The primary key ${primaryKey} is missing.`;
  const id = JSON.parse(text) as unknown;
  if (typeof id === 'string' && ID.test(id)) return null;
  if (typeof id === 'number' && /^-?\d+$/.test(text)) return null;
  return `The primary key ${primaryKey} is ${shortened(text)}: it must be a whole number, or up to 511 letters, digits, - and _.`;
}

const SHOWN_MAX = 60;

function shortened(text: string): string {
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`;
}

/** The bad rows as a file of the same type, to be mended and sent again. */
export function badRowsFile(
  { type, delimiter, columns }: Mapping,
  bad: readonly FileRecord[],
): { readonly name: string; readonly text: string } {
  if (type !== 'csv') {
    const lines = bad.map(({ text }) => `${text.trim().replaceAll(/[\r\n]+/g, ' ')}\n`);
    return { name: 'bad-rows.ndjson', text: lines.join('') };
  }
  const rows = bad.map(({ text }) => `${text.replace(/[\r\n]+$/, '')}\n`).join('');
  const header = rowOf(
    columns.map(({ source }) => source),
    delimiter,
  );
  return { name: 'bad-rows.csv', text: `${header}\n${rows}` };
}

/** A record as it is mended by now, and why it still cannot become a document. */
export function checkedRow(
  { line, text }: FileRecord,
  position: number,
  mapping: Mapping,
  mended: Mended,
): BadRow {
  const row = { line, position, text: mended.get(position) ?? text };
  const converted = convert(row, mapping);
  return { ...row, reason: 'reason' in converted ? converted.reason : null };
}

/** The records of the sample that cannot become documents, and those that were mended. */
export function badRows(
  mapping: Mapping,
  records: readonly FileRecord[],
  mended: Mended,
): BadRow[] {
  return records
    .map((record, position) => checkedRow(record, position, mapping, mended))
    .filter(({ position, reason }) => reason !== null || mended.has(position));
}

/** The cells of a CSV record, also those that it does not have. */
export function cellsToMend(text: string, { delimiter, columns }: Mapping): string[] {
  const cells = cellsOf(text, delimiter);
  const missing = Math.max(0, columns.length - cells.length);
  return [...cells, ...Array.from({ length: missing }, () => '')];
}

/** The CSV record of these cells. One with too many loses those at its end that are empty. */
export function mendedText(cells: readonly string[], { delimiter, columns }: Mapping): string {
  const used = cells.findLastIndex((cell) => cell !== '') + 1;
  return rowOf(cells.slice(0, Math.max(columns.length, used)), delimiter);
}

/** The cell that is mended first: one without the type of its column, or else the primary key. */
export function wrongCell(cells: readonly string[], { columns, primaryKey }: Mapping): number {
  const wrong = columns.findIndex(
    ({ kept, type }, at) => kept && valueOf(cells[at] ?? '', type) === null,
  );
  if (wrong >= 0) return wrong;
  const key = columns.findIndex(({ kept, name }) => kept && name === primaryKey);
  return cells.length === columns.length
    ? Math.max(0, key)
    : Math.min(cells.length, columns.length);
}
