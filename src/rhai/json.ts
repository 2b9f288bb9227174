/**
 * Parses JSON text to script values. Unlike `JSON.parse`, it distinguishes integers from floats: a
 * number without fraction and exponent is a bigint, even beyond 64 bits, which a script can only
 * keep.
 */
import { ObjectMap, type Value } from './values.ts';

/** Maximum nesting of a text. Documents are nested at most 128 levels deep. */
const DEPTH_MAX = 256;

const NUMBER = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y;

/** Reads consecutive values from a text. REQUIRES: the text is valid JSON. */
export class JsonCursor {
  readonly text: string;
  position: number;

  constructor(text: string, position = 0) {
    this.text = text;
    this.position = position;
  }

  skipSpace(): void {
    const { text } = this;
    for (let code = text.charCodeAt(this.position); ; code = text.charCodeAt(++this.position)) {
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
    }
  }

  /** Skips `mark` if it comes next. @returns whether it did */
  accept(mark: string): boolean {
    this.skipSpace();
    if (!this.text.startsWith(mark, this.position)) return false;
    this.position += mark.length;
    return true;
  }

  expect(mark: string): void {
    if (!this.accept(mark)) this.#wrong();
  }

  value(depth = 0): Value {
    this.skipSpace();
    switch (this.text.charCodeAt(this.position)) {
      case 0x22: // "
        return this.string();
      case 0x7b: // {
        return this.#object(depth);
      case 0x5b: // [
        return this.#array(depth);
      case 0x74: // t
        return this.#word('true', true);
      case 0x66: // f
        return this.#word('false', false);
      case 0x6e: // n
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  string(): string {
    const begin = this.position;
    const { text } = this;
    if (text.charCodeAt(begin) !== 0x22) this.#wrong();
    let escaped = false;
    for (let end = begin + 1; end < text.length; end++) {
      const code = text.charCodeAt(end);
      if (code === 0x5c) {
        escaped = true;
        end++;
      } else if (code === 0x22) {
        this.position = end + 1;
        return escaped
          ? (JSON.parse(text.slice(begin, end + 1)) as string)
          : text.slice(begin + 1, end);
      }
    }
    return this.#wrong();
  }

  #object(depth: number): ObjectMap {
    if (depth > DEPTH_MAX) this.#wrong();
    const map = new ObjectMap();
    this.position++;
    if (this.accept('}')) return map;
    do {
      this.skipSpace();
      const key = this.string();
      this.expect(':');
      map.set(key, this.value(depth + 1));
    } while (this.accept(','));
    this.expect('}');
    return map;
  }

  #array(depth: number): Value[] {
    if (depth > DEPTH_MAX) this.#wrong();
    const items: Value[] = [];
    this.position++;
    if (this.accept(']')) return items;
    do items.push(this.value(depth + 1));
    while (this.accept(','));
    this.expect(']');
    return items;
  }

  #word(word: string, value: Value): Value {
    if (!this.text.startsWith(word, this.position)) this.#wrong();
    this.position += word.length;
    return value;
  }

  #number(): Value {
    NUMBER.lastIndex = this.position;
    const match = NUMBER.exec(this.text);
    if (match === null) return this.#wrong();
    this.position = NUMBER.lastIndex;
    return match[1] === undefined && match[2] === undefined ? BigInt(match[0]) : Number(match[0]);
  }

  #wrong(): never {
    throw new Error(`the text is not JSON at character ${this.position}`);
  }
}

export function readJson(text: string): Value {
  return new JsonCursor(text).value();
}
