// A server for the time of a build or a demonstration.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';

const PROGRAM = 'dist/main.cjs';
const POLL_MS = 50;

/** @param options of the program */
export async function startServer(options = []) {
  if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: run \`npm run build\` first.`);
  const folder = mkdtempSync(join(tmpdir(), 'gannet-docs-'));
  const masterKey = randomBytes(24).toString('base64url');
  const folders = ['--db-path', join(folder, 'data'), '--http-addr', '127.0.0.1:0'];
  const child = spawn(process.execPath, [PROGRAM, ...folders, '--log-level', 'warn', ...options], {
    env: { ...process.env, GANNET_MASTER_KEY: masterKey },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  let printed = '';
  // The banner is the first thing that a server prints when it is ready.
  const url = await new Promise((resolve, reject) => {
    child.stderr.on('data', (bytes) => {
      printed += bytes;
      const found = /Listening on +(\S+)\n/.exec(printed);
      if (found !== null) resolve(found[1]);
    });
    child.once('exit', () => reject(new Error(`The server ended: ${printed}`)));
  });

  async function request(method, path, body, type = 'application/json') {
    const headers = { authorization: `Bearer ${masterKey}`, 'content-type': type };
    const response = await fetch(url + path, { method, headers, ...(body && { body }) });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return response;
  }
  const json = async (...given) => (await request(...given)).json();

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
