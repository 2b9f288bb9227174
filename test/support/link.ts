import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Forwards TCP connections to one port of this machine, and breaks as networks do.
 *
 * `open`: passes everything on. `stalled`: accepts connections and passes nothing on, as when
 * packets are dropped; what waits arrives after all when the link is open again. `deaf`: passes
 * nothing back. `refused`: breaks all connections and refuses new ones, as a machine does on whose
 * port no process listens.
 */
export type LinkState = 'open' | 'stalled' | 'deaf' | 'refused';
type Way = 'sent' | 'received';

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
  readonly #ways: Record<Way, Gate> = { sent: new Gate(), received: new Gate() };

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
    this.#ways.sent.set(state !== 'stalled');
    this.#ways.received.set(state !== 'stalled' && state !== 'deaf');
    if (state === 'refused') this.close();
    else if (before === 'refused') {
      this.#server = await listening(this.port);
      this.#server.on('connection', (socket) => this.#accept(socket));
    }
  }

  close(): void {
    for (const gate of Object.values(this.#ways)) gate.set(true);
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(client: Socket): void {
    const target = connect({ host: '127.0.0.1', port: this.#target, noDelay: true });
    for (const [from, to, way] of [
      [client, target, 'sent'],
      [target, client, 'received'],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        void this.#ways[way].passes.then(() => to.destroySoon());
      });
      void this.#pump(from, to, way).catch(() => {});
    }
  }

  async #pump(from: Socket, to: Socket, way: Way): Promise<void> {
    for await (const piece of from) {
      this.bytes[way] += (piece as Buffer).length;
      if (this.delayMs > 0) await delay(this.delayMs);
      await this.#ways[way].passes;
      if (to.destroyed) return;
      if (!to.write(piece as Buffer)) await drained(to);
    }
    to.end();
  }
}

/** Lets data pass, or holds it back. */
class Gate {
  /** Resolves when data may pass. */
  passes: Promise<void> = Promise.resolve();
  #open: (() => void) | null = null;

  set(isOpen: boolean): void {
    if (isOpen) {
      this.#open?.();
      this.#open = null;
    } else if (this.#open === null) {
      this.passes = new Promise((open) => (this.#open = open));
    }
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
