/**
 * Compiles a syntax tree to closures. Every node becomes a function of the frame it runs in.
 * Variables become slots of that frame at compile time, so nothing is looked up by name at run
 * time.
 *
 * `break`, `continue` and `return` are values of statements ({@link Signal}), which costs nothing.
 * Inside an expression they are thrown.
 */
import type { FunctionNode, Node, Program } from './ast.ts';
import { type Builtin, builtinOf, charsOf } from './builtins.ts';
import { fail, type Position, ScriptError, ScriptSyntaxError } from './errors.ts';
import { charge, chargeItems, chargeText, startMeter, stopMeter } from './meter.ts';
import { at as itemAt, binaryOperation, truth, unaryOperation } from './operators.ts';
import { parse } from './parser.ts';
import {
  boundedArray,
  boundedMap,
  type Cell,
  copyOf,
  equal,
  FnPtr,
  joined,
  LIMITS,
  ObjectMap,
  Range,
  toText,
  typeName,
  type Value,
} from './values.ts';

/** Cost of catching an error, which takes some microseconds. */
const CATCH_UNITS = 8;

/** Maximum number of characters of a thrown value in the error message. */
const MESSAGE_LENGTH = 4000;

/** One run of a script. */
export class Run {
  depth = 0;
  readonly script: CompiledScript;
  constructor(script: CompiledScript) {
    this.script = script;
  }

  /** Calls a function pointer. `self`: the value of `this`, or null. */
  callPointer(pointer: Value, args: Value[], self: Cell | null = null): Value {
    if (!(pointer instanceof FnPtr)) return fail(`${typeName(pointer)} is not a function`);
    const all = pointer.curried.length === 0 ? args : [...pointer.curried, ...args];
    if (pointer.closure !== null) {
      const { fn, captured } = pointer.closure;
      return this.call(fn as CompiledFunction, all, self, captured);
    }
    return this.callNamed(pointer.name, all, self);
  }

  /** Calls a function of the script if there is one with this name, else one of the language. */
  callNamed(name: string, args: Value[], self: Cell | null): Value {
    const own = this.script.functions.get(`${name}/${args.length}`);
    if (own !== undefined) return this.call(own, args, self);
    const builtin = builtinOf(name);
    if (builtin === undefined)
      return fail(`There is no function \`${name}\` with ${args.length} arguments`);
    const cells = self === null ? args : [self.v, ...args];
    return this.callBuiltin(builtin, cells).value;
  }

  /** Calls a function. Arguments beyond its parameters are ignored. */
  call(
    fn: CompiledFunction,
    args: readonly Value[],
    self: Cell | null,
    captured: readonly Cell[] = [],
  ): Value {
    if (args.length < fn.params) {
      fail(`The function takes ${fn.params} arguments, not ${args.length}`);
    }
    if (++this.depth > LIMITS.callDepth) {
      throw new ScriptError(`Calls are nested deeper than ${LIMITS.callDepth}`, true);
    }
    charge(1);
    const frame: Frame = { run: this, cells: [], self };
    for (let n = 0; n < fn.params; n++) frame.cells.push({ v: args[n]! });
    for (const cell of captured) frame.cells.push(cell);
    try {
      const result = fn.body(frame);
      return result instanceof Signal ? result.value : result;
    } catch (error) {
      if (error instanceof Signal && error.kind === 'return') return error.value;
      throw error;
    } finally {
      this.depth--;
    }
  }

  /** @returns the value, and the new value of the first argument if the function changes it */
  callBuiltin(builtin: Builtin, args: Value[]): { value: Value; self: Value | undefined } {
    charge(1);
    return builtin(args, this);
  }
}

interface Frame {
  readonly run: Run;
  readonly cells: Cell[];
  readonly self: Cell | null;
}

type Code = (frame: Frame) => Value;
/** A compiled statement, which may also end in a signal. */
type Statement = (frame: Frame) => Value | Signal;

