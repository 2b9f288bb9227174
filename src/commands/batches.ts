/** Groups records into requests of limited size. */
import { createHash } from 'node:crypto';
import type { FileRecord } from './records.ts';

const NEWLINE = 10;

/** The body of one request: a header, which may be empty, and whole records. */
export class Batch {
  readonly bytes: Buffer;
  readonly #headerBytes: number;
  /** The end offset in `bytes` and the line in the file of each record. */
  readonly #ends: readonly number[];
  readonly #lines: readonly number[];

  private constructor(
    bytes: Buffer,
    headerBytes: number,
    ends: readonly number[],
    lines: readonly number[],
  ) {
    this.bytes = bytes;
    this.#headerBytes = headerBytes;
    this.#ends = ends;
    this.#lines = lines;
  }

  static of(header: Buffer, records: readonly FileRecord[]): Batch {
    let end = header.length;
    return new Batch(
      Buffer.concat([header, ...records.map(({ bytes }) => bytes)]),
      header.length,
      records.map(({ bytes }) => (end += bytes.length)),
      records.map(({ line }) => line),
    );
  }

  /**
   * Lines with one document each, as they are.
   * @param first the number of the first document, which stands for its line
   */
  static ofLines(bytes: Buffer, first: number): Batch {
    const ends: number[] = [];
    for (let end = 0; (end = bytes.indexOf(NEWLINE, end) + 1) > 0;) ends.push(end);
    if ((ends.at(-1) ?? 0) < bytes.length) ends.push(bytes.length);
    return new Batch(
      bytes,
      0,
      ends,
      Array.from(ends, (_, n) => first + n),
    );
  }

  get documents(): number {
    return this.#ends.length;
  }

  get sha256(): string {
    return createHash('sha256').update(this.bytes).digest('hex');
  }

  /** The lines in which the first and the last record begin. */
  get lines(): { first: number; last: number } {
    return { first: this.#lines[0]!, last: this.#lines.at(-1)! };
  }

  /** The records without the header. */
  get records(): Buffer {
    return this.bytes.subarray(this.#headerBytes);
  }

  /** The two halves, each with the header. REQUIRES: at least two records. */
  halves(): [Batch, Batch] {
    const middle = this.documents >> 1;
    return [this.#part(0, middle), this.#part(middle, this.documents)];
  }

  #part(from: number, to: number): Batch {
    const begin = from === 0 ? this.#headerBytes : this.#ends[from - 1]!;
    const header = this.bytes.subarray(0, this.#headerBytes);
    const bytes = Buffer.concat([header, this.bytes.subarray(begin, this.#ends[to - 1]!)]);
    const ends = this.#ends.slice(from, to).map((end) => end - begin + this.#headerBytes);
    return new Batch(bytes, this.#headerBytes, ends, this.#lines.slice(from, to));
  }
}

/**
 * Groups records into batches of at most `bytesMax` bytes. A larger record has a batch of its own.
 * The batches depend only on the records, not on how they are split into chunks.
 * @param header written at the beginning of every batch
 */
export async function* batchesOf(
  source: AsyncIterable<FileRecord[]>,
  header: Buffer,
  bytesMax: number,
): AsyncGenerator<Batch, undefined> {
  let held: FileRecord[] = [];
  let bytes = header.length;
  for await (const records of source) {
    for (const record of records) {
      if (held.length > 0 && bytes + record.bytes.length > bytesMax) {
        yield Batch.of(header, held);
        held = [];
        bytes = header.length;
      }
      held.push(record);
      bytes += record.bytes.length;
    }
  }
  if (held.length > 0) yield Batch.of(header, held);
}
