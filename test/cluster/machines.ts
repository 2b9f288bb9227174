/** Three nodes, three members of etcd and one object store, with links between them that can break. */
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { clusterOptions } from '../support/cluster-options.ts';
import { Etcd } from '../support/etcd.ts';
import { freePort } from '../support/free-port.ts';
import { Link, type LinkState } from '../support/link.ts';
import { VERSITY_GATEWAY, VersityGateway } from '../support/versity-gateway.ts';
import { Client } from '../http/kill/support/client.ts';
import { ServerProcess, verify } from '../http/kill/support/server-process.ts';

export const LEASE_SECONDS = 2;
const NODES = 3;
const MASTER_KEY = 'masterKeymasterKey';
/** Small, so that nodes also catch up by checkpoints. */
const CHECKPOINT_BYTES = 1_500_000;
const DISK_MIB = 256;
/** Pause before a node that has ended by itself is started again, as by systemd. */
const RESTART_MS = 300;

/** Where Debian's package `libfaketime` puts its library, by architecture. */
const LIBFAKETIME = ['x86_64-linux-gnu', 'aarch64-linux-gnu']
  .map((name) => `/usr/lib/${name}/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path));

export interface MachinesOptions {
  readonly log: (line: string) => void;
}

/** The object store as one node sees it. */
interface Store {
  /** `s3://...`, or a folder. */
  readonly location: string;
  readonly options: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  set(state: LinkState): Promise<void>;
}

/** A node, which is started again whenever it ends, unless it is meant to be down. */
export class Node {
  readonly name: string;
  readonly port: number;
  readonly client: Client;
  /** To each member of etcd. */
  readonly etcd: readonly Link[];
  readonly store: Store;
  /** From other nodes to this one. */
  readonly link: Link;
  readonly #dir: string;
  readonly #options: () => readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  /** Offset of the clock of the process, for libfaketime; null: without it. */
  readonly #clock: string | null;
  /** Has a file system of its own, which can be full. */
  readonly hasDisk: boolean;
  readonly #log: (line: string) => void;
  #process: ServerProcess | null = null;
  #isWanted = false;
  #supervision: Promise<void> = Promise.resolve();
  starts = 0;

  constructor(
    parts: { name: string; port: number; etcd: Link[]; store: Store; link: Link },
    dir: string,
    options: () => readonly string[],
    log: (line: string) => void,
  ) {
    ({
      name: this.name,
      port: this.port,
      etcd: this.etcd,
      store: this.store,
      link: this.link,
    } = parts);
    this.client = new Client(parts.port, MASTER_KEY);
    this.#dir = dir;
    this.#options = options;
    this.#log = log;
    mkdirSync(dir);
    const disk = ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', dir];
    this.hasDisk = spawnSync('mount', disk).status === 0;
    this.#clock = LIBFAKETIME === undefined ? null : `${dir}.clock`;
    if (this.#clock !== null) this.jump(0);
    this.#env = {
      ...parts.store.env,
      GANNET_CHECKPOINT_BYTES: String(CHECKPOINT_BYTES),
      ...(this.#clock === null
        ? {}
        : {
            LD_PRELOAD: LIBFAKETIME!,
            FAKETIME_TIMESTAMP_FILE: this.#clock,
            FAKETIME_NO_CACHE: '1',
            FAKETIME_DONT_FAKE_MONOTONIC: '1',
          }),
    };
  }

  get hasClock(): boolean {
    return this.#clock !== null;
  }

  async start(): Promise<void> {
    this.#isWanted = true;
    await this.link.set('open');
    this.#supervision = this.#supervise();
  }

