/**
 * A fault in a file of documents. The message does not contain the name of the file, which callers
 * prepend.
 */
export class FileFault extends Error {
  override readonly name = 'FileFault';
  /** Line of the fault, from 1; null: the whole file. */
  readonly line: number | null;

  constructor(message: string, line: number | null = null) {
    super(message);
    this.line = line;
  }
}

/** Formats a fault with the name of the file: `books.csv:12: …`. */
export function faultText(file: string, { line, message }: FileFault): string {
  return line === null ? `${file} ${message}.` : `${file}:${line}: ${message}.`;
}
