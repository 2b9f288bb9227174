/** Filters as trees, and their texts. Pure functions. `native/filter/parser.h` has the grammar. */

export type Operator =
  | '='
  | '!='
  | '>'
  | '>='
  | '<'
  | '<='
  | 'TO'
  | 'IN'
  | 'NOT IN'
  | 'CONTAINS'
  | 'NOT CONTAINS'
  | 'STARTS WITH'
  | 'NOT STARTS WITH'
  | 'EXISTS'
  | 'NOT EXISTS'
  | 'IS NULL'
  | 'IS NOT NULL'
  | 'IS EMPTY'
  | 'IS NOT EMPTY';

export interface Condition {
  readonly kind: 'condition';
  readonly not: boolean;
  readonly attribute: string;
  readonly operator: Operator;
  /** One for most operators, two for `TO`, any number for `IN`. Fewer, or empty: not complete. */
  readonly values: readonly string[];
}

export interface Group {
  /** `all`: AND; `any`: OR. */
  readonly kind: 'all' | 'any';
  readonly not: boolean;
  readonly parts: readonly Filter[];
}

/** What has no form but its text: functions of places, elements, vectors. */
export interface TextPart {
  readonly kind: 'text';
  readonly not: boolean;
  readonly text: string;
}

export type Filter = Condition | Group | TextPart;

/** The number of values that an operator takes; null: any. */
export function arity(operator: Operator): number | null {
  if (operator === 'IN' || operator === 'NOT IN') return null;
  if (operator === 'TO') return 2;
  return operator.endsWith('EXISTS') || operator.startsWith('IS') ? 0 : 1;
}

export function condition(
  attribute: string,
  operator: Operator,
  values: readonly string[] = [],
): Condition {
  return { kind: 'condition', not: false, attribute, operator, values };
}

/** Without what is not complete and groups of nothing; null: nothing is left. */
export function completed(filter: Filter): Filter | null {
  if (filter.kind === 'text') return filter;
  if (filter.kind === 'condition') {
    const { attribute, operator, values } = filter;
    const wanted = arity(operator) ?? Math.max(1, values.length);
    const isWhole = values.length === wanted && !values.includes('');
    return attribute !== '' && isWhole ? filter : null;
  }
  const parts = filter.parts.map(completed).filter((part) => part !== null);
  const [first] = parts;
  if (first === undefined) return null;
  return parts.length > 1 ? { ...filter, parts } : { ...first, not: first.not !== filter.not };
}

/** Empty: all documents. What is not complete is left out. */
export function filterText(filter: Filter): string {
  const whole = completed(filter);
  return whole === null ? '' : textOf(whole, true);
}

function textOf(filter: Filter, isWhole: boolean): string {
  const { not, kind } = filter;
  const before = not ? 'NOT ' : '';
  if (kind === 'text') return before + filter.text;
  if (kind === 'condition') return before + conditionText(filter);
  const between = kind === 'all' ? ' AND ' : ' OR ';
  const text = filter.parts.map((part) => textOf(part, false)).join(between);
  return isWhole && !not ? text : `${before}(${text})`;
}

export function conditionText({ attribute, operator, values }: Condition): string {
  const name = word(attribute);
  const operands = values.map((value) => (NOW_AND.test(value) ? value : word(value)));
  if (operator === 'TO') return `${name} ${operands.join(' TO ')}`;
  if (arity(operator) === null) return `${name} ${operator} [${operands.join(', ')}]`;
  return [name, operator, ...operands].join(' ');
}

const RESERVED = new Set(
  'AND OR NOT IN TO EXISTS IS NULL EMPTY CONTAINS STARTS WITH _geoRadius _geoBoundingBox _geoPolygon'.split(
    ' ',
  ),
);
/** A moment after the present one, which must not be quoted. */
const NOW_AND = /^now\+[\w.-]+$/;
/** What needs no quotes. Names with `_` at the beginning may mean something else without them. */
const BARE = /^[\p{Alphabetic}\p{N}-][\p{Alphabetic}\p{N}_.-]*$/u;

function word(text: string): string {
  const isBare = BARE.test(text) && !RESERVED.has(text);
  return isBare ? text : `"${text.replace(/["\\]/g, '\\$&')}"`;
}

interface Token {
  /** Without quotes and escapes. */
  readonly text: string;
  readonly isQuoted: boolean;
  readonly start: number;
  readonly end: number;
}

