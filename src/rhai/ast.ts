/** The syntax tree of a script. Variables are resolved when the tree is compiled. */
import type { Position } from './errors.ts';
import type { Value } from './values.ts';

export type Node = { at: Position } & (
  | { kind: 'literal'; value: Value }
  | { kind: 'template'; texts: string[]; parts: Node[] }
  | { kind: 'array'; items: Node[] }
  | { kind: 'map'; keys: string[]; items: Node[] }
  | { kind: 'variable'; name: string }
  | { kind: 'this' }
  | { kind: 'unary'; op: string; operand: Node }
  | { kind: 'binary'; op: string; left: Node; right: Node }
  | { kind: 'and' | 'or' | 'coalesce'; left: Node; right: Node }
  | { kind: 'assign'; op: string | null; target: Node; value: Node }
  | { kind: 'property'; object: Node; name: string; optional: boolean }
  | { kind: 'index'; object: Node; index: Node; optional: boolean }
  | { kind: 'call'; name: string; args: Node[] }
  | { kind: 'method'; object: Node; name: string; args: Node[]; optional: boolean }
  | { kind: 'closure'; params: string[]; body: Node }
  | { kind: 'block'; body: Node[] }
  | { kind: 'let'; name: string; value: Node | null; constant: boolean }
  | { kind: 'if'; condition: Node; whenTrue: Node; whenFalse: Node | null }
  | { kind: 'switch'; subject: Node; cases: SwitchCase[]; fallback: Node | null }
  | { kind: 'while'; condition: Node | null; body: Node }
  | { kind: 'doWhile'; condition: Node; until: boolean; body: Node }
  | { kind: 'for'; name: string; counter: string | null; iterable: Node; body: Node }
  | { kind: 'break'; value: Node | null }
  | { kind: 'continue' }
  | { kind: 'return' | 'throw'; value: Node | null }
  | { kind: 'try'; body: Node; name: string | null; handler: Node }
  /** An empty statement: a lone `;`. */
  | { kind: 'empty' }
);

export interface SwitchCase {
  /** Literals and ranges. The case applies if any of them matches. */
  patterns: Value[];
  guard: Node | null;
  body: Node;
}

export interface FunctionNode {
  name: string;
  params: string[];
  body: Node;
  at: Position;
}

export interface Program {
  body: Node[];
  functions: FunctionNode[];
}
