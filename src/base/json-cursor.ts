/**
 * Reads the JSON of a text, value by value. Positions are UTF-16 units. For long responses of other
 * servers, which stay bytes, see `json-scanner.ts`.
 */

/** The text stops being JSON at a character. */
export class UnexpectedCharacter extends Error {
  readonly at: number;

  constructor(at: number) {
    super(`the text is not JSON at character ${at}`);
    this.at = at;
  }
}

/** What numbers and objects of the text become. */
export interface Making<V> {
  number(token: string): V;
  /** @returns the object, and what sets a member of it */
  object(): readonly [object: V, set: (name: string, value: V) => void];
}

/** Deepest nesting that is read; callers have refused deeper texts before. */
const DEPTH_MAX = 256;

const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
const TOKEN = /[^,\]} \n\r\t]*/y;
/** The next character that opens, closes or hides brackets. */
const BRACKET = /["[\]{}]/g;
/** A string with one of these is not the text between its quotes, or is none. */
// oxlint-disable-next-line no-control-regex -- strings must not have them
const UNLIKE_ITSELF = /[\\\u0000-\u001f]/;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/** Methods throw `UnexpectedCharacter`, or `SyntaxError` for what a string must not contain. */
export class JsonCursor {
  readonly #text: string;
  at: number;

  constructor(text: string, at = 0) {
    this.#text = text;
    this.at = at;
  }

  /** The code after white space; NaN at the end. */
  peek(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
      this.at++;
    }
  }

  /** Reads an object. `visit` must read the value of the member, whose name begins at `from`. */
  object(visit: (name: string, from: number) => void): void {
    this.#list(CLOSE_OBJECT, (from) => {
      if (this.#text.charCodeAt(from) !== QUOTE) throw new UnexpectedCharacter(from);
      const name = this.string();
      if (this.peek() !== COLON) throw new UnexpectedCharacter(this.at);
      this.at++;
      this.peek();
      visit(name, from);
    });
  }

  /** Reads an array. `visit` must read the element. */
  array(visit: (from: number) => void): void {
    this.#list(CLOSE_ARRAY, visit);
  }

  /** The string that begins here. */
  string(): string {
    const begin = this.at;
    this.#skipString();
    const inside = this.#text.slice(begin + 1, this.at - 1);
    return UNLIKE_ITSELF.test(inside)
      ? (JSON.parse(this.#text.slice(begin, this.at)) as string)
      : inside;
  }

  /** The value that follows. Linear in its length. */
  value<V>(making: Making<V>, depth = 0): V | V[] | string | boolean | null {
    const first = this.peek();
    if (first === QUOTE) return this.string();
    if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return this.#scalar(making);
    if (depth > DEPTH_MAX) throw new UnexpectedCharacter(this.at);
    if (first === OPEN_OBJECT) {
      const [object, set] = making.object();
      this.object((name) => set(name, this.value(making, depth + 1) as V));
      return object;
    }
    const elements: V[] = [];
    this.array(() => elements.push(this.value(making, depth + 1) as V));
    return elements;
  }

  /** Skips the value that begins here. REQUIRES: it is JSON */
  skip(): void {
    const begin = this.at;
    const first = this.#text.charCodeAt(begin);
    if (first === QUOTE) this.#skipString();
    else if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) {
      if (this.#token() === '') throw new UnexpectedCharacter(begin);
    } else {
      let depth = 0;
      do {
        BRACKET.lastIndex = this.at;
        const found = BRACKET.exec(this.#text);
        if (found === null) throw new UnexpectedCharacter(begin);
        this.at = found.index;
        if (found[0] === '"') this.#skipString();
        else {
          this.at++;
          depth += found[0] === '{' || found[0] === '[' ? 1 : -1;
        }
      } while (depth > 0);
    }
  }

  /** Throws when anything but white space follows. */
  end(): void {
    if (!Number.isNaN(this.peek())) throw new UnexpectedCharacter(this.at);
  }

  #list(close: number, visit: (from: number) => void): void {
    this.at++;
    if (this.peek() === close) {
      this.at++;
      return;
    }
    for (;;) {
      this.peek();
      visit(this.at);
      const code = this.peek();
      if (code !== close && code !== COMMA) throw new UnexpectedCharacter(this.at);
      this.at++;
      if (code === close) return;
    }
  }

  #scalar<V>({ number }: Making<V>): V | boolean | null {
    const begin = this.at;
    const token = this.#token();
    if (!SCALAR.test(token)) throw new UnexpectedCharacter(begin);
    if (token === 'true') return true;
    if (token === 'false') return false;
    return token === 'null' ? null : number(token);
  }

  #token(): string {
    TOKEN.lastIndex = this.at;
    const [token] = TOKEN.exec(this.#text)!;
    this.at = TOKEN.lastIndex;
    return token;
  }

  #skipString(): void {
    const text = this.#text;
    let quote = this.at;
    let escapes: number;
    do {
      quote = text.indexOf('"', quote + 1);
      if (quote < 0) throw new UnexpectedCharacter(text.length);
      for (escapes = 0; text.charCodeAt(quote - 1 - escapes) === BACKSLASH; escapes++);
    } while (escapes % 2 === 1);
    this.at = quote + 1;
  }
}
