/**
 * Positions of values in a text that is known to be JSON, without creating the values. Positions
 * are UTF-16 units; ends are exclusive.
 */
import { JsonCursor } from './json-cursor.ts';

export interface Span {
  begin: number;
  end: number;
}

export interface Member extends Span {
  name: string;
  /** Position of the opening quote of the name; `begin` is that of the value. */
  from: number;
}

/** The members of the object that begins at `begin`. */
export function membersAt(text: string, begin: number): Member[] {
  const members: Member[] = [];
  const cursor = new JsonCursor(text, begin);
  cursor.object((name, from) => members.push({ name, from, ...skipped(cursor) }));
  return members;
}

/** The elements of the list that begins at `begin`. */
export function elementsAt(text: string, begin: number): Span[] {
  const elements: Span[] = [];
  const cursor = new JsonCursor(text, begin);
  cursor.array(() => elements.push(skipped(cursor)));
  return elements;
}

/** The text that a string stands for. */
export function stringAt(text: string, { begin }: Span): string {
  return new JsonCursor(text, begin).string();
}

function skipped(cursor: JsonCursor): Span {
  const begin = cursor.at;
  cursor.skip();
  return { begin, end: cursor.at };
}
