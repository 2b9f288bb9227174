/**
 * Parses tokens to a syntax tree: statements by recursive descent, expressions by precedence. Rhai
 * book, "Operators" for the precedences.
 */
import type { FunctionNode, Node, Program, SwitchCase } from './ast.ts';
import { ScriptSyntaxError, type Position } from './errors.ts';
import { tokenize, type Token } from './tokens.ts';
import { Char, LIMITS, Range, type Value } from './values.ts';

const PRECEDENCE: Record<string, number> = {
  '||': 30,
  '|': 30,
  '^': 30,
  '&&': 60,
  '&': 60,
  '==': 90,
  '!=': 90,
  in: 110,
  '<': 130,
  '<=': 130,
  '>': 130,
  '>=': 130,
  '??': 135,
  '..': 140,
  '..=': 140,
  '+': 150,
  '-': 150,
  '*': 180,
  '/': 180,
  '%': 180,
  '**': 190,
  '<<': 210,
  '>>': 210,
};

const ASSIGNMENTS = new Set('= += -= *= /= %= **= <<= >>= &= |= ^='.split(' '));

const BLOCK_STATEMENTS = ['if', 'switch', 'while', 'loop', 'do', 'for', '{'];

export function parse(text: string): Program {
  return new Parser(tokenize(text)).program();
}

class Parser {
  #tokens: readonly Token[];
  #next = 0;
  readonly #functions: FunctionNode[] = [];
  #inFunction = false;
  #depth = 0;
  #loops = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  program(): Program {
    const body: Node[] = [];
    while (this.#peek().kind !== 'end') this.#statement(body, true);
    return { body, functions: this.#functions };
  }

  // Tokens.

  #peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)]!;
  }

  #take(): Token {
    const token = this.#peek();
    if (this.#next < this.#tokens.length - 1) this.#next++;
    return token;
  }

