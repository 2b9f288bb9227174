/**
 * Compares dumps and snapshots with loading the same documents by HTTP: time, CPU and private
 * memory.
 *
 *     node --import=tsx perf/dumps.ts --data catalogue.ndjson
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createReadStream, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { freePort } from '../test/support/free-port.ts';
import { cpuSeconds, MemoryPeak } from './process-stats.ts';

const { values } = parseArgs({
  options: {
    /** An NDJSON file. */
    data: { type: 'string' },
    /** Megabytes of documents per request. */
    'body-mb': { type: 'string', default: '40' },
  },
});
if (values.data === undefined) throw new Error('--data names a file of documents');
const file = values.data;
const dir = mkdtempSync(join(tmpdir(), 'gannet-perf-dumps-'));

const SETTINGS = {
  filterableAttributes: ['brand', 'category', 'colors', 'price', 'rating', 'available', '_geo'],
  sortableAttributes: ['price', 'rating', 'releasedAt', '_geo'],
};

interface Running {
  url: string;
  child: ChildProcess;
  peak: MemoryPeak;
  /** Seconds until the server responded. */
  started: number;
}

async function start(db: string, ...options: string[]): Promise<Running> {
  const port = await freePort();
  const begun = performance.now();
  const child = spawn(
    process.execPath,
    [
      ...['dist/main.cjs', '--db-path', join(dir, db), '--http-addr', `127.0.0.1:${port}`],
      ...['--dump-dir', join(dir, 'dumps'), '--snapshot-dir', join(dir, 'snapshots')],
      ...['--log-level', 'error', ...options],
    ],
    { stdio: 'ignore' },
  );
  const peak = new MemoryPeak(child.pid!);
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    if (child.exitCode !== null) throw new Error('the server ended');
    const healthy = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (healthy) return { url, child, peak, started: (performance.now() - begun) / 1000 };
    await pause(20);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

async function stop({ child }: Running): Promise<void> {
  const ended = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  await ended;
}

async function call(server: Running, method: string, path: string, body?: string): Promise<any> {
  const type = path.endsWith('documents') ? 'application/x-ndjson' : 'application/json';
  const response = await fetch(server.url + path, {
    method,
    ...(body === undefined ? {} : { body, headers: { 'content-type': type } }),
  });
  return response.json();
}

async function settled(server: Running): Promise<void> {
  while ((await call(server, 'GET', '/tasks?statuses=enqueued,processing&limit=0')).total > 0) {
    await pause(50);
  }
}

async function load(server: Running): Promise<void> {
  await call(server, 'PATCH', '/indexes/catalogue/settings', JSON.stringify(SETTINGS));
  const bytesMax = Number(values['body-mb']) * 1e6;
  let body = '';
  const send = async (): Promise<void> => {
    await call(server, 'POST', '/indexes/catalogue/documents', body);
    body = '';
  };
  for await (const line of createInterface({ input: createReadStream(file) })) {
    body += `${line}\n`;
    if (body.length > bytesMax) await send();
  }
  if (body !== '') await send();
  await settled(server);
}

async function measured(
  name: string,
  server: Running,
  work: () => Promise<unknown>,
): Promise<void> {
  const begun = performance.now();
  const cpu = cpuSeconds(server.child.pid!);
  let slowest = 0;
  let over = false;
  // Polls the health of the server, to find how long its event loop was blocked.
  const asking = (async () => {
    while (!over) {
      const asked = performance.now();
      await fetch(`${server.url}/health`);
      slowest = Math.max(slowest, performance.now() - asked);
      await pause(10);
    }
  })();
  await work();
  over = true;
  await asking;
  print(
    name,
    (performance.now() - begun) / 1000,
    cpuSeconds(server.child.pid!) - cpu,
    server,
    `slowest response of /health ${slowest.toFixed(0)} ms`,
  );
}

function print(name: string, seconds: number, cpu: number, { peak }: Running, more: string): void {
  const memory = peak.stop();
  console.log(
    `${name.padEnd(24)} ${seconds.toFixed(1).padStart(7)} s ${cpu.toFixed(1).padStart(7)} s CPU ` +
      `${memory.toFixed(0).padStart(5)} MB private  ${more}`,
  );
}

async function importing(db: string, option: string, from: string): Promise<void> {
  const server = await start(db, option, from);
  const { indexes } = await call(server, 'GET', '/stats');
  const documents = `${indexes.catalogue.numberOfDocuments} documents`;
  print(option.slice(2), server.started, cpuSeconds(server.child.pid!), server, documents);
  await stop(server);
}

try {
  const first = await start('first');
  await measured('load by HTTP', first, () => load(first));
  await stop(first);
  for (const path of ['/dumps', '/snapshots']) {
    const server = await start('first');
    await measured(`POST ${path}`, server, async () => {
      await call(server, 'POST', path);
      await settled(server);
    });
    await stop(server);
  }
  const dump = join(dir, 'dumps', readdirSync(join(dir, 'dumps'))[0]!);
  const snapshot = join(dir, 'snapshots', 'first.snapshot');
  for (const made of [dump, snapshot]) {
    console.log(`${made.split('/').at(-1)}: ${(statSync(made).size / 1e6).toFixed(0)} MB`);
  }
  await importing('second', '--import-dump', dump);
  await importing('third', '--import-snapshot', snapshot);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
