import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * How connections are treated. `pass`: forwarded. `refuse`: closed at once. `hang`: accepted
 * without any response. `cut`: the response is cut off in the middle, with the connection.
 */
export type ProxyMode = 'pass' | 'refuse' | 'hang' | 'cut';

/** Forwards the bytes of connections to a server. */
export class TcpProxy {
  /** Applies to all connections, including open ones. */
  mode: ProxyMode = 'pass';
  /** Connections that were made since the proxy began. */
  connections = 0;
  readonly #server;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number) {
    this.#server = createServer((client) => {
      this.connections++;
      this.#keep(client);
      if (this.mode === 'refuse') {
        client.destroy();
        return;
      }
      const server = connect(port, '127.0.0.1');
      this.#keep(server);
      client.on('data', (bytes) => {
        if (this.mode === 'refuse') client.destroy();
        else if (this.mode !== 'hang') server.write(bytes);
      });
      server.on('data', (bytes) => {
        if (this.mode === 'hang') return;
        if (this.mode !== 'cut') {
          client.write(bytes);
          return;
        }
        client.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => client.destroy());
      });
      client.on('close', () => server.destroy());
      server.on('close', () => client.destroy());
    });
  }

  /** @param url of the target server */
  static async before(url: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(Number(new URL(url).port));
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }

  /** Ends all connections that are open. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.drop();
    await closed;
  }
}
