import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Forwards TCP connections to one port of this machine, and breaks as networks do.
 *
 * `open`: passes everything on. `stalled`: accepts connections and passes nothing on, as when
 * packets are dropped; what waits arrives after all when the link is open again. `refused`: breaks
 * all connections and refuses new ones, as a machine does on whose port no process listens.
 */
export type LinkState = 'open' | 'stalled' | 'refused';

export class Link {
  /** The delay of each piece of data. */
  delayMs = 0;
  /** Bytes that the target has sent, and bytes that were sent to it. */
  readonly bytes = { received: 0, sent: 0 };
  readonly port: number;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  #server: Server;
  #state: LinkState = 'open';
  /** Resolves when the link is not stalled. */
  #passes: Promise<void> = Promise.resolve();
  #pass: () => void = () => {};

  private constructor(target: number, server: Server) {
    this.#target = target;
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (socket) => this.#accept(socket));
  }

  static async to(target: number): Promise<Link> {
    return new Link(target, await listening(0));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async set(state: LinkState): Promise<void> {
    if (state === this.#state) return;
    const before = this.#state;
    this.#state = state;
    if (before === 'stalled') this.#pass();
    if (state === 'stalled') this.#passes = new Promise((pass) => (this.#pass = pass));
    if (state === 'refused') this.close();
    else if (before === 'refused') {
      this.#server = await listening(this.port);
      this.#server.on('connection', (socket) => this.#accept(socket));
    }
  }

  close(): void {
    this.#pass();
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(client: Socket): void {
    const target = connect({ host: '127.0.0.1', port: this.#target, noDelay: true });
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        void this.#passes.then(() => to.destroySoon());
      });
      void this.#pump(from, to, from === client ? 'sent' : 'received').catch(() => {});
    }
  }

  async #pump(from: Socket, to: Socket, way: 'sent' | 'received'): Promise<void> {
    for await (const piece of from) {
      this.bytes[way] += (piece as Buffer).length;
      if (this.delayMs > 0) await delay(this.delayMs);
      await this.#passes;
      if (to.destroyed) return;
      if (!to.write(piece as Buffer)) await drained(to);
    }
    to.end();
  }
}

/** Resolves when data can be written again, or never will be. */
async function drained(socket: Socket): Promise<void> {
  const ending = new AbortController();
  const { signal } = ending;
  try {
    await Promise.race([once(socket, 'drain', { signal }), once(socket, 'close', { signal })]);
  } finally {
    ending.abort();
  }
}

async function listening(port: number): Promise<Server> {
  const server = createServer({ noDelay: true, allowHalfOpen: true });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
