/**
 * What a cluster costs: its figures against those of its leader, of a single server, or at rest.
 *
 *     node --import=tsx perf/cluster.ts --data PACKAGES --catalog 1000000 [--only NAME,...]
 *     node --import=tsx perf/cluster.ts --catalog-file FILE
 *
 * NAME: `absorb` (bytes of a follower, and its CPU without that of an idle node, for a bulk load),
 * `small` (the same for tasks of one document), `search` (searches on a follower that absorbs),
 * `join` (a new node), `failover` (writes after the leader is killed or cut off), `latency` (of a
 * small write, and until it is found). Nodes, etcd (Debian package `etcd-server`), the object store
 * (a folder, or `versitygw` with its path in `GANNET_VERSITYGW`) and the client share one machine.
 * Linux only. Bytes are counted only with `versitygw`.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { LEASE_SECONDS, Machines, type Node } from '../test/cluster/machines.ts';
import { ServerProcess } from '../test/http/kill/support/server-process.ts';
import { freePort } from '../test/support/free-port.ts';
import {
  catalogue,
  CATALOGUE_SETTINGS,
  chunksOf,
  type Document,
  documentsOf,
  writeNdjson,
} from './corpus.ts';
import { finished } from './measures.ts';
import { cpuSeconds, diskMb } from './process-stats.ts';
import { makeQueries } from './queries.ts';
import { type Figures, percentiles, prefixed } from './statistics.ts';

const INDEX = 'products';
const SEED = 7;
const BATCH_BYTES = 10_000_000;
const SAMPLE = 5000;
const PAIRS = 5;
const SEARCHES_PER_WINDOW = 1500;
const FAILOVERS = 5;
const WRITES = 300;
const SMALL_TASKS = 500;
const POLL_MS = 5;
const QUIET_MS = 2000;
const IDLE_MS = 5000;
/** A leader that is at rest for so long writes a checkpoint. */
const REST_MS = 15_000;
/** The leader stays the same on a busy machine. */
const LONG_LEASE_SECONDS = 30;

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    catalog: { type: 'string', default: '200000' },
    'catalog-file': { type: 'string' },
    only: { type: 'string', default: 'absorb,small,search,join,failover,latency' },
  },
});
const wanted = values.only.split(',');
const dir = mkdtempSync(join(tmpdir(), 'gannet-cluster-perf-'));

interface Shown {
  leader: string | null;
  head: number;
  applied: number;
}

async function shown({ client }: Node): Promise<Shown | null> {
  const response = await client.call('GET', '/cluster').catch(() => null);
  return response?.status === 200 ? response.json<Shown>() : null;
}

async function ready({ client }: Node): Promise<void> {
  for (;;) {
    const health = await client.call('GET', '/health').catch(() => null);
    if (health?.status === 200) return;
    await delay(POLL_MS);
  }
}

async function leaderOf({ nodes }: Machines): Promise<Node> {
  for (;;) {
    for (const node of nodes) {
      const leader = (await shown(node))?.leader;
      const found = nodes.find(({ name }) => name === leader);
      if (found !== undefined) return found;
    }
    await delay(POLL_MS);
  }
}

/** Resolves once no task is left, and all nodes have applied the same for a while. */
async function quiet({ nodes }: Machines, leader: Node): Promise<void> {
  await finished(leader.client);
  let last = '';
  let since = performance.now();
  for (;;) {
    const applied = (await Promise.all(nodes.map(shown))).map((state) => state?.applied);
    const text = new Set(applied).size === 1 ? String(applied[0]) : '';
    if (text !== last || text === '') since = performance.now();
    last = text;
    if (performance.now() - since > QUIET_MS) return;
    await delay(100);
  }
}

/** Bytes that a process has caused to be written to disks. */
function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))![1]);
}

/**
 * Bytes that a node has received from etcd and from the object store; null: it has no link there.
 */
function fetchedBytes({ etcd, store }: Node): number | null {
  if (store.link === null) return null;
  return [...etcd, store.link].reduce((sum, { bytes }) => sum + bytes.received, 0);
}

interface Corpus {
  file: string;
  sample: readonly Document[];
}

