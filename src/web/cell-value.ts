/** Values that are edited in a cell of a table, as JSON texts. Pure functions. */
import { kindOf, type Kind } from './csv.ts';
import { indentJson, parseJson } from './format.ts';
import { numberOf } from './import/csv-cells.ts';

/** `other`: JSON. */
export type CellType = Kind | 'null';

export const CELL_TYPES: readonly (readonly [CellType, string])[] = [
  ['text', 'text'],
  ['number', 'number'],
  ['boolean', 'boolean'],
  ['null', 'null'],
  ['other', 'JSON'],
];

export function cellType(json: string): CellType {
  return json === 'null' ? 'null' : kindOf(json);
}

/**
 * The type in which a value is edited: what it is, or what others of its column are.
 * @param json undefined: the document does not have the field
 */
export function editedType(json: string | undefined, column: readonly string[]): CellType {
  const known = [...(json === undefined ? [] : [json]), ...column];
  return known.map(cellType).find((type) => type !== 'null') ?? 'text';
}

/** What the field shows in which a value is edited. */
export function typedFrom(json: string | undefined): string {
  if (json === undefined || json === 'null') return '';
  if (json.startsWith('"')) return JSON.parse(json) as string;
  return kindOf(json) === 'other' ? indentJson(json) : json;
}

/** Throws an error with a message for the person who typed the text. */
export function jsonFrom(typed: string, type: CellType): string {
  if (type === 'null') return 'null';
  if (type === 'text') return JSON.stringify(typed);
  if (type === 'boolean') return String(typed === 'true');
  if (type === 'number') {
    const number = numberOf(typed);
    if (number === null) throw new Error(`${JSON.stringify(typed)} is not a number.`);
    return number;
  }
  parseJson(typed);
  return typed.trim();
}
