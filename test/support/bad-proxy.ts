import { createServer, request as send, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';

/** Forwards requests; at random it fails one, before or after the target has executed it. */
export class BadProxy {
  readonly #server: Server;
  readonly seen: string[] = [];
  /** Share of requests that fail. */
  share = 0;
  /** Sent instead of the target's response; null: the target responds. */
  substitute: { status: number; body: unknown; headers?: Record<string, string> } | null = null;
  /**
   * Called with each request before anything else; may set `substitute`, or return `silence`: no
   * response is ever sent.
   */
  before: (seen: string) => 'silence' | void = () => {};

  /** @param target a function is called for each request */
  constructor(target: string | (() => string), random: () => number) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const line = `${request.method} ${request.url}`;
        this.seen.push(line);
        if (this.before(line) === 'silence') return;
        if (this.substitute !== null) {
          const { status, headers, body } = this.substitute;
          response.writeHead(status, { 'content-type': 'application/json', ...headers });
          response.end(typeof body === 'string' ? body : JSON.stringify(body));
          return;
        }
        const way = random() < this.share ? Math.floor(random() * 4) : 4;
        if (way === 0) {
          response.writeHead([500, 502, 503, 429][Math.floor(random() * 4)]!).end('not JSON');
          return;
        }
        if (way === 1) {
          request.socket.destroy();
          return;
        }
        const passed = send(
          (typeof target === 'string' ? target : target()) + request.url!,
          { method: request.method!, headers: request.headers },
          (forwarded) => {
            if (way === 2) {
              // Executed, but the client does not learn of it.
              forwarded.resume();
              request.socket.destroy();
              return;
            }
            if (way === 3) {
              forwarded.resume();
              response.writeHead(503).end();
              return;
            }
            response.writeHead(forwarded.statusCode!, forwarded.headers);
            forwarded.pipe(response);
          },
        );
        passed.end(Buffer.concat(chunks));
      });
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
