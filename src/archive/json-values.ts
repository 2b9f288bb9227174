/** Converts a sequence or an array of JSON values to one value per line. */

const [QUOTE, BACKSLASH, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT, COMMA] =
  Buffer.from('"\\[]{},');
const NEWLINE = 10;

/**
 * Yields the objects of a JSON array, or consecutive objects with or without white space between
 * them, each as one line. Nothing is parsed: well-formed JSON is passed through unchanged, except
 * for white space between tokens. Throws at the end if an object or the array is not closed.
 * @param begins called before each object is yielded, with the line, from 1, in which it begins
 */
export async function* objectLines(
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
  begins: (line: number) => void = () => {},
): AsyncGenerator<Buffer, undefined> {
  let line = 1;
  let depth = 0;
  let inText = false;
  let escaped = false;
  let outer = 0;
  let closed = false;
  let first = true;
  for await (const chunk of source) {
    // At most each byte, and a newline after each object.
    const out = Buffer.allocUnsafe(chunk.length * 2);
    let length = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (inText) {
        out[length++] = byte;
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inText = false;
        continue;
      }
      if (byte <= 32) {
        if (byte === NEWLINE) line++;
        continue;
      }
      if (first) {
        first = false;
        if (byte === OPEN_ARRAY) {
          outer = 1;
          continue;
        }
      }
      if (depth === 0 && byte === COMMA) continue;
      if (depth === 0 && byte === CLOSE_ARRAY && outer === 1) {
        closed = true;
        continue;
      }
      out[length++] = byte;
      if (byte === QUOTE) inText = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (depth++ === 0) begins(line);
      } else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && --depth === 0) {
        out[length++] = NEWLINE;
      }
    }
    if (length > 0) yield out.subarray(0, length);
  }
  if (depth > 0 || inText || (outer === 1 && !closed)) throw new Error('the JSON ends too early');
}

/**
 * Yields the lines without their newlines, skipping empty ones. Throws if a line has more than
 * `bytesMax` bytes.
 */
export async function* linesOf(
  source: AsyncIterable<Buffer>,
  bytesMax: number,
): AsyncGenerator<Buffer, undefined> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    let begin = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, begin);
      if (end < 0) break;
      parts.push(chunk.subarray(begin, end));
      const line = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      parts = [];
      bytes = 0;
      begin = end + 1;
      if (line.length > 0) yield line;
    }
    if (begin < chunk.length) {
      bytes += chunk.length - begin;
      if (bytes > bytesMax) throw new Error(`a line has more than ${bytesMax} bytes`);
      parts.push(chunk.subarray(begin));
    }
  }
  if (parts.length > 0) yield Buffer.concat(parts);
}
