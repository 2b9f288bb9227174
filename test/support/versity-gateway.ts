import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.ts';

/**
 * Where `go install github.com/versity/versitygw/cmd/versitygw@v1.8.0` installs it, and other
 * possible paths.
 */
const COMMANDS = [
  process.env.GANNET_VERSITYGW ?? '',
  'versitygw',
  join(homedir(), 'go/bin/versitygw'),
];

/** The program, or null where it is not on this machine. */
export const VERSITY_GATEWAY =
  COMMANDS.find(
    (command) =>
      command !== '' && spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0,
  ) ?? null;

/** An object store over a folder, which checks signatures and checksums. */
export class VersityGateway {
  readonly url: string;
  readonly bucket = 'shop';
  readonly accessKeyId = 'access';
  readonly secretAccessKey = 'a-secret-of-the-store';
  readonly #child: ChildProcess;
  readonly #dir: string;

  private constructor(url: string, child: ChildProcess, dir: string) {
    this.url = url;
    this.#child = child;
    this.#dir = dir;
  }

  static async start(): Promise<VersityGateway> {
    const dir = mkdtempSync(join(tmpdir(), 'gannet-s3-'));
    mkdirSync(join(dir, 'shop'));
    const port = `127.0.0.1:${await freePort()}`;
    const keys = ['--access', 'access', '--secret', 'a-secret-of-the-store'];
    const child = spawn(VERSITY_GATEWAY!, [...keys, '--port', port, 'posix', dir], {
      stdio: 'ignore',
    });
    const gateway = new VersityGateway(`http://${port}`, child, dir);
    while (!(await gateway.#isReady())) {
      if (child.exitCode !== null) throw new Error(`versitygw ended with ${child.exitCode}`);
      await delay(50);
    }
    return gateway;
  }

  async #isReady(): Promise<boolean> {
    try {
      await fetch(this.url);
      return true;
    } catch {
      return false;
    }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null) {
      const ended = new Promise((resolve) => this.#child.once('exit', resolve));
      this.#child.kill('SIGKILL');
      await ended;
    }
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
