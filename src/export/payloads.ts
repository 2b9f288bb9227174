/** Documents in requests of some size. */
import { once } from 'node:events';
import { createGzip } from 'node:zlib';
import { newlinesIn } from '../base/newlines.ts';

const NEWLINE = 10;
const COMPRESSION = 4;

export interface Payload {
  /** Compressed lines of JSON. */
  bytes: Buffer;
  documents: number;
}

/**
 * Puts lines into payloads of at most `bytesMax` bytes before compression; a line that is larger
 * alone has one of its own. What is held at a time is a piece of `source` and one payload,
 * compressed.
 * @param source whole lines
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

/** Behind the last line that ends within `room` bytes; `begin` when none does. */
function endOfFitting(lines: Buffer, begin: number, room: number): number {
  if (lines.length - begin <= room) return lines.length;
  if (room <= 0) return begin;
  const last = lines.lastIndexOf(NEWLINE, begin + room - 1);
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
