/** Requests to the server that served the page, with the key of the session. */

/** The status of requests that are refused, also of those whose task is. */
export const REFUSED = 400;

/** The server responded with an error, or not at all. */
export class Fault extends Error {
  /** 0: the server could not be reached. */
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** A handler of errors for which one of the server means that there is nothing. */
export function unless(code: string): (error: unknown) => null {
  return (error) => {
    if (error instanceof Fault && error.code === code) return null;
    throw error;
  };
}

export interface SendOptions {
  /** Sent as JSON. */
  body?: unknown;
  signal?: AbortSignal;
  /** A search that analytics leave out. */
  isTest?: boolean;
}

export interface UploadOptions {
  type: string;
  signal: AbortSignal;
  /** Reports the number of bytes sent so far, as far as the browser knows. */
  onSent(bytes: number): void;
}

/** The response to an asynchronous write. */
export interface TaskReceipt {
  taskUid: number;
}

export class Client {
  readonly key: string | null;

  /** @param key null: requests are sent without a key */
  constructor(key: string | null) {
    this.key = key;
  }

  /** @param path begins with a slash and may have a query. Throws a {@link Fault}. */
  async send<T>(method: string, path: string, options: SendOptions = {}): Promise<T> {
    const response = await this.open(method, path, options);
    const text = await response.text();
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  /**
   * Resolves with the response before its body is read. Throws a {@link Fault}; after an abort,
   * the error of the abort.
   */
  async open(
    method: string,
    path: string,
    { body, signal, isTest = false }: SendOptions,
  ): Promise<Response> {
    const response = await fetch(address(path), {
      method,
      headers: {
        ...this.#authorization(),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(isTest && { 'x-gannet-test-search': 'true' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
      cache: 'no-store',
    }).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw new Fault(0, 'unreachable', 'The server cannot be reached.');
    });
    if (!response.ok) throw faultOf(response.status, await response.text().catch(() => ''));
    return response;
  }

  /** Sends a file with XMLHttpRequest, because `fetch` does not report upload progress. */
  upload<T>(method: string, path: string, body: Blob, options: UploadOptions): Promise<T> {
    const { type, signal, onSent } = options;
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open(method, address(path));
      for (const [name, value] of Object.entries(this.#authorization())) {
        request.setRequestHeader(name, value);
      }
      request.setRequestHeader('content-type', type);
      request.upload.addEventListener('progress', ({ loaded }) => onSent(loaded));
      request.addEventListener('error', () =>
        reject(new Fault(0, 'unreachable', 'The connection was lost while sending.')),
      );
      request.addEventListener('abort', () => reject(new Fault(0, 'aborted', 'Stopped.')));
      request.addEventListener('load', () => {
        const { status, responseText } = request;
        if (status >= 200 && status < 300) resolve(JSON.parse(responseText) as T);
        else reject(faultOf(status, responseText));
      });
      signal.addEventListener('abort', () => request.abort());
      request.send(body);
    });
  }

  #authorization(): Record<string, string> {
    return this.key === null ? {} : { authorization: `Bearer ${this.key}` };
  }
}

/**
 * Yields the body of a response as it arrives. Throws a {@link Fault} if the connection is lost;
 * after an abort, the error of the abort.
 */
export async function* textOf(response: Response, signal: AbortSignal): AsyncGenerator<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      if (signal.aborted) throw error;
      throw new Fault(0, 'unreachable', 'The connection to the server was lost.');
    });
    if (done) return;
    yield value;
  }
}

/** A URL relative to the page, so that it also works behind a proxy that adds a path prefix. */
function address(path: string): string {
  return new URL(`.${path}`, location.href.replace(/[?#].*$/, '')).href;
}

function faultOf(status: number, text: string): Fault {
  try {
    const { code, message } = JSON.parse(text) as { code: string; message: string };
    // Earlier requests with this key succeeded.
    const shown =
      status === 403 && code === 'invalid_api_key'
        ? 'This key may not do that, or is no longer valid.'
        : message;
    return new Fault(status, code, shown);
  } catch {
    return new Fault(status, 'unknown', `The server responded with status ${status}.`);
  }
}

/**
 * A path made of percent-encoded segments. Query parameters that are undefined or empty are
 * omitted.
 */
export function pathOf(
  segments: readonly (string | number)[],
  query: Readonly<Record<string, string | number | boolean | undefined>> = {},
): string {
  const path = segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return given.length === 0 ? path : `${path}?${given.join('&')}`;
}
