/**
 * Positions of values in a text that is known to be JSON, without creating the values. Positions
 * are UTF-16 units; ends are exclusive.
 */

export interface Span {
  begin: number;
  end: number;
}

export interface Member extends Span {
  name: string;
  /** Position of the opening quote of the name; `begin` is that of the value. */
  from: number;
}

const SPACE = /[\s]*/y;

function behindSpace(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code > 32) return at;
  SPACE.lastIndex = at;
  SPACE.exec(text);
  return SPACE.lastIndex;
}

function behindString(text: string, begin: number): number {
  for (let quote = text.indexOf('"', begin + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let escapes = 0;
    while (text.charCodeAt(quote - 1 - escapes) === 0x5c) escapes++;
    if (escapes % 2 === 0) return quote + 1;
  }
  throw notJson(begin);
}

/** The next character that opens, closes or hides brackets. */
const BRACKET = /["[\]{}]/g;
const SCALAR = /[^,\]}\s]+/y;

/** The end of the value that begins at `begin`. */
export function behindValue(text: string, begin: number): number {
  const code = text.charCodeAt(begin);
  if (code === 0x22) return behindString(text, begin);
  if (code !== 0x7b && code !== 0x5b) {
    SCALAR.lastIndex = begin;
    if (SCALAR.exec(text) === null) throw notJson(begin);
    return SCALAR.lastIndex;
  }
  let depth = 0;
  let at = begin;
  do {
    BRACKET.lastIndex = at;
    const found = BRACKET.exec(text);
    if (found === null) throw notJson(begin);
    const mark = found[0];
    at = found.index + 1;
    if (mark === '"') at = behindString(text, found.index);
    else depth += mark === '{' || mark === '[' ? 1 : -1;
  } while (depth > 0);
  return at;
}

/** The members of the object that begins at `begin`. */
export function membersAt(text: string, begin: number): Member[] {
  const members: Member[] = [];
  let at = behindSpace(text, begin + 1);
  while (text.charCodeAt(at) !== 0x7d) {
    if (text.charCodeAt(at) === 0x2c) at = behindSpace(text, at + 1);
    const end = behindString(text, at);
    const name = stringAt(text, { begin: at, end });
    const value = behindSpace(text, behindSpace(text, end) + 1);
    const member = { name, from: at, begin: value, end: behindValue(text, value) };
    members.push(member);
    at = behindSpace(text, member.end);
  }
  return members;
}

/** The elements of the list that begins at `begin`. */
export function elementsAt(text: string, begin: number): Span[] {
  const elements: Span[] = [];
  let at = behindSpace(text, begin + 1);
  while (text.charCodeAt(at) !== 0x5d) {
    if (text.charCodeAt(at) === 0x2c) at = behindSpace(text, at + 1);
    const element = { begin: at, end: behindValue(text, at) };
    elements.push(element);
    at = behindSpace(text, element.end);
  }
  return elements;
}

/** The text that a string stands for. */
export function stringAt(text: string, { begin, end }: Span): string {
  const inside = text.slice(begin + 1, end - 1);
  return inside.includes('\\') ? (JSON.parse(text.slice(begin, end)) as string) : inside;
}

function notJson(at: number): Error {
  return new Error(`the text is not JSON at character ${at}`);
}
