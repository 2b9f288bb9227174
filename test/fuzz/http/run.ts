/**
 * Sends random requests to the built server and watches it:
 *
 *   node --import=tsx test/fuzz/http/run.ts [--minutes 1] [--seed N] [--hold-ms 50]
 *
 * A fault is a crash, a response with status 500, a response declared as JSON that is not JSON, no
 * response within a minute, or a request that makes GET /health wait longer than --hold-ms in three
 * of three attempts. Exit status: 0 if there were no faults. The printed seed repeats a run.
 * GANNET_ADDON selects another build of the engine, such as one with sanitizers.
 */
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { startBuiltServer, type BuiltServer } from '../../support/built-server.ts';
import { mulberry } from '../../support/random.ts';
import { recordRun } from '../../support/record-run.ts';
import { Requests, type Description, type FuzzRequest } from './requests.ts';

const ANSWER_MS_MAX = 60_000;
const HOLD_TRIES = 3;
/** The default of `--http-payload-size-limit`. */
const BODY_BYTES_MAX = 100 * 1024 * 1024;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    'hold-ms': { type: 'string', default: '50' },
  },
});

interface Seen {
  status: number;
  /** The fault of the response, or null. */
  fault: string | null;
  /** The longest wait of GET /health meanwhile, in ms. */
  heldMs: number;
}

class Run {
  readonly #server: BuiltServer;
  readonly #waits = new Int32Array(new SharedArrayBuffer(4));
  readonly statuses = new Map<number, number>();
  readonly faults: string[] = [];
  #longest = 0;

  constructor(server: BuiltServer) {
    this.#server = server;
  }

  get longestHeldMs(): number {
    return this.#longest;
  }

  /** Starts sending GET /health. */
  async watch(): Promise<Worker> {
    const entry = JSON.stringify(new URL('./probe.ts', import.meta.url).href);
    const script = `import('tsx/esm/api').then(({ register }) => (register(), import(${entry})));`;
    const workerData = { url: this.#server.url, waits: this.#waits.buffer };
    const worker = new Worker(script, { eval: true, workerData });
    await new Promise((resolve) => worker.once('message', resolve));
    return worker;
  }

  async send(request: FuzzRequest, holdMsMax: number): Promise<void> {
    let seen = await this.#once(request);
    this.statuses.set(seen.status, (this.statuses.get(seen.status) ?? 0) + 1);
    let heldMs = seen.heldMs;
    for (let tries = 1; seen.fault === null && heldMs > holdMsMax && tries < HOLD_TRIES; tries++) {
      seen = await this.#once(request);
      heldMs = Math.min(heldMs, seen.heldMs);
    }
    if (seen.fault === null) this.#longest = Math.max(this.#longest, heldMs);
    const held = heldMs > holdMsMax ? `GET /health waited ${heldMs.toFixed(0)} ms` : null;
    const fault = seen.fault ?? held;
    if (fault !== null) this.#report(request, fault);
  }

  async #once({ method, path, headers, body }: FuzzRequest): Promise<Seen> {
    Atomics.store(this.#waits, 0, 0);
    let status = 0;
    let fault: string | null = null;
    try {
      const response = await fetch(this.#server.url + path, {
        method,
        headers: { authorization: `Bearer ${this.#server.masterKey}`, ...headers },
        ...(body !== null && method !== 'GET' && { body }),
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      });
      status = response.status;
      const text = await response.text();
      const json = response.headers.get('content-type')?.startsWith('application/json') === true;
      if (status === 500) fault = `status 500: ${text.slice(0, 500)}`;
      else if (json) JSON.parse(text);
    } catch (error) {
      const cause = String((error as Error).cause ?? '');
      // A body of this size is refused after its head, and a client that keeps sending may miss the
      // response.
      const isRefusedUnread =
        Buffer.byteLength(body ?? '') > BODY_BYTES_MAX && /EPIPE|ECONNRESET/.test(cause);
      if (!isRefusedUnread) fault = `no response: ${String(error)} ${cause}`;
    }
    return { status, fault, heldMs: Atomics.load(this.#waits, 0) / 1000 };
  }

  #report({ method, path, headers, body }: FuzzRequest, fault: string): void {
    const sent = body === null ? '' : ` ${body.length} bytes: ${body.slice(0, 600)}`;
    const report = `${fault}\n  ${method} ${path.slice(0, 600)} ${JSON.stringify(headers)}${sent}`;
    this.faults.push(report);
    console.log(report);
  }
}

async function seed(server: BuiltServer): Promise<void> {
  await server.call('PATCH', '/experimental-features', {
    body: { containsFilter: true, metrics: true, logsRoute: true, editDocumentsByFunction: true },
  });
  const books = Array.from({ length: 500 }, (_, id) => ({
    ...{
      id,
      title: `dune and the ${id} others`,
      year: 1500 + id,
      genres: ['a', 'b', `g${id % 9}`],
    },
    ...{ n: { deep: id % 5 } },
  }));
  const cities = books.map((book) => ({
    ...book,
    _geo: { lat: (book.id % 90) - 45, lng: book.id % 180 },
  }));
  for (const [uid, body] of Object.entries({ books, cities })) {
    await server.finish('POST', `/indexes/${uid}/documents?primaryKey=id`, { body });
    await server.finish('PATCH', `/indexes/${uid}/settings`, {
      body: { filterableAttributes: ['*', '_geo'], sortableAttributes: ['*', '_geo'] },
    });
  }
  await server.finish('POST', '/indexes', { body: { uid: 'empty' } });
}

async function main(): Promise<number> {
  const server = await startBuiltServer();
  const run = new Run(server);
  let sent = 0;
  let watcher: Worker | null = null;
  try {
    await seed(server);
    const description = (await server.call('GET', '/openapi.json')).json as Description;
    const requests = new Requests(description, mulberry(Number(values.seed)));
    watcher = await run.watch();
    const end = performance.now() + Number(values.minutes) * 60_000;
    while (performance.now() < end) {
      if (sent % 500 === 499) await seed(server).catch(() => {});
      await run.send(requests.next(), Number(values['hold-ms']));
      sent++;
      if (!alive(server.pid)) {
        console.log('the server has ended');
        break;
      }
    }
  } finally {
    await watcher?.terminate();
    await server.close();
  }
  const statuses = [...run.statuses].toSorted(([a], [b]) => a - b);
  console.log(`${sent} requests, seed ${values.seed}; ${run.faults.length} faults`);
  console.log(`responses: ${statuses.map(([status, count]) => `${status}: ${count}`).join(', ')}`);
  console.log(
    `longest wait of GET /health, three times the same request: ${run.longestHeldMs.toFixed(1)} ms`,
  );
  if (run.faults.length === 0) recordRun('requests', sent, values.seed);
  return run.faults.length === 0 ? 0 : 1;
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

process.exitCode = await main();
