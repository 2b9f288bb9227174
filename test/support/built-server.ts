import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

/**
 * A server as its users run it: the program in dist/, its own process, data folder and free port.
 */
export interface BuiltServer {
  readonly url: string;
  readonly masterKey: string;
  /** Path of the data folder. */
  readonly data: string;
  /** The id of the process. */
  readonly pid: number;
  call(method: string, path: string, options?: CallOptions): Promise<TestResponse>;
  /** The same, then waits for the task in the response to end and returns it. */
  finish(method: string, path: string, options?: CallOptions): Promise<any>;
  /** The task, when it has ended. */
  ended(taskUid: number): Promise<any>;
  /** Waits until no task is left to be done. */
  idle(): Promise<void>;
  /** Ends the process immediately, by default as the system does when memory runs out. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Resolves when the process has ended by itself: its exit status, and what it printed. */
  exited(): Promise<{ status: number | null; printed: string }>;
  /**
   * Starts the server again on the same data, at the same address. REQUIRES: its process has ended.
   */
  restart(): Promise<void>;
  /**
   * Stops the process and verifies everything in its folder: whether it is valid, and the output.
   */
  verify(): Promise<{ valid: boolean; text: string }>;
  /** Stops the process and erases its data. */
  close(): Promise<void>;
}

export interface CallOptions {
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is. */
  text?: string;
  type?: string;
}

export interface TestResponse {
  status: number;
  /** The body as JSON. */
  json: any;
}

/** Unless the variable `GANNET_MAIN` names another. */
const PROGRAM = 'dist/main.cjs';
const START_MS_MAX = 120_000;
const POLL_MS = 10;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * @param given options, or what makes them at each start from the URL of the server
 * @param env additions to the environment of the tests
 * @param openFiles limit of open files of the process; null: that of the tests
 */
export async function startBuiltServer(
  given: readonly string[] | ((url: string) => readonly string[]) = [],
  env: Readonly<Record<string, string>> = {},
  openFiles: number | null = null,
): Promise<BuiltServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gannet-'));
  const data = join(folder, 'data');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  // Recorded conversations of several servers name this key.
  const masterKey = 'masterKeymasterKey';
  const program = env['GANNET_MAIN'] ?? process.env['GANNET_MAIN'] ?? PROGRAM;
  let printed = '';
  const start = async (): Promise<ChildProcess> => {
    const limited = ['-c', `ulimit -n ${openFiles}; exec "$0" "$@"`, process.execPath];
    const options = typeof given === 'function' ? given(url) : given;
    const started = spawn(
      openFiles === null ? process.execPath : 'bash',
      [
        ...(openFiles === null ? [] : limited),
        ...[program, '--db-path', data, '--http-addr', `127.0.0.1:${port}`],
        ...['--master-key', masterKey, '--log-level', 'warn', ...options],
      ],
      { env: { ...process.env, ...env } },
    );
    started.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    started.stderr.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    await responding(url, started, () => printed);
    return started;
  };
  let child = await start();

  const call: BuiltServer['call'] = async (method, path, { body, text, type } = {}) => {
    const sent = text ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${masterKey}`,
        ...(sent !== undefined && { 'content-type': type ?? 'application/json' }),
      },
      ...(sent !== undefined && { body: sent }),
    });
    const raw = await response.text();
    return { status: response.status, json: raw === '' ? undefined : JSON.parse(raw) };
  };

  const ended: BuiltServer['ended'] = async (uid) => {
    for (;;) {
      const task = (await call('GET', `/tasks/${uid}`)).json;
      if (task.status !== 'enqueued' && task.status !== 'processing') return task;
      await pause(POLL_MS);
    }
  };

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await exit;
  };
  const stop = (): Promise<void> => end('SIGTERM');

  return {
    url,
    masterKey,
    data,
    get pid() {
      return child.pid!;
    },
    kill: (signal = 'SIGKILL') => end(signal),
    exited: async () => {
      if (child.exitCode === null) await once(child, 'exit');
      return { status: child.exitCode, printed };
    },
    async restart() {
      child = await start();
    },
    call,
    async finish(method, path, sent) {
      const { status, json } = await call(method, path, sent);
      if (status !== 202) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`);
      return ended(json.taskUid);
    },
    ended,
    async idle() {
      const path = '/tasks?statuses=enqueued,processing&limit=1';
      while ((await call('GET', path)).json.total > 0) await pause(POLL_MS);
    },
    async verify() {
      await stop();
      const verified = spawnSync(process.execPath, [program, 'verify', '--db-path', data]);
      return { valid: verified.status === 0, text: `${verified.stdout}${verified.stderr}` };
    },
    async close() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function responding(url: string, child: ChildProcess, printed: () => string): Promise<void> {
  for (const begin = Date.now(); Date.now() - begin < START_MS_MAX; await pause(POLL_MS)) {
    if (child.exitCode !== null) break;
    const healthy = await fetch(`${url}/health`).then(
      (response) => response.ok,
      () => false,
    );
    if (healthy) return;
  }
  child.kill('SIGKILL');
  throw new Error(`The server did not start:\n${printed()}`);
}
