/**
 * What is wrong with a file of documents, and where: without the name of the file, which callers
 * put in front.
 */
export class FileFault extends Error {
  override readonly name = 'FileFault';
  /** From 1; null: the whole file. */
  readonly line: number | null;

  constructor(message: string, line: number | null = null) {
    super(message);
    this.line = line;
  }
}

/** A fault of a named file, as people read it: `books.csv:12: …`. */
export function faultText(file: string, { line, message }: FileFault): string {
  return line === null ? `${file} ${message}.` : `${file}:${line}: ${message}.`;
}