async function makeCorpus(): Promise<Corpus> {
  const file = values['catalog-file'] ?? join(dir, 'catalogue.ndjson');
  if (values['catalog-file'] === undefined) {
    if (values.data === undefined) throw new Error('--data or --catalog-file is needed');
    await writeNdjson(catalogue(values.data, Number(values.catalog), SEED), file, () => {});
  }
  const sample: Document[] = [];
  for await (const document of documentsOf(file)) {
    sample.push(document);
    if (sample.length === SAMPLE) break;
  }
  return { file, sample };
}

async function call(node: Node, method: string, path: string, body: unknown): Promise<void> {
  const response = await node.client.call(method, path, { body });
  if (response.status !== 202) throw new Error(`${method} ${path}: ${response.text}`);
}

async function load(node: Node, file: string): Promise<void> {
  for await (const bytes of chunksOf(file, BATCH_BYTES)) {
    const sent = { bytes, type: 'application/x-ndjson' };
    const { status, text } = await node.client.call('POST', `/indexes/${INDEX}/documents`, sent);
    if (status !== 202) throw new Error(text);
  }
}

/** CPU seconds that each node spends in a second without work. */
async function idleCpu({ nodes }: Machines): Promise<number[]> {
  const cpu = nodes.map(({ pid }) => cpuSeconds(pid));
  await delay(IDLE_MS);
  return nodes.map(({ pid }, n) => (cpuSeconds(pid) - cpu[n]!) / (IDLE_MS / 1000));
}

/** What nodes spend on work of the leader that the followers only absorb. */
async function absorbing(
  machines: Machines,
  leader: Node,
  work: () => Promise<void>,
): Promise<Figures> {
  await quiet(machines, leader);
  const idle = await idleCpu(machines);
  const cpu = machines.nodes.map(({ pid }) => cpuSeconds(pid));
  const fetched = machines.nodes.map(fetchedBytes);
  const written = writtenBytes(leader.pid);
  const begin = performance.now();
  await work();
  await quiet(machines, leader);
  const seconds = (performance.now() - begin) / 1000;
  const spent = machines.nodes.map(({ pid }, n) => cpuSeconds(pid) - cpu[n]! - idle[n]! * seconds);
  const of = (node: Node): number => spent[machines.nodes.indexOf(node)]!;
  const figures: Figures = {
    wallSeconds: seconds,
    idleCpuShare: Math.max(...idle),
    leaderCpuSeconds: of(leader),
    leaderDiskMb: diskMb(leader.data),
  };
  for (const [n, node] of machines.nodes.filter((one) => one !== leader).entries()) {
    figures[`follower${n}CpuSeconds`] = of(node);
    figures[`follower${n}CpuShare`] = of(node) / of(leader);
    const position = machines.nodes.indexOf(node);
    const [before, after] = [fetched[position]!, fetchedBytes(node)];
    if (before === null || after === null) continue;
    figures[`follower${n}FetchedMb`] = (after - before) / 1e6;
    figures[`follower${n}FetchedShare`] = (after - before) / (writtenBytes(leader.pid) - written);
  }
  figures['leaderWrittenMb'] = (writtenBytes(leader.pid) - written) / 1e6;
  return figures;
}

/** The leader indexes the catalogue. */
async function absorb(machines: Machines, { file }: Corpus): Promise<Figures> {
  const leader = await leaderOf(machines);
  await call(leader, 'POST', '/indexes', { uid: INDEX, primaryKey: 'id' });
  await call(leader, 'PATCH', `/indexes/${INDEX}/settings`, CATALOGUE_SETTINGS);
  return absorbing(machines, leader, () => load(leader, file));
}

/** Tasks of one document, one after the other. */
async function small(machines: Machines): Promise<Figures> {
  const leader = await leaderOf(machines);
  return absorbing(machines, leader, async () => {
    for (let id = 0; id < SMALL_TASKS; id++) {
      await call(leader, 'POST', '/indexes/small/documents', [{ id, title: `document ${id}` }]);
      await finished(leader.client);
    }
  });
}

