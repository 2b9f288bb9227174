/**
 * Splits the text of a script into tokens. Rhai book, "Language Reference: Literals Syntax,
 * Keywords, Operators".
 */
import { ScriptSyntaxError, type Position } from './errors.ts';

export type Token =
  | { kind: 'int'; value: bigint; at: Position }
  | { kind: 'float'; value: number; at: Position }
  | { kind: 'string'; value: string; at: Position }
  | { kind: 'char'; value: string; at: Position }
  /** A string in backquotes: texts, alternating with the tokens of each `${...}`. */
  | { kind: 'template'; texts: string[]; parts: Token[][]; at: Position }
  | { kind: 'name'; value: string; at: Position }
  | { kind: 'keyword'; value: string; at: Position }
  | { kind: 'op'; value: string; at: Position }
  | { kind: 'end'; at: Position };

/** Keywords. Those that are functions in the reference are ordinary names here. */
const KEYWORDS = new Set(
  (
    'let const if else switch while loop do until for in fn private return throw try catch break continue true false ' +
    'this import export as global'
  ).split(' '),
);
/** Words reserved by the language. */
const RESERVED = new Set(
  'var static goto match case new use with is module package super thread go spawn await async sync yield default void null nil public protected'.split(
    ' ',
  ),
);

const OPERATORS = [
  '**=',
  '<<=',
  '>>=',
  '..=',
  '==',
  '!=',
  '<=',
  '>=',
  '&&',
  '||',
  '??',
  '?.',
  '?[',
  '..',
  '**',
  '<<',
  '>>',
  '=>',
  '::',
  '+=',
  '-=',
  '*=',
  '/=',
  '%=',
  '&=',
  '|=',
  '^=',
  '#{',
  '+',
  '-',
  '*',
  '/',
  '%',
  '<',
  '>',
  '=',
  '!',
  '&',
  '|',
  '^',
  '.',
  ',',
  ';',
  ':',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  '?',
];

const NAME = /[\p{L}_][\p{L}\p{N}_]*/uy;
const NUMBER =
  /0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|\d[\d_]*(?:\.(?![.\p{L}_])[\d_]*)?(?:[eE][+-]?\d[\d_]*)?/uy;

const TEMPLATE_DEPTH_MAX = 64;

export function tokenize(text: string): Token[] {
  return new Tokenizer(text).all(false);
}

class Tokenizer {
  readonly #text: string;
  #at = 0;
  /** Number of open template strings. */
  #templates = 0;
  /** The offset of each line. */
  readonly #lines: number[] = [0];

  constructor(text: string) {
    this.#text = text;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1))
      this.#lines.push(at + 1);
  }