  #is(value: string, ahead = 0): boolean {
    const token = this.#peek(ahead);
    return (token.kind === 'op' || token.kind === 'keyword') && token.value === value;
  }

  #accept(value: string): boolean {
    if (!this.#is(value)) return false;
    this.#take();
    return true;
  }

  #expect(value: string): Token {
    if (!this.#is(value)) this.#unexpected(`\`${value}\``);
    return this.#take();
  }

  #unexpected(wanted: string): never {
    const token = this.#peek();
    const found =
      token.kind === 'end'
        ? 'the script ends'
        : 'value' in token
          ? `\`${token.value}\` stands`
          : 'a string stands';
    throw new ScriptSyntaxError(`Where ${found}, ${wanted} is expected`, token.at);
  }

  #name(): string {
    const token = this.#peek();
    if (token.kind !== 'name') this.#unexpected('a name');
    this.#take();
    return token.value;
  }

  #nested<T>(at: Position, work: () => T): T {
    const max = this.#inFunction ? LIMITS.exprDepthInFunctions : LIMITS.exprDepthGlobal;
    if (++this.#depth > max) {
      throw new ScriptSyntaxError(`Expressions are nested deeper than ${max} levels`, at);
    }
    const result = work();
    this.#depth--;
    return result;
  }

  /** Limits the links of a chain, each of which is a level of the tree. */
  #checkLinks(links: number, at: Position): void {
    const max = this.#inFunction ? LIMITS.exprDepthInFunctions : LIMITS.exprDepthGlobal;
    if (links > max) throw new ScriptSyntaxError(`A chain has more than ${max} links`, at);
  }

  // Statements.

  /** Appends a statement, and reads the `;` after it where one is needed. */
  #statement(body: Node[], global = false): void {
    const { at } = this.#peek();
    if (this.#accept(';')) {
      body.push({ kind: 'empty', at });
      return;
    }
    if (this.#is('fn') || this.#is('private')) {
      if (!global)
        throw new ScriptSyntaxError('Functions can be defined at the top level only', at);
      this.#function();
      return;
    }
    if (this.#is('import') || this.#is('export')) {
      throw new ScriptSyntaxError('Modules are not available', at);
    }
    const statement = this.#nested(at, () => this.#simple(at));
    body.push(statement);
    const selfEnding = ['if', 'switch', 'while', 'for', 'block', 'try'].includes(statement.kind);
    if (this.#accept(';')) {
      body.push({ kind: 'empty', at });
    } else if (!selfEnding && !this.#is('}') && this.#peek().kind !== 'end') {
      this.#unexpected('`;`');
    }
  }

  #simple(at: Position): Node {
    if (this.#is('let') || this.#is('const')) {
      const constant = this.#is('const');
      this.#take();
      const name = this.#name();
      const value = this.#accept('=') ? this.#expression() : null;
      return { kind: 'let', name, value, constant, at };
    }
    if (this.#is('return') || this.#is('throw')) {
      const kind = this.#is('return') ? 'return' : 'throw';
      this.#take();
      return { kind, value: this.#endsHere() ? null : this.#expression(), at };
    }
    if (this.#is('break') || this.#is('continue')) {
      const word = this.#is('break') ? 'break' : 'continue';
      if (this.#loops === 0) throw new ScriptSyntaxError(`\`${word}\` is outside of a loop`, at);
      this.#take();
      if (word === 'continue') return { kind: 'continue', at };
      return { kind: 'break', value: this.#endsHere() ? null : this.#expression(), at };
    }
    if (this.#is('try')) {
      this.#take();
      const body = this.#block();
      this.#expect('catch');
      let name: string | null = null;
      if (this.#accept('(')) {
        name = this.#name();
        this.#expect(')');
      }
      return { kind: 'try', body, name, handler: this.#block(), at };
    }
    // A statement that ends with a block is not an operand of the operator after it.
    if (BLOCK_STATEMENTS.some((word) => this.#is(word))) return this.#primary();
    const expression = this.#expression();
    const op = this.#peek();
    if (op.kind === 'op' && ASSIGNMENTS.has(op.value)) {
      this.#take();
      this.#checkAssignable(expression);
      const value = this.#expression();
      return {
        kind: 'assign',
        op: op.value === '=' ? null : op.value.slice(0, -1),
        target: expression,
        value,
        at: op.at,
      };
    }
    return expression;
  }

  #endsHere(): boolean {
    return this.#is(';') || this.#is('}') || this.#peek().kind === 'end' || this.#is(',');
  }

  #checkAssignable(node: Node): void {
    if (node.kind === 'variable' || node.kind === 'this') return;
    if ((node.kind === 'property' || node.kind === 'index') && !node.optional) return;
    throw new ScriptSyntaxError('Nothing can be assigned to this expression', node.at);
  }

  #function(): void {
    this.#accept('private');
    const { at } = this.#expect('fn');
    const name = this.#name();
    this.#expect('(');
    const params = this.#params(')');
    if (
      this.#functions.some((other) => other.name === name && other.params.length === params.length)
    ) {
      throw new ScriptSyntaxError(`The function \`${name}\` is defined twice`, at);
    }
    if (this.#functions.length >= LIMITS.functions) {
      throw new ScriptSyntaxError(`More than ${LIMITS.functions} functions are defined`, at);
    }
    const outer = { inFunction: this.#inFunction, depth: this.#depth, loops: this.#loops };
    this.#inFunction = true;
    this.#depth = 0;
    this.#loops = 0;
    const body = this.#block();
    this.#inFunction = outer.inFunction;
    this.#depth = outer.depth;
    this.#loops = outer.loops;
    this.#functions.push({ name, params, body, at });
  }

  #params(close: string): string[] {
    const params = new Set<string>();
    while (!this.#accept(close)) {
      const { at } = this.#peek();
      const name = this.#name();
      if (params.has(name))
        throw new ScriptSyntaxError(`The parameter \`${name}\` is given twice`, at);
      params.add(name);
      if (!this.#is(close)) this.#expect(',');
    }
    return [...params];
  }

  #block(): Node {
    const { at } = this.#expect('{');
    const body: Node[] = [];
    while (!this.#is('}')) {
      if (this.#peek().kind === 'end') this.#unexpected('`}`');
      this.#statement(body);
    }
    this.#take();
    return { kind: 'block', body, at };
  }

  #loopBody(): Node {
    this.#loops++;
    const body = this.#block();
    this.#loops--;
    return body;
  }

  // Expressions.

  #expression(precedenceMin = 0): Node {
    const { at } = this.#peek();
    return this.#nested(at, () => this.#binary(precedenceMin));
  }

  #binary(precedenceMin: number): Node {
    let left = this.#unary();
    for (let links = 0; ; links++) {
      this.#checkLinks(links, left.at);
      const token = this.#peek();
      if (token.kind !== 'op' && token.kind !== 'keyword') return left;
      let op = token.value;
      const negated = op === '!' && this.#is('in', 1);
      if (negated) op = 'in';
      const precedence = PRECEDENCE[op];
      if (precedence === undefined || precedence <= precedenceMin) return left;
      this.#take();
      if (negated) this.#take();
      // `**` is right-associative; all others are left-associative.
      const right = this.#expression(op === '**' ? precedence - 1 : precedence);
      const node = this.#operation(op, left, right, token.at);
      left = negated ? { kind: 'unary', op: '!', operand: node, at: token.at } : node;
    }
  }

  #operation(op: string, left: Node, right: Node, at: Position): Node {
    switch (op) {
      case '&&':
        return { kind: 'and', left, right, at };
      case '||':
        return { kind: 'or', left, right, at };
      case '??':
        return { kind: 'coalesce', left, right, at };
      default:
        return { kind: 'binary', op, left, right, at };
    }
  }

  #unary(): Node {
    const token = this.#peek();
    if (token.kind === 'op' && ['-', '+', '!'].includes(token.value)) {
      this.#take();
      const operand = this.#nested(token.at, () => this.#unary());
      if (token.value === '-' && operand.kind === 'literal' && typeof operand.value !== 'string') {
        if (typeof operand.value === 'bigint') return { ...operand, value: -operand.value };
        // The smallest 64-bit integer without its sign is read as a float.
        if (operand.value === 2 ** 63) return { ...operand, value: -(2n ** 63n) };
      }
      return { kind: 'unary', op: token.value, operand, at: token.at };
    }
    return this.#postfix(this.#primary());
  }

  #postfix(first: Node): Node {
    let node = first;
    for (let links = 0; ; links++) {
      this.#checkLinks(links, node.at);
      const { at } = this.#peek();
      if (this.#is('.') || this.#is('?.')) {
        const optional = this.#is('?.');
        this.#take();
        const token = this.#peek();
        // After a dot, keywords are names.
        if (token.kind !== 'name' && token.kind !== 'keyword')
          this.#unexpected('the name of a property');
        this.#take();
        node = this.#accept('(')
          ? { kind: 'method', object: node, name: token.value, args: this.#args(')'), optional, at }
          : { kind: 'property', object: node, name: token.value, optional, at };
      } else if (this.#is('[') || this.#is('?[')) {
        const optional = this.#is('?[');
        this.#take();
        const index = this.#expression();
        this.#expect(']');
        node = { kind: 'index', object: node, index, optional, at };
      } else {
        return node;
      }
    }
  }

  #args(close: string): Node[] {
    const args: Node[] = [];
    while (!this.#accept(close)) {
      args.push(this.#expression());
      if (!this.#is(close)) this.#expect(',');
    }
    return args;
  }

  #primary(): Node {
    const token = this.#peek();
    const { at } = token;
    switch (token.kind) {
      case 'int':
      case 'float':
      case 'string':
        this.#take();
        return { kind: 'literal', value: token.value, at };
      case 'char':
        this.#take();
        return { kind: 'literal', value: new Char(token.value), at };
      case 'template':
        this.#take();
        return {
          kind: 'template',
          texts: token.texts,
          parts: token.parts.map((part) => this.#part(part)),
          at,
        };
      case 'name':
        this.#take();
        if (this.#is('::')) throw new ScriptSyntaxError('Modules are not available', at);
        if (this.#accept('!')) return this.#bang(at);
        if (this.#accept('('))
          return { kind: 'call', name: token.value, args: this.#args(')'), at };
        return { kind: 'variable', name: token.value, at };
      case 'keyword':
        return this.#word(token.value, at);
      case 'op':
        return this.#mark(token.value, at);
      case 'end':
        return this.#unexpected('an expression');
    }
  }

  #bang(at: Position): never {
    throw new ScriptSyntaxError('Functions cannot be called in the scope of the caller', at);
  }

  /** Parses the statements between `${` and `}`. The last one gives the value. */
  #part(tokens: readonly Token[]): Node {
    const outer = { tokens: this.#tokens, next: this.#next };
    this.#tokens = tokens;
    this.#next = 0;
    const body: Node[] = [];
    const { at } = this.#peek();
    this.#nested(at, () => {
      while (this.#peek().kind !== 'end') this.#statement(body);
    });
    this.#tokens = outer.tokens;
    this.#next = outer.next;
    return { kind: 'block', body, at };
  }

  #mark(op: string, at: Position): Node {
    switch (op) {
      case '(': {
        this.#take();
        if (this.#accept(')')) return { kind: 'literal', value: null, at };
        const inner = this.#expression();
        this.#expect(')');
        return inner;
      }
      case '[':
        this.#take();
        return { kind: 'array', items: this.#args(']'), at };
      case '#{':
        this.#take();
        return this.#map(at);
      case '{':
        return this.#block();
      case '|':
      case '||': {
        this.#take();
        const params = op === '||' ? [] : this.#params('|');
        const loops = this.#loops;
        this.#loops = 0;
        const body = this.#is('{') ? this.#block() : this.#nested(at, () => this.#simple(at));
        this.#loops = loops;
        return { kind: 'closure', params, body, at };
      }
      default:
        return this.#unexpected('an expression');
    }
  }

  #map(at: Position): Node {
    const keys = new Set<string>();
    const items: Node[] = [];
    while (!this.#accept('}')) {
      const token = this.#peek();
      if (token.kind !== 'name' && token.kind !== 'string' && token.kind !== 'keyword') {
        this.#unexpected('the name of a property');
      }
      this.#take();
      if (keys.has(token.value)) {
        throw new ScriptSyntaxError(`The property \`${token.value}\` is given twice`, token.at);
      }
      keys.add(token.value);
      this.#expect(':');
      items.push(this.#expression());
      if (!this.#is('}')) this.#expect(',');
    }
    return { kind: 'map', keys: [...keys], items, at };
  }

  #word(word: string, at: Position): Node {
    switch (word) {
      case 'true':
      case 'false':
        this.#take();
        return { kind: 'literal', value: word === 'true', at };
      case 'this':
        this.#take();
        return { kind: 'this', at };
      case 'if':
        return this.#if();
      case 'switch':
        return this.#switch(at);
      case 'while': {
        this.#take();
        const condition = this.#expression();
        return { kind: 'while', condition, body: this.#loopBody(), at };
      }
      case 'loop':
        this.#take();
        return { kind: 'while', condition: null, body: this.#loopBody(), at };
      case 'do': {
        this.#take();
        const body = this.#loopBody();
        const until = this.#is('until');
        if (!until && !this.#is('while')) this.#unexpected('`while` or `until`');
        this.#take();
        return { kind: 'doWhile', condition: this.#expression(), until, body, at };
      }
      case 'for':
        return this.#for(at);
      default:
        return this.#unexpected('an expression');
    }
  }

  #if(): Node {
    const { at } = this.#expect('if');
    const condition = this.#expression();
    const whenTrue = this.#block();
    let other: Node | null = null;
    if (this.#accept('else')) {
      other = this.#is('if') ? this.#nested(at, () => this.#if()) : this.#block();
    }
    return { kind: 'if', condition, whenTrue, whenFalse: other, at };
  }

  #for(at: Position): Node {
    this.#take();
    let name: string;
    let counter: string | null = null;
    if (this.#accept('(')) {
      name = this.#name();
      this.#expect(',');
      counter = this.#name();
      this.#expect(')');
    } else {
      name = this.#name();
    }
    this.#expect('in');
    const iterable = this.#expression();
    return { kind: 'for', name, counter, iterable, body: this.#loopBody(), at };
  }

  #switch(at: Position): Node {
    this.#take();
    const subject = this.#expression();
    this.#expect('{');
    const cases: SwitchCase[] = [];
    let fallback: Node | null = null;
    while (!this.#accept('}')) {
      const token = this.#peek();
      if (fallback !== null) throw new ScriptSyntaxError('`_` must be the last case', token.at);
      if (token.kind === 'name' && token.value === '_') {
        this.#take();
        if (this.#is('if')) throw new ScriptSyntaxError('`_` has no condition', token.at);
        this.#expect('=>');
        fallback = this.#caseBody();
        continue;
      }
      const patterns = [this.#pattern()];
      while (this.#accept('|')) patterns.push(this.#pattern());
      const guard = this.#accept('if') ? this.#expression() : null;
      this.#expect('=>');
      cases.push({ patterns, guard, body: this.#caseBody() });
    }
    return { kind: 'switch', subject, cases, fallback, at };
  }

  #caseBody(): Node {
    const { at } = this.#peek();
    const body: Node = this.#nested(at, () => this.#simple(at));
    if (!this.#accept(',') && !this.#is('}') && body.kind !== 'block') this.#unexpected('`,`');
    return body;
  }

  /** Parses a pattern: a literal, or a range of integers. */
  #pattern(): Value {
    const { at } = this.#peek();
    const node = this.#expression(PRECEDENCE['|']);
    const value = constantOf(node);
    if (value === undefined) throw new ScriptSyntaxError('A case must be a constant', at);
    return value;
  }
}

function constantOf(node: Node): Value | undefined {
  if (node.kind === 'literal') return node.value;
  if (node.kind === 'binary' && (node.op === '..' || node.op === '..=')) {
    const start = constantOf(node.left);
    const end = constantOf(node.right);
    if (typeof start !== 'bigint' || typeof end !== 'bigint') return undefined;
    return new Range(start, end, node.op === '..=');
  }
  if (node.kind === 'unary' && node.op === '-') {
    const operand = constantOf(node.operand);
    if (typeof operand === 'bigint' || typeof operand === 'number') return -operand;
  }
  if (node.kind === 'array') {
    const items = node.items.map(constantOf);
    return items.includes(undefined) ? undefined : (items as Value[]);
  }
  return undefined;
}
