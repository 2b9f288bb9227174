import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from './client.ts';

export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** The addon the server loads; without it there is no server. */
export const ADDON = process.env['GANNET_ADDON'] ?? `${ROOT}build/Release/gannet.node`;

/** GANNET_MAIN, or the output of `npm run build`. */
export const PROGRAM = process.env['GANNET_MAIN'] ?? `${ROOT}dist/main.cjs`;

const READY_MS_MAX = 60_000;
const POLL_MS = 20;

export interface ServerOptions {
  dir: string;
  port: number;
  /** Launch options. */
  args?: readonly string[];
  /** Program and arguments put before `node`. */
  wrapper?: readonly string[];
  env?: NodeJS.ProcessEnv;
  /** Master key that requests are sent with. */
  key?: string;
}

/** The real server in its own process. */
export class ServerProcess {
  readonly port: number;
  readonly client: Client;
  readonly #child: ChildProcess;
  readonly #exited: Promise<number | null>;
  #stderr = '';
  #hasExited = false;

  constructor({ dir, port, args = [], wrapper = [], env = {}, key }: ServerOptions) {
    const [command, ...rest] = [
      ...wrapper,
      process.execPath,
      PROGRAM,
      '--db-path',
      dir,
      '--http-addr',
      `127.0.0.1:${port}`,
      ...(key === undefined ? [] : ['--master-key', key]),
      ...args,
    ] as [string, ...string[]];
    this.port = port;
    this.client = new Client(port, key);
    this.#child = spawn(command, rest, {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env },
    });
    this.#child.stderr!.on('data', (part: Buffer) => (this.#stderr += part.toString()));
    this.#exited = new Promise((done) => {
      const end = (code: number | null): void => {
        this.#hasExited = true;
        done(code);
      };
      this.#child.once('exit', end);
      this.#child.once('error', (error) => {
        this.#stderr += String(error);
        end(null);
      });
    });
  }

  /** Starts one and waits until it responds. */
  static async start(options: ServerOptions): Promise<ServerProcess> {
    const server = new ServerProcess(options);
    await server.ready();
    return server;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get stderr(): string {
    return this.#stderr;
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  /** Resolves to the status, null after a signal. */
  get exited(): Promise<number | null> {
    return this.#exited;
  }

  async ready(): Promise<void> {
    const until = performance.now() + READY_MS_MAX;
    for (;;) {
      if (this.#hasExited) throw new Error(`the server ended at start:\n${this.#stderr}`);
      try {
        if ((await this.client.call('GET', '/health')).status === 200) return;
      } catch {
        // Not listening yet.
      }
      if (performance.now() > until) throw new Error(`the server is not ready:\n${this.#stderr}`);
      await sleep(POLL_MS);
    }
  }

  /** Like `kill -9`; resolves when the process has ended. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
    this.client.close();
  }

  /** Like the stop by a service manager. */
  async stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    const code = await this.#exited;
    this.client.close();
    return code;
  }
}

export function addonIsBuilt(): boolean {
  return existsSync(ADDON);
}

/** `gannet verify` with these arguments: its exit status and what it printed. */
export function verify(...args: string[]): Promise<{ status: number | null; text: string }> {
  const child = spawn(process.execPath, [PROGRAM, 'verify', ...args], { cwd: ROOT });
  let text = '';
  child.stdout.on('data', (bytes: Buffer) => (text += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (text += bytes.toString()));
  return new Promise((done) => child.once('close', (status) => done({ status, text })));
}
