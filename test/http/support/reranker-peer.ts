/** A service that scores documents by their size, until a test says otherwise. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  query: string;
  documents: string[];
}

export const COUNT = 40;
export const items = Array.from({ length: COUNT }, (_, id) => ({
  ...{ id, title: 'red shoe', size: (id * 17) % COUNT, secret: `hidden ${id}` },
}));
const sizeOf = (text: string): number => Number(/size: (\d+)/.exec(text)?.[1] ?? -1);

export class Peer {
  readonly asked: { body: Asked; authorization: string | undefined }[] = [];
  respond: ((body: Asked, response: ServerResponse) => void) | null = null;
  readonly #server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Asked;
      this.asked.push({ body, authorization: request.headers.authorization });
      if (this.respond !== null) return this.respond(body, response);
      const results = body.documents
        .map((text, index) => ({ index, relevance_score: sizeOf(text) / COUNT }))
        .toSorted((a, b) => b.relevance_score - a.relevance_score);
      response.end(JSON.stringify({ results }));
    });
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/rerank`;
  }
  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
