/** Changes of settings that are not saved yet, and what saving them costs. Pure functions. */
import { settingChange, type Schema } from './schema.ts';

export type Values = Readonly<Record<string, unknown>>;
export type Schemas = Readonly<Record<string, Schema>>;

export interface Change {
  readonly name: string;
  readonly before: unknown;
  readonly after: unknown;
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The settings, also those that the server leaves out because they have their defaults. */
export function complete(shown: Values, schemas: Schemas): Values {
  return Object.fromEntries(
    Object.entries(schemas)
      .filter(([name, schema]) => name in shown || 'x-initial' in schema)
      .map(([name, schema]) => [name, name in shown ? shown[name] : schema['x-initial']]),
  );
}

/** `products-draft`, or with the first number with which no index has that name. */
export function draftName(origin: string, taken: ReadonlySet<string>): string {
  const name = `${origin}-draft`;
  for (let n = 1; ; n++) {
    const numbered = n === 1 ? name : `${name}-${n}`;
    if (!taken.has(numbered)) return numbered;
  }
}

/** The settings in `draft` that differ from those in `values`, in the order of `values`. */
export function changesOf(values: Values, draft: Values): Change[] {
  return Object.keys(values)
    .filter((name) => name in draft && !same(values[name], draft[name]))
    .map((name) => ({ name, before: values[name], after: draft[name] }));
}

/** The body of the request that makes the changes. Null restores a default. */
export function patchOf(changes: readonly Change[], schemas: Schemas): Record<string, unknown> {
  return Object.fromEntries(
    changes.map(({ name, before, after }) => [
      name,
      after === null ? null : settingChange(schemas[name], before, after),
    ]),
  );
}

/** What a change rebuilds: nothing, filter values, the text index, or embeddings. */
export const COSTS = ['instant', 'columns', 'text', 'vectors'] as const;
export type Cost = (typeof COSTS)[number];

/** The greatest cost of some settings. */
export function costOf(names: readonly string[], schemas: Schemas): Cost {
  const rebuilt = names.flatMap((name) => schemas[name]?.['x-makes-anew'] ?? []);
  return COSTS.findLast((cost) => rebuilt.includes(cost)) ?? 'instant';
}

export interface PastBatch {
  readonly documents: number;
  readonly ms: number;
}

/**
 * About how long it takes to index some documents again, by how long past batches took.
 * @returns milliseconds; null: nothing is known
 */
export function estimateMs(documents: number, batches: readonly PastBatch[]): number | null {
  const known = batches.filter((batch) => batch.documents > 0);
  const total = known.reduce((sum, batch) => sum + batch.documents, 0);
  if (total === 0) return null;
  return (known.reduce((sum, { ms }) => sum + ms, 0) / total) * documents;
}

export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Lines of unchanged text that are shown around a change. */
const AROUND = 2;
/** Lines of either text that are compared; the rest is cut off. */
const LINES_MAX = 500;

/** The difference of two values as lines of JSON. Long unchanged parts are left out. */
export function diffLines(before: unknown, after: unknown): DiffLine[] {
  const lines = (value: unknown): string[] =>
    JSON.stringify(value ?? null, null, 2)
      .split('\n')
      .slice(0, LINES_MAX);
  const all = differences(lines(before), lines(after));
  const near = (at: number): boolean =>
    all.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ kind }) => kind !== 'same');
  return all.filter(({ kind }, at) => kind !== 'same' || near(at));
}

/** The longest common subsequence of the lines stays. */
function differences(a: readonly string[], b: readonly string[]): DiffLine[] {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i]![j] =
        a[i] === b[j]
          ? lengths[i + 1]![j + 1]! + 1
          : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
    }
  }
  const found: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push({ kind: 'same', text: a[i++]! });
      j++;
    } else if (j >= b.length || (i < a.length && lengths[i + 1]![j]! >= lengths[i]![j + 1]!)) {
      found.push({ kind: 'removed', text: a[i++]! });
    } else found.push({ kind: 'added', text: b[j++]! });
  }
  return found;
}

/** A list with the member at `from` moved to `to`. */
export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const rest = list.filter((_, position) => position !== from);
  rest.splice(to, 0, list[from]!);
  return rest;
}

/** The words of pasted text: one per line, or a JSON array of strings. Blank lines are left out. */
export function wordsFrom(text: string): string[] {
  if (text.trimStart().startsWith('[')) {
    const value = JSON.parse(text) as unknown;
    if (Array.isArray(value)) return value.map(String);
  }
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/**
 * Synonyms from pasted text: a JSON object, or one line for each, as `word: other, other`. Words
 * that are equal to each other are written `word, other, other`.
 */
export function synonymsFrom(text: string): Record<string, string[]> {
  if (text.trimStart().startsWith('{')) return JSON.parse(text) as Record<string, string[]>;
  const found: Record<string, string[]> = {};
  const add = (word: string, others: readonly string[]): void => {
    found[word] = [...new Set([...(found[word] ?? []), ...others])];
  };
  for (const line of wordsFrom(text)) {
    const [word = '', rest] = line.split(/:|=>/, 2).map((part) => part.trim());
    const list = (part: string): string[] =>
      part
        .split(',')
        .map((one) => one.trim())
        .filter((one) => one !== '');
    if (rest !== undefined) add(word, list(rest));
    else
      for (const one of list(line))
        add(
          one,
          list(line).filter((other) => other !== one),
        );
  }
  return found;
}
