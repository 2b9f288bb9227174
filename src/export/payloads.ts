/** Groups documents into payloads of limited size. */
import { once } from 'node:events';
import { createGzip } from 'node:zlib';
import { newlinesIn } from '../base/newlines.ts';

const NEWLINE = 10;
const COMPRESSION = 4;

export interface Payload {
  /** JSON lines, compressed. */
  bytes: Buffer;
  documents: number;
}

/**
 * Groups lines into payloads of at most `bytesMax` bytes before compression. A longer line has a
 * payload of its own. Memory: one chunk of `source` and one compressed payload.
 * @param source chunks of complete lines
 */
export async function* payloadsOf(
  source: AsyncIterable<Buffer>,
  bytesMax: number,
): AsyncGenerator<Payload, undefined> {
  let packer = new Packer();
  for await (const lines of source) {
    for (let begin = 0; begin < lines.length;) {
      const end = endOfFitting(lines, begin, bytesMax - packer.bytes);
      if (end === begin && packer.bytes > 0) {
        yield await packer.finish();
        packer = new Packer();
        continue;
      }
      const next = end === begin ? lines.indexOf(NEWLINE, begin) + 1 : end;
      await packer.add(lines.subarray(begin, next));
      begin = next;
    }
  }
  if (packer.bytes > 0) yield await packer.finish();
}

/**
 * The offset after the last line that ends within `space` bytes of `begin`; `begin` if none does.
 */
function endOfFitting(lines: Buffer, begin: number, space: number): number {
  if (lines.length - begin <= space) return lines.length;
  if (space <= 0) return begin;
  const last = lines.lastIndexOf(NEWLINE, begin + space - 1);
  return last < begin ? begin : last + 1;
}

class Packer {
  readonly #gzip = createGzip({ level: COMPRESSION });
  readonly #chunks: Buffer[] = [];
  bytes = 0;
  #documents = 0;

  constructor() {
    this.#gzip.on('data', (chunk: Buffer) => this.#chunks.push(chunk));
  }

  async add(lines: Buffer): Promise<void> {
    this.bytes += lines.length;
    this.#documents += newlinesIn(lines);
    if (!this.#gzip.write(lines)) await once(this.#gzip, 'drain');
  }

  async finish(): Promise<Payload> {
    this.#gzip.end();
    await once(this.#gzip, 'end');
    return { bytes: Buffer.concat(this.#chunks), documents: this.#documents };
  }
}