  async #supervise(): Promise<void> {
    while (this.#isWanted) {
      this.starts++;
      const started = new ServerProcess({
        ...{ dir: join(this.#dir, 'data'), port: this.port, key: MASTER_KEY },
        args: ['--log-level', 'warn', ...this.#options()],
        env: this.#env,
      });
      this.#process = started;
      const status = await started.exited;
      if (!this.#isWanted) return;
      const last = started.stderr.trimEnd().split('\n').slice(-2).join(' | ');
      this.#log(`${this.name} has ended with ${status}: ${last}`);
      await delay(RESTART_MS);
    }
  }

  /** What the present process has printed. */
  get printed(): string {
    return this.#process?.stderr ?? '';
  }

  /** Ends the process, which stays down. */
  async end(how: 'kill' | 'stop'): Promise<void> {
    this.#isWanted = false;
    if (how === 'kill') await this.#process?.kill();
    else await this.#process?.stop();
    // Nothing listens any more.
    await this.link.set('refused');
    await this.#supervision;
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    try {
      process.kill(this.#process!.pid, name);
    } catch {
      // It has ended.
    }
  }

  /** REQUIRES: the node is down. */
  wipe(): void {
    rmSync(join(this.#dir, 'data'), { recursive: true, force: true });
  }

  /** Sets its clock this many seconds ahead. */
  jump(seconds: number): void {
    const next = `${this.#clock!}.next`;
    writeFileSync(next, `${seconds < 0 ? '' : '+'}${seconds}s\n`);
    renameSync(next, this.#clock!);
  }

  /** Leaves no space on its disk. */
  fill(): void {
    const file = openSync(join(this.#dir, 'filler'), 'w');
    try {
      const block = Buffer.alloc(64 * 1024);
      for (;;) writeSync(file, block);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
  }

  empty(): void {
    rmSync(join(this.#dir, 'filler'), { force: true });
  }

  /** What `gannet verify` finds. REQUIRES: the node is down. */
  verify(): Promise<{ status: number | null; text: string }> {
    return verify('--db-path', join(this.#dir, 'data'));
  }

  async close(): Promise<void> {
    this.signal('SIGCONT');
    await this.end('kill');
    for (const link of [...this.etcd, this.link]) link.close();
    if (this.hasDisk) spawnSync('umount', ['-l', this.#dir]);
  }
}

export class Machines {
  readonly nodes: readonly Node[];
  readonly etcd: readonly Etcd[];
  readonly store: 'folder' | 's3';
  readonly #dir: string;
  readonly #gateway: VersityGateway | null;
  readonly #storeLinks: readonly Link[];

  private constructor(parts: {
    nodes: Node[];
    etcd: Etcd[];
    dir: string;
    gateway: VersityGateway | null;
    storeLinks: Link[];
  }) {
    this.nodes = parts.nodes;
    this.etcd = parts.etcd;
    this.#dir = parts.dir;
    this.#gateway = parts.gateway;
    this.#storeLinks = parts.storeLinks;
    this.store = parts.gateway === null ? 'folder' : 's3';
  }

  static async start({ log }: MachinesOptions): Promise<Machines> {
    const dir = mkdtempSync(join(tmpdir(), 'gannet-cluster-'));
    const etcd = await Etcd.startMembers(3);
    const gateway = VERSITY_GATEWAY === null ? null : await VersityGateway.start();
    const storeLinks: Link[] = [];
    const nodes: Node[] = [];
    for (let n = 0; n < NODES; n++) {
      const name = `node-${n}`;
      const links: Link[] = [];
      for (const { url } of etcd) links.push(await Link.to(Number(new URL(url).port)));
      let store: Store;
      if (gateway === null) store = folderStore(dir, name);
      else {
        const link = await Link.to(Number(new URL(gateway.url).port));
        storeLinks.push(link);
        store = s3Store(gateway, link);
      }
      const port = await freePort();
      const link = await Link.to(port);
      const options = (): string[] => [
        ...clusterOptions({
          ...{ cluster: 'faults', etcd: links.map(({ url }) => url), store: store.location },
          ...{ node: name, url: link.url, leaseSeconds: LEASE_SECONDS },
        }),
        ...store.options,
      ];
      nodes.push(new Node({ name, port, etcd: links, store, link }, join(dir, name), options, log));
    }
    const machines = new Machines({ nodes, etcd, dir, gateway, storeLinks });
    await Promise.all(nodes.map((node) => node.start()));
    return machines;
  }

  /** Everything works again. */
  async heal(): Promise<void> {
    for (const node of this.nodes) {
      node.signal('SIGCONT');
      node.empty();
      if (node.hasClock) node.jump(0);
      for (const link of node.etcd) {
        link.delayMs = 0;
        await link.set('open');
      }
      await node.store.set('open');
    }
  }

  async close(): Promise<void> {
    for (const node of this.nodes) await node.close();
    for (const link of this.#storeLinks) link.close();
    await this.#gateway?.stop();
    for (const member of this.etcd) await member.stop();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** A symbolic link to a folder; while the store is down for the node, to what is no folder. */
function folderStore(dir: string, node: string): Store {
  const [objects, location] = [join(dir, 'objects'), join(dir, `store-of-${node}`)];
  mkdirSync(objects, { recursive: true });
  const point = (target: string): void => {
    symlinkSync(target, `${location}.next`);
    renameSync(`${location}.next`, location);
  };
  point(objects);
  return {
    ...{ location, options: [], env: {} },
    set: async (state) => point(state === 'open' ? objects : '/dev/null'),
  };
}

function s3Store(gateway: VersityGateway, link: Link): Store {
  return {
    location: `s3://${gateway.bucket}/objects`,
    options: ['--cluster-store-endpoint', link.url],
    env: {
      GANNET_CLUSTER_STORE_ACCESS_KEY: gateway.accessKeyId,
      GANNET_CLUSTER_STORE_SECRET_KEY: gateway.secretAccessKey,
    },
    set: (state) => link.set(state),
  };
}
