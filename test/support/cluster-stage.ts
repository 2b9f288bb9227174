import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BuiltServer, startBuiltServer } from './built-server.ts';
import { clusterOptions } from './cluster-options.ts';
import { Etcd, HAS_ETCD } from './etcd.ts';

/** Name of the cluster. */
export const CLUSTER = 'shop';

interface StageOptions {
  readonly leaseSeconds?: number;
  /** Additions to the environment of each node. */
  readonly env?: Readonly<Record<string, string>>;
}

/** What a cluster needs, etcd and a folder as object store, and the nodes that were started. */
export class ClusterStage {
  readonly etcd: Etcd;
  /** The object store. */
  readonly store = mkdtempSync(join(tmpdir(), 'gannet-store-'));
  readonly #options: StageOptions;
  readonly #nodes: BuiltServer[] = [];

  private constructor(etcd: Etcd, options: StageOptions) {
    this.etcd = etcd;
    this.#options = options;
  }

  /** Skips the tests, with a message, if etcd is not installed. */
  static async open(tests: Mocha.Context, options: StageOptions = {}): Promise<ClusterStage> {
    if (!HAS_ETCD) {
      console.log('    skipped: etcd is not installed (Debian package etcd-server)');
      tests.skip();
    }
    return new ClusterStage(await Etcd.start(), options);
  }

  /** Starts a node. */
  async start(
    node: string,
    more: readonly string[] = [],
    store: string = this.store,
  ): Promise<BuiltServer> {
    const { leaseSeconds, env } = this.#options;
    const server = await startBuiltServer(
      (url) => [
        ...clusterOptions({
          ...{ cluster: CLUSTER, etcd: [this.etcd.url], store, node, url },
          ...(leaseSeconds !== undefined && { leaseSeconds }),
        }),
        ...more,
      ],
      env,
    );
    this.#nodes.push(server);
    return server;
  }

  /** Stops everything, and erases its data. */
  async close(): Promise<void> {
    for (const node of this.#nodes) await node.close();
    await this.etcd.stop();
    rmSync(this.store, { recursive: true, force: true });
  }
}
