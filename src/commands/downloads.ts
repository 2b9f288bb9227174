/** Files of an import that a server has, read by http or https. */
import { maskedUrl } from '../base/secrets.ts';
import { RefusedRequest, retryPolicy } from '../outbound/api-peer.ts';
import { OutboundClient, type OutboundStream } from '../outbound/outbound-client.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import { withRetries } from '../outbound/retry.ts';
import { FileError } from './command.ts';

const HEAD_MS = 60_000;
const IDLE_MS = 60_000;
/** As many as browsers of a release's files meet, and some more. */
const REDIRECTS_MAX = 5;
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);

export interface DownloadOptions {
  authorities: string | null;
  /** How long to repeat a request that fails for the moment. */
  retrySeconds: number;
  signal: AbortSignal;
}

type Headers = Readonly<Record<string, string>>;

export const isUrl = (path: string): boolean => /^https?:\/\//i.test(path);

/** A URL as shown, and its path, whose end tells the format. */
export const shownUrl = (url: string): string => maskedUrl(url);
export const pathOfUrl = (url: string): string => (URL.canParse(url) ? new URL(url).pathname : url);

/** Must be closed, otherwise the process keeps running. */
export class Downloads {
  readonly #client: OutboundClient;
  readonly #options: DownloadOptions;

  constructor(options: DownloadOptions) {
    const { authorities } = options;
    this.#options = options;
    this.#client = new OutboundClient({
      denyPrivate: false,
      allow: ['any'],
      ...(authorities !== null && { authorities }),
    });
  }

  /** The size, if the server tells it without sending the file. Throws `FileError`. */
  async bytesOf(url: string): Promise<number | null> {
    const response = await this.#get(url, { range: 'bytes=0-0' });
    try {
      const total = textOf(response, 'content-range')?.split('/')[1];
      const text = response.status === 206 ? total : textOf(response, 'content-length');
      return /^\d+$/.test(text ?? '') ? Number(text) : null;
    } finally {
      response.discard();
    }
  }

  /**
   * Yields the bytes. After a broken connection it asks for those that follow, if the server can
   * tell that the file is still the same; otherwise it throws.
   */
  async *read(url: string): AsyncGenerator<Buffer, undefined> {
    let at = 0;
    let validator: string | null = null;
    for (;;) {
      const begun = at;
      const response: OutboundStream = await this.#get(
        url,
        validator === null || at === 0 ? {} : { range: `bytes=${at}-`, 'if-range': validator },
      );
      try {
        if (at > 0 && !continues(response, at)) {
          throw new FileError(
            `${shownUrl(url)} has changed, or its server sends it only as a whole: repeat the command.`,
          );
        }
        validator ??= strongValidator(response);
        for await (const chunk of response.body) {
          at += chunk.length;
          yield chunk;
        }
        return;
      } catch (error) {
        // A connection that brings nothing new is not asked again at once.
        const isBroken = error instanceof OutboundError && error.failure !== 'canceled';
        if (!isBroken || validator === null || at === begun) throw error;
      } finally {
        response.discard();
      }
    }
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #get(url: string, headers: Headers): Promise<OutboundStream> {
    const { signal, retrySeconds } = this.#options;
    try {
      return await withRetries(
        () => this.#followed(url, headers),
        retryPolicy(retrySeconds * 1000),
        { signal },
      );
    } catch (error) {
      if (!(error instanceof RefusedRequest)) throw error;
      throw new FileError(`${shownUrl(url)} cannot be read: status ${error.status}.`);
    }
  }

  async #followed(from: string, headers: Headers): Promise<OutboundStream> {
    let url = from;
    for (let hops = 0; ; hops++) {
      const response = await this.#client.stream({
        method: 'GET',
        url,
        headers,
        timeoutMs: HEAD_MS,
        idleTimeoutMs: IDLE_MS,
        signal: this.#options.signal,
      });
      if (response.status === 200 || response.status === 206) return response;
      response.discard();
      const target = textOf(response, 'location');
      if (!REDIRECT_STATUSES.has(response.status) || target === null || hops === REDIRECTS_MAX) {
        throw new RefusedRequest(response.status, {}, null);
      }
      const next = new URL(target, url);
      if (new URL(url).protocol === 'https:' && next.protocol !== 'https:') {
        throw new FileError(`${shownUrl(url)} leads to an address without https.`);
      }
      url = next.href;
    }
  }
}

function textOf({ headers }: OutboundStream, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value : null;
}

/** What `If-Range` accepts: a strong entity tag (RFC 9110, 13.1.5). */
function strongValidator(response: OutboundStream): string | null {
  const tag = textOf(response, 'etag');
  return tag?.startsWith('"') === true ? tag : null;
}

function continues(response: OutboundStream, at: number): boolean {
  const range = textOf(response, 'content-range') ?? '';
  return response.status === 206 && range.startsWith(`bytes ${at}-`);
}
