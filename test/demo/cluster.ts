/**
 * A cluster on this machine: etcd, a store in a folder and three nodes. Kills the leader while
 * books are added and searched, and shows what clients notice of it. Everything is erased at the
 * end.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { clusterOptions } from '../support/cluster-options.ts';
import { Etcd, HAS_ETCD } from '../support/etcd.ts';
import { freePort } from '../support/free-port.ts';

const NODES = 3;
const START_MS_MAX = 20_000;
const POLL_MS = 20;
const BATCH = 20;
/** The leader is killed before this batch. */
const KILL_AT = 8;

interface Node {
  readonly name: string;
  readonly url: string;
  readonly child: ChildProcess;
}

/** What the clients have met. */
interface Counts {
  searches: number;
  failedSearches: number;
  refusedWrites: number;
}

/**
 * Runs the demonstration. Throws when an acknowledged write is missing at the end.
 * @param program path of the built server
 * @param books path of the books, one per line
 */
export async function showCluster(program: string, books: string): Promise<void> {
  if (!HAS_ETCD) throw new Error('The demonstration needs etcd (Debian package etcd-server).');
  const dir = mkdtempSync(join(tmpdir(), 'gannet-demo-'));
  const nodes: Node[] = [];
  const etcd = await Etcd.start();
  const end = (): void => {
    for (const { child } of nodes) child.kill('SIGKILL');
    etcd.child.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  };
  const interrupted = (): never => {
    end();
    process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, interrupted);
  try {
    mkdirSync(join(dir, 'store'));
    console.log(`etcd answers at ${etcd.url}; the store is the folder ${join(dir, 'store')}.`);
    for (let n = 1; n <= NODES; n++) nodes.push(await startNode(program, dir, etcd.url, n));
    await run(nodes, readFileSync(books, 'utf8').trimEnd().split('\n'));
  } finally {
    end();
    await etcd.stop();
  }
}

async function startNode(program: string, dir: string, etcd: string, n: number): Promise<Node> {
  const name = `node-${n}`;
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const child = spawn(
    process.execPath,
    [
      ...[program, '--db-path', join(dir, name), '--http-addr', address, '--log-level', 'off'],
      ...clusterOptions({
        cluster: 'demo',
        etcd: [etcd],
        store: join(dir, 'store'),
        node: name,
        url,
      }),
    ],
    { stdio: 'ignore', detached: true },
  );
  for (const begin = Date.now(); Date.now() - begin < START_MS_MAX; await delay(POLL_MS)) {
    if (child.exitCode !== null) break;
    const isReady = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (!isReady) continue;
    console.log(`${name} answers at ${url}.`);
    return { name, url, child };
  }
  child.kill('SIGKILL');
  throw new Error(`${name} did not start.`);
}

async function run(nodes: readonly Node[], lines: readonly string[]): Promise<void> {
  const counts: Counts = { searches: 0, failedSearches: 0, refusedWrites: 0 };
  let living = nodes;
  let killed = 0;
  let added = 0;
  let commit = '0';
  const searching = new AbortController();
  const searches = search(() => living, counts, searching.signal);
  for (let n = 0; added < lines.length; n++) {
    if (n === KILL_AT) {
      const leader = await leaderOf(living);
      living = living.filter((node) => node !== leader);
      leader.child.kill('SIGKILL');
      killed = performance.now();
      console.log(`\n${added} books are acknowledged. The leader, ${leader.name}, is killed.`);
    }
    const batch = lines.slice(added, added + BATCH);
    commit = await add(living[n % living.length]!, batch.join('\n'), counts);
    if (n === KILL_AT) {
      const ms = Math.round(performance.now() - killed);
      console.log(`The next write is accepted ${ms} ms later.`);
      console.log(`${(await leaderOf(living)).name} leads.`);
    }
    added += batch.length;
  }
  for (const node of living) await expectAll(node, added, commit);
  searching.abort();
  await searches;
  console.log(
    `\n${counts.searches} searches were answered meanwhile, ${counts.failedSearches} failed. ` +
      `${counts.refusedWrites} writes were refused and repeated.`,
  );
}

/** Searches the nodes in turn until `signal`; another node when one breaks the connection. */
async function search(
  living: () => readonly Node[],
  counts: Counts,
  signal: AbortSignal,
): Promise<void> {
  const ask = (n: number): Promise<number> => {
    const nodes = living();
    return fetch(`${nodes[n % nodes.length]!.url}/indexes/books/search?q=war`).then(
      ({ status }) => status,
      () => 0,
    );
  };
  for (let n = 0; !signal.aborted; n++) {
    const status = (await ask(n)) || (await ask(n + 1));
    // 404: the first books are not there yet.
    if (status === 200) counts.searches++;
    else if (status !== 404) counts.failedSearches++;
    await delay(POLL_MS);
  }
}

/**
 * Adds documents, and repeats that while there is no leader, as clients do.
 * @returns the commit after which a node shows the write
 */
async function add({ url }: Node, body: string, counts: Counts): Promise<string> {
  for (;;) {
    const response = await fetch(`${url}/indexes/books/documents`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body,
    });
    if (response.status === 202) return response.headers.get('gannet-commit')!;
    const text = await response.text();
    if (response.status !== 503) throw new Error(text);
    counts.refusedWrites++;
    await delay(POLL_MS);
  }
}

async function leaderOf(living: readonly Node[]): Promise<Node> {
  for (;;) {
    const { leader }: any = await (await fetch(`${living[0]!.url}/cluster`)).json();
    const found = living.find(({ name }) => name === leader);
    if (found !== undefined) return found;
    await delay(POLL_MS);
  }
}

/** Waits until no task is left, and checks that every book is there. */
async function expectAll({ name, url }: Node, count: number, commit: string): Promise<void> {
  // A follower may be behind, and have no task left of those that it knows.
  const headers = { 'gannet-wait-for': commit };
  const get = async (path: string): Promise<any> => (await fetch(url + path, { headers })).json();
  while ((await get('/tasks?statuses=enqueued,processing&limit=1')).total > 0) await delay(POLL_MS);
  const { numberOfDocuments } = await get('/indexes/books/stats');
  console.log(`${name} has ${numberOfDocuments} of ${count} acknowledged books.`);
  if (numberOfDocuments === count) return;
  const { results } = await get('/tasks?statuses=failed,canceled');
  for (const { uid, error } of results) {
    console.log(`Task ${uid} of ${name} failed: ${JSON.stringify(error)}`);
  }
  throw new Error(`${name} has lost books.`);
}
