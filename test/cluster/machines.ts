/**
 * Three nodes, three members of etcd and one object store, with links between them that can break.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
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
  readdirSync,
  readFileSync,
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
import type { Random } from '../http/kill/support/random.ts';
import { ServerProcess, verify } from '../http/kill/support/server-process.ts';

export const LEASE_SECONDS = 2;
const NODES = 3;
const MEMBERS = 3;
const MASTER_KEY = 'masterKeymasterKey';
/** Small, so that nodes also catch up by checkpoints. */
const CHECKPOINT_BYTES = 150_000;
const DISK_MIB = 256;
/** Pause between two comparisons of all files of a node with their checksums, ms. */
const COMPARE_PAUSE_MS = 2000;
const FLIPS_MAX = 8;
/** Pause before a node that has ended by itself is started again, as by systemd. */
const RESTART_MS = 300;

/** Where Debian's package `libfaketime` puts its library, by architecture. */
const LIBFAKETIME = ['x86_64-linux-gnu', 'aarch64-linux-gnu']
  .map((name) => `/usr/lib/${name}/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path));

export interface MachinesOptions {
  readonly log: (line: string) => void;
  /** Nothing but links can fail: disks are not small, clocks are true, checkpoints are rare. */
  readonly isPlain?: boolean;
  /** Members of etcd. */
  readonly members?: number;
  readonly nodes?: number;
  readonly leaseSeconds?: number;
}

/** The object store as one node sees it. */
interface Store {
  /** null: a folder. */
  readonly link: Link | null;
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
  /** Digests of files before they were damaged, by path. */
  readonly #damaged = new Map<string, string>();

  constructor(
    parts: { name: string; port: number; etcd: Link[]; store: Store; link: Link },
    dir: string,
    options: () => readonly string[],
    { log, isPlain = false }: MachinesOptions,
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
    this.hasDisk = !isPlain && spawnSync('mount', disk).status === 0;
    this.#clock = isPlain || LIBFAKETIME === undefined ? null : `${dir}.clock`;
    if (this.#clock !== null) this.jump(0);
    this.#env = {
      ...parts.store.env,
      ...(isPlain
        ? {}
        : {
            GANNET_CHECKPOINT_BYTES: String(CHECKPOINT_BYTES),
            GANNET_COMPARE_PAUSE_MS: String(COMPARE_PAUSE_MS),
          }),
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
        ...{ dir: this.data, port: this.port, key: MASTER_KEY },
        args: ['--log-level', 'warn', ...this.#options()],
        env: this.#env,
      });
      this.#process = started;
      const status = await started.exited;
      if (!this.#isWanted) return;
      const last = started.stderr.trimEnd().split('\n').slice(-14).join('\n');
      this.#log(`${this.name} has ended with ${status}:\n${last}`);
      await delay(RESTART_MS);
    }
  }

  get pid(): number {
    return this.#process!.pid;
  }

  /** Its data folder. */
  get data(): string {
    return join(this.#dir, 'data');
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
    rmSync(this.data, { recursive: true, force: true });
  }

  /**
   * Changes some bits in a file of an index. Blocks that a process has read and checked it would
   * trust, hence:
   * REQUIRES: the node is down.
   */
  flipBits(random: Random): void {
    const dir = join(this.data, 'indexes');
    const names = existsSync(dir) ? readdirSync(dir, { recursive: true, encoding: 'utf8' }) : [];
    const files = names.filter((name) => /\/segments\/\d+$/.test(name)).toSorted();
    if (files.length === 0) return;
    const path = join(dir, random.pick(files));
    const bytes = readFileSync(path);
    if (bytes.length === 0) return;
    if (!this.#damaged.has(path)) this.#damaged.set(path, digestOf(bytes));
    for (let left = random.int(1, FLIPS_MAX + 1); left > 0; left--) {
      bytes[random.int(0, bytes.length)]! ^= 1 << random.int(0, 8);
    }
    writeFileSync(path, bytes, { flag: 'r+' });
    this.#log(`${this.name}: bits of ${path} are flipped`);
  }

  /** Whether no file is left whose bits were flipped. */
  isWhole(): boolean {
    for (const [path, digest] of this.#damaged) {
      const bytes = contentOf(path);
      if (bytes === null || digestOf(bytes) === digest) this.#damaged.delete(path);
    }
    return this.#damaged.size === 0;
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
    return verify('--db-path', this.data);
  }

  async close(): Promise<void> {
    this.signal('SIGCONT');
    await this.end('kill');
    for (const link of [...this.etcd, this.link]) link.close();
    this.store.link?.close();
    if (this.hasDisk) spawnSync('umount', ['-l', this.#dir]);
  }
}

export class Machines {
  readonly etcd: readonly Etcd[];
  readonly store: 'folder' | 's3';
  readonly #nodes: Node[] = [];
  readonly #dir: string;
  readonly #gateway: VersityGateway | null;
  readonly #options: MachinesOptions;

  private constructor(
    dir: string,
    etcd: readonly Etcd[],
    gateway: VersityGateway | null,
    options: MachinesOptions,
  ) {
    this.#dir = dir;
    this.etcd = etcd;
    this.#gateway = gateway;
    this.#options = options;
    this.store = gateway === null ? 'folder' : 's3';
  }

  static async start(options: MachinesOptions): Promise<Machines> {
    const dir = mkdtempSync(join(tmpdir(), 'gannet-cluster-'));
    const etcd = await Etcd.startMembers(options.members ?? MEMBERS);
    const gateway = VERSITY_GATEWAY === null ? null : await VersityGateway.start();
    const machines = new Machines(dir, etcd, gateway, options);
    for (let n = 0; n < (options.nodes ?? NODES); n++) await machines.addNode();
    return machines;
  }

  get nodes(): readonly Node[] {
    return this.#nodes;
  }

  /** Starts a node with an empty folder. Does not wait until it is ready. */
  async addNode(): Promise<Node> {
    const name = `node-${this.#nodes.length}`;
    const port = await freePort();
    const link = await Link.to(port);
    const etcd: Link[] = [];
    for (const { url } of this.etcd) etcd.push(await Link.to(portOf(url)));
    const store =
      this.#gateway === null ? folderStore(this.#dir, name) : await s3Store(this.#gateway);
    const options = (): string[] => [
      ...clusterOptions({
        ...{ cluster: 'faults', etcd: etcd.map(({ url }) => url), store: store.location },
        ...{ node: name, url: link.url },
        leaseSeconds: this.#options.leaseSeconds ?? LEASE_SECONDS,
      }),
      ...store.options,
    ];
    const parts = { name, port, etcd, store, link };
    const node = new Node(parts, join(this.#dir, name), options, this.#options);
    this.#nodes.push(node);
    await node.start();
    return node;
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
    ...{ link: null, location, options: [], env: {} },
    set: async (state) => point(state === 'open' ? objects : '/dev/null'),
  };
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** null: there is no such file. */
function contentOf(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

async function s3Store(gateway: VersityGateway): Promise<Store> {
  const link = await Link.to(portOf(gateway.url));
  return {
    link,
    location: `s3://${gateway.bucket}/objects`,
    options: ['--cluster-store-endpoint', link.url],
    env: {
      GANNET_CLUSTER_STORE_ACCESS_KEY: gateway.accessKeyId,
      GANNET_CLUSTER_STORE_SECRET_KEY: gateway.secretAccessKey,
    },
    set: (state) => link.set(state),
  };
}