class Signal {
  readonly kind: 'break' | 'continue' | 'return';
  readonly value: Value;
  constructor(kind: Signal['kind'], value: Value) {
    this.kind = kind;
    this.value = value;
  }
}

const CONTINUE = new Signal('continue', null);

interface CompiledFunction {
  readonly params: number;
  body: Statement;
}

export interface CompiledScript {
  readonly functions: ReadonlyMap<string, CompiledFunction>;
  /**
   * Runs the script. `globals` are the values of the global variables, in the order in which they
   * were declared to `compile`; the script may change them.
   */
  run(globals: readonly Cell[]): void;
}

export interface GlobalVariable {
  name: string;
  constant: boolean;
}

/** Throws `ScriptSyntaxError`. */
export function compile(text: string, globals: readonly GlobalVariable[]): CompiledScript {
  const program = parse(text);
  const functions = new Map<string, CompiledFunction>();
  for (const fn of program.functions) {
    functions.set(`${fn.name}/${fn.params.length}`, { params: fn.params.length, body: () => null });
  }
  for (const fn of program.functions) {
    functions.get(`${fn.name}/${fn.params.length}`)!.body = compileFunction(fn);
  }
  const main = compileMain(program, globals);
  const script: CompiledScript = {
    functions,
    run(cells) {
      const frame: Frame = { run: new Run(script), cells: [...cells], self: null };
      startMeter();
      try {
        main(frame);
      } catch (error) {
        if (!(error instanceof Signal)) throw error;
      } finally {
        stopMeter();
      }
    },
  };
  return script;
}

function compileMain(program: Program, globals: readonly GlobalVariable[]): Statement {
  const scope = new Scope();
  for (const { name, constant } of globals) scope.declare(name, constant, { line: 1, column: 1 });
  return new Compiler(scope).sequence(program.body);
}

function compileFunction(fn: FunctionNode): Statement {
  const scope = new Scope();
  for (const name of fn.params) scope.declare(name, false, fn.at);
  return new Compiler(scope).statement(fn.body);
}

interface Variable {
  name: string;
  slot: number;
  constant: boolean;
}

/** The variables of a function that are in scope during compilation. */
class Scope {
  readonly #variables: Variable[] = [];
  #slots = 0;

  get size(): number {
    return this.#variables.length;
  }

  /** Ends a block and removes the variables declared in it. */
  shrink(size: number): void {
    this.#variables.length = size;
  }

  declare(name: string, constant: boolean, at: Position): number {
    if (this.#variables.length >= LIMITS.variables) {
      throw new ScriptSyntaxError(`More than ${LIMITS.variables} variables at once`, at);
    }
    const slot = this.#slots++;
    this.#variables.push({ name, slot, constant });
    return slot;
  }

  find(name: string): Variable | undefined {
    for (let n = this.#variables.length - 1; n >= 0; n--) {
      if (this.#variables[n]!.name === name) return this.#variables[n];
    }
    return undefined;
  }
}

/** A variable, property or item that can be read and written. */
interface Reference {
  /** Whether the variable at the beginning of the chain is a constant. */
  readonly constant: boolean;
  get: Code;
  set(frame: Frame, value: Value): void;
}

class Compiler {
  readonly #scope: Scope;

  constructor(scope: Scope) {
    this.#scope = scope;
  }

  // Statements.

  sequence(nodes: readonly Node[]): Statement {
    const steps = nodes.map((node) => this.statement(node));
    if (steps.length === 1) return steps[0]!;
    return (frame) => {
      let value: Value | Signal = null;
      for (const step of steps) {
        value = step(frame);
        if (value instanceof Signal) return value;
      }
      return value;
    };
  }

