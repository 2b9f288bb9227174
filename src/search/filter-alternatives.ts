/**
 * A filter as alternatives (OR) of conjunctions (AND) of conditions on fields, with which dynamic
 * rules compare their values. NOT is moved inward. The engine has checked the syntax; a part that
 * cannot be parsed gives no alternatives.
 */

export interface FieldCondition {
  field: string;
  /** Whether a value of a rule meets the condition. */
  holds(value: unknown): boolean;
  /** The operand of an equality; null: another kind of condition. */
  equals: string | null;
}

export type Conjunction = readonly FieldCondition[];

/**
 * Larger filters are examined in part: alternatives with more conditions are dropped, and of the
 * others only the first are kept.
 */
const ALTERNATIVES_MAX = 100;
const ALTERNATIVE_CONDITIONS_MAX = 100;
const CONDITIONS_MAX = 1_000;
const DEPTH_MAX = 25;

type Node =
  | { kind: 'and' | 'or'; parts: Node[] }
  | { kind: 'not'; part: Node }
  | { kind: 'condition'; field: string; op: string; values: string[] };

export function alternativesOf(filter: unknown): Conjunction[] {
  const node = nodeOf(filter, 0);
  if (node === null) return [];
  let conditions = 0;
  return disjuncts(node, false, 0).filter(
    (conjunction) => (conditions += conjunction.length) <= CONDITIONS_MAX,
  );
}

/** Lists: all of the outer, one of the inner. */
function nodeOf(filter: unknown, depth: number): Node | null {
  if (typeof filter === 'string') return filter.trim() === '' ? null : new Reader(filter).whole();
  if (!Array.isArray(filter)) return null;
  const parts = filter.map((item) => nodeOf(item, depth + 1)).filter((part) => part !== null);
  if (parts.length === 0) return null;
  return { kind: depth === 0 ? 'and' : 'or', parts };
}

function disjuncts(node: Node, negated: boolean, depth: number): Conjunction[] {
  if (depth > DEPTH_MAX) return [];
  if (node.kind === 'not') return disjuncts(node.part, !negated, depth + 1);
  if (node.kind === 'condition') return conditionsOf(node, negated);
  const isOr = (node.kind === 'or') !== negated;
  const parts = node.parts.map((part) => disjuncts(part, negated, depth + 1));
  if (isOr) return parts.flat().slice(0, ALTERNATIVES_MAX);
  return parts.reduce(product, [[]]);
}

/** Each of the left combined with each of the right. */
function product(left: readonly Conjunction[], right: readonly Conjunction[]): Conjunction[] {
  const both: Conjunction[] = [];
  for (const one of left) {
    for (const other of right) {
      if (both.length === ALTERNATIVES_MAX) return both;
      if (one.length + other.length > ALTERNATIVE_CONDITIONS_MAX) continue;
      both.push([...one, ...other]);
    }
  }
  return both;
}

function conditionsOf(
  { field, op, values }: Node & { kind: 'condition' },
  negated: boolean,
): Conjunction[] {
  // One of several values: an alternative each; none of them: all must hold.
  if (op === 'IN') {
    const each = values.map((value) => condition(field, '=', [value], negated));
    return negated ? [each] : each.map((one) => [one]);
  }
  return [[condition(field, op, values, negated)]];
}

function condition(field: string, op: string, values: string[], negated: boolean): FieldCondition {
  const test = TESTS[op];
  // Conditions that rules do not support are met neither way.
  if (test === undefined) return { field, holds: () => false, equals: null };
  const equals = op === '=' && !negated ? values[0]! : null;
  return { field, holds: (value) => test(value, values) !== negated, equals };
}

/** The key by which `keysOf` of an equality operand finds a value. */
export function keyOf(value: unknown): string {
  return typeof value === 'number' ? `n${value}` : `s${String(value).toLowerCase()}`;
}

/** The keys of all values that are equal to the operand of a filter. */
export function keysOf(operand: string): string[] {
  return [`s${operand.toLowerCase()}`, `n${Number(operand)}`];
}

const TESTS: Record<string, (value: unknown, operands: string[]) => boolean> = {
  '=': (value, [text]) => same(value, text!),
  '!=': (value, [text]) => !same(value, text!),
  '>': (value, [text]) => numeric(value, text!, (a, b) => a > b),
  '>=': (value, [text]) => numeric(value, text!, (a, b) => a >= b),
  '<': (value, [text]) => numeric(value, text!, (a, b) => a < b),
  '<=': (value, [text]) => numeric(value, text!, (a, b) => a <= b),
  TO: (value, [from, to]) =>
    numeric(value, from!, (a, b) => a >= b) && numeric(value, to!, (a, b) => a <= b),
  EXISTS: () => true,
};

