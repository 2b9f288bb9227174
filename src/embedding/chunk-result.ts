/**
 * Serializes the embeddings of a chunk of documents for the engine. Little-endian.
 *
 * For each document and each of its wants:
 * - u8: 1 if rows follow, 0 if nothing changes
 * - u16: number of rows
 * - for each row:
 *   - u8: 1 if a stored embedding is kept, else 0
 *   - u8: fragment
 *   - u64: hash of the text
 *   - u32, u32: start and length of its passage, 0 and 0 if it stands for the document
 *   - if the embedding is kept: u8, the fragment under which it is stored; else: u32 dimensions,
 *     then the embedding as float32 values
 */
import type { RenderedRow } from './render.ts';

const ROW_BYTES = 18;

/** @param embeddings the embeddings of the rows with an input, in order */
export function chunkResult(
  rows: readonly (readonly RenderedRow[] | null)[][],
  embeddings: readonly Float32Array[],
): Buffer {
  let size = 0;
  for (const row of rows.flat()) size += 1 + (row === null ? 0 : 2 + row.length * (ROW_BYTES + 4));
  for (const embedding of embeddings) size += embedding.byteLength;
  const buffer = Buffer.allocUnsafe(size);
  let at = 0;
  let next = 0;
  for (const want of rows.flat()) {
    at = buffer.writeUInt8(want === null ? 0 : 1, at);
    if (want === null) continue;
    at = buffer.writeUInt16LE(want.length, at);
    for (const {
      fragment,
      hash,
      span: [start, length],
      kept,
      input,
    } of want) {
      at = buffer.writeUInt8(input === null ? 1 : 0, at);
      at = buffer.writeUInt8(fragment, at);
      at = buffer.writeBigUInt64LE(BigInt(`0x${hash}`), at);
      at = buffer.writeUInt32LE(start, at);
      at = buffer.writeUInt32LE(length, at);
      if (input === null) {
        at = buffer.writeUInt8(kept, at);
        continue;
      }
      const embedding = embeddings[next++]!;
      at = buffer.writeUInt32LE(embedding.length, at);
      // All machines that Node supports here are little-endian.
      at += Buffer.from(embedding.buffer, embedding.byteOffset, embedding.byteLength).copy(
        buffer,
        at,
      );
    }
  }
  return buffer.subarray(0, at);
}