  statement(node: Node): Statement {
    switch (node.kind) {
      case 'block': {
        const size = this.#scope.size;
        const body = this.sequence(node.body);
        this.#scope.shrink(size);
        return body;
      }
      case 'empty':
        return () => null;
      case 'let': {
        const value = node.value === null ? () => null : this.stored(node.value);
        const slot = this.#scope.declare(node.name, node.constant, node.at);
        return (frame) => {
          charge(1);
          // A new variable for each iteration, so that each closure captures its own.
          frame.cells[slot] = { v: value(frame) };
          return null;
        };
      }
      case 'if':
        return this.#if(node);
      case 'switch':
        return this.#switch(node);
      case 'while':
        return this.#while(node);
      case 'doWhile':
        return this.#doWhile(node);
      case 'for':
        return this.#for(node);
      case 'break': {
        const value = node.value === null ? () => null : this.stored(node.value);
        return (frame) => new Signal('break', value(frame));
      }
      case 'continue':
        return () => CONTINUE;
      case 'return': {
        const value = node.value === null ? () => null : this.stored(node.value);
        return (frame) => new Signal('return', value(frame));
      }
      case 'throw': {
        const value = node.value === null ? () => null : this.stored(node.value);
        return (frame) => {
          const thrown = value(frame);
          const text = toText(thrown).slice(0, MESSAGE_LENGTH) || 'nothing';
          throw new ThrownValue(`The function threw ${text}`, thrown).at(node.at);
        };
      }
      case 'try':
        return this.#try(node);
      default: {
        const code = this.expression(node);
        return (frame) => {
          charge(1);
          return code(frame);
        };
      }
    }
  }

  #if(node: Node & { kind: 'if' }): Statement {
    const condition = this.condition(node.condition);
    const whenTrue = this.statement(node.whenTrue);
    const other = node.whenFalse === null ? () => null : this.statement(node.whenFalse);
    return (frame) => {
      charge(1);
      return condition(frame) ? whenTrue(frame) : other(frame);
    };
  }

