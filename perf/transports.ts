/**
 * Compares the cost of node:http and uWebSockets.js, of different numbers of HTTP threads, or of
 * different checkouts. Servers with the same documents, one for each, get the same searches
 * alternately, and the same file.
 *
 *   node --import=tsx perf/transports.ts [--data FILE.ndjson] [--fields title,author]
 *       [--settings JSON] [--threads 1,2,4 | --checkouts FOLDER,FOLDER] [--rounds 6] [--seconds 5]
 *
 * Prints medians over the rounds. CPU is that of the server's process, from the kernel's scheduler.
 */
import { request } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { type BuiltServer, startBuiltServer } from '../test/support/built-server.ts';
import { mulberry } from '../test/support/random.ts';
import { CpuClock } from './process-stats.ts';
import { median } from './statistics.ts';
import { bytesOf, searchBodies } from './searches.ts';
import { requestsPerSecond } from './throughput.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: 'test/demo/books.ndjson' },
    fields: { type: 'string', default: 'title,author' },
    rounds: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '32' },
    settings: { type: 'string', default: '{}' },
    threads: { type: 'string' },
    checkouts: { type: 'string' },
    seed: { type: 'string', default: '7' },
  },
});

interface Variant {
  name: string;
  /** Launch options. */
  options: string[];
  env?: Record<string, string>;
}

const TRANSPORTS: readonly Variant[] = [
  { name: 'uWebSockets.js', options: [] },
  { name: 'node:http', options: ['--http-transport', 'node'] },
];

/** The first one is what the others are compared with. */
const VARIANTS: readonly Variant[] =
  values.threads
    ?.split(',')
    .map((count) => ({ name: `${count} threads`, options: ['--http-threads', count] })) ??
  values.checkouts?.split(',').map((folder) => ({
    ...{ name: folder, options: [] },
    env: { GANNET_MAIN: join(folder, 'dist/main.cjs') },
  })) ??
  TRANSPORTS;

const SEARCHES = 2000;
const JSON_TYPE = 'application/json';
const random = mulberry(Number(values.seed));
const documents = bytesOf(values.data);
const bodies = searchBodies(documents, values.fields.split(','), SEARCHES, random);

/** Figures of one round with one server. */
interface Round {
  /** Searches per second. */
  searches: number;
  p50: number;
  p99: number;
  /** CPU per search, ms: of the thread that runs JavaScript, and of all threads. */
  mainMs: number;
  cpuMs: number;
  /** Speed of sending the whole file until it is accepted. */
  uploadMbPerSecond: number;
  uploadMainMs: number;
}

async function round(server: BuiltServer, bodies: readonly string[]): Promise<Round> {
  const cpu = new CpuClock(server.pid);
  const seconds = Number(values.seconds);
  const { requests, failures, latency } = requestsPerSecond({
    port: Number(new URL(server.url).port),
    path: '/indexes/perf/search',
    bodies,
    connections: Number(values.connections),
    seconds,
    key: server.masterKey,
  });
  if (failures > 0) throw new Error(`${failures} searches failed`);
  const { mainMs, otherMs } = cpu.lap();
  const asked = requests * seconds;
  const begin = performance.now();
  const taskUid = await upload(server);
  const uploadMs = performance.now() - begin;
  const uploading = cpu.lap();
  await server.ended(taskUid);
  return {
    searches: requests,
    ...latency,
    mainMs: mainMs / asked,
    cpuMs: (mainMs + otherMs) / asked,
    uploadMbPerSecond: documents.length / 1000 / uploadMs,
    uploadMainMs: uploading.mainMs,
  };
}

/**
 * Sends the file to an empty index over a separate connection. The task fails because there is no
 * primary key, so the measurement ends with the response. @returns the task
 */
function upload({ url, masterKey }: BuiltServer): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/x-ndjson',
      'content-length': documents.length,
      authorization: `Bearer ${masterKey}`,
    };
    const path = `${url}/indexes/upload/documents?primaryKey=none`;
    const sent = request(path, { method: 'POST', headers, agent: false }, (response) => {
      json(response).then((body) => {
        if (response.statusCode === 202) resolve((body as { taskUid: number }).taskUid);
        else reject(new Error(`upload: ${response.statusCode}`));
      }, reject);
    });
    sent.on('error', reject);
    sent.end(documents);
  });
}

const servers: { variant: Variant; server: BuiltServer; rounds: Round[] }[] = [];
try {
  for (const variant of VARIANTS) {
    const server = await startBuiltServer(variant.options, variant.env);
    servers.push({ variant, server, rounds: [] });
    await server.finish('PATCH', '/indexes/perf/settings', {
      text: values.settings,
      type: JSON_TYPE,
    });
    await server.finish('POST', '/indexes/perf/documents', {
      text: documents.toString(),
      type: 'application/x-ndjson',
    });
  }
  // The first round warms up.
  for (let at = 0; at <= Number(values.rounds); at++) {
    for (const { server, rounds } of at % 2 === 0 ? servers : servers.toReversed()) {
      const one = await round(server, bodies);
      if (at > 0) rounds.push(one);
    }
  }
} finally {
  for (const { server } of servers) await server.close();
}

const FIGURES: readonly (readonly [name: string, key: keyof Round, digits: number])[] = [
  [`searches a second, ${values.connections} connections`, 'searches', 0],
  ['search p50, ms', 'p50', 2],
  ['search p99, ms', 'p99', 2],
  ['CPU of a search: main thread, ms', 'mainMs', 3],
  ['CPU of a search: all threads, ms', 'cpuMs', 3],
  [`upload of ${(documents.length / 1e6).toFixed(1)} MB until 202, MB/s`, 'uploadMbPerSecond', 0],
  ['upload: CPU of the main thread, ms', 'uploadMainMs', 1],
];
const [first, ...others] = servers;
const heads = [...servers, ...others.map(({ variant }) => ({ variant }))].map(({ variant }, at) =>
  at < servers.length ? variant.name : `ratio by pairs: ${variant.name}`,
);
process.stdout.write(`| | ${heads.join(' | ')} |\n|---|${heads.map(() => '---|').join('')}\n`);
for (const [name, key, digits] of FIGURES) {
  const shown = servers.map(({ rounds }) => median(rounds.map((one) => one[key])).toFixed(digits));
  const ratios = others.map(({ rounds }) =>
    median(rounds.map((one, at) => one[key] / first!.rounds[at]![key])).toFixed(2),
  );
  process.stdout.write(`| ${name} | ${[...shown, ...ratios].join(' | ')} |\n`);
}