const TOKEN =
  /[ \t\r\n]*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(!=|[<>]=?|[=()[\],+])|([\p{Alphabetic}\p{N}_.-]+))/suy;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < end;) {
    const from = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (found === null) throw new Error(`nothing can begin with ${text.slice(from).trim()[0]}`);
    const [, quoted, symbol, bare] = found;
    const written = (quoted ?? symbol ?? bare)!;
    tokens.push({
      text: quoted === undefined ? written : unquoted(quoted),
      isQuoted: quoted !== undefined,
      start: TOKEN.lastIndex - written.length,
      end: TOKEN.lastIndex,
    });
  }
  return tokens;
}

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ '\\': '\\', "'": "'", '"': '"' },
  ...{ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' },
};

function unquoted(written: string): string {
  return written.slice(1, -1).replace(/\\(.)/gs, (escape, one: string) => {
    const meant = ESCAPES[one];
    if (meant === undefined) throw new Error(`${escape} has no other form`);
    return meant;
  });
}

/**
 * Throws an error if the text is no filter, or one that has no tree. A blank text is a group of
 * nothing.
 */
export function parseFilter(text: string): Filter {
  return new Parser(text).whole();
}

/** Names that begin something that is edited as text. */
const SPECIAL = /^_(?:geoRadius|geoBoundingBox|geoPolygon|foreign|vectors(?:\..*)?)$/;
const COMPARISONS: readonly string[] = ['=', '!=', '>', '>=', '<', '<='];