  #switch(node: Node & { kind: 'switch' }): Statement {
    const subject = this.expression(node.subject);
    const cases = node.cases.map(({ patterns, guard, body }) => ({
      patterns,
      guard: guard === null ? null : this.condition(guard),
      body: this.statement(body),
    }));
    const fallback = node.fallback === null ? () => null : this.statement(node.fallback);
    return (frame) => {
      charge(1);
      const value = subject(frame);
      for (const { patterns, guard, body } of cases) {
        if (
          patterns.some((pattern) => matches(pattern, value)) &&
          (guard === null || guard(frame))
        ) {
          return body(frame);
        }
      }
      return fallback(frame);
    };
  }

  #while(node: Node & { kind: 'while' }): Statement {
    const condition = node.condition === null ? () => true : this.condition(node.condition);
    const body = this.statement(node.body);
    return (frame) => {
      while (condition(frame)) {
        const signal = iterate(frame, body);
        if (signal === null) continue;
        return signal.kind === 'break' ? signal.value : signal;
      }
      return null;
    };
  }

  #doWhile(node: Node & { kind: 'doWhile' }): Statement {
    const condition = this.condition(node.condition);
    const body = this.statement(node.body);
    return (frame) => {
      do {
        const signal = iterate(frame, body);
        if (signal !== null) return signal.kind === 'break' ? signal.value : signal;
      } while (condition(frame) !== node.until);
      return null;
    };
  }

  #for(node: Node & { kind: 'for' }): Statement {
    const iterable = this.expression(node.iterable);
    const size = this.#scope.size;
    const slot = this.#scope.declare(node.name, false, node.at);
    const counter = node.counter === null ? -1 : this.#scope.declare(node.counter, false, node.at);
    const body = this.statement(node.body);
    this.#scope.shrink(size);
    return (frame) => {
      let count = 0n;
      for (const value of itemsOf(iterable(frame), node.at)) {
        frame.cells[slot] = { v: value };
        if (counter >= 0) frame.cells[counter] = { v: count++ };
        const signal = iterate(frame, body);
        if (signal !== null) return signal.kind === 'break' ? signal.value : signal;
      }
      return null;
    };
  }

  #try(node: Node & { kind: 'try' }): Statement {
    const body = this.statement(node.body);
    const size = this.#scope.size;
    const slot = node.name === null ? -1 : this.#scope.declare(node.name, false, node.at);
    const handler = this.statement(node.handler);
    this.#scope.shrink(size);
    return (frame) => {
      try {
        return body(frame);
      } catch (error) {
        const caught = asScriptError(error);
        if (caught.fatal) throw caught;
        charge(CATCH_UNITS);
        if (slot >= 0) frame.cells[slot] = { v: valueOf(caught) };
        return handler(frame);
      }
    };
  }

  // Expressions.

  /** Compiles a condition, which must be a boolean. */
  condition(node: Node): (frame: Frame) => boolean {
    const code = this.expression(node);
    return (frame) => {
      const value = code(frame);
      return typeof value === 'boolean' ? value : located(node.at, () => truth(value));
    };
  }

  /**
   * Compiles an expression whose value is stored. A value that is also stored elsewhere is copied.
   */
  stored(node: Node): Code {
    const code = this.expression(node);
    return isReference(node) || node.kind === 'literal' ? (frame) => copyOf(code(frame)) : code;
  }

  expression(node: Node): Code {
    switch (node.kind) {
      case 'literal': {
        const { value } = node;
        return () => value;
      }
      case 'template':
        return this.#template(node);
      case 'array':
        return this.#array(node);
      case 'map':
        return this.#map(node);
      case 'variable':
      case 'this':
      case 'property':
      case 'index':
        return this.#reference(node).get;
      case 'unary':
        return this.#unary(node);
      case 'binary':
        return this.#binary(node);
      case 'and':
      case 'or': {
        const left = this.condition(node.left);
        const right = this.condition(node.right);
        if (node.kind === 'and') return (frame) => left(frame) && right(frame);
        return (frame) => left(frame) || right(frame);
      }
      case 'coalesce': {
        const left = this.expression(node.left);
        const right = this.expression(node.right);
        return (frame) => left(frame) ?? right(frame);
      }
      case 'assign':
        return this.#assign(node);
      case 'call':
        return this.#call(node);
      case 'method':
        return this.#method(node);
      case 'closure':
        return this.#closure(node);
      default: {
        const statement = this.statement(node);
        return (frame) => {
          const value = statement(frame);
          if (value instanceof Signal) throw value;
          return value;
        };
      }
    }
  }

  #template(node: Node & { kind: 'template' }): Code {
    const parts = node.parts.map((part) => this.expression(part));
    const { texts } = node;
    return (frame) => {
      let text = texts[0]!;
      for (let n = 0; n < parts.length; n++) {
        text = joined(text, joined(toText(parts[n]!(frame)), texts[n + 1]!));
      }
      return text;
    };
  }

  #array(node: Node & { kind: 'array' }): Code {
    const { at } = node;
    const items = node.items.map((item) => this.stored(item));
    return (frame) => located(at, () => boundedArray(items.map((item) => item(frame))));
  }

  #map(node: Node & { kind: 'map' }): Code {
    const { at } = node;
    const items = node.items.map((item) => this.stored(item));
    const { keys } = node;
    return (frame) => {
      const map = new ObjectMap();
      for (let n = 0; n < keys.length; n++) map.set(keys[n]!, items[n]!(frame));
      return located(at, () => boundedMap(map));
    };
  }

  #unary(node: Node & { kind: 'unary' }): Code {
    const { at } = node;
    const operand = this.expression(node.operand);
    const { op } = node;
    return (frame) => {
      charge(1);
      const value = operand(frame);
      return located(at, () => unaryOperation(op, value));
    };
  }

  #binary(node: Node & { kind: 'binary' }): Code {
    const { at } = node;
    const left = this.expression(node.left);
    const right = this.expression(node.right);
    const operation = binaryOperation(node.op);
    return (frame) => {
      charge(1);
      const a = left(frame);
      const b = right(frame);
      try {
        return operation(a, b);
      } catch (error) {
        throw asScriptError(error).at(at);
      }
    };
  }

  #assign(node: Node & { kind: 'assign' }): Code {
    const { at, op } = node;
    const value = this.stored(node.value);
    const reference = this.#reference(node.target);
    const operation = op === null ? null : binaryOperation(op);
    return (frame) => {
      charge(1);
      const right = value(frame);
      return located(at, () => {
        if (reference.constant) fail('A constant cannot be changed');
        reference.set(frame, operation === null ? right : operation(reference.get(frame), right));
        return null;
      });
    };
  }

  #reference(node: Node): Reference {
    const { at } = node;
    switch (node.kind) {
      case 'variable':
        return this.#variable(node.name, at);
      case 'this':
        return {
          constant: false,
          get: (frame) =>
            frame.self === null
              ? located(at, () => fail('`this` is not bound here'))
              : frame.self.v,
          set: (frame, value) => {
            if (frame.self === null) fail('`this` is not bound here');
            frame.self.v = value;
          },
        };
      case 'property':
        return this.#property(node);
      case 'index':
        return this.#item(node);
      default: {
        const get = this.expression(node);
        // A temporary value: it can be changed, and is then dropped.
        return { constant: false, get, set: () => {} };
      }
    }
  }

  #property(node: Node & { kind: 'property' }): Reference {
    const { at } = node;
    const object = this.#reference(node.object);
    const { name, optional } = node;
    return {
      constant: object.constant,
      get: (frame) => {
        const value = object.get(frame);
        if (value instanceof ObjectMap) return value.get(name) ?? null;
        if (optional && value === null) return null;
        return located(at, () => propertyOf(value, name));
      },
      set: (frame, value) => {
        const target = object.get(frame);
        if (!(target instanceof ObjectMap))
          fail(`${typeName(target)} has no property \`${name}\` to be set`);
        target.set(name, value);
        boundedMap(target);
      },
    };
  }

  #item(node: Node & { kind: 'index' }): Reference {
    const { at } = node;
    const object = this.#reference(node.object);
    const index = this.expression(node.index);
    const { optional } = node;
    return {
      constant: object.constant,
      get: (frame) => {
        const value = object.get(frame);
        if (optional && value === null) return null;
        const key = index(frame);
        return located(at, () => itemAt(value, key));
      },
      set: (frame, value) => {
        const target = object.get(frame);
        const key = index(frame);
        const changed = setItem(target, key, value);
        if (changed !== undefined) object.set(frame, changed);
      },
    };
  }

  #variable(name: string, at: Position): Reference {
    const found = this.#scope.find(name);
    if (found === undefined) {
      const missing = (): never => located(at, () => fail(`There is no variable \`${name}\``));
      return { constant: false, get: missing, set: missing };
    }
    const { slot, constant } = found;
    return {
      constant,
      get: (frame) => frame.cells[slot]!.v,
      set: (frame, value) => {
        frame.cells[slot]!.v = value;
      },
    };
  }

  #closure(node: Node & { kind: 'closure' }): Code {
    const { params, at } = node;
    // Captured variables follow the parameters, so the names that the body uses are collected
    // first.
    const names = [...namesOfClosure(node)].filter(
      (name) => !params.includes(name) && this.#scope.find(name) !== undefined,
    );
    const inner = new Scope();
    for (const name of params) inner.declare(name, false, at);
    const sources = names.map((name) => {
      const variable = this.#scope.find(name)!;
      inner.declare(name, variable.constant, at);
      return variable.slot;
    });
    const fn: CompiledFunction = {
      params: params.length,
      body: new Compiler(inner).statement(node.body),
    };
    const name = `anon$${at.line}_${at.column}`;
    return (frame) => {
      chargeItems(sources.length);
      return new FnPtr(name, [], { fn, captured: sources.map((slot) => frame.cells[slot]!) });
    };
  }

  #call(node: Node & { kind: 'call' }): Code {
    const { name, at } = node;
    const args = node.args.map((arg) => this.stored(arg));
    const variable = this.#scope.find(name);
    if (variable !== undefined) {
      // The variable holds a function.
      const reference = this.#reference({ kind: 'variable', name, at });
      return (frame) => {
        const values = args.map((arg) => arg(frame));
        return located(at, () => frame.run.callPointer(reference.get(frame), values));
      };
    }
    if (name === 'Fn') {
      return (frame) => {
        const [text] = args.map((arg) => arg(frame));
        return located(at, () =>
          typeof text === 'string'
            ? new FnPtr(text, [], null)
            : fail('`Fn` takes the name of a function'),
        );
      };
    }
    // A function of the language changes its first argument as if it were called as a method.
    const first = node.args[0] === undefined ? null : this.#reference(node.args[0]);
    const builtin = builtinOf(name);
    return (frame) => {
      const own = frame.run.script.functions.get(`${name}/${args.length}`);
      if (own !== undefined) {
        const values = args.map((arg) => arg(frame));
        return located(at, () => frame.run.call(own, values, null));
      }
      if (builtin === undefined) {
        return located(at, () =>
          fail(`There is no function \`${name}\` with ${args.length} arguments`),
        );
      }
      const values = args.map((arg, n) => (n === 0 ? first!.get(frame) : arg(frame)));
      return applied(frame, at, builtin, values, first);
    };
  }

  #method(node: Node & { kind: 'method' }): Code {
    const { name, at, optional } = node;
    const object = this.#reference(node.object);
    const args = node.args.map((arg) => this.stored(arg));
    const builtin = builtinOf(name);
    return (frame) => {
      const value = object.get(frame);
      if (optional && value === null) return null;
      const values = args.map((arg) => arg(frame));
      if (value instanceof FnPtr && name === 'call') {
        return located(at, () => frame.run.callPointer(value, values));
      }
      const own = frame.run.script.functions.get(`${name}/${args.length}`);
      const held = value instanceof ObjectMap ? value.get(name) : undefined;
      if (own !== undefined || held instanceof FnPtr) {
        const self: Cell = { v: value };
        const result = located(at, () =>
          held instanceof FnPtr
            ? frame.run.callPointer(held, values, self)
            : frame.run.call(own!, values, self),
        );
        if (self.v !== value) writeBack(frame, at, object, self.v);
        return result;
      }
      if (builtin === undefined) {
        return located(at, () => fail(`There is no function \`${name}\` of ${typeName(value)}`));
      }
      return applied(frame, at, builtin, [value, ...values], object);
    };
  }
}

