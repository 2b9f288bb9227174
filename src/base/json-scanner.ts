/**
 * Reads JSON bytes member by member without creating values: for responses of which little is
 * needed and most is passed on unchanged. Skipped parts are validated, so that bytes passed on are
 * JSON.
 */
import { setImmediate } from 'node:timers/promises';

export class MalformedJson extends Error {
  override readonly name = 'MalformedJson';
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const COLON = 0x3a;

const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
/** Documents may be nested deeper than bodies of requests. */
const DEPTH_MAX = 1100;
const SCALAR_BYTES_MAX = 400;
/** Bytes read in one iteration of the event loop. */
const SLICE_BYTES = 512 * 1024;

/** REQUIRES: the bytes are valid UTF-8. All methods throw `MalformedJson`. */
export class JsonScanner {
  readonly bytes: Buffer;
  at: number;
  #depth = 0;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  /** The next byte after white space. */
  peek(): number {
    for (;;) {
      const byte = this.bytes[this.at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte ?? -1;
      this.at++;
    }
  }

  /**
   * Reads an object. `visit` is called at the value of each member; a value that it does not read
   * is skipped.
   */
  object(visit: (name: string) => void): void {
    this.#open(OPEN_OBJECT);
    if (this.#closes(CLOSE_OBJECT)) return;
    do {
      const name = this.#name();
      const start = this.at;
      visit(name);
      if (this.at === start) this.skip();
    } while (this.#goesOn(CLOSE_OBJECT));
  }

  /** Reads an array in the same way. */
  array(visit: () => void): void {
    this.#open(OPEN_ARRAY);
    if (this.#closes(CLOSE_ARRAY)) return;
    do {
      this.peek();
      const start = this.at;
      visit();
      if (this.at === start) this.skip();
    } while (this.#goesOn(CLOSE_ARRAY));
  }

  /** Like `object`, but `visit` may yield to the event loop. */
  async objectInSlices(visit: (name: string) => Promise<void>): Promise<void> {
    this.#open(OPEN_OBJECT);
    if (this.#closes(CLOSE_OBJECT)) return;
    do {
      const name = this.#name();
      const start = this.at;
      await visit(name);
      if (this.at === start) this.skip();
    } while (this.#goesOn(CLOSE_OBJECT));
  }

  /** Like `array`, but yields to the event loop between elements when there is much to read. */
  async arrayInSlices(visit: () => void): Promise<void> {
    this.#open(OPEN_ARRAY);
    if (this.#closes(CLOSE_ARRAY)) return;
    let sliceStart = this.at;
    do {
      this.peek();
      const start = this.at;
      visit();
      if (this.at === start) this.skip();
      if (this.at - sliceStart > SLICE_BYTES) {
        sliceStart = this.at;
        await setImmediate();
      }
    } while (this.#goesOn(CLOSE_ARRAY));
  }

  /** The value that follows. Not for values that are passed on. */
  value(): unknown {
    const start = this.at;
    this.skip();
    try {
      return JSON.parse(this.bytes.toString('utf8', start, this.at));
    } catch {
      throw this.#malformed();
    }
  }

  /** Skips one value. */
  skip(): void {
    const byte = this.peek();
    if (byte === QUOTE) this.#string();
    else if (byte === OPEN_OBJECT) this.object(() => {});
    else if (byte === OPEN_ARRAY) this.array(() => {});
    else this.#scalar();
  }

  /** Throws when anything but white space follows. */
  end(): void {
    if (this.peek() !== -1) throw this.#malformed();
  }

  #open(bracket: number): void {
    if (this.peek() !== bracket || ++this.#depth > DEPTH_MAX) throw this.#malformed();
    this.at++;
  }

  #closes(bracket: number): boolean {
    if (this.peek() !== bracket) return false;
    this.at++;
    this.#depth--;
    return true;
  }

  #goesOn(bracket: number): boolean {
    if (this.#closes(bracket)) return false;
    if (this.peek() !== COMMA) throw this.#malformed();
    this.at++;
    return true;
  }

  /** Reads the name of a member; stops at its value. */
  #name(): string {
    if (this.peek() !== QUOTE) throw this.#malformed();
    const start = this.at;
    this.#string();
    const name = this.bytes.toString('utf8', start, this.at);
    if (this.peek() !== COLON) throw this.#malformed();
    this.at++;
    this.peek();
    return name.includes('\\') ? (JSON.parse(name) as string) : name.slice(1, -1);
  }

  #string(): void {
    const { bytes } = this;
    let at = this.at + 1;
    for (;;) {
      const byte = bytes[at];
      if (byte === undefined || byte < 0x20) throw this.#malformed();
      if (byte === QUOTE) break;
      at += byte === BACKSLASH ? this.#escape(at) : 1;
    }
    this.at = at + 1;
  }

  /** Length of an escape sequence. */
  #escape(at: number): number {
    const kind = this.bytes[at + 1];
    if (kind === 0x75) {
      if (/^[0-9a-fA-F]{4}$/.test(this.bytes.toString('latin1', at + 2, at + 6))) return 6;
    } else if (kind !== undefined && '"\\/bfnrt'.includes(String.fromCharCode(kind))) return 2;
    throw this.#malformed();
  }

  #scalar(): void {
    const { bytes, at: start } = this;
    let at = start;
    for (; at < bytes.length && !endsScalar(bytes[at]!); at++);
    if (at - start > SCALAR_BYTES_MAX || !SCALAR.test(bytes.toString('latin1', start, at)))
      throw this.#malformed();
    this.at = at;
  }

  #malformed(): MalformedJson {
    return new MalformedJson(`not JSON at byte ${this.at}`);
  }
}

function endsScalar(byte: number): boolean {
  return (
    byte === COMMA ||
    byte === CLOSE_OBJECT ||
    byte === CLOSE_ARRAY ||
    byte <= 0x20 ||
    byte === COLON
  );
}
