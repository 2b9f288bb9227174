// A server for the time of a build or a demonstration.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';

const PROGRAM = 'dist/main.cjs';
const POLL_MS = 50;

export async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return port;
}

/** @param options of the program */
export async function startServer(options = []) {
  if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: run \`npm run build\` first.`);
  const folder = mkdtempSync(join(tmpdir(), 'gannet-docs-'));
  const address = `127.0.0.1:${await freePort()}`;
  const masterKey = randomBytes(24).toString('base64url');
  const folders = ['--db-path', join(folder, 'data'), '--http-addr', address];
  const child = spawn(process.execPath, [PROGRAM, ...folders, '--log-level', 'warn', ...options], {
    env: { ...process.env, GANNET_MASTER_KEY: masterKey },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  let printed = '';
  child.stderr.on('data', (bytes) => (printed += bytes));
  const url = `http://${address}`;

  async function request(method, path, body, type = 'application/json') {
    const headers = { authorization: `Bearer ${masterKey}`, 'content-type': type };
    const response = await fetch(url + path, { method, headers, ...(body && { body }) });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return response;
  }
  const json = async (...given) => (await request(...given)).json();

  while (
    !(await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`The server ended: ${printed}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return {
    url,
    request,
    json,
    /** Resolves when the task of a response has succeeded. */
    async finish(...given) {
      const { taskUid } = await json(...given);
      for (;;) {
        const { status, error } = await json('GET', `/tasks/${taskUid}`);
        if (status === 'succeeded') return;
        if (status === 'failed') throw new Error(error.message);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
    async close() {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