function writeBack(frame: Frame, at: Position, reference: Reference, value: Value): void {
  located(at, () => {
    if (reference.constant) fail('A constant cannot be changed');
    reference.set(frame, value);
  });
}

/** Calls a function of the language whose first argument is stored at `reference`. */
function applied(
  frame: Frame,
  at: Position,
  builtin: Builtin,
  values: Value[],
  reference: Reference | null,
): Value {
  // The value of a constant is copied, so that it is not changed in reference.
  if (reference?.constant === true && typeof values[0] === 'object') values[0] = copyOf(values[0]);
  const { value, self } = located(at, () => frame.run.callBuiltin(builtin, values));
  if (self !== undefined && reference !== null) writeBack(frame, at, reference, self);
  return value;
}

function matches(pattern: Value, value: Value): boolean {
  if (pattern instanceof Range && (typeof value === 'bigint' || typeof value === 'number')) {
    return (
      value >= pattern.start && (pattern.inclusive ? value <= pattern.end : value < pattern.end)
    );
  }
  return typeName(pattern) === typeName(value) && equal(pattern, value);
}

/** Runs one iteration of a loop. @returns null to continue the loop */
function iterate(frame: Frame, body: Statement): Signal | null {
  charge(1);
  let signal: Value | Signal;
  try {
    signal = body(frame);
  } catch (error) {
    if (!(error instanceof Signal) || error.kind === 'return') throw error;
    signal = error;
  }
  if (!(signal instanceof Signal) || signal.kind === 'continue') return null;
  return signal;
}

