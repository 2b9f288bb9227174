/** Servers of a network on this machine, as their users run them. */
import { type BuiltServer, startBuiltServer } from '../../support/built-server.ts';

export interface Cluster {
  readonly servers: readonly BuiltServer[];
  /** `s0`, `s1` and so on. */
  readonly names: readonly string[];
  /** Waits until no server has an unfinished task. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

export interface ClusterOptions {
  count: number;
  sharding?: boolean;
  /** Where the others reach a server; absent: at its own address. */
  url?: (server: BuiltServer, n: number) => string | Promise<string>;
  options?: readonly string[];
  env?: Readonly<Record<string, string>>;
}

export async function startCluster({
  count,
  sharding = false,
  url = (server) => server.url,
  options = [],
  env = {},
}: ClusterOptions): Promise<Cluster> {
  const servers = await Promise.all(
    Array.from({ length: count }, () => startBuiltServer(options, env)),
  );
  const names = servers.map((_, n) => `s${n}`);
  const urls = await Promise.all(servers.map(url));
  const remotes = Object.fromEntries(
    servers.map((server, n) => [
      names[n]!,
      { url: urls[n]!, searchApiKey: server.masterKey, writeApiKey: server.masterKey },
    ]),
  );
  for (const [n, server] of servers.entries()) {
    await server.call('PATCH', '/experimental-features', {
      body: { network: true, editDocumentsByFunction: true },
    });
    await server.call('PATCH', '/network', { body: { self: names[n], remotes, sharding } });
  }
  return {
    servers,
    names,
    idle: async () => {
      for (const server of servers) await server.idle();
    },
    close: async () => {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}
