/** What `gannet cluster` finds out about etcd, the object store and the clocks of a cluster. */
import { randomBytes } from 'node:crypto';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import { type BlobName, type Blobs, bufferSource, WHOLE_BYTES_MAX } from './blobs/blobs.ts';
import { checkBlobs } from './blobs/check-blobs.ts';
import { sha256 } from './bytes.ts';
import { blobsOf } from './checkpoint.ts';
import { RefusedError, UnavailableError } from './errors.ts';
import { EtcdClient, type EtcdOptions } from './log/etcd-client.ts';
import { ARCHIVE, CHECKPOINTS, FILES, loadIfWhole, unlessDamaged } from './objects.ts';

/** A result of a check, and what to do about it; null: nothing. */
export interface Finding {
  readonly what: string;
  readonly mend: string | null;
}

const READS = 10;
const READ_MS_MAX = 50;
const ETCD_BYTES_MAX = 1024 ** 3;
const ETCD_MEMORY_MAX = 400 * 1024 ** 2;
const CLOCK_MS_MAX = 5000;
const MB = 1024 ** 2;

interface WireStatus {
  version: string;
  dbSize?: string;
  dbSizeInUse?: string;
}

/** Checks each member of etcd, and its clock. */
export async function* checkEtcd(
  cluster: string,
  options: EtcdOptions,
  client: OutboundClient,
): AsyncGenerator<Finding, undefined> {
  for (const url of options.endpoints) {
    try {
      const etcd = new EtcdClient({ ...options, endpoints: [url] }, client);
      yield* checkMember(cluster, url, etcd);
      yield* checkProcess(url, client);
    } catch (error) {
      if (!(error instanceof UnavailableError || error instanceof RefusedError)) throw error;
      const isRefused = error instanceof RefusedError;
      const mend = isRefused ? 'Mend the options.' : 'Start this member, or replace it.';
      yield { what: `etcd ${url}: ${error.message}`, mend };
    }
  }
}

async function* checkMember(
  cluster: string,
  url: string,
  etcd: EtcdClient,
): AsyncGenerator<Finding, undefined> {
  const key = Buffer.from(`gannet/${cluster}/head`).toString('base64');
  const times: number[] = [];
  for (let n = 0; n < READS; n++) {
    const begin = performance.now();
    await etcd.call('kv/range', { key });
    times.push(performance.now() - begin);
  }
  const ms = times.toSorted((a, b) => a - b)[READS >> 1]!;
  yield {
    what: `etcd ${url}: a read takes ${ms.toFixed(1)} ms`,
    mend: ms > READ_MS_MAX ? 'Give etcd a faster disk or network.' : null,
  };
  const status = await etcd.call<WireStatus>('maintenance/status', {});
  const [bytes, used] = [Number(status.dbSize ?? 0), Number(status.dbSizeInUse ?? 0)];
  yield {
    what: `etcd ${url}: version ${status.version}, ${mb(bytes)} of data, ${mb(used)} in use`,
    mend: bytes > ETCD_BYTES_MAX ? `Run etcdctl defrag --endpoints ${url}.` : null,
  };
  const { alarms = [] } = await etcd.call<{ alarms?: { alarm?: string }[] }>('maintenance/alarm', {
    action: 'GET',
  });
  const names = [...new Set(alarms.map(({ alarm }) => alarm ?? 'unknown'))].join(', ');
  yield {
    what: `etcd ${url}: ${names === '' ? 'no alarm' : `alarm ${names}`}`,
    mend: names === '' ? null : 'Run etcdctl defrag on each member, then etcdctl alarm disarm.',
  };
}