function* itemsOf(value: Value, at: Position): Generator<Value> {
  if (Array.isArray(value)) {
    // The loop runs over the array as it was at the start.
    chargeItems(value.length);
    for (const item of [...value]) yield copyOf(item);
  } else if (value instanceof Range) {
    for (let n = value.start; n < value.afterEnd; n++) yield n;
  } else if (value instanceof ObjectMap) {
    for (const key of value.sortedKeys()) yield key;
  } else if (typeof value === 'string') {
    for (const item of charsOf(value)) yield item;
  } else {
    located(at, () => fail(`${typeName(value)} cannot be iterated`));
  }
}

function propertyOf(value: Value, name: string): Value {
  const builtin = builtinOf(`get$${name}`);
  if (builtin !== undefined && !(value instanceof ObjectMap))
    return builtin([value], null as never).value;
  return fail(`${typeName(value)} has no property \`${name}\``);
}

/** @returns the new text if a character of a string was set */
function setItem(target: Value, key: Value, value: Value): Value | undefined {
  if (target instanceof ObjectMap) {
    if (typeof key !== 'string') fail('The key of a map is a string');
    chargeText(key.length);
    target.set(key, value);
    boundedMap(target);
    return undefined;
  }
  const builtin = builtinOf('set$index')!;
  return builtin([target, key, value], null as never).self;
}

