/**
 * `_foreign(field, expression)` in filters: true for documents whose field holds the id of a
 * document of another index that satisfies the expression. Each such condition becomes `field IN
 * [ids]` before the engine sees the filter, so it combines with everything else; the number of
 * selected documents is bounded.
 */
import { RawJson } from '../base/json.ts';
import { ApiError, featureNotEnabled, indexNotFound } from '../contract/errors.ts';
import { quotedInFilter } from '../contract/filters.ts';

/**
 * Maximum number of different foreign documents that all conditions on one index may select in one
 * filter.
 */
export const FOREIGN_DOCUMENTS_MAX = 1_000;

/** Maximum number of conditions in one filter: each is a search of another index. */
const FOREIGN_CONDITIONS_MAX = 100;

export interface ForeignKey {
  foreignIndexUid: string;
  fieldName: string;
}

export interface ForeignResolver {
  /** The setting of the filtered index. */
  keys: readonly ForeignKey[];
  isFilterable(field: string): boolean;
  /** Whether the index exists and the caller may search it. */
  mayRead(indexUid: string): boolean;
  /** Throws `ApiError` when the expression does not parse. */
  checkSyntax(expression: string): void;
  /**
   * Ids, as JSON, of at most `max` + 1 documents of an index that satisfy the expression.
   * undefined: the index does not exist, or the caller may not search it. Rejects with `ApiError`.
   */
  select(indexUid: string, expression: string, max: number): Promise<string[] | undefined>;
}

interface Condition {
  /** Positions in the text: of the name, and after the closing parenthesis. */
  begin: number;
  end: number;
  field: string;
  expression: string;
}

const NAME = '_foreign';

export function hasForeign(filter: unknown): boolean {
  if (filter instanceof RawJson) return filter.bytes.includes(NAME) && hasForeign(filter.toJSON());
  if (typeof filter === 'string') return filter.includes(NAME) && conditionsOf(filter).length > 0;
  return Array.isArray(filter) && filter.some(hasForeign);
}

/** The filter with every foreign condition replaced. Rejects with `ApiError`. */
export async function resolvedFilter(filter: unknown, resolver: ForeignResolver): Promise<unknown> {
  if (conditionsIn(filter).length > FOREIGN_CONDITIONS_MAX) {
    throw invalid(`it has more than ${FOREIGN_CONDITIONS_MAX} \`_foreign\` conditions`);
  }
  const selected = new Map<string, Set<string>>();
  return resolved(filter, resolver, selected);
}

/** The conditions of all texts of a filter. Throws `ApiError` for a malformed one. */
function conditionsIn(filter: unknown): Condition[] {
  if (filter instanceof RawJson) return conditionsIn(filter.toJSON());
  if (typeof filter === 'string') return conditionsOf(filter);
  return Array.isArray(filter) ? filter.flatMap(conditionsIn) : [];
}

async function resolved(
  filter: unknown,
  resolver: ForeignResolver,
  selected: Map<string, Set<string>>,
): Promise<unknown> {
  if (filter instanceof RawJson) return resolved(filter.toJSON(), resolver, selected);
  if (Array.isArray(filter)) {
    const items: unknown[] = [];
    for (const item of filter) items.push(await resolved(item, resolver, selected));
    return items;
  }
  if (typeof filter !== 'string') return filter;
  let text = '';
  let at = 0;
  for (const condition of conditionsOf(filter)) {
    text += filter.slice(at, condition.begin) + (await inList(condition, resolver, selected));
    at = condition.end;
  }
  return text + filter.slice(at);
}

/**
 * Checks syntax only: for a filter that is refused for another reason afterwards. Throws
 * `ApiError`.
 */
export function checkForeignSyntax(filter: unknown, checkSyntax: (text: string) => void): void {
  for (const { expression } of conditionsIn(filter)) checkSyntax(expression);
}

