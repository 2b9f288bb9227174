/**
 * Objects of a bucket with the S3 API, through the shared outbound client. Requests are signed by
 * `aws4fetch`, which is loaded on demand. A signature covers the SHA-256 of the content, so the
 * store refuses a torn upload.
 */
import type { AwsV4Signer } from 'aws4fetch';
import type { OutboundClient, OutboundStream } from '../../outbound/outbound-client.ts';
import { OutboundError } from '../../outbound/outbound-error.ts';
import { sha256 } from '../bytes.ts';
import { BlobMissingError, UnavailableError } from '../errors.ts';
import { type BlobName, type Blobs, type BlobSource, WHOLE_BYTES_MAX } from './blobs.ts';
import type { OpenUploads } from './open-uploads.ts';

const TIMEOUT_MS = 15_000;
/** Uploads slower than this are aborted. */
const BYTES_PER_MS_MIN = 256;
/** Each part is held in memory. */
const PART_BYTES = WHOLE_BYTES_MAX;
const RESPONSE_BYTES_MAX = 16 * 1024 * 1024;
const NAME = /^(?:[\w-]+\/)?[\w.-]+$/;

/** Whether a path has a segment that a URL would resolve, even if it is escaped. */
export function hasDots(path: string): boolean {
  return /(?:^|\/)\.\.?(?:\/|$)/.test(path);
}

export interface S3Options {
  /**
   * URL of the service, such as `https://s3.eu-central-1.amazonaws.com`. The bucket is part of the
   * path.
   */
  readonly endpoint: string;
  readonly bucket: string;
  /** Prefix of each name; empty, or ending with a slash. */
  readonly prefix: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

interface Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Name within the bucket; empty for the bucket itself. */
  readonly name: BlobName;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  readonly size?: number;
  readonly sum?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export class S3Blobs implements Blobs {
  readonly #options: S3Options;
  readonly #client: OutboundClient;
  readonly #uploads: OpenUploads | null;
  #signer: Promise<typeof AwsV4Signer> | null = null;

  /** @param uploads notes uploads in parts; null: what a kill leaves of them stays */
  constructor(options: S3Options, client: OutboundClient, uploads: OpenUploads | null = null) {
    this.#options = options;
    this.#client = client;
    this.#uploads = uploads;
  }

  /**
   * Aborts the uploads of this server that a kill has left in the bucket. REQUIRES: none is under
   * way
   */
  async sweep(): Promise<void> {
    const { endpoint, bucket, prefix } = this.#options;
    for (const [note, upload] of this.#uploads?.left() ?? []) {
      const isHere =
        upload.endpoint === endpoint && upload.bucket === bucket && upload.prefix === prefix;
      if (isHere) await this.#abort(upload.name, upload.uploadId, note);
    }
  }

  async #abort(name: BlobName, uploadId: string, note: string | undefined): Promise<void> {
    // The store answers 404 for an upload that has ended.
    await this.#fetch({ method: 'DELETE', name, query: { uploadId } });
    if (note !== undefined) this.#uploads?.ended(note);
  }

  async put(name: BlobName, source: BlobSource): Promise<void> {
    if (source.size > PART_BYTES) return this.#putParts(name, source);
    const { size, sha256: sum } = source;
    await this.#fetch({ method: 'PUT', name, body: source.open(), size, sum });
  }

