/**
 * A provider of embeddings on loopback, scripted by a test. It speaks the protocols of OpenAI,
 * Ollama and a REST embedder.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: unknown;
}

export type Misbehaviour =
  | { status: number; body?: unknown; text?: string; headers?: Record<string, string> }
  | 'down'
  | 'cut'
  | 'silent'
  | 'ok';

/** A direction that depends on the words of a text. */
export function wordEmbedding(text: string, dimensions: number): number[] {
  const sum = Array<number>(dimensions).fill(0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
    const hash = createHash('sha512').update(word).digest();
    for (let i = 0; i < dimensions; i++) sum[i]! += hash[i % hash.length]! / 128 - 1 + i / 1e6;
  }
  const length = Math.hypot(...sum) || 1;
  return sum.map((value) => Math.fround(value / length));
}

export class EmbeddingProvider {
  dimensions = 4;
  readonly received: ReceivedRequest[] = [];
  /** Responses to the next requests, in order; then `always`. */
  readonly next: Misbehaviour[] = [];
  always: ((request: ReceivedRequest) => Misbehaviour) | null = null;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void (async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
        const received = { path: request.url!, headers: request.headers, body };
        this.received.push(received);
        const how = this.next.shift() ?? this.always?.(received) ?? 'ok';
        if (how === 'silent') return;
        if (how === 'down') {
          request.socket.destroy();
          return;
        }
        const text = JSON.stringify(this.#respond(received.path, body));
        if (how === 'cut') {
          response.writeHead(200, { 'content-length': text.length + 100 });
          response.write(text.slice(0, 10), () => response.destroy());
          return;
        }
        if (how === 'ok') {
          response.writeHead(200, { 'content-type': 'application/json' }).end(text);
          return;
        }
        response.writeHead(how.status, how.headers ?? {});
        response.end(how.text ?? JSON.stringify(how.body ?? {}));
      })();
    });
  }

  static async start(): Promise<EmbeddingProvider> {
    const provider = new EmbeddingProvider();
    await new Promise<void>((resolve) => {
      provider.#server.listen(0, '127.0.0.1', resolve);
    });
    return provider;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** An embedder that asks for the vectors of many texts at once. */
  embedder(documentTemplate: string, more: object = {}): Record<string, unknown> {
    return {
      source: 'rest',
      url: `${this.url}/rest/many`,
      dimensions: 4,
      documentTemplate,
      request: { input: ['{{text}}', '{{..}}'] },
      response: { data: [{ embedding: '{{embedding}}' }, '{{..}}'] },
      ...more,
    };
  }

  /** Returns and resets what was received so far. */
  take(): ReceivedRequest[] {
    return this.received.splice(0);
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /**
   * `/rest/one`: `{input}` to `{embedding}`; `/rest/many`: `{input: […]}` to `{data:
   * [{embedding}]}`.
   */
  #respond(path: string, body: unknown): unknown {
    const {
      input,
      prompt,
      dimensions = this.dimensions,
    } = body as {
      input?: unknown;
      prompt?: string;
      dimensions?: number;
    };
    const textOf = (value: unknown): string =>
      typeof value === 'string' ? value : JSON.stringify(value);
    const embed = (value: unknown): number[] => wordEmbedding(textOf(value), dimensions);
    const list = Array.isArray(input) && !input.every(Number.isInteger) ? input : [input];
    // Whatever precedes it.
    const [end] = /\/(?:api|rest)\/\w+$/.exec(path.split('?')[0]!) ?? [];
    switch (end) {
      case '/api/embeddings':
        return { embedding: embed(prompt) };
      case '/api/embed':
        return { embeddings: list.map(embed) };
      case '/rest/one':
        return { embedding: embed(input) };
      default:
        return { data: list.map((item) => ({ embedding: embed(item) })) };
    }
  }
}