async function inList(
  { field, expression }: Condition,
  resolver: ForeignResolver,
  selected: Map<string, Set<string>>,
): Promise<string> {
  if (conditionsOf(expression).length > 0)
    throw invalid('`_foreign` cannot stand inside `_foreign`');
  resolver.checkSyntax(expression);
  const key = resolver.keys.find(({ fieldName }) => fieldName === field);
  if (key === undefined) throw invalid(`\`${field}\` is not a foreign key of the index`);
  const uid = key.foreignIndexUid;
  if (!resolver.mayRead(uid)) throw indexNotFound(uid);
  if (!resolver.isFilterable(field)) throw invalid(`the attribute \`${field}\` is not filterable`);
  const ids = await resolver.select(uid, expression, FOREIGN_DOCUMENTS_MAX);
  if (ids === undefined) throw indexNotFound(uid);
  const all = selected.get(uid) ?? new Set();
  for (const id of ids) all.add(id);
  selected.set(uid, all);
  if (all.size > FOREIGN_DOCUMENTS_MAX) {
    throw invalid(
      `the conditions on \`${uid}\` select more than ${FOREIGN_DOCUMENTS_MAX} documents`,
    );
  }
  return `${quotedInFilter(field)} IN [${ids.map(quotedInFilter).join(', ')}]`;
}

/** The error for a filter that would be valid with the feature. */
export function foreignNotEnabled(): ApiError {
  return featureNotEnabled('Using `_foreign` in a filter', 'foreignKeys');
}

function invalid(reason: string): ApiError {
  return new ApiError('invalid_search_filter', `Invalid filter: ${reason}.`);
}

/** Throws `ApiError` for a malformed condition. */
function conditionsOf(filter: string): Condition[] {
  const conditions: Condition[] = [];
  for (let at = 0; at < filter.length; at++) {
    const letter = filter[at]!;
    if (letter === '"' || letter === "'") {
      at = behindQuotes(filter, at) - 1;
    } else if (filter.startsWith(NAME, at) && !/[\w.-]/.test(filter[at - 1] ?? ' ')) {
      if (/[\w.-]/.test(filter[at + NAME.length] ?? ' ')) continue;
      const condition = conditionAt(filter, at);
      conditions.push(condition);
      at = condition.end - 1;
    }
  }
  return conditions;
}

/** The position after the closing quote. */
function behindQuotes(filter: string, begin: number): number {
  for (let at = begin + 1; at < filter.length; at++) {
    if (filter[at] === '\\') at++;
    else if (filter[at] === filter[begin]) return at + 1;
  }
  return filter.length;
}

function conditionAt(filter: string, begin: number): Condition {
  const open = /^\s*\(/.exec(filter.slice(begin + NAME.length));
  if (open === null) throw invalid('`_foreign` is written `_foreign(field, expression)`');
  const inside = begin + NAME.length + open[0].length;
  let depth = 0;
  let comma = -1;
  for (let at = inside; at < filter.length; at++) {
    const letter = filter[at]!;
    if (letter === '"' || letter === "'") at = behindQuotes(filter, at) - 1;
    else if (letter === '(' || letter === '[') depth++;
    else if (letter === ']') depth--;
    else if (letter === ',' && depth === 0 && comma < 0) comma = at;
    else if (letter === ')' && depth-- === 0) {
      const field = unquoted(filter.slice(inside, comma < 0 ? at : comma).trim());
      const expression = comma < 0 ? '' : filter.slice(comma + 1, at).trim();
      if (field === '' || expression === '')
        throw invalid('`_foreign` takes a field and an expression');
      return { begin, end: at + 1, field, expression };
    }
  }
  throw invalid('the bracket of `_foreign` is not closed');
}

function unquoted(text: string): string {
  const quote = text[0];
  if ((quote !== '"' && quote !== "'") || text.at(-1) !== quote || text.length < 2) return text;
  return text.slice(1, -1).replace(/\\(.)/g, '$1');
}