  async putNew(name: BlobName, source: BlobSource): Promise<boolean> {
    const { size, sha256: sum } = source;
    const stream = await this.#send({
      method: 'PUT',
      name,
      body: source.open(),
      size,
      sum,
      headers: { 'if-none-match': '*' },
    });
    if (stream.status !== 200 && stream.status !== 412) throw await refusal(stream, name);
    stream.discard();
    return stream.status === 200;
  }

  async *get(name: BlobName): AsyncGenerator<Uint8Array, undefined> {
    const stream = await this.#send({ method: 'GET', name });
    try {
      if (stream.status === 404) throw new BlobMissingError(name);
      if (stream.status !== 200) throw await refusal(stream, name);
      yield* stream.body;
    } catch (error) {
      throw outcomeOf(error);
    } finally {
      stream.discard();
    }
  }

  async list(prefix: string): Promise<BlobName[]> {
    return (await this.#objects(prefix)).map(({ name }) => name).toSorted();
  }

  /** All objects with their sizes, in no particular order. */
  sizes(): Promise<{ name: BlobName; bytes: number }[]> {
    return this.#objects('');
  }

  /** Copies an object within the bucket. Throws `BlobMissingError`. */
  async copy(from: BlobName, to: BlobName): Promise<void> {
    // A copy request has a limit of 5 GB, so the object is read and written.
    const size = (await this.sizes()).find(({ name }) => name === from)?.bytes;
    if (size === undefined) throw new BlobMissingError(from);
    await this.#putParts(to, { size, sha256: EMPTY_SUM, open: () => this.get(from) });
  }

  async #objects(prefix: string): Promise<{ name: BlobName; bytes: number }[]> {
    const found: { name: BlobName; bytes: number }[] = [];
    const base = this.#options.prefix;
    let token: string | undefined;
    do {
      const query: Record<string, string> = {
        'list-type': '2',
        'encoding-type': 'url',
        prefix: base + prefix,
        ...(token === undefined ? {} : { 'continuation-token': token }),
      };
      const page = await this.#fetch({ method: 'GET', name: '', query });
      const sizes = elements(page, 'Size');
      for (const [n, key] of elements(page, 'Key').entries()) {
        // Some stores ignore `encoding-type`.
        const name = [decoded(key), key].find((form) => form.startsWith(base + prefix));
        if (name === undefined) continue;
        found.push({ name: name.slice(base.length), bytes: Number(sizes[n] ?? 0) });
      }
      const [next] = elements(page, 'NextContinuationToken');
      token = elements(page, 'IsTruncated')[0] === 'true' ? next : undefined;
    } while (token !== undefined);
    return found;
  }

  async delete(name: BlobName): Promise<void> {
    await this.#fetch({ method: 'DELETE', name });
  }

  /** Uploads in parts, which become an object together or not at all. */
  async #putParts(name: BlobName, source: BlobSource): Promise<void> {
    const begun = await this.#fetch({ method: 'POST', name, query: { uploads: '' } });
    const [uploadId] = elements(begun, 'UploadId');
    if (uploadId === undefined) throw new UnavailableError('The object store begins no upload');
    const { endpoint, bucket, prefix } = this.#options;
    let note: string | undefined;
    try {
      note = await this.#uploads?.begun({ endpoint, bucket, prefix, name, uploadId });
      const tags: string[] = [];
      for await (const part of parts(source)) {
        const partNumber = String(tags.length + 1);
        const stream = await this.#send({
          method: 'PUT',
          name,
          query: { partNumber, uploadId },
          body: part,
          size: part.length,
          sum: sha256(part),
        });
        if (stream.status !== 200) throw await refusal(stream, name);
        tags.push(String(stream.headers.etag));
        stream.discard();
      }
      const list = tags.map(
        (tag, n) => `<Part><PartNumber>${n + 1}</PartNumber><ETag>${tag}</ETag></Part>`,
      );
      const xml = `<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`;
      const body = Buffer.from(xml);
      const done = await this.#fetch({
        method: 'POST',
        name,
        query: { uploadId },
        body,
        size: body.length,
        sum: sha256(body),
      });
      // The request may fail after the store has sent its status.
      const [code] = elements(done, 'Code');
      if (code !== undefined) throw new UnavailableError(`The object store answers ${code}`);
      if (note !== undefined) this.#uploads?.ended(note);
    } catch (error) {
      // If that fails as well, the note stays for the next start.
      await this.#abort(name, uploadId, note).catch(() => {});
      throw error;
    }
  }

  /** Returns the text of a response. Throws unless its status is a success. */
  async #fetch(request: Request): Promise<string> {
    const stream = await this.#send(request);
    if (stream.status === 404 && request.method === 'DELETE') {
      stream.discard();
      return '';
    }
    if (stream.status >= 300) throw await refusal(stream, request.name);
    return textOf(stream);
  }

  async #send(request: Request): Promise<OutboundStream> {
    const { method, name, query = {}, body, size = 0, sum } = request;
    if (name !== '' && (!NAME.test(name) || hasDots(name))) throw new BlobMissingError(name);
    const { endpoint, bucket, prefix, accessKeyId, secretAccessKey, sessionToken, region } =
      this.#options;
    const path = `/${bucket}${name === '' ? '' : `/${prefix}${name}`}`;
    const url = new URL(path.split('/').map(encoded).join('/'), endpoint);
    url.search = Object.entries(query)
      .map((pair) => pair.map(encoded).join('='))
      .join('&');
    this.#signer ??= import('aws4fetch').then((library) => library.AwsV4Signer);
    const Signer = await this.#signer;
    const signed = await new Signer({
      method,
      url: url.href,
      service: 's3',
      region,
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      headers: {
        ...request.headers,
        'x-amz-content-sha256': (sum ?? EMPTY_SUM).toString('hex'),
      },
    }).sign();
    const headers = Object.fromEntries(signed.headers as unknown as Iterable<[string, string]>);
    if (method === 'PUT' || method === 'POST') headers['content-length'] = String(size);
    try {
      return await this.#client.stream({
        method,
        url: signed.url,
        headers,
        ...(body === undefined ? {} : { body }),
        timeoutMs: TIMEOUT_MS + size / BYTES_PER_MS_MIN,
      });
    } catch (error) {
      throw outcomeOf(error);
    }
  }
}