  #position(at: number): Position {
    let low = 0;
    let high = this.#lines.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#lines[middle]! <= at) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: at - this.#lines[low]! + 1 };
  }

  #error(message: string, at = this.#at): never {
    throw new ScriptSyntaxError(message, this.#position(at));
  }

  /** @param inTemplate read the tokens of `${...}`, up to and including its closing brace */
  all(inTemplate: boolean): Token[] {
    const tokens: Token[] = [];
    let braces = 0;
    for (;;) {
      const token = this.#next();
      if (token.kind === 'op' && (token.value === '{' || token.value === '#{')) braces++;
      if (token.kind === 'op' && token.value === '}') {
        if (inTemplate && braces === 0) {
          tokens.push({ kind: 'end', at: token.at });
          return tokens;
        }
        braces--;
      }
      tokens.push(token);
      if (token.kind === 'end') {
        if (inTemplate) this.#error('`${` is not closed');
        return tokens;
      }
    }
  }

  #skip(): void {
    const text = this.#text;
    for (;;) {
      while (this.#at < text.length && /\s/.test(text[this.#at]!)) this.#at++;
      if (text.startsWith('//', this.#at) || (this.#at === 0 && text.startsWith('#!'))) {
        const end = text.indexOf('\n', this.#at);
        this.#at = end < 0 ? text.length : end;
      } else if (text.startsWith('/*', this.#at)) {
        this.#skipComment();
      } else {
        return;
      }
    }
  }

  /** Skips a block comment. Comments nest. */
  #skipComment(): void {
    const begin = this.#at;
    let depth = 0;
    const marks = /\/\*|\*\//g;
    marks.lastIndex = begin;
    for (let mark = marks.exec(this.#text); mark !== null; mark = marks.exec(this.#text)) {
      depth += mark[0] === '/*' ? 1 : -1;
      if (depth === 0) {
        this.#at = marks.lastIndex;
        return;
      }
    }
    this.#error('A comment is not closed', begin);
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return null;
    this.#at += match[0].length;
    return match[0];
  }

  #next(): Token {
    this.#skip();
    const start = this.#at;
    const at = this.#position(start);
    const first = this.#text[start];
    if (first === undefined) return { kind: 'end', at };
    if (first >= '0' && first <= '9') return this.#number(start, at);
    const name = this.#match(NAME);
    if (name !== null) return this.#word(name, at);
    if (first === '"') return { kind: 'string', value: this.#quoted('"'), at };
    if (first === "'") {
      const value = this.#quoted("'");
      if ([...value].length !== 1) this.#error('A character is one letter between quotes', start);
      return { kind: 'char', value, at };
    }
    if (first === '`') return this.#template(at);
    if (first === '#' && /^#+"/.test(this.#text.slice(start, start + 64))) return this.#raw(at);
    const op = OPERATORS.find((text) => this.#text.startsWith(text, start));
    if (op === undefined)
      this.#error(`\`${String.fromCodePoint(this.#text.codePointAt(start)!)}\` is not expected`);
    this.#at += op.length;
    return { kind: 'op', value: op, at };
  }

  #word(name: string, at: Position): Token {
    if (RESERVED.has(name)) {
      throw new ScriptSyntaxError(`\`${name}\` is a reserved word`, at);
    }
    return { kind: KEYWORDS.has(name) ? 'keyword' : 'name', value: name, at };
  }

  #number(start: number, at: Position): Token {
    const text = this.#match(NUMBER)!.replaceAll('_', '');
    if (/^0[xob]/i.test(text)) {
      const value = BigInt(text);
      // Up to 64 bits, which may set the sign.
      if (value >= 2n ** 64n) this.#error('The number has more than 64 bits', start);
      return { kind: 'int', value: BigInt.asIntN(64, value), at };
    }
    if (/[.eE]/.test(text)) return { kind: 'float', value: Number(text), at };
    const value = BigInt(text);
    // An integer that does not fit into 64 bits is a float, as in the reference.
    if (value >= 2n ** 63n) return { kind: 'float', value: Number(text), at };
    return { kind: 'int', value, at };
  }

  #escape(): string {
    const letter = this.#text[++this.#at];
    this.#at++;
    switch (letter) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'x':
        return this.#code(2);
      case 'u':
        return this.#code(4);
      case 'U':
        return this.#code(8);
      case '\\':
      case '"':
      case "'":
      case '`':
        return letter;
      default:
        return this.#error(`\`\\${letter ?? ''}\` is not an escape`, this.#at - 2);
    }
  }

  #code(digits: number): string {
    const text = this.#text.slice(this.#at, this.#at + digits);
    const code = parseInt(text, 16);
    const surrogate = code >= 0xd800 && code < 0xe000;
    if (!/^[0-9a-fA-F]+$/.test(text) || text.length !== digits || code > 0x10ffff || surrogate) {
      this.#error('The escape names no character');
    }
    this.#at += digits;
    return String.fromCodePoint(code);
  }

  /** Reads a string whose opening quote was read, including its closing quote. */
  #quoted(quote: string): string {
    const begin = this.#at++;
    let value = '';
    for (;;) {
      const letter = this.#text[this.#at];
      if (letter === undefined || letter === '\n') this.#error('A string is not closed', begin);
      if (letter === quote) {
        this.#at++;
        return value;
      }
      if (letter === '\\' && this.#text[this.#at + 1] === '\n') {
        this.#at += 2;
        this.#match(/[^\S\n]*/y);
      } else if (letter === '\\') {
        value += this.#escape();
      } else {
        value += letter;
        this.#at++;
      }
    }
  }

  #raw(at: Position): Token {
    const fence = this.#match(/#+/y)!;
    const begin = ++this.#at;
    const end = this.#text.indexOf(`"${fence}`, begin);
    if (end < 0) this.#error('A string is not closed', begin);
    this.#at = end + 1 + fence.length;
    return { kind: 'string', value: this.#text.slice(begin, end), at };
  }

  #template(at: Position): Token {
    const begin = this.#at++;
    const texts: string[] = [];
    const parts: Token[][] = [];
    let text = '';
    // A line break directly after the opening quote is ignored.
    this.#match(/\r?\n/y);
    for (;;) {
      const letter = this.#text[this.#at];
      if (letter === undefined) this.#error('A string is not closed', begin);
      if (letter === '`') {
        this.#at++;
        // Two backquotes mean one.
        if (this.#text[this.#at] === '`') {
          text += '`';
          this.#at++;
          continue;
        }
        texts.push(text);
        return { kind: 'template', texts, parts, at };
      }
      if (letter === '$' && this.#text[this.#at + 1] === '{') {
        this.#at += 2;
        texts.push(text);
        text = '';
        if (++this.#templates > TEMPLATE_DEPTH_MAX) this.#error('Strings are nested too deep');
        parts.push(this.all(true));
        this.#templates--;
      } else {
        text += letter;
        this.#at++;
      }
    }
  }
}
