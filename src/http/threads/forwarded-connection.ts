/** A request that an HTTP thread has received, as a connection of the main thread. */
import type { MessagePort, Worker } from 'node:worker_threads';
import type {
  Connection,
  HeaderList,
  ReleaseBody,
  RequestHeaders,
  ResponseBody,
  ResponseStream,
} from '../connection.ts';
import {
  CHUNK_BYTES,
  type ForwardedHead,
  type RequestEvent,
  type ResponseEvent,
} from './messages.ts';

/** Bytes of a stream on their way to a client; beyond it, the writer waits. */
const STREAM_BYTES_MAX = 64 * 1024;

type Port = Pick<MessagePort | Worker, 'postMessage'>;

/** The requests that one thread has forwarded and that have no complete response yet. */
export class ForwardedRequests {
  readonly #port: Port;
  readonly #handle: (connection: Connection) => void;
  readonly #open = new Map<number, ForwardedConnection>();

  constructor(port: Port, handle: (connection: Connection) => void) {
    this.#port = port;
    this.#handle = handle;
  }

  take(event: RequestEvent): void {
    const { id } = event;
    if (event.is === 'request') {
      const connection = new ForwardedConnection(id, event.head, this.#port, () =>
        this.#open.delete(id),
      );
      this.#open.set(id, connection);
      this.#handle(connection);
      return;
    }
    const connection = this.#open.get(id);
    if (connection !== undefined) connection.take(event);
    else if (event.is === 'chunk') giveBack(this.#port, id, event.bytes);
  }
}

/** Tells the thread that a chunk has been used, and returns the memory of a large one. */
function giveBack(port: Port, id: number, { length, buffer }: Uint8Array<ArrayBuffer>): void {
  if (length === 0) return;
  const memory = buffer.byteLength === CHUNK_BYTES ? buffer : null;
  const event: ResponseEvent = { is: 'used', id, bytes: length, memory };
  port.postMessage(event, memory === null ? [] : [memory]);
}

interface Chunk {
  bytes: Uint8Array<ArrayBuffer>;
  last: boolean;
}

class ForwardedConnection implements Connection {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: RequestHeaders;
  readonly headBytes: number;
  readonly framingFault: string | null;
  closes = false;
  aborted = false;
  readonly #id: number;
  readonly #address: string;
  readonly #port: Port;
  readonly #forget: () => void;
  readonly #abortListeners: (() => void)[] = [];
  #onChunk: ((chunk: Buffer, last: boolean) => void) | null = null;
  readonly #chunks: Chunk[] = [];
  #paused = false;
  #done = false;
  /** Bytes of the stream that the client has not taken yet. */
  #unsent = 0;
  #isDrained = true;
  #onDrain: () => void = () => {};

  constructor(id: number, head: ForwardedHead, port: Port, forget: () => void) {
    this.method = head.method;
    this.path = head.path;
    this.query = head.query;
    this.headers = head.headers;
    this.headBytes = head.headBytes;
    this.framingFault = head.framingFault;
    this.#id = id;
    this.#address = head.address;
    this.#port = port;
    this.#forget = forget;
  }

  take(event: Exclude<RequestEvent, { is: 'request' }>): void {
    switch (event.is) {
      case 'chunk':
        this.#chunks.push(event);
        this.#deliver();
        return;
      case 'sent':
        this.#unsent -= event.bytes;
        if (this.#isDrained || this.#unsent > STREAM_BYTES_MAX / 2) return;
        this.#isDrained = true;
        if (!this.#done) this.#onDrain();
        return;
      case 'abort':
        this.#end();
        this.aborted = true;
        for (const listener of this.#abortListeners) listener();
    }
  }

  remoteAddress(): string {
    return this.#done ? '' : this.#address;
  }

  onAbort(listener: () => void): void {
    if (this.aborted) listener();
    else this.#abortListeners.push(listener);
  }

  receive(onChunk: (chunk: Buffer, last: boolean) => void): void {
    this.#onChunk = onChunk;
    // Not before this call returns.
    if (this.#chunks.length > 0) queueMicrotask(() => this.#deliver());
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#deliver();
  }

  /** The thread sends no more while many bytes wait here. */
  #deliver(): void {
    if (this.#onChunk === null) return;
    while (!this.#paused || this.#done) {
      const chunk = this.#chunks.shift();
      if (chunk === undefined) return;
      const { bytes, last } = chunk;
      if (!this.#done)
        this.#onChunk(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), last);
      giveBack(this.#port, this.#id, bytes);
    }
  }

  respond(status: number, headers: HeaderList, body: ResponseBody, release?: ReleaseBody): void {
    if (this.#done) return;
    const isBytes = body !== null && typeof body !== 'string';
    const sent = isBytes ? new Uint8Array(body) : body;
    this.#post(
      { is: 'respond', id: this.#id, status, headers, closes: this.closes, body: sent },
      isBytes ? [(sent as Uint8Array<ArrayBuffer>).buffer] : [],
    );
    this.#end();
    release?.(body);
  }

  stream(status: number, headers: HeaderList): ResponseStream {
    if (!this.#done)
      this.#post({ is: 'stream', id: this.#id, status, headers, closes: this.closes });
    return {
      write: (chunk) => {
        if (this.#done) return false;
        const bytes = new Uint8Array(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
        this.#unsent += bytes.length;
        this.#post({ is: 'part', id: this.#id, bytes }, [bytes.buffer]);
        if (this.#unsent > STREAM_BYTES_MAX) this.#isDrained = false;
        return this.#isDrained;
      },
      onDrain: (listener) => (this.#onDrain = listener),
      end: () => {
        if (this.#done) return;
        this.#post({ is: 'end', id: this.#id });
        this.#end();
      },
      abort: () => {
        if (!this.#done) this.#post({ is: 'cut', id: this.#id });
      },
    };
  }

  #post(event: ResponseEvent, transferred: ArrayBuffer[] = []): void {
    this.#port.postMessage(event, transferred);
  }

  #end(): void {
    this.#done = true;
    this.#forget();
    // What has arrived is of no use any more, but its memory is.
    for (const { bytes } of this.#chunks.splice(0)) giveBack(this.#port, this.#id, bytes);
  }
}