const EMPTY_SUM = sha256();

/**
 * The only form of a text that a signature covers: all characters but the unreserved ones of RFC
 * 3986 are escaped. A URL keeps it as it is.
 */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Pieces of equal size, except the last one. */
async function* parts(source: BlobSource): AsyncGenerator<Buffer, undefined> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of source.open()) {
    let rest = piece;
    while (bytes + rest.length >= PART_BYTES) {
      const missing = PART_BYTES - bytes;
      yield Buffer.concat([...pieces, rest.subarray(0, missing)]);
      rest = rest.subarray(missing);
      pieces = [];
      bytes = 0;
    }
    pieces.push(rest);
    bytes += rest.length;
  }
  if (bytes > 0) yield Buffer.concat(pieces);
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    return key;
  }
}

async function textOf(stream: OutboundStream): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of stream.body) {
      bytes += piece.length;
      if (bytes > RESPONSE_BYTES_MAX) throw new UnavailableError('A response is too large');
      pieces.push(piece);
    }
  } catch (error) {
    throw outcomeOf(error);
  } finally {
    stream.discard();
  }
  return Buffer.concat(pieces).toString();
}

/**
 * Describes a failure as the store reports it, without its message, which may repeat what was sent.
 */
async function refusal(stream: OutboundStream, name: BlobName): Promise<UnavailableError> {
  const [code = ''] = elements(await textOf(stream), 'Code');
  const reason = /^[A-Za-z0-9]{1,64}$/.test(code) ? code : 'no reason';
  return new UnavailableError(
    `The object store answers ${stream.status} (${reason}) for ${name || 'the bucket'}`,
  );
}

function outcomeOf(error: unknown): unknown {
  return error instanceof OutboundError ? new UnavailableError(error.message) : error;
}

/** The texts of all elements with this name, in order. */
function elements(xml: string, name: string): string[] {
  const found = xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'));
  return [...found].map((match) => unescaped(match[1]!));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
  '&#34;': '"',
  '&#39;': "'",
  '&amp;': '&',
};

function unescaped(text: string): string {
  return text.replaceAll(/&(?:lt|gt|quot|apos|amp|#34|#39);/g, (entity) => ENTITIES[entity]!);
}