/** The memory of the process and its clock, as far as it shows them. */
async function* checkProcess(
  url: string,
  client: OutboundClient,
): AsyncGenerator<Finding, undefined> {
  const sent = Date.now();
  const response = await client
    .fetch({ method: 'GET', url: new URL('/metrics', url).href, headers: {}, timeoutMs: 3000 })
    .catch((error: unknown) => {
      if (error instanceof OutboundError) throw new UnavailableError(error.message);
      throw error;
    });
  const memory = Number(/^process_resident_memory_bytes (\S+)$/m.exec(String(response.body))?.[1]);
  if (memory > 0) {
    yield {
      what: `etcd ${url}: ${mb(memory)} of memory`,
      mend: memory > ETCD_MEMORY_MAX ? 'Start it with ETCD_SNAPSHOT_COUNT=2000.' : null,
    };
  }
  // The header has whole seconds, rounded down.
  const ahead = Date.parse(String(response.headers.date)) + 500 - (sent + Date.now()) / 2;
  if (Number.isNaN(ahead)) return;
  const seconds = Math.round(ahead / 1000);
  yield {
    what: `etcd ${url}: its clock is ${seconds} s ahead of this machine's`,
    mend: Math.abs(ahead) > CLOCK_MS_MAX ? 'Let NTP set the clocks of all machines.' : null,
  };
}

/** Checks whether an object store has the properties that the cluster needs. */
export async function checkStore(blobs: Blobs, token: string): Promise<Finding> {
  const large = `checks/${token}-large`;
  try {
    await checkBlobs(blobs, token);
    const bytes = randomBytes(WHOLE_BYTES_MAX + 1);
    await blobs.put(large, bufferSource(bytes, sha256(bytes)));
    let at = 0;
    for await (const piece of blobs.get(large)) {
      const isSame = bytes.subarray(at, at + piece.length).equals(piece);
      if (!isSame) throw new RefusedError('an object in parts is not read as it was stored');
      at += piece.length;
    }
    if (at !== bytes.length) throw new RefusedError('an object in parts is incomplete');
    const what =
      'The object store: conditional writes, reads after writes, parts, checksums and removals work';
    return { what, mend: null };
  } catch (error) {
    if (!(error instanceof UnavailableError || error instanceof RefusedError)) throw error;
    return {
      what: `The object store: ${error.message}`,
      mend: 'Check its address, its keys and their permissions, and whether it is mounted.',
    };
  } finally {
    await blobs.delete(large).catch(() => {});
  }
}

/** Reads all objects of a cluster. @returns those that are damaged or missing */
export async function damagedObjects(
  blobs: Blobs,
  onRead: (count: number) => void,
): Promise<BlobName[]> {
  const names = await namesOf(blobs);
  const damaged = new Set<BlobName>();
  for (const name of names) {
    const isWhole = await unlessDamaged(async () => {
      for await (const piece of blobs.get(name)) void piece;
      return true;
    });
    if (isWhole === null) damaged.add(name);
  }
  onRead(names.size);
  for (const object of await namedBy(blobs, names)) if (!names.has(object)) damaged.add(object);
  if (damaged.size === 0) return [];
  // The leader removes objects meanwhile, with the checkpoints that name them.
  const left = await namesOf(blobs);
  const named = await namedBy(blobs, left);
  return [...damaged].filter((name) => left.has(name) || named.has(name)).toSorted();
}

/** The objects that whole checkpoints name. */
async function namedBy(blobs: Blobs, names: ReadonlySet<BlobName>): Promise<Set<BlobName>> {
  const named = new Set<BlobName>();
  for (const name of names) {
    if (!name.startsWith(CHECKPOINTS)) continue;
    const checkpoint = await loadIfWhole(blobs, name);
    for (const object of checkpoint === null ? [] : blobsOf(checkpoint)) named.add(object);
  }
  return named;
}

async function namesOf(blobs: Blobs): Promise<Set<BlobName>> {
  const names = new Set<BlobName>();
  for (const prefix of [CHECKPOINTS, ARCHIVE, FILES]) {
    for (const name of await blobs.list(prefix)) names.add(name);
  }
  return names;
}

function mb(bytes: number): string {
  return `${(bytes / MB).toFixed(0)} MB`;
}
