/** Sends requests of an HTTP thread to the main thread, and its responses to the clients. */
import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads';
import type { Connection, ResponseStream } from '../connection.ts';
import {
  CHUNK_BYTES,
  type RequestEvent,
  type ResponseEvent,
  type ResponseHead,
  type ToThread,
} from './messages.ts';

/** Bytes of a body that the main thread has not used yet; beyond it, the client is paused. */
const WINDOW_BYTES = 1024 * 1024;
/**
 * Beyond it, the thread stops until the main thread has used some: a pause takes effect only after
 * the socket has been read empty once, and a fast client may send a gigabyte until then.
 */
const BURST_BYTES_MAX = 8 * 1024 * 1024;
/** The longest stop for a chunk, ms. */
const STOP_MS_MAX = 10;
/** Larger chunks use memory that comes back. */
const SMALL_CHUNK_BYTES = 32 * 1024;
/** Maximum number of pieces of memory kept for further chunks. */
const FREE_MAX = 16;

/** Methods whose bodies no route reads. */
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A request without a complete response. */
interface Forwarded {
  readonly id: number;
  readonly connection: Connection;
  /** Bytes of its body that the main thread has not used yet. */
  unused: number;
  isPaused: boolean;
  stream: ResponseStream | null;
  /** Bytes of the stream that the socket has not taken. */
  unsent: number;
}

export class Forwarder {
  readonly #port: MessagePort;
  readonly #handle: (message: ToThread) => void;
  /** Messages that came while the thread was stopped, oldest first. */
  readonly #deferred: ToThread[] = [];
  readonly #open = new Map<number, Forwarded>();
  readonly #free: ArrayBuffer[] = [];
  readonly #sleep = new Int32Array(new SharedArrayBuffer(4));
  #last = 0;

  /** @param handle handles any message of the port */
  constructor(port: MessagePort, handle: (message: ToThread) => void) {
    this.#port = port;
    this.#handle = handle;
  }

  /** REQUIRES: called while the connection is being handled */
  forward(connection: Connection): void {
    const { method, path, query, headers, headBytes, framingFault } = connection;
    const id = ++this.#last;
    const forwarded: Forwarded = {
      id,
      connection,
      unused: 0,
      isPaused: false,
      stream: null,
      unsent: 0,
    };
    this.#open.set(id, forwarded);
    const address = connection.remoteAddress();
    const head = { method, path, query, headers, headBytes, framingFault, address };
    this.#post({ is: 'request', id, head });
    connection.onAbort(() => {
      if (this.#open.delete(id)) this.#post({ is: 'abort', id });
    });
    if (WITHOUT_BODY.has(method)) return;
    connection.receive((chunk, last) => this.#sendChunk(forwarded, chunk, last));
  }

  /** Handles the messages that were deferred. Call it before you handle another one. */
  handleDeferred(): void {
    for (const message of this.#deferred.splice(0)) this.#handle(message);
  }

  take(event: ResponseEvent): void {
    if (event.is === 'used') {
      this.#used(event);
      return;
    }
    const forwarded = this.#open.get(event.id);
    if (forwarded === undefined) return;
    const { id, connection } = forwarded;
    switch (event.is) {
      case 'respond':
        this.#open.delete(id);
        connection.closes = event.closes;
        connection.respond(event.status, event.headers, bodyOf(event.body));
        return;
      case 'stream':
        this.#beginStream(forwarded, event);
        return;
      case 'part':
        forwarded.unsent += event.bytes.length;
        if (forwarded.stream!.write(bufferOf(event.bytes))) this.#sent(forwarded);
        return;
      case 'end':
        this.#open.delete(id);
        forwarded.stream!.end();
        return;
      case 'cut':
        forwarded.stream!.abort();
    }
  }

  #beginStream(forwarded: Forwarded, { status, headers, closes }: ResponseHead): void {
    const { connection } = forwarded;
    connection.closes = closes;
    forwarded.stream = connection.stream(status, headers);
    forwarded.stream.onDrain(() => this.#sent(forwarded));
  }

  /** The socket has taken all parts of a stream. */
  #sent(forwarded: Forwarded): void {
    const { id, unsent } = forwarded;
    forwarded.unsent = 0;
    if (unsent > 0) this.#post({ is: 'sent', id, bytes: unsent });
  }

  #sendChunk(forwarded: Forwarded, chunk: Buffer, last: boolean): void {
    const { id, connection } = forwarded;
    if (!this.#open.has(id)) return;
    const bytes = this.#copied(chunk);
    forwarded.unused += bytes.length;
    this.#post({ is: 'chunk', id, bytes, last }, [bytes.buffer]);
    if (forwarded.unused > WINDOW_BYTES && !forwarded.isPaused && !last) {
      forwarded.isPaused = true;
      connection.pause();
    }
    this.#stopWhile(() => forwarded.unused > BURST_BYTES_MAX);
  }

  #copied(chunk: Buffer): Uint8Array<ArrayBuffer> {
    const isSmall = chunk.length <= SMALL_CHUNK_BYTES || chunk.length > CHUNK_BYTES;
    const memory = isSmall
      ? new ArrayBuffer(chunk.length)
      : (this.#free.pop() ?? new ArrayBuffer(CHUNK_BYTES));
    const bytes = new Uint8Array(memory, 0, chunk.length);
    bytes.set(chunk);
    return bytes;
  }

  #used({ id, bytes, memory }: Extract<ResponseEvent, { is: 'used' }>): void {
    if (memory !== null && this.#free.length < FREE_MAX) this.#free.push(memory);
    const forwarded = this.#open.get(id);
    if (forwarded === undefined) return;
    forwarded.unused -= bytes;
    if (!forwarded.isPaused || forwarded.unused > WINDOW_BYTES / 2) return;
    forwarded.isPaused = false;
    forwarded.connection.resume();
  }

  /** Blocks this thread, for a limited time. The main thread never waits for it. */
  #stopWhile(condition: () => boolean): void {
    for (let ms = 0; condition() && ms < STOP_MS_MAX;) {
      const received = receiveMessageOnPort(this.#port) as { message: ToThread } | undefined;
      if (received === undefined) {
        Atomics.wait(this.#sleep, 0, 0, 1);
        ms++;
      } else if (received.message.is === 'used') this.#used(received.message);
      else this.#defer(received.message);
    }
  }

  /** Responses are not sent while the socket is being read. */
  #defer(message: ToThread): void {
    if (this.#deferred.push(message) === 1) setImmediate(() => this.handleDeferred());
  }

  #post(event: RequestEvent, transferred: ArrayBuffer[] = []): void {
    this.#port.postMessage(event, transferred);
  }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function bodyOf(body: Uint8Array<ArrayBuffer> | string | null): Buffer | string | null {
  return body === null || typeof body === 'string' ? body : bufferOf(body);
}
