/** A small server with the S3 API, with configurable misbehaviour. Each request must be signed. */
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface S3Faults {
  /** The data sent by an aborted upload becomes an object. */
  keepsTorn: boolean;
  ignoresSums: boolean;
  /** The first read of a stored object does not find it. */
  readsLate: boolean;
  /** An object is not listed at first. */
  listsLate: boolean;
  keepsRemoved: boolean;
  /** A condition of an upload has no effect. */
  ignoresConditions: boolean;
  /** Requests that fail with status 503. */
  fails: number;
  /** An upload in parts gets no response after its first part. */
  hangsAfterParts: boolean;
  /** The response to a completed multipart upload is an error with status 200. */
  completesWrongly: boolean;
}

const NO_FAULTS: S3Faults = {
  ...{ keepsTorn: false, ignoresSums: false, readsLate: false, listsLate: false },
  ...{
    keepsRemoved: false,
    ignoresConditions: false,
    hangsAfterParts: false,
    fails: 0,
    completesWrongly: false,
  },
};

const PAGE_KEYS = 3;

/** Secret keys by access key. */
const SECRETS: Readonly<Record<string, string>> = { access: 'secret', a: 's' };

/** Whether a request is signed (AWS Signature Version 4) exactly as it was received. */
export function isSigned({ method, url, headers }: IncomingMessage): boolean {
  const given =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)$/.exec(
      headers.authorization ?? '',
    );
  if (given === null) return false;
  const [, accessKey, scope, signed, signature] = given;
  const [path, query = ''] = url!.split('?');
  const lines = signed!.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const canonical = [
    ...[method, path, query.split('&').toSorted().join('&'), lines.join(''), signed],
    headers['x-amz-content-sha256'],
  ].join('\n');
  const text = [
    ...['AWS4-HMAC-SHA256', headers['x-amz-date'], scope],
    createHash('sha256').update(canonical).digest('hex'),
  ].join('\n');
  let key: string | Buffer = `AWS4${SECRETS[accessKey!]}`;
  for (const part of [...scope!.split('/'), text]) {
    key = createHmac('sha256', key).update(part).digest();
  }
  return (key as Buffer).toString('hex') === signature;
}

const ACTIONS: Readonly<Record<string, string>> = {
  ...{ GET: 'GetObject', PUT: 'PutObject', POST: 'PutObject', DELETE: 'DeleteObject' },
};

/** What the policy in the guide allows, in the form of `S3Server.actions`. */
export function policyOfGuide(): string[] {
  const guide = readFileSync('docs/guide/cluster.md', 'utf8');
  const text = /```jsonc\n(\{\s+"Statement"[^]*?)```/.exec(guide)![1]!;
  const { Statement: statements } = JSON.parse(text) as {
    Statement: { Effect: string; Action: string | string[]; Resource: string }[];
  };
  const allowed = statements.filter(({ Effect: effect }) => effect === 'Allow');
  return allowed
    .flatMap(({ Action: actions, Resource: resource }) =>
      [actions].flat().map((action) => `${action} ${resource.replace('arn:aws:s3:::', '')}`),
    )
    .toSorted();
}

