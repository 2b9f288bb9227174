/** What the options of a node of a cluster are made of. */
export interface ClusterNodeOptions {
  readonly cluster: string;
  /** Addresses of the members of etcd. */
  readonly etcd: readonly string[];
  /** A folder, or `s3://...`. */
  readonly store: string;
  readonly node: string;
  /** The node's address, for other nodes. */
  readonly url: string;
  readonly leaseSeconds?: number;
}

/** Options of the command line for a node. */
export function clusterOptions(options: ClusterNodeOptions): string[] {
  const { cluster, etcd, store, node, url, leaseSeconds } = options;
  return [
    ...['--cluster-etcd', etcd.join(','), '--cluster-name', cluster, '--cluster-store', store],
    ...['--node-name', node, '--node-url', url],
    ...(leaseSeconds === undefined ? [] : ['--cluster-lease-seconds', String(leaseSeconds)]),
  ];
}
