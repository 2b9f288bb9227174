import { Agent, type IncomingHttpHeaders, request as send } from 'node:http';

export interface ClientResponse {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body as JSON; throws when it is not JSON. */
  json<T>(): T;
}

/** The request got no complete response: it may or may not have been executed. */
export class NoResponse extends Error {
  override readonly name = 'NoResponse';
}

export interface CallOptions {
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  bytes?: Buffer;
  type?: string;
  headers?: Readonly<Record<string, string>>;
  /** After this time there is no response. */
  timeoutMs?: number;
}

/** Shorter than the server keeps an idle connection, so that none is closed during a request. */
const IDLE_MS_MAX = 3000;

/**
 * Minimal HTTP: one request, one response, or `NoResponse`. A GET is repeated on a new connection.
 */
export class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: IDLE_MS_MAX });
  readonly #port: number;
  readonly #key: string | undefined;

  constructor(port: number, key?: string) {
    this.#port = port;
    this.#key = key;
  }

  call(
    method: string,
    path: string,
    { body, bytes, type, headers: given, timeoutMs }: CallOptions = {},
  ): Promise<ClientResponse> {
    const content = bytes ?? (body === undefined ? null : Buffer.from(JSON.stringify(body)));
    const headers: Record<string, string | number> = { ...given };
    if (this.#key !== undefined) headers['authorization'] = `Bearer ${this.#key}`;
    if (content !== null) {
      headers['content-type'] = type ?? 'application/json';
      headers['content-length'] = content.length;
    }
    return new Promise((resolve, failed) => {
      const noResponse = (error: Error): void => failed(new NoResponse(error.message));
      const sent = send(
        { host: '127.0.0.1', port: this.#port, method, path, headers, agent: this.#agent },
        (response) => {
          const parts: Buffer[] = [];
          response.on('data', (part: Buffer) => parts.push(part));
          response.on('error', noResponse);
          response.on('aborted', () => noResponse(new Error('cut off')));
          response.on('end', () => {
            if (!response.complete) return;
            const text = Buffer.concat(parts).toString();
            resolve({
              status: response.statusCode!,
              headers: response.headers,
              text,
              json: <T>() => JSON.parse(text) as T,
            });
          });
        },
      );
      sent.on('error', (error: NodeJS.ErrnoException) => {
        // The server closed the idle connection before it got the request.
        const isStale = sent.reusedSocket && error.code === 'ECONNRESET';
        if (isStale && method === 'GET') resolve(this.call(method, path, { headers: given ?? {} }));
        else noResponse(error);
      });
      if (timeoutMs !== undefined) {
        const timer = setTimeout(() => sent.destroy(new Error('no response in time')), timeoutMs);
        sent.once('close', () => clearTimeout(timer));
      }
      sent.end(content ?? undefined);
    });
  }

  /** The body of a 200. */
  async get<T>(path: string): Promise<T> {
    return expectOk<T>(path, await this.call('GET', path));
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    return expectOk<T>(path, await this.call('POST', path, { body }));
  }

  close(): void {
    this.#agent.destroy();
  }
}

function expectOk<T>(path: string, { status, text, json }: ClientResponse): T {
  if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 500)}`);
  return json<T>();
}