class Parser {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokensOf(text);
  }

  whole(): Filter {
    if (this.#tokens.length === 0) return { kind: 'all', not: false, parts: [] };
    const filter = this.#expression();
    if (this.#at < this.#tokens.length) throw this.#fault();
    return filter;
  }

  #expression(): Filter {
    return this.#list('any', 'OR', () => this.#list('all', 'AND', () => this.#negation()));
  }

  #list(kind: Group['kind'], between: string, part: () => Filter): Filter {
    const parts = [part()];
    while (this.#take(between)) parts.push(part());
    return parts.length === 1 ? parts[0]! : { kind, not: false, parts };
  }

  #negation(): Filter {
    if (!this.#take('NOT')) return this.#primary();
    const filter = this.#negation();
    return { ...filter, not: !filter.not };
  }

  #primary(): Filter {
    if (this.#take('(')) {
      const filter = this.#expression();
      this.#need(')');
      return filter;
    }
    const first = this.#at;
    const { text: attribute, isQuoted } = this.#word();
    const isSpecial = !isQuoted && SPECIAL.test(attribute);
    if (this.#is('[') || (isSpecial && this.#is('('))) {
      this.#skipBrackets();
      return this.#textFrom(first);
    }
    const operator = this.#operator();
    const found = condition(attribute, operator, this.#operands(operator));
    return isSpecial ? this.#textFrom(first) : found;
  }

  #textFrom(first: number): TextPart {
    const { end } = this.#tokens[this.#at - 1]!;
    return { kind: 'text', not: false, text: this.#text.slice(this.#tokens[first]!.start, end) };
  }

  /** Goes behind the bracket that closes the one that comes next. */
  #skipBrackets(): void {
    let depth = 0;
    do {
      if (this.#is('[') || this.#is('(')) depth++;
      else if (this.#is(']') || this.#is(')')) depth--;
      if (++this.#at > this.#tokens.length) throw this.#fault();
    } while (depth > 0);
  }

  #operator(): Operator {
    const symbol = COMPARISONS.find((one) => this.#take(one));
    if (symbol !== undefined) return symbol as Operator;
    if (this.#take('IS')) {
      const not = this.#take('NOT') ? 'NOT ' : '';
      const state = this.#take('NULL') ? 'NULL' : 'EMPTY';
      if (state === 'EMPTY') this.#need('EMPTY');
      return `IS ${not}${state}` as Operator;
    }
    const not = this.#take('NOT') ? 'NOT ' : '';
    for (const one of ['IN', 'EXISTS', 'CONTAINS']) {
      if (this.#take(one)) return `${not}${one}` as Operator;
    }
    if (this.#take('STARTS')) {
      this.#need('WITH');
      return `${not}STARTS WITH` as Operator;
    }
    if (not !== '') throw this.#fault();
    return 'TO';
  }

  #operands(operator: Operator): string[] {
    switch (arity(operator)) {
      case 0:
        return [];
      case 1:
        return [this.#operand()];
      case 2: {
        const from = this.#operand();
        this.#need('TO');
        return [from, this.#operand()];
      }
      default:
        return this.#values();
    }
  }

  #values(): string[] {
    const values: string[] = [];
    this.#need('[');
    while (!this.#take(']')) {
      values.push(this.#operand());
      if (!this.#is(']')) this.#need(',');
    }
    if (values.length === 0) throw new Error('a list of nothing has no other form');
    return values;
  }

  #operand(): string {
    const { text, isQuoted, end } = this.#word();
    const isNow = text === 'now' && !isQuoted && this.#tokens[this.#at]?.start === end;
    if (isNow && this.#take('+')) return `now+${this.#word().text}`;
    // Without quotes it would mean a moment.
    if (NOW_AND.test(text)) throw new Error('a text like a moment has no other form');
    if (text === '') throw new Error('an empty text has no other form');
    return text;
  }

  #word(): Token {
    const token = this.#tokens[this.#at];
    const isWord = token !== undefined && (token.isQuoted || /^[^!<>=()[\],+]/.test(token.text));
    if (!isWord || (!token.isQuoted && RESERVED.has(token.text) && !SPECIAL.test(token.text))) {
      throw this.#fault();
    }
    this.#at++;
    return token;
  }

  #is(text: string): boolean {
    const token = this.#tokens[this.#at];
    return token !== undefined && !token.isQuoted && token.text === text;
  }

  #take(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#at++;
    return true;
  }

  #need(text: string): void {
    if (!this.#take(text)) throw this.#fault();
  }

  #fault(): Error {
    const token = this.#tokens[this.#at];
    const found =
      token === undefined ? 'the filter ends early' : `it does not go on at ${token.text}`;
    return new Error(found);
  }
}

/** What an attribute may be filtered by. */
export interface Filterable {
  readonly attribute: string;
  readonly operators: readonly Operator[];
  /** Whether values are found by their beginning. */
  readonly searchesValues: boolean;
}

const EQUALITY: readonly Operator[] = ['=', '!=', 'IN', 'NOT IN'];
const COMPARISON: readonly Operator[] = ['>', '>=', '<', '<=', 'TO'];
const TEXTS: readonly Operator[] = ['STARTS WITH', 'NOT STARTS WITH'];
const CONTAINING: readonly Operator[] = ['CONTAINS', 'NOT CONTAINS'];
const STATES: readonly Operator[] = [
  ...(['EXISTS', 'NOT EXISTS', 'IS NULL', 'IS NOT NULL', 'IS EMPTY', 'IS NOT EMPTY'] as const),
];

interface Rule {
  readonly attributePatterns: readonly string[];
  readonly features?: {
    readonly facetSearch?: boolean;
    readonly filter?: {
      readonly equality?: boolean;
      readonly comparison?: boolean;
      date?: boolean;
    };
  };
}

/**
 * @param setting the filterable attributes of an index
 * @param fields of its documents, which patterns may match
 */
export function filterable(
  setting: readonly (string | Rule)[],
  fields: readonly string[],
): Filterable[] {
  const names = setting.flatMap((rule) =>
    typeof rule === 'string' ? [rule] : rule.attributePatterns,
  );
  const known = [...names.filter((name) => !name.includes('*')), ...fields];
  return [...new Set(known)]
    .filter((name) => !name.startsWith('_geo') && !name.startsWith('_vectors'))
    .flatMap((attribute) => {
      const rule = setting.find((one) => covers(one, attribute));
      return rule === undefined ? [] : filterableBy(attribute, rule);
    });
}

function covers(rule: string | Rule, attribute: string): boolean {
  if (typeof rule === 'string') return attribute === rule || attribute.startsWith(`${rule}.`);
  return rule.attributePatterns.some((pattern) => {
    const parts = pattern.split('*').map((part) => part.replace(/[^\w]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}(?:\\.|$)`, 's').test(attribute);
  });
}

function filterableBy(attribute: string, rule: string | Rule): Filterable[] {
  const { facetSearch = false, filter = {} } =
    typeof rule === 'string' ? ALL : (rule.features ?? {});
  const { equality = true, comparison = false, date = false } = filter;
  const compares = comparison || date;
  if (!equality && !compares) return [];
  const operators = [
    ...(equality ? EQUALITY : []),
    ...(compares ? COMPARISON : []),
    ...TEXTS,
    ...CONTAINING,
    ...STATES,
  ];
  return [{ attribute, operators, searchesValues: facetSearch }];
}

const ALL: NonNullable<Rule['features']> = {
  facetSearch: true,
  filter: { equality: true, comparison: true },
};

/** Numbers have no beginnings. */
export function operatorsFor({ operators }: Filterable, isNumber: boolean): readonly Operator[] {
  if (!isNumber) return operators;
  return operators.filter((one) => !TEXTS.includes(one) && !CONTAINING.includes(one));
}
