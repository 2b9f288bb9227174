/** Large files of documents in pieces that the server takes. */

export type FileType = 'application/json' | 'application/x-ndjson' | 'text/csv';

/** By the end of the name; null: nobody knows. */
export function fileType(name: string): FileType | null {
  const ending = name.toLowerCase().split('.').at(-1);
  switch (ending) {
    case 'json':
      return 'application/json';
    case 'ndjson':
    case 'jsonl':
      return 'application/x-ndjson';
    case 'csv':
      return 'text/csv';
    default:
      return null;
  }
}

const LINE = 10;
const QUOTE = 34;

/**
 * Pieces of up to `bytesMax`, in order, each a file of the same type: lines are never cut, nor is a line of CSV that
 * goes on within quotes, and each piece of CSV begins with the first line. A JSON array stays whole, and so does a
 * line that is longer.
 */
export async function piecesOf(file: Blob, type: FileType, bytesMax: number): Promise<Blob[]> {
  if (type === 'application/json' || file.size <= bytesMax) return [file];
  const csv = type === 'text/csv';
  const pieces: Blob[] = [];
  let head: Blob | null = null;
  let begin = 0;
  let lineEnd = 0;
  let offset = 0;
  let quoted = false;
  const cut = (end: number): void => {
    const piece = file.slice(begin, end);
    pieces.push(head === null ? piece : new Blob([head, piece]));
    begin = end;
  };
  for await (const chunk of chunksOf(file)) {
    for (let at = 0; at < chunk.length; at++) {
      if (csv && chunk[at] === QUOTE) quoted = !quoted;
      if (chunk[at] !== LINE || quoted) continue;
      const end = offset + at + 1;
      if (csv && head === null) {
        head = file.slice(0, end);
        begin = end;
      } else if (end - begin > bytesMax && lineEnd > begin) cut(lineEnd);
      lineEnd = end;
    }
    offset += chunk.length;
  }
  if (file.size - begin > bytesMax && lineEnd > begin) cut(lineEnd);
  if (begin < file.size) cut(file.size);
  return pieces;
}

const CHUNK_BYTES = 1024 * 1024;

async function* chunksOf(file: Blob): AsyncGenerator<Uint8Array> {
  for (let begin = 0; begin < file.size; begin += CHUNK_BYTES) {
    yield new Uint8Array(await file.slice(begin, begin + CHUNK_BYTES).arrayBuffer());
  }
}
