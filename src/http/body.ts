/**
 * Request bodies. JSON is collected in memory. Documents stay in memory while they are small and
 * otherwise go to a file; the client waits for the disk, so that memory stays flat.
 */
import { close, closeSync, createReadStream, fsync, openSync, write, writeSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { limitText } from '../base/size.ts';
import { ApiError, toApiError } from '../contract/errors.ts';
import { decoder, requestCoding, type Coding } from './encoding.ts';
import type { Connection } from './connection.ts';

/** Documents up to this many bytes never touch a file. */
export const UPLOAD_MEMORY_BYTES_MAX = 64 * 1024;

/**
 * An upload that is too large is received and dropped up to this many times the limit before it is
 * refused: many clients look for a response only after they have sent everything, and the response
 * ends the connection.
 */
const UPLOAD_DROPPED = 4;

/** Bytes of an upload that may wait for the disk before the client is paused. */
const UPLOAD_WAITING_BYTES_MAX = 1024 * 1024;

/**
 * Bytes that may wait before the disk is written synchronously. A pause takes effect only after the
 * socket has been read empty once; a client on the same machine can send a gigabyte until then.
 */
const UPLOAD_BURST_BYTES_MAX = 8 * 1024 * 1024;

/** JSON bodies of at least this size are parsed in another thread, bytes. */
export const LARGE_BODY_BYTES = 256 * 1024;

/** The same for settings, which are also sorted and converted: that takes several times as long. */
export const LARGE_SETTINGS_BYTES = 32 * 1024;

/** One write to the disk. */
const BLOCK_BYTES = 256 * 1024;

export function payloadTooLarge(limit: number): ApiError {
  return new ApiError(
    'payload_too_large',
    `The payload is larger than the limit of ${limitText(limit)}.`,
  );
}

export function brokenCoding(coding: Coding, reason: string): ApiError {
  return new ApiError('bad_request', `The body is not valid ${coding} data: ${reason}.`);
}

const writeAsync = promisify(write);
const fsyncAsync = promisify(fsync);
const closeAsync = promisify(close);

function declaredTooLarge(connection: Connection, coding: Coding | null, limit: number): boolean {
  const { contentLength } = connection.headers;
  // A compressed body that is already too long only grows when it is decompressed.
  return contentLength !== undefined && Number(contentLength) > limit && coding === null;
}

/** Bytes that arrive in order. */
export interface Body {
  readonly parts: Buffer<ArrayBuffer>[];
  readonly size: number;
}

/**
 * Collects bytes in its own memory: however small the pieces, they cost no more than their content.
 */
class Parts implements Body {
  readonly parts: Buffer<ArrayBuffer>[] = [];
  size = 0;
  #block = Buffer.alloc(0);
  #used = 0;

  add(chunk: Buffer): void {
    for (let offset = 0; offset < chunk.length;) {
      if (this.#used === this.#block.length) this.#begin();
      const copied = chunk.copy(this.#block, this.#used, offset);
      offset += copied;
      this.#used += copied;
      this.size += copied;
      this.parts[this.parts.length - 1] = this.#block.subarray(0, this.#used);
    }
  }

  /** A block as large as all before it, within bounds. */
  #begin(): void {
    const bytes = Math.min(Math.max(this.size, PART_BYTES_MIN), PART_BYTES_MAX);
    this.#block = Buffer.allocUnsafeSlow(bytes);
    this.#used = 0;
    this.parts.push(this.#block);
  }
}

const PART_BYTES_MIN = 16 * 1024;
const PART_BYTES_MAX = 1024 * 1024;

/**
 * Collects a whole body.
 * @param limit bytes after decoding
 * @param dropped bytes of a body that is too large to receive and drop before it is refused: many
 *   clients look for a response only after they have sent everything, and the connection would not
 *   live that long after a response
 * @param kept a body of at least this many bytes has parts in memory that nobody else owns; a
 *   shorter one is valid only during the call of `done`
 * @param done called once, possibly before this returns; never after an abort
 */
export function collectBody(
  connection: Connection,
  { limit, dropped, kept }: { limit: number; dropped: number; kept: number },
  done: (outcome: Body | ApiError) => void,
): void {
  const coding = requestCoding(connection.headers.contentEncoding);
  let isRefused = declaredTooLarge(connection, coding, limit);
  if (isRefused && declaredTooLarge(connection, coding, dropped)) {
    done(payloadTooLarge(limit));
    return;
  }
  let body = new Parts();
  let received = 0;
  let ended = false;
  const finish = (outcome: Body | ApiError): void => {
    ended = true;
    body = new Parts();
    done(outcome);
  };
  connection.receive((chunk, last) => {
    if (ended) return;
    received += chunk.length;
    isRefused ||= received > limit;
    if (isRefused) {
      body = new Parts();
      if (last || received > dropped) finish(payloadTooLarge(limit));
      return;
    }
    if (last && body.size === 0 && received < kept && coding === null) {
      finish({ parts: [chunk as Buffer<ArrayBuffer>], size: received });
      return;
    }
    body.add(chunk);
    if (!last) return;
    if (coding === null || received === 0) {
      finish(body);
      return;
    }
    ended = true;
    decode(body, coding, limit).then(
      (decoded) => connection.aborted || done(decoded),
      (error: ApiError) => connection.aborted || done(error),
    );
  });
}

function decode(body: Body, coding: Coding, limit: number): Promise<Body> {
  return new Promise((resolve, reject) => {
    const decoded = new Parts();
    const stream = decoder(coding);
    stream.on('data', (part: Buffer) => {
      if (decoded.size + part.length > limit) {
        reject(payloadTooLarge(limit));
        stream.destroy();
      } else decoded.add(part);
    });
    stream.on('end', () => resolve(decoded));
    stream.on('error', (error) => reject(brokenCoding(coding, error.message)));
    for (const part of body.parts) stream.write(part);
    stream.end();
  });
}

export type Upload = { bytes: Buffer } | { file: string };

export interface UploadFiles {
  /** Throws when the system refuses: the disk is full, or too many files are open. */
  newPayloadFile(): { path: string };
  /** Never throws. */
  removePayloadFile(path: string): void;
}

/**
 * Receives a body of documents. A file is complete and on disk (fsync) when the promise resolves,
 * and removed when it rejects. Rejects with an `ApiError`; never settles after an abort.
 *
 * A compressed body is stored as received and decompressed after its end: while a fast client is
 * being read, nothing that needs another thread makes progress, and data waiting for that thread
 * would fill the memory.
 * @param limit bytes after decoding
 */
export async function receiveUpload(
  connection: Connection,
  limit: number,
  files: UploadFiles,
): Promise<Upload> {
  const coding = requestCoding(connection.headers.contentEncoding);
  const dropped = UPLOAD_DROPPED * limit;
  if (declaredTooLarge(connection, coding, dropped)) throw payloadTooLarge(limit);
  const sink = new UploadSink(files, limit, coding === null);
  if (declaredTooLarge(connection, coding, limit)) sink.refuse();
  const received = await receiveBytes(connection, sink, dropped);
  if (coding === null || ('bytes' in received && received.bytes.length === 0)) return received;
  try {
    const upload = await decodeUpload(received, coding, new UploadSink(files, limit, true));
    if (!connection.aborted) return upload;
    if ('file' in upload) files.removePayloadFile(upload.file);
  } catch (error) {
    if (!connection.aborted) throw error;
  } finally {
    if ('file' in received) files.removePayloadFile(received.file);
  }
  return new Promise(() => {});
}

/** Rejects with an `ApiError`; never settles after an abort. */
function receiveBytes(connection: Connection, sink: UploadSink, dropped: number): Promise<Upload> {
  return new Promise((resolve, reject) => {
    let ended = false;
    let received = 0;
    const fail = (error: unknown): void => {
      if (ended) return;
      ended = true;
      connection.resume();
      void sink.discard().then(() => connection.aborted || reject(toApiError(error)));
    };
    const finish = (): void => {
      ended = true;
      sink.finish().then(
        (upload) => {
          if (!connection.aborted) resolve(upload);
          else void sink.discard();
        },
        (error: unknown) =>
          sink.discard().then(() => connection.aborted || reject(toApiError(error))),
      );
    };
    connection.onAbort(() => fail(new Error('the client went away')));
    sink.onDrain = () => connection.resume();
    sink.onError = fail;
    connection.receive((chunk, last) => {
      if (ended) return;
      received += chunk.length;
      if (!sink.write(chunk)) connection.pause();
      if (ended || !(last || (sink.refusal !== null && received > dropped))) return;
      if (sink.refusal === null) finish();
      else fail(sink.refusal);
    });
  });
}

async function decodeUpload(received: Upload, coding: Coding, sink: UploadSink): Promise<Upload> {
  const source =
    'bytes' in received
      ? Readable.from([received.bytes])
      : createReadStream(received.file, { highWaterMark: BLOCK_BYTES });
  let failure: unknown = null;
  const target = new Writable({
    write(part: Buffer, _, done) {
      if (sink.write(part)) done();
      else sink.onDrain = done;
    },
  });
  sink.onError = (error) => {
    failure ??= error;
    target.destroy();
  };
  sink.onRefusal = () => sink.onError(sink.refusal);
  const stream = decoder(coding);
  stream.once('error', (error) => (failure ??= brokenCoding(coding, error.message)));
  try {
    await pipeline(source, stream, target);
    return await sink.finish();
  } catch (error) {
    await sink.discard();
    throw toApiError(failure ?? error);
  }
}

/**
 * Collects an upload: in memory up to `UPLOAD_MEMORY_BYTES_MAX`, then in a file.
 *
 * Incoming bytes are copied into blocks that are reused after they are written. Fresh buffers would
 * work as well, but the garbage collector lets hundreds of megabytes of them pile up.
 */
class UploadSink {
  /** Called when the sink accepts data again after `write` has returned false. */
  onDrain: () => void = () => {};
  /** Called when the disk has failed; the sink then ignores further data. */
  onError: (error: unknown) => void = () => {};
  /** Set when the limit is exceeded: further data is dropped. */
  refusal: ApiError | null = null;
  onRefusal: () => void = () => {};
  readonly #files: UploadFiles;
  readonly #limit: number;
  readonly #durable: boolean;
  #memory: Buffer[] = [];
  #size = 0;
  #path: string | null = null;
  #file: number | null = null;
  /** Filled blocks on their way to the disk, the one being filled, and those free. */
  readonly #queue: Block[] = [];
  #filling: Block | null = null;
  /** Offset of the next block in the file. */
  #end = 0;
  readonly #free: Buffer[] = [];
  #waiting = 0;
  #full = false;
  #closed = false;
  #writing: Promise<void> | null = null;

  /** @param durable the file is on disk when the upload is finished */
  constructor(files: UploadFiles, limit: number, durable: boolean) {
    this.#files = files;
    this.#limit = limit;
    this.#durable = durable;
  }

  /** Copies `chunk`. false: wait for `onDrain`, although more is accepted. */
  write(chunk: Buffer): boolean {
    if (this.#closed) return true;
    this.#size += chunk.length;
    if (this.#size > this.#limit) {
      this.refuse();
      return true;
    }
    if (this.#path === null) {
      if (this.#size <= UPLOAD_MEMORY_BYTES_MAX) {
        this.#memory.push(Buffer.from(chunk));
        return true;
      }
      try {
        this.#path = this.#files.newPayloadFile().path;
        this.#file = openSync(this.#path, 'w');
      } catch (error) {
        this.#closed = true;
        this.onError(error);
        return true;
      }
      for (const part of this.#memory) this.#fill(part);
      this.#memory = [];
    }
    this.#fill(chunk);
    this.#startWriting();
    if (this.#waiting > UPLOAD_BURST_BYTES_MAX) this.#writeAtOnce();
    // Once full, only the writer resets it and calls `onDrain`; chunks may still arrive meanwhile.
    this.#full ||= this.#waiting > UPLOAD_WAITING_BYTES_MAX;
    return !this.#full;
  }

  /** From now on all data is dropped; `discard` removes what was received. */
  refuse(): void {
    this.#closed = true;
    this.refusal ??= payloadTooLarge(this.#limit);
    this.#memory = [];
    this.onRefusal();
  }

  /** Resolves when all data is in memory or in the file. */
  async finish(): Promise<Upload> {
    this.#closed = true;
    if (this.#path === null) return { bytes: Buffer.concat(this.#memory) };
    if (this.#filling !== null) this.#queue.push(this.#filling);
    this.#filling = null;
    this.#startWriting();
    await this.#writing;
    const file = this.#file!;
    this.#file = null;
    try {
      if (this.#durable) await fsyncAsync(file);
    } finally {
      await closeAsync(file);
    }
    return { file: this.#path };
  }

  /** Drops the data and removes the file. May be called twice; never rejects. */
  async discard(): Promise<void> {
    this.#closed = true;
    this.#memory = [];
    this.#queue.length = 0;
    await this.#writing?.catch(() => {});
    const file = this.#file;
    this.#file = null;
    try {
      if (file !== null) closeSync(file);
    } catch {
      // The content is lost anyway.
    }
    if (this.#path !== null) this.#files.removePayloadFile(this.#path);
    this.#path = null;
  }

  #fill(chunk: Buffer): void {
    for (let offset = 0; offset < chunk.length;) {
      const target = (this.#filling ??= {
        bytes: this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES),
        length: 0,
        position: this.#end,
      });
      const copied = chunk.copy(target.bytes, target.length, offset);
      offset += copied;
      target.length += copied;
      this.#waiting += copied;
      if (target.length === BLOCK_BYTES) {
        this.#queue.push(target);
        this.#filling = null;
        this.#end += BLOCK_BYTES;
      }
    }
  }

  /** While the socket is being read, no asynchronous write can make progress. */
  #writeAtOnce(): void {
    if (this.#file === null) return;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        const { bytes, length, position } = next;
        for (let offset = 0; offset < length;) {
          offset += writeSync(this.#file, bytes, offset, length - offset, position + offset);
        }
        this.#written(next);
      }
    } catch (error) {
      this.#closed = true;
      this.onError(error);
    }
  }

  #written({ bytes, length }: Block): void {
    this.#free.push(bytes);
    this.#waiting -= length;
  }

  #startWriting(): void {
    if (this.#writing !== null || this.#queue.length === 0) return;
    const writing = this.#drain();
    this.#writing = writing;
    writing.then(
      () => {
        this.#writing = null;
        this.#startWriting();
      },
      (error: unknown) => {
        this.#closed = true;
        this.onError(error);
      },
    );
  }

  async #drain(): Promise<void> {
    const file = this.#file!;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const { bytes, length, position } = next;
      for (let offset = 0; offset < length;) {
        const { bytesWritten } = await writeAsync(
          file,
          bytes,
          offset,
          length - offset,
          position + offset,
        );
        offset += bytesWritten;
      }
      this.#written(next);
      if (this.#full && this.#waiting <= UPLOAD_WAITING_BYTES_MAX / 2) {
        this.#full = false;
        this.onDrain();
      }
    }
  }
}

interface Block {
  bytes: Buffer;
  /** Bytes in use. */
  length: number;
  /** Offset in the file. */
  position: number;
}