/**
 * Searches on a follower at rest and while it absorbs, alternately. The leader has done its work
 * before the follower learns of it, so that the leader's CPU is not measured.
 */
async function search(machines: Machines, { sample }: Corpus): Promise<Figures> {
  const leader = await leaderOf(machines);
  const follower = machines.nodes.find((node) => node !== leader)!;
  const model = {
    fields: ['title', 'description'],
    kinds: ['exact', 'prefix', 'typo', 'typoprefix', 'phrase', 'common'] as const,
    count: SEARCHES_PER_WINDOW,
  };
  const queries = makeQueries(sample, { ...model, kinds: [...model.kinds] }, SEED);
  const one = async (n: number): Promise<number> => {
    const start = performance.now();
    const body = { q: queries[n % queries.length]!.q, limit: 20 };
    await follower.client.post(`/indexes/${INDEX}/search`, body);
    return performance.now() - start;
  };
  const atRest: number[][] = [];
  const absorbing: number[][] = [];
  for (let n = 0; n < queries.length; n++) await one(n);
  for (let pair = 0; pair < PAIRS; pair++) {
    const rest: number[] = [];
    for (let n = 0; n < queries.length; n++) rest.push(await one(n));
    for (const link of follower.etcd) await link.set('stalled');
    for (let part = 0; part < sample.length; part += 500) {
      const changed = sample.slice(part, part + 500).map((document) => ({
        ...document,
        title: `${String(document['title'])} round ${pair}`,
      }));
      await call(leader, 'POST', `/indexes/${INDEX}/documents`, changed);
      await finished(leader.client);
    }
    const { head } = (await shown(leader))!;
    for (const link of follower.etcd) await link.set('open');
    const during: number[] = [];
    for (let n = 0; ; n++) {
      during.push(await one(n));
      if (n % 50 === 0 && (await shown(follower))!.applied >= head) break;
    }
    atRest.push(rest);
    absorbing.push(during);
    await quiet(machines, leader);
  }
  const rest = percentiles(atRest.flat());
  const during = percentiles(absorbing.flat());
  return {
    ...prefixed('rest', rest),
    ...prefixed('absorbing', during),
    'absorbing.searches': absorbing.flat().length,
    p99Ratio: during.p99Ms / rest.p99Ms,
  };
}

/** A node with an empty folder, against the copying of its bytes. */
async function joinIn(machines: Machines): Promise<Figures> {
  const leader = await leaderOf(machines);
  await quiet(machines, leader);
  await delay(REST_MS);
  const begin = performance.now();
  const added = await machines.addNode();
  await ready(added);
  while ((await shown(added))!.applied < (await shown(leader))!.applied) await delay(POLL_MS);
  const readySeconds = (performance.now() - begin) / 1000;
  const copyBegin = performance.now();
  cpSync(added.data, join(dir, 'copy'), { recursive: true });
  const copySeconds = (performance.now() - copyBegin) / 1000;
  const figures: Figures = { readySeconds, copySeconds, diskMb: diskMb(added.data) };
  if (added.store.link !== null) figures['fetchedMb'] = added.store.link.bytes.received / 1e6;
  rmSync(join(dir, 'copy'), { recursive: true });
  return figures;
}

/** From a fault of the leader to the response to the next write that is accepted, s. */
async function accepted(nodes: readonly Node[], begin: number): Promise<number> {
  for (let n = 0; ; n++) {
    const node = nodes[n % nodes.length]!;
    const response = await node.client
      .call('POST', '/indexes/small/documents', { body: [{ id: n }], timeoutMs: 1000 })
      .catch(() => null);
    if (response?.status === 202) return (performance.now() - begin) / 1000;
    await delay(POLL_MS);
  }
}

