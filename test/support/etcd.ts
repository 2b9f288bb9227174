import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.ts';

/** Whether etcd (Debian package `etcd-server`) is on this machine. */
export const HAS_ETCD = spawnSync('etcd', ['--version'], { stdio: 'ignore' }).status === 0;

/** One member of etcd, with a folder of its own. */
export class Etcd {
  readonly url: string;
  readonly #args: readonly string[];
  readonly #dir: string;
  /** URL that reports its health. */
  readonly #health: string;
  #child: ChildProcess;

  private constructor(url: string, args: readonly string[], dir: string, health: string) {
    this.url = url;
    this.#health = health;
    this.#args = args;
    this.#dir = dir;
    this.#child = this.#spawn();
  }

  /** A cluster of one member. */
  static async start(options: readonly string[] = []): Promise<Etcd> {
    const [etcd] = await Etcd.startMembers(1, options);
    return etcd!;
  }

  /**
   * A cluster of one member that speaks TLS and whose clients must show a certificate.
   * @param certificate path of one that signs itself, for the member and for clients
   */
  static async startWithTls(certificate: string, key: string): Promise<Etcd> {
    const [client, peer, health] = await Promise.all([freePort(), freePort(), freePort()]);
    const [url, peerUrl] = [`https://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
    const dir = mkdtempSync(join(tmpdir(), 'gannet-etcd-'));
    const healthUrl = `http://127.0.0.1:${health}`;
    const args = [
      ...['--data-dir', dir, '--initial-cluster', `default=${peerUrl}`],
      ...['--listen-client-urls', url, '--advertise-client-urls', url],
      ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
      ...['--listen-metrics-urls', healthUrl, '--cert-file', certificate, '--key-file', key],
      ...['--client-cert-auth', '--trusted-ca-file', certificate, '--bcrypt-cost', '4'],
    ];
    const etcd = new Etcd(url, args, dir, healthUrl);
    await etcd.ready();
    return etcd;
  }

  /** The members of one cluster. */
  static async startMembers(count: number, options: readonly string[] = []): Promise<Etcd[]> {
    const address = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`;
    const members = [];
    for (let n = 0; n < count; n++) {
      const dir = mkdtempSync(join(tmpdir(), 'gannet-etcd-'));
      members.push({ name: `etcd-${n}`, dir, client: await address(), peer: await address() });
    }
    const all = members.map(({ name, peer }) => `${name}=${peer}`).join(',');
    const started = members.map(
      ({ name, dir, client, peer }) =>
        new Etcd(
          client,
          [
            ...['--name', name, '--data-dir', dir, '--initial-cluster', all],
            ...['--listen-client-urls', client, '--advertise-client-urls', client],
            ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, ...options],
          ],
          dir,
          client,
        ),
    );
    for (const etcd of started) await etcd.ready();
    return started;
  }

  /**
   * Lets only users in from now on: `root`, and one who may use the keys with some prefixes. With
   * TLS, they show certificates as well.
   */
  demandPassword(user: { name: string; password: string; prefixes: readonly string[] }): void {
    const { name, password, prefixes } = user;
    const options = {
      '--cert-file': '--cert',
      '--key-file': '--key',
      '--trusted-ca-file': '--cacert',
    };
    const tls = Object.entries(options).flatMap(([server, client]) => {
      const at = this.#args.indexOf(server);
      return at < 0 ? [] : [client, this.#args[at + 1]!];
    });
    const allow = ['role', 'grant-permission', name, '--prefix=true', 'readwrite'];
    for (const args of [
      ['user', 'add', `root:${password}-of-root`],
      ['user', 'grant-role', 'root', 'root'],
      ['role', 'add', name],
      ...prefixes.map((prefix) => [...allow, prefix]),
      ['user', 'add', `${name}:${password}`],
      ['user', 'grant-role', name, name],
      ['auth', 'enable'],
    ]) {
      const { status, stderr } = spawnSync('etcdctl', ['--endpoints', this.url, ...tls, ...args], {
        encoding: 'utf8',
        env: { ...process.env, ETCDCTL_API: '3' },
      });
      if (status !== 0) throw new Error(`etcdctl ${args.join(' ')}: ${stderr}`);
    }
  }

  get child(): ChildProcess {
    return this.#child;
  }

  #spawn(): ChildProcess {
    return spawn('etcd', this.#args, { stdio: 'ignore' });
  }

  /** Resolves once it responds, with a leader among the members. */
  async ready(): Promise<void> {
    while (!(await this.#isReady())) {
      if (this.#child.exitCode !== null) {
        throw new Error(`etcd ended with status ${this.#child.exitCode}`);
      }
      await delay(50);
    }
  }

  async #isReady(): Promise<boolean> {
    try {
      return (await fetch(`${this.#health}/health`)).ok;
    } catch {
      return false;
    }
  }

  /** Like `kill -9`. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await ended;
  }

  /** REQUIRES: it was killed. Does not wait until it is ready. */
  restart(): void {
    this.#child = this.#spawn();
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
