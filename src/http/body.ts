/**
 * Request bodies. JSON is collected in memory; documents stay in memory while they are small and go to
 * a file when they are not, with the client made to wait for the disk, so that memory stays flat.
 */
import { open, type FileHandle } from 'node:fs/promises';
import { PassThrough, type Transform } from 'node:stream';
import { limitText } from '../base/size.ts';
import { ApiError, toApiError } from '../contract/errors.ts';
import { decoder, requestCoding, type Coding } from './encoding.ts';
import type { Exchange } from './exchange.ts';

/** Documents up to this many bytes never touch a file. */
export const UPLOAD_MEMORY_BYTES_MAX = 64 * 1024;

/** Bytes of an upload that may wait for the disk or the decoder before the client is paused. */
const UPLOAD_WAITING_BYTES_MAX = 1024 * 1024;

export function payloadTooLarge(limit: number): ApiError {
  return new ApiError(
    'payload_too_large',
    `The payload is larger than the limit of ${limitText(limit)}.`,
  );
}

export function brokenCoding(coding: Coding, reason: string): ApiError {
  return new ApiError('bad_request', `The body is not valid ${coding} data: ${reason}.`);
}

function declaredTooLarge(exchange: Exchange, coding: Coding | null, limit: number): boolean {
  const { contentLength } = exchange.headers;
  // A compressed body that is already too long stays so when it grows.
  return contentLength !== undefined && Number(contentLength) > limit && coding === null;
}

/**
 * Collects a whole body.
 * @param limit bytes after decoding
 * @param done called once, possibly before this returns; never after an abort. The buffer is valid
 *   during the call only.
 */
export function collectBody(
  exchange: Exchange,
  limit: number,
  done: (outcome: Buffer | ApiError) => void,
): void {
  const coding = requestCoding(exchange.headers.contentEncoding);
  if (declaredTooLarge(exchange, coding, limit)) {
    done(payloadTooLarge(limit));
    return;
  }
  let parts: Buffer[] = [];
  let size = 0;
  let ended = false;
  const finish = (outcome: Buffer | ApiError): void => {
    ended = true;
    parts = [];
    done(outcome);
  };
  exchange.receive((chunk, last) => {
    if (ended) return;
    size += chunk.length;
    if (size > limit) {
      finish(payloadTooLarge(limit));
      return;
    }
    if (!last) {
      parts.push(Buffer.from(chunk));
      return;
    }
    const whole = parts.length === 0 ? chunk : Buffer.concat([...parts, chunk]);
    if (coding === null || size === 0) finish(whole);
    else {
      ended = true;
      decode(Buffer.from(whole), coding, limit).then(
        (bytes) => exchange.aborted || done(bytes),
        (error: ApiError) => exchange.aborted || done(error),
      );
    }
  });
}

function decode(bytes: Buffer, coding: Coding, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    const stream = decoder(coding);
    stream.on('data', (part: Buffer) => {
      size += part.length;
      if (size > limit) {
        reject(payloadTooLarge(limit));
        stream.destroy();
      } else parts.push(part);
    });
    stream.on('end', () => resolve(Buffer.concat(parts)));
    stream.on('error', (error) => reject(brokenCoding(coding, error.message)));
    stream.end(bytes);
  });
}

export type Upload = { bytes: Buffer } | { file: string };

export interface UploadFiles {
  newPayloadFile(): { path: string };
  removePayloadFile(path: string): void;
}

/**
 * Takes in a body of documents. A file is complete and on disk (fsync) when the promise resolves, and
 * removed when it rejects. Rejects with an `ApiError`; never settles after an abort.
 * @param limit bytes after decoding
 */
export function receiveUpload(
  exchange: Exchange,
  limit: number,
  files: UploadFiles,
): Promise<Upload> {
  const coding = requestCoding(exchange.headers.contentEncoding);
  if (declaredTooLarge(exchange, coding, limit)) return Promise.reject(payloadTooLarge(limit));
  return new Promise((resolve, reject) => {
    let small: Buffer[] = [];
    let size = 0;
    let source: Transform | null = null;
    let ended = false;

    function startStream(): Transform {
      const stream =
        coding === null
          ? new PassThrough({ highWaterMark: UPLOAD_WAITING_BYTES_MAX })
          : decoder(coding);
      stream.on('drain', () => exchange.resume());
      exchange.onAbort(() => stream.destroy(new Error('the client went away')));
      drainToSink(stream, coding, limit, files).then(
        (upload) => {
          if (!exchange.aborted) resolve(upload);
          else if ('file' in upload) files.removePayloadFile(upload.file);
        },
        (error: unknown) => {
          ended = true;
          exchange.resume();
          if (!exchange.aborted) reject(toApiError(error));
        },
      );
      return stream;
    }

    exchange.receive((chunk, last) => {
      if (ended) return;
      size += chunk.length;
      if (source === null && coding === null && size <= UPLOAD_MEMORY_BYTES_MAX) {
        small.push(Buffer.from(chunk));
        if (last) resolve({ bytes: Buffer.concat(small) });
        return;
      }
      if (source === null) {
        if (last && size === 0) {
          resolve({ bytes: Buffer.alloc(0) });
          return;
        }
        source = startStream();
        for (const part of small) source.write(part);
        small = [];
      }
      const room = chunk.length === 0 || source.write(Buffer.from(chunk));
      if (last) source.end();
      else if (!room) exchange.pause();
    });
  });
}

/** Reads a stream to its end, into memory first and into a file when it grows. */
async function drainToSink(
  stream: Transform,
  coding: Coding | null,
  limit: number,
  files: UploadFiles,
): Promise<Upload> {
  let memory: Buffer[] = [];
  let size = 0;
  let path: string | null = null;
  let file: FileHandle | null = null;
  try {
    for await (const part of iterate(stream, coding)) {
      size += part.length;
      if (size > limit) throw payloadTooLarge(limit);
      if (file === null) {
        memory.push(part);
        if (size <= UPLOAD_MEMORY_BYTES_MAX) continue;
        path = files.newPayloadFile().path;
        file = await open(path, 'w');
        await file.writev(memory);
        memory = [];
      } else await writeAll(file, part);
    }
    if (file === null) return { bytes: Buffer.concat(memory) };
    await file.sync();
    await file.close();
    return { file: path! };
  } catch (error) {
    stream.destroy();
    await file?.close().catch(() => {});
    if (path !== null) files.removePayloadFile(path);
    throw error;
  }
}

async function* iterate(stream: Transform, coding: Coding | null): AsyncGenerator<Buffer> {
  try {
    for await (const part of stream) yield part as Buffer;
  } catch (error) {
    throw coding === null ? error : brokenCoding(coding, (error as Error).message);
  }
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let offset = 0; offset < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, offset);
    offset += bytesWritten;
  }
}
