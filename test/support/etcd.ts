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
  readonly child: ChildProcess;
  readonly #dir: string;

  private constructor(url: string, child: ChildProcess, dir: string) {
    this.url = url;
    this.child = child;
    this.#dir = dir;
  }

  static async start(options: readonly string[] = []): Promise<Etcd> {
    const dir = mkdtempSync(join(tmpdir(), 'gannet-etcd-'));
    const [client, peer] = [await freePort(), await freePort()].map(
      (port) => `http://127.0.0.1:${port}`,
    ) as [string, string];
    const child = spawn(
      'etcd',
      [
        ...['--data-dir', dir, '--listen-client-urls', client, '--advertise-client-urls', client],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
        ...['--initial-cluster', `default=${peer}`, ...options],
      ],
      { stdio: 'ignore' },
    );
    const etcd = new Etcd(client, child, dir);
    while (!(await etcd.#isReady())) {
      if (child.exitCode !== null) throw new Error(`etcd ended with status ${child.exitCode}`);
      await delay(50);
    }
    return etcd;
  }

  async #isReady(): Promise<boolean> {
    try {
      return (await fetch(`${this.url}/health`)).ok;
    } catch {
      return false;
    }
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const ended = new Promise((resolve) => this.child.once('exit', resolve));
      this.child.kill('SIGKILL');
      await ended;
    }
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
