/** Records in requests of some size. */
import { createHash } from 'node:crypto';

export interface Batch {
  bytes: Buffer;
  documents: number;
  /** Of the bytes. */
  sha256: string;
}

/**
 * Puts records into batches of at most `bytesMax` bytes; a record that is larger alone has one of its own. The batches of
 * the same records are the same, however the records come.
 * @param header stands at the begin of every batch
 */
export async function* batchesOf(
  source: AsyncIterable<Buffer[]>,
  header: Buffer,
  bytesMax: number,
): AsyncGenerator<Batch, undefined> {
  let held: Buffer[] = [];
  let bytes = header.length;
  for await (const records of source) {
    for (const record of records) {
      if (held.length > 0 && bytes + record.length > bytesMax) {
        yield batchOf(header, held);
        held = [];
        bytes = header.length;
      }
      held.push(record);
      bytes += record.length;
    }
  }
  if (held.length > 0) yield batchOf(header, held);
}

function batchOf(header: Buffer, records: readonly Buffer[]): Batch {
  const bytes = Buffer.concat([header, ...records]);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { bytes, documents: records.length, sha256 };
}
