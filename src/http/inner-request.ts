/**
 * Requests that a handler makes in the name of its caller. They go through everything that a
 * request from outside goes through, so they have exactly the rights of the caller.
 */
import { jsonString, parseJson } from '../base/json.ts';
import type { RequestMeter } from '../auth/throttle.ts';
import type { Connection, RequestHeaders, ResponseStream } from './connection.ts';

export interface InnerRequest {
  method: 'GET' | 'POST' | 'DELETE';
  /** Percent-encoded, with the query. */
  path: string;
  /** Sent as JSON; absent: none. */
  body?: unknown;
}

export interface InnerResponse {
  status: number;
  /** The body, parsed with `exact`; null: there is none. */
  json: unknown;
  /** Size of the body. */
  bytes: number;
}

export class InnerRequests {
  /** Handles a request. Set by the server once it has its routes. */
  serve: (connection: Connection, outer: RequestMeter | undefined) => void = () => {
    throw new Error('the server does not serve yet');
  };

  /**
   * Rejects when the caller goes, and when the response is longer than `bytesMax`.
   * @param outer the request of the caller
   * @param meter that of the request
   */
  async send(
    { method, path, body }: InnerRequest,
    outer: Connection,
    meter: RequestMeter | undefined,
    bytesMax: number,
  ): Promise<InnerResponse> {
    const text = body === undefined ? null : Buffer.from(jsonString(body));
    const headers: RequestHeaders = {
      ...outer.headers,
      contentType: text === null ? undefined : 'application/json',
      contentLength: text === null ? undefined : String(text.length),
      contentEncoding: undefined,
      acceptEncoding: undefined,
      origin: undefined,
      accept: undefined,
      ifNoneMatch: undefined,
      lastEventId: undefined,
    };
    const { status, bytes } = await new Promise<{ status: number; bytes: Buffer }>(
      (resolve, reject) => {
        const inner = new InnerConnection({ method, path, headers, text, outer, bytesMax });
        inner.onEnd = (end) => (end instanceof Error ? reject(end) : resolve(end));
        const left = (): void => reject(new Error('The caller has gone'));
        if (outer.aborted) {
          left();
          return;
        }
        outer.onAbort(left);
        this.serve(inner, meter);
      },
    );
    const parsed = parseJson(bytes, { exact: true });
    return { status, json: parsed.ok ? parsed.value : null, bytes: bytes.length };
  }
}

/** The response has too many bytes. */
export class TooLongError extends Error {}

interface InnerOptions {
  method: string;
  path: string;
  headers: RequestHeaders;
  text: Buffer | null;
  outer: Connection;
  bytesMax: number;
}

type End = { status: number; bytes: Buffer } | Error;

class InnerConnection implements Connection {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: RequestHeaders;
  readonly headBytes = 0;
  readonly framingFault = null;
  closes = false;
  onEnd: (end: End) => void = () => {};
  readonly #options: InnerOptions;
  readonly #address: string;
  readonly #listeners: (() => void)[] = [];
  #isCut = false;

  constructor(options: InnerOptions) {
    this.#options = options;
    this.method = options.method;
    [this.path, this.query] = split(options.path);
    this.headers = options.headers;
    this.#address = options.outer.aborted ? '' : options.outer.remoteAddress();
  }

  get aborted(): boolean {
    return this.#isCut || this.#options.outer.aborted;
  }

  onAbort(listener: () => void): void {
    this.#listeners.push(listener);
    this.#options.outer.onAbort(listener);
  }

  remoteAddress(): string {
    return this.#address;
  }

  receive(onChunk: (chunk: Buffer, last: boolean) => void): void {
    const { text } = this.#options;
    queueMicrotask(() => onChunk(text ?? Buffer.alloc(0), true));
  }

  pause(): void {}

  resume(): void {}

  respond(...[status, , body, release]: Parameters<Connection['respond']>): void {
    const bytes = Buffer.from(body ?? '');
    release?.(body);
    this.#end(status, [bytes]);
  }

  stream(status: number): ResponseStream {
    const pieces: Buffer[] = [];
    let size = 0;
    return {
      write: (chunk) => {
        const piece = Buffer.from(chunk);
        size += piece.length;
        if (size > this.#options.bytesMax) this.#cut();
        else pieces.push(piece);
        return true;
      },
      onDrain: () => {},
      end: () => this.#end(status, pieces),
      abort: () => this.onEnd(new Error('The response was cut short')),
    };
  }

  #end(status: number, pieces: readonly Buffer[]): void {
    const bytes = Buffer.concat(pieces);
    if (bytes.length > this.#options.bytesMax) this.#cut();
    else this.onEnd({ status, bytes });
  }

  #cut(): void {
    if (this.#isCut) return;
    this.#isCut = true;
    this.onEnd(new TooLongError(`The response is longer than ${this.#options.bytesMax} bytes`));
    for (const listener of this.#listeners) listener();
  }
}

function split(target: string): [path: string, query: string] {
  const at = target.indexOf('?');
  return at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at + 1)];
}
