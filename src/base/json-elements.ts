/**
 * The documents of a JSON payload, one on a line, without building values: a text between the brackets of a list is cut
 * at its commas, and line ends outside of strings go.
 *
 * @param payload JSON of one object or a list of them, known to be sound
 * @param pieceBytes a piece ends once it has so many bytes; others may run between two
 */
export function* documentLines(payload: Buffer, pieceBytes: number): Generator<Buffer> {
  let at = skipSpace(payload, 0);
  const isList = payload[at] === OPEN_LIST;
  if (isList) at++;
  let piece = Buffer.allocUnsafe(pieceBytes + 16);
  let length = 0;
  let depth = 0;
  let inString = false;
  for (; at < payload.length; at++) {
    const byte = payload[at]!;
    if (inString) {
      if (byte === BACKSLASH) piece[length++] = payload[at++]!;
      else if (byte === QUOTE) inString = false;
      piece[length++] = payload[at]!;
    } else if (byte === NEWLINE || byte === RETURN) {
      continue;
    } else if (depth === 0 && (byte === SPACE || byte === TAB)) {
      continue;
    } else if (depth === 0 && isList && byte === CLOSE_LIST) {
      break;
    } else if (depth === 0 && byte === COMMA) {
      piece[length++] = NEWLINE;
    } else {
      if (byte === QUOTE) inString = true;
      else if (byte === OPEN_LIST || byte === OPEN_MAP) depth++;
      else if (byte === CLOSE_LIST || byte === CLOSE_MAP) depth--;
      piece[length++] = byte;
    }
    if (length >= pieceBytes) {
      yield piece.subarray(0, length);
      piece = Buffer.allocUnsafe(pieceBytes + 16);
      length = 0;
    }
  }
  piece[length++] = NEWLINE;
  yield piece.subarray(0, length);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_MAP = 0x7b;
const CLOSE_MAP = 0x7d;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;

function skipSpace(payload: Buffer, from: number): number {
  let at = from;
  while ([SPACE, TAB, NEWLINE, RETURN].includes(payload[at]!)) at++;
  return at;
}