function isReference(node: Node): boolean {
  return ['variable', 'this', 'property', 'index', 'coalesce', 'if', 'switch', 'block'].includes(
    node.kind,
  );
}

/** Names used in each closure, cached so that deeply nested closures are read once. */
const closureNames = new WeakMap<object, ReadonlySet<string>>();

/** A superset of the names that a body may read. */
function namesIn(node: Node): ReadonlySet<string> {
  const names = new Set<string>();
  const pending: unknown[] = [node];
  while (pending.length > 0) {
    const next = pending.pop();
    if (Array.isArray(next)) {
      for (const item of next) pending.push(item);
    } else if (typeof next === 'object' && next !== null && !(next instanceof Map)) {
      const { kind, name } = next as { kind?: string; name?: string };
      if ((kind === 'variable' || kind === 'call') && name !== undefined) names.add(name);
      if (kind === 'closure') {
        for (const inner of namesOfClosure(next as Node & { kind: 'closure' })) names.add(inner);
        continue;
      }
      for (const item of Object.values(next)) if (typeof item === 'object') pending.push(item);
    }
  }
  return names;
}

function namesOfClosure(closure: Node & { kind: 'closure' }): ReadonlySet<string> {
  let names = closureNames.get(closure);
  if (names === undefined) closureNames.set(closure, (names = namesIn(closure.body)));
  return names;
}

export function asScriptError(error: unknown): ScriptError {
  if (error instanceof ScriptError) return error;
  if (error instanceof Signal) throw error;
  if (error instanceof RangeError) {
    // The stack of the thread or the maximum length of a string was exceeded.
    return new ScriptError(`A limit was reached: ${error.message}`, true);
  }
  throw error;
}

function located<T>(at: Position, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asScriptError(error).at(at);
  }
}

/** An error raised by a `throw` statement. */
class ThrownValue extends ScriptError {
  readonly value: Value;

  constructor(message: string, value: Value) {
    super(message);
    this.value = value;
  }
}

/**
 * The value that `catch` binds: the value thrown, or the description of an error of the language or
 * of `throw ()`.
 */
function valueOf(error: ScriptError): Value {
  if (error instanceof ThrownValue && error.value !== null) return error.value;
  const map = new ObjectMap();
  map.set('error', 'ErrorRuntime');
  map.set('message', error.message);
  map.set('line', BigInt(error.position?.line ?? 0));
  map.set('position', BigInt(error.position?.column ?? 0));
  return map;
}