function same(value: unknown, text: string): boolean {
  if (typeof value === 'number') return Number(text) === value;
  return String(value).toLowerCase() === text.toLowerCase();
}

function numeric(value: unknown, text: string, test: (a: number, b: number) => boolean): boolean {
  const number =
    typeof value === 'number'
      ? value
      : typeof value === 'string' && value.trim() !== ''
        ? Number(value)
        : NaN;
  return test(number, Number(text));
}

const TOKEN =
  /\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(!=|>=|<=|[=<>(),[\]])|([^\s"'=<>!(),[\]]+))/y;

interface Token {
  text: string;
  quoted: boolean;
}

class Reader {
  readonly #tokens: Token[] = [];
  #next = 0;

  constructor(text: string) {
    TOKEN.lastIndex = 0;
    for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
      const [, quoted, mark, word] = match;
      const plain =
        quoted === undefined ? (mark ?? word!) : quoted.slice(1, -1).replace(/\\(.)/g, '$1');
      this.#tokens.push({ text: plain, quoted: quoted !== undefined });
    }
  }

  whole(): Node | null {
    try {
      const node = this.#or(0);
      return this.#next === this.#tokens.length ? node : null;
    } catch {
      return null;
    }
  }

  #is(text: string): boolean {
    const token = this.#tokens[this.#next];
    return token !== undefined && !token.quoted && token.text === text;
  }

  #accept(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#next++;
    return true;
  }

  #take(): string {
    const token = this.#tokens[this.#next++];
    if (token === undefined) throw new Error('the filter ends');
    return token.text;
  }

  #or(depth: number): Node {
    if (depth > 200) throw new Error('too deep');
    const parts = [this.#and(depth)];
    while (this.#accept('OR')) parts.push(this.#and(depth));
    return parts.length === 1 ? parts[0]! : { kind: 'or', parts };
  }

  #and(depth: number): Node {
    const parts = [this.#not(depth)];
    while (this.#accept('AND')) parts.push(this.#not(depth));
    return parts.length === 1 ? parts[0]! : { kind: 'and', parts };
  }

  #not(depth: number): Node {
    let negations = 0;
    while (this.#accept('NOT')) negations++;
    const node = this.#primary(depth);
    return negations % 2 === 1 ? { kind: 'not', part: node } : node;
  }

  #primary(depth: number): Node {
    if (this.#accept('(')) {
      const inner = this.#or(depth + 1);
      if (!this.#accept(')')) throw new Error('a bracket is open');
      return inner;
    }
    const field = this.#take();
    if (this.#is('(')) return this.#function(field);
    const negated = this.#accept('NOT');
    const node = this.#operation(field);
    return negated ? { kind: 'not', part: node } : node;
  }

  /** `_geoRadius(...)` and the like: never met. */
  #function(field: string): Node {
    for (let open = 0; ;) {
      const text = this.#take();
      if (text === '(') open++;
      if (text === ')' && --open === 0)
        return { kind: 'condition', field, op: 'function', values: [] };
    }
  }

  #operation(field: string): Node {
    const op = this.#take();
    switch (op) {
      case '=':
      case '!=':
      case '>':
      case '>=':
      case '<':
      case '<=':
        return { kind: 'condition', field, op, values: [this.#take()] };
      case 'EXISTS':
        return { kind: 'condition', field, op, values: [] };
      case 'IN': {
        const values: string[] = [];
        if (!this.#accept('[')) throw new Error('a list is missing');
        while (!this.#accept(']')) if (!this.#accept(',')) values.push(this.#take());
        return { kind: 'condition', field, op, values };
      }
      case 'IS': {
        const negated = this.#accept('NOT');
        const node: Node = { kind: 'condition', field, op: `IS ${this.#take()}`, values: [] };
        return negated ? { kind: 'not', part: node } : node;
      }
      case 'CONTAINS':
        return { kind: 'condition', field, op, values: [this.#take()] };
      case 'STARTS':
      case 'ENDS':
        this.#take();
        return { kind: 'condition', field, op, values: [this.#take()] };
      default: {
        if (!this.#accept('TO')) throw new Error('no operator');
        return { kind: 'condition', field, op: 'TO', values: [op, this.#take()] };
      }
    }
  }
}
