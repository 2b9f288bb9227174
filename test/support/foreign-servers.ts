/** Small servers that respond as Typesense and Algolia document it, and that can misbehave. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Request {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: Record<string, unknown>;
}

export interface Response {
  status?: number;
  headers?: Record<string, string>;
  /** JSON unless it is text. */
  body: unknown;
  /** Ends the connection after the text, before the length that was announced. */
  breaksOff?: boolean;
}

export class ForeignServer {
  readonly #server: Server;
  readonly #respond: (request: Request) => Response;
  readonly requests: Request[] = [];
  /** Takes the place of a response; null: the usual one. */
  substitute: ((request: Request) => Response | null) | null = null;

  private constructor(respond: (request: Request) => Response) {
    this.#respond = respond;
    this.#server = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const request: Request = {
          method: incoming.method!,
          path: incoming.url!,
          headers: incoming.headers,
          body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
        };
        this.requests.push(request);
        const {
          status = 200,
          headers = {},
          body,
          breaksOff = false,
        } = this.substitute?.(request) ?? this.#respond(request);
        const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
        const length = String(bytes.length + (breaksOff ? 1 : 0));
        outgoing.writeHead(status, { 'content-length': length, ...headers });
        outgoing.write(bytes, () => (breaksOff ? outgoing.destroy() : outgoing.end()));
      });
    });
  }

  static async start(respond: (request: Request) => Response): Promise<ForeignServer> {
    const made = new ForeignServer(respond);
    await new Promise<void>((done) => made.#server.listen(0, '127.0.0.1', done));
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

const notFound: Response = { status: 404, body: { message: 'Not Found' } };

/** A collection with its documents as they are exported. */
export interface Collection {
  schema: Record<string, unknown>;
  lines: string;
  synonyms?: unknown[];
  overrides?: unknown[];
}

export function typesenseServer(
  key: string,
  collections: ReadonlyMap<string, Collection>,
  aliases: unknown[],
): Promise<ForeignServer> {
  return ForeignServer.start(({ path, headers }) => {
    if (path === '/health') return { body: { ok: true } };
    if (headers['x-typesense-api-key'] !== key) {
      return {
        status: 401,
        body: { message: 'Forbidden - a valid `x-typesense-api-key` header must be sent.' },
      };
    }
    if (path === '/collections')
      return { body: [...collections.values()].map(({ schema }) => schema) };
    if (path === '/aliases') return { body: { aliases } };
    const [, name, part] = /^\/collections\/([^/]+)\/(.+)$/.exec(path) ?? [];
    const found = collections.get(decodeURIComponent(name ?? ''));
    if (found === undefined) return notFound;
    if (part === 'documents/export') return { body: found.lines };
    if (part === 'synonyms' && found.synonyms) return { body: { synonyms: found.synonyms } };
    if (part === 'overrides' && found.overrides) return { body: { overrides: found.overrides } };
    return notFound;
  });
}

export interface AlgoliaIndex {
  primary?: string;
  settings: Record<string, unknown>;
  /** As they are written. */
  records: string[];
  synonyms?: unknown[];
  rules?: number;
}

/** @param perPage how many records a page has */
export function algoliaServer(
  app: string,
  key: string,
  indexes: ReadonlyMap<string, AlgoliaIndex>,
  perPage: number,
): Promise<ForeignServer> {
  return ForeignServer.start(({ method, path, headers, body }) => {
    if (headers['x-algolia-api-key'] !== key || headers['x-algolia-application-id'] !== app) {
      return { status: 403, body: { message: 'Invalid Application-ID or API key', status: 403 } };
    }
    const list = /^\/1\/indexes\?page=(\d+)/.exec(path);
    if (list !== null) {
      // One per page.
      const [name, index] = [...indexes][Number(list[1])]!;
      const primary = index.primary === undefined ? {} : { primary: index.primary };
      const item = { name, entries: index.records.length, ...primary };
      return { body: { items: [item], nbPages: indexes.size } };
    }
    const [, name, part] = /^\/1\/indexes\/([^/]+)\/(.+)$/.exec(path) ?? [];
    const index = indexes.get(decodeURIComponent(name ?? ''));
    if (index === undefined) return notFound;
    if (method === 'GET' && part === 'settings') return { body: index.settings };
    if (part === 'synonyms/search') return { body: { hits: index.synonyms ?? [], nbHits: 0 } };
    if (part === 'rules/search') return { body: { hits: [], nbHits: index.rules ?? 0 } };
    if (part !== 'browse') return notFound;
    const from = body.cursor === undefined ? 0 : Number(body.cursor);
    const hits = index.records.slice(from, from + perPage).join(', ');
    const next = from + perPage;
    const cursor = next < index.records.length ? `, "cursor": "${next}"` : '';
    return { body: `{"hits": [${hits}], "nbHits": ${index.records.length}${cursor}}` };
  });
}