export class S3Server {
  readonly objects = new Map<string, Buffer>();
  readonly faults: S3Faults = { ...NO_FAULTS };
  readonly requests: string[] = [];
  /** Uploads in parts that have not ended, by id. */
  readonly uploads = new Map<string, Map<number, Buffer>>();
  #begun = 0;
  readonly #fresh = new Set<string>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#respond(request, response).catch(() => response.destroy());
    });
  }

  static async start(): Promise<S3Server> {
    const server = new S3Server();
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The permissions that the requests needed, each with its resource. */
  actions(): string[] {
    const actions = this.requests.map((line) => {
      const [method, path] = line.split(' ') as [string, string];
      const { pathname, searchParams: query } = new URL(path, 'http://server');
      const [, bucket, folder] = pathname.split('/');
      if (folder === undefined || folder === '') return `s3:ListBucket ${bucket}`;
      const isAbort = method === 'DELETE' && query.has('uploadId');
      return `s3:${isAbort ? 'AbortMultipartUpload' : ACTIONS[method]} ${bucket}/${folder}/*`;
    });
    return [...new Set(actions)].toSorted();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams: query } = new URL(request.url!, 'http://server');
    const key = decodeURIComponent(pathname.split('/').slice(2).join('/'));
    this.requests.push(`${request.method} ${request.url}`);
    const body = await this.#receive(request, key, query.has('partNumber'));
    if (body === null) return;
    const send = (status: number, text: string | Buffer = ''): void => {
      response.writeHead(status, { etag: '"tag"' }).end(text);
    };
    if (!isSigned(request)) {
      send(403, '<Error><Code>SignatureDoesNotMatch</Code></Error>');
      return;
    }
    if (this.faults.fails > 0) {
      this.faults.fails--;
      send(503, '<Error><Code>SlowDown</Code><Message>secret text</Message></Error>');
      return;
    }
    const sum = createHash('sha256').update(body).digest('hex');
    const isSame = request.headers['x-amz-content-sha256'] === sum || this.faults.ignoresSums;
    if (!isSame) send(400, '<Error><Code>XAmzContentSHA256Mismatch</Code></Error>');
    else if (this.#exists(request, key))
      send(412, '<Error><Code>PreconditionFailed</Code></Error>');
    else if (request.method === 'POST') this.#post(key, query, body, send);
    else if (request.method === 'PUT') this.#put(key, query, body, send);
    else if (request.method === 'DELETE' && query.has('uploadId')) {
      const isOne = this.uploads.delete(query.get('uploadId')!);
      send(isOne ? 204 : 404, isOne ? '' : '<Error><Code>NoSuchUpload</Code></Error>');
    } else if (request.method === 'DELETE') {
      if (!this.faults.keepsRemoved) this.objects.delete(key);
      send(204);
    } else if (key === '') this.#list(query, send);
    else {
      const found = this.objects.get(key);
      const isLate = this.faults.readsLate && this.#fresh.delete(key);
      if (found === undefined || isLate) send(404, '<Error><Code>NoSuchKey</Code></Error>');
      else send(200, found);
    }
  }

  /** Whether an object exists although the request demands that it does not. */
  #exists({ headers }: IncomingMessage, key: string): boolean {
    const isConditional = headers['if-none-match'] === '*' && !this.faults.ignoresConditions;
    return isConditional && this.objects.has(key);
  }

  /** Null: the request was aborted. */
  async #receive(request: IncomingMessage, key: string, isPart: boolean): Promise<Buffer | null> {
    const pieces: Buffer[] = [];
    try {
      for await (const piece of request) pieces.push(piece as Buffer);
    } catch {
      if (this.faults.keepsTorn && !isPart) this.objects.set(key, Buffer.concat(pieces));
      return null;
    }
    return Buffer.concat(pieces);
  }

  #put(key: string, query: URLSearchParams, body: Buffer, send: (status: number) => void): void {
    const upload = this.uploads.get(query.get('uploadId') ?? '');
    if (upload === undefined) {
      this.objects.set(key, body);
      this.#fresh.add(key);
    } else {
      upload.set(Number(query.get('partNumber')), body);
      if (this.faults.hangsAfterParts) return;
    }
    send(200);
  }

  #post(
    key: string,
    query: URLSearchParams,
    body: Buffer,
    send: (status: number, text: string) => void,
  ): void {
    if (query.has('uploads')) {
      const id = `upload ${this.#begun++} & more`;
      this.uploads.set(id, new Map());
      send(200, `<UploadId>${id.replace('&', '&amp;')}</UploadId>`);
      return;
    }
    const upload = this.uploads.get(query.get('uploadId')!)!;
    if (this.faults.completesWrongly) {
      send(200, '<Error><Code>InternalError</Code></Error>');
      return;
    }
    const numbers = [...body.toString().matchAll(/<PartNumber>(\d+)</g)].map((match) => match[1]);
    this.objects.set(key, Buffer.concat(numbers.map((number) => upload.get(Number(number))!)));
    this.uploads.delete(query.get('uploadId')!);
    send(200, '<CompleteMultipartUploadResult/>');
  }

  #list(query: URLSearchParams, send: (status: number, text: string) => void): void {
    const after = query.get('continuation-token') ?? '';
    const keys = [...this.objects.keys()]
      .filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after)
      .filter((key) => !(this.faults.listsLate && this.#fresh.has(key)))
      .toSorted();
    const page = keys.slice(0, PAGE_KEYS);
    const contents = page.map(
      (key) =>
        `<Contents><Key>${encodeURIComponent(key)}</Key><Size>${this.objects.get(key)!.length}</Size></Contents>`,
    );
    const isMore = keys.length > page.length;
    const next = isMore ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    send(200, `<IsTruncated>${isMore}</IsTruncated>${next}${contents.join('')}`);
  }
}