async function failover(machines: Machines): Promise<Figures> {
  const killed: number[] = [];
  const cutOff: number[] = [];
  for (let n = 0; n < 2 * FAILOVERS; n++) {
    const leader = await leaderOf(machines);
    const others = machines.nodes.filter((node) => node !== leader);
    await accepted(others, 0);
    await quiet(machines, leader);
    const begin = performance.now();
    if (n % 2 === 0) {
      await leader.end('kill');
      killed.push(await accepted(others, begin));
      await leader.start();
    } else {
      const links = [...leader.etcd, leader.link, leader.store];
      for (const link of links) await link.set('stalled');
      cutOff.push(await accepted(others, begin));
      for (const link of links) await link.set('open');
    }
    await Promise.all(machines.nodes.map(ready));
  }
  return {
    leaseSeconds: LEASE_SECONDS,
    killedMedianSeconds: killed.toSorted((a, b) => a - b)[FAILOVERS >> 1]!,
    killedMaxSeconds: Math.max(...killed),
    cutOffMedianSeconds: cutOff.toSorted((a, b) => a - b)[FAILOVERS >> 1]!,
    cutOffMaxSeconds: Math.max(...cutOff),
  };
}

/** Small writes, one after the other, in each of several ways in turn. */
async function latency(machines: Machines): Promise<Figures> {
  const leader = await leaderOf(machines);
  const follower = machines.nodes.find((node) => node !== leader)!;
  const single = await ServerProcess.start({ dir: join(dir, 'single'), port: await freePort() });
  const add = async (client: Node['client'], id: string): Promise<void> => {
    const { status, text } = await client.call('POST', '/indexes/small/documents', {
      body: [{ id, title: 'a small document' }],
    });
    if (status !== 202) throw new Error(text);
  };
  const seen = async (client: Node['client'], id: string): Promise<void> => {
    for (;;) {
      const { status } = await client.call('GET', `/indexes/small/documents/${id}`);
      if (status === 200) return;
      await delay(POLL_MS);
    }
  };
  // What a record of a small write takes in etcd, in base64.
  const value = Buffer.alloc(700, 7).toString('base64');
  const put = async (url: string): Promise<void> => {
    const key = Buffer.from('perf').toString('base64');
    const body = JSON.stringify({ key, value });
    const response = await fetch(`${url}/v3/kv/put`, { method: 'POST', body });
    if (!response.ok) throw new Error(await response.text());
    await response.text();
  };
  const times = new Map<string, number[]>();
  const time = async (name: string, work: Promise<void>): Promise<void> => {
    const begin = performance.now();
    await work;
    times.set(name, [...(times.get(name) ?? []), performance.now() - begin]);
  };
  // Batches would share the disk with the next write.
  for (let n = 0; n < WRITES; n++) {
    await time('single', add(single.client, `a${n}`));
    await time('seen on single', seen(single.client, `a${n}`));
    await finished(single.client);
    await time('leader', add(leader.client, `b${n}`));
    await time('seen on follower', seen(follower.client, `b${n}`));
    await finished(leader.client);
    await time('follower', add(follower.client, `c${n}`));
    await finished(leader.client);
    await time('one put of etcd', put(machines.etcd[0]!.url));
  }
  await single.stop();
  return Object.assign({}, ...[...times].map(([name, ms]) => prefixed(name, percentiles(ms))));
}

function print(name: string, figures: Figures): void {
  console.log(`\n${name}`);
  for (const [figure, value] of Object.entries(figures)) {
    console.log(`  ${figure.padEnd(28)} ${value.toPrecision(4)}`);
  }
}

const machines = await Machines.start({
  ...{ log: console.log, isPlain: true },
  leaseSeconds: wanted.includes('failover') ? LEASE_SECONDS : LONG_LEASE_SECONDS,
});
try {
  await Promise.all(machines.nodes.map(ready));
  console.log(`the object store is a ${machines.store}`);
  const needsCorpus = ['absorb', 'search', 'join'].some((name) => wanted.includes(name));
  if (needsCorpus) {
    const corpus = await makeCorpus();
    print('absorb', await absorb(machines, corpus));
    if (wanted.includes('search')) print('search', await search(machines, corpus));
    if (wanted.includes('join')) print('join', await joinIn(machines));
  }
  if (wanted.includes('small')) print('small', await small(machines));
  if (wanted.includes('failover')) print('failover', await failover(machines));
  if (wanted.includes('latency')) print('latency', await latency(machines));
} finally {
  await machines.close();
  rmSync(dir, { recursive: true, force: true });
}
