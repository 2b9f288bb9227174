/**
 * The log in etcd. All keys begin with `gannet/<cluster>/`:
 *
 *   identity           JSON of `Identity`; written once
 *   store              random name of the object store; written once
 *   head               the last sequence, decimal
 *   settings           JSON of `LogSettings`
 *   leader             JSON: node, url, lease. Bound to the lease; its create revision is the epoch
 *   log/<sequence>     the body of an entry, encrypted; 16 hexadecimal digits
 *   running/<node>     JSON of `Member`. Bound to the lease
 *   members/<node>     the newest format that the node reads, decimal
 *   starting/<node>    the position from which it will follow the log, decimal. Bound to a lease
 *   damaged/<object>   empty: a node has found this object damaged
 *   drained/<node>     empty: an operator has taken the node out of service
 *   successor          name of the node that is to lead next. Bound to a lease
 *
 * etcd should be the cluster's own: the history of its keys is compacted.
 */
import type { OutboundClient } from '../../outbound/outbound-client.ts';
import type { BlobName } from '../blobs/blobs.ts';
import { DamagedError, RefusedError, TrimmedError, UnavailableError } from '../errors.ts';
import { type Entry, type Epoch, type Sequence } from '../record.ts';
import {
  type ClusterKeys,
  type ClusterSecret,
  madeOnce,
  decryptValue,
  encryptValue,
} from '../secret.ts';
import { hex } from '../transfers.ts';
import { EtcdClient, type EtcdOptions, EtcdRefusal, type KeyValue } from './etcd-client.ts';
import {
  type AppendResult,
  type Identity,
  type Leader,
  type Lease,
  type Log,
  type LogSettings,
  type LogState,
  type Member,
  type MemberList,
  NO_SETTINGS,
} from './log.ts';

/**
 * Keeps responses small: entries are below 256 KiB, and gateways before 3.4.17 and 3.5.0 respond
 * with at most 4 MiB.
 */
const READ_ENTRIES_MAX = 12;
/** Damaged objects in a state, which each node reads twice per second. */
const DAMAGED_MAX = 20;

interface WireKeyValue {
  key: string;
  value?: string;
  create_revision: string;
}
interface WireRange {
  kvs?: WireKeyValue[];
}
interface WireTransaction {
  header: { revision: string };
  succeeded?: boolean;
  responses?: { response_range?: WireRange }[];
}
interface WireWatch {
  canceled?: boolean;
  events?: { type?: string; kv: WireKeyValue }[];
}

type Compare = object;
type Operation = object;

export class EtcdLog implements Log {
  readonly #client: EtcdClient;
  readonly #prefix: string;
  readonly #secret: ClusterSecret | null;
  readonly #keys = madeOnce(() => this.#derive());

  /** @param secret null: entries are neither read nor appended */
  constructor(
    cluster: string,
    options: EtcdOptions,
    client: OutboundClient,
    secret: ClusterSecret | null,
  ) {
    this.#secret = secret;
    this.#client = new EtcdClient(options, client);
    this.#prefix = `gannet/${cluster}/`;
  }

  async state(): Promise<LogState> {
    const names = ['identity', 'store', 'head', 'settings', 'leader', 'successor'];
    const { ranges } = await this.#transaction(
      [],
      [
        ...names.map((name) => this.#range(name)),
        this.#range('damaged/', 'damaged0', DAMAGED_MAX),
        this.#range('drained/', 'drained0'),
      ],
    );
    const [identity, store, head, settings, leader, successor] = ranges.map(([found]) => found);
    const [damaged, drained] = ranges.slice(names.length);
    return {
      identity: identity === undefined ? null : json<Identity>(identity),
      store: store === undefined ? null : store.value.toString(),
      head: head === undefined ? 0 : Number(head.value),
      settings: settings === undefined ? NO_SETTINGS : json<LogSettings>(settings),
      leader: leader === undefined ? null : { ...json<Leader>(leader), epoch: leader.created },
      damaged: damaged!.map(({ key }) => this.#rest(key, 'damaged/')),
      drained: drained!.map(({ key }) => this.#rest(key, 'drained/')),
      successor: successor?.value.toString() ?? null,
    };
  }

  async found(identity: Identity, head: 0 | 1): Promise<void> {
    await this.#transaction(
      [this.#isAbsent('identity')],
      [
        this.#put('identity', JSON.stringify(identity)),
        this.#put('head', String(head)),
        this.#put('settings', settingsText({ ...NO_SETTINGS, floor: head + 1 })),
      ],
    );
  }

  async useStore(store: string): Promise<void> {
    await this.#transaction([this.#isAbsent('store')], [this.#put('store', store)]);
  }

  async read(from: Sequence, count: number): Promise<Entry[]> {
    return (await this.#read(from, count)).entries;
  }

  async *watch(from: Sequence, signal: AbortSignal): AsyncGenerator<Entry[], undefined> {
    let next = from;
    let revision = 0;
    while (!signal.aborted) {
      const page = await this.#read(next, READ_ENTRIES_MAX);
      revision = page.revision;
      if (page.entries.length === 0) break;
      next += page.entries.length;
      yield page.entries;
    }
    const request = {
      create_request: {
        key: this.#key('log/'),
        range_end: this.#key('log0'),
        start_revision: String(revision + 1),
        filters: ['NODELETE'],
        fragment: true,
      },
    };
    for await (const { canceled, events = [] } of this.#client.stream<WireWatch>(
      'watch',
      request,
      signal,
    )) {
      if (canceled === true) throw new UnavailableError('etcd has ended a watch: it was compacted');
      const { entries: key } = await this.#keys();
      const entries = events.map(({ kv }) => this.#entryOf(keyValue(kv), key));
      if (entries.length > 0) yield entries;
    }
    if (!signal.aborted) throw new UnavailableError('etcd has ended a watch');
  }

  async append(entry: Entry, epoch: Epoch): Promise<AppendResult> {
    const name = `log/${hex(entry.sequence)}`;
    const { entries: key } = await this.#keys();
    try {
      const { succeeded, ranges } = await this.#transaction(
        [this.#isLeader(epoch), this.#isValue('head', String(entry.sequence - 1))],
        [
          this.#put('head', String(entry.sequence)),
          this.#put(name, encryptValue(key, name, entry.body)),
        ],
        [this.#range('leader')],
      );
      if (succeeded) return { kind: 'appended' };
      return { kind: ranges[0]?.[0]?.created === epoch ? 'conflict' : 'fenced' };
    } catch (error) {
      if (!(error instanceof EtcdRefusal && error.isFull)) throw error;
      // etcd compares with its quota before it proposes a transaction and again when it applies it.
      // The second time, it reports the error although it has applied the transaction.
      const [found] = (await this.#read(entry.sequence, 1)).entries;
      if (found?.body.equals(entry.body) === true) return { kind: 'appended' };
      return { kind: 'refused', reason: error.message };
    }
  }

  async update(
    before: LogSettings,
    after: LogSettings,
    epoch: Epoch,
    seen: number,
  ): Promise<boolean> {
    const isBefore = this.#isValue('settings', settingsText(before));
    const { succeeded, revision } = await this.#transaction(
      [this.#isLeader(epoch), isBefore, this.#isUnchanged('starting/', 'starting0', seen)],
      [
        this.#put('settings', settingsText(after)),
        {
          request_delete_range: {
            key: this.#key('log/'),
            range_end: this.#key(`log/${hex(after.floor)}`),
          },
        },
      ],
    );
    // Removed keys take space until the history is compacted. A watch that is too far behind starts
    // again.
    if (succeeded) {
      await this.#client.call('kv/compaction', { revision: String(revision) }).catch(() => {});
    }
    return succeeded;
  }

  async grantLease(ttlMs: number): Promise<Lease> {
    const request = { TTL: String(Math.ceil(ttlMs / 1000)) };
    const lease = await this.#client.call<{ ID: string; TTL: string }>('lease/grant', request);
    return { id: lease.ID, ttlMs: Number(lease.TTL) * 1000 };
  }

  async keepAlive(lease: string): Promise<boolean> {
    const response = await this.#client.call<{ result?: { TTL?: string } }>('lease/keepalive', {
      ID: lease,
    });
    return Number(response.result?.TTL ?? 0) > 0;
  }

  async revokeLease(lease: string): Promise<void> {
    await unlessNotFound(this.#client.call('lease/revoke', { ID: lease }));
  }

  async campaign(node: string, url: string, lease: string): Promise<void> {
    const put = this.#put('leader', JSON.stringify({ node, url, lease }), lease);
    await unlessNotFound(this.#transaction([this.#isAbsent('leader')], [put]));
  }

  async register(name: string, formatMax: number): Promise<number> {
    const put = this.#put(`members/${name}`, String(formatMax));
    return (await this.#transaction([], [put])).revision;
  }

  async announce(member: Member, lease: string): Promise<boolean> {
    const name = `running/${member.name}`;
    const put = [this.#put(name, JSON.stringify(member), lease)];
    const isMine = { key: this.#key(name), target: 'LEASE', result: 'EQUAL', lease };
    for (const condition of [isMine, this.#isAbsent(name)]) {
      const done = await unlessNotFound(this.#transaction([condition], put));
      if (done?.succeeded === true) return true;
    }
    return false;
  }

  async members(): Promise<MemberList> {
    const { ranges, revision } = await this.#transaction(
      [],
      ['running', 'members', 'starting'].map((name) => this.#range(`${name}/`, `${name}0`)),
    );
    const [running = [], members = [], starting = []] = ranges;
    const numbers = (found: readonly KeyValue[], beginning: string): Map<string, number> =>
      new Map(found.map(({ key, value }) => [this.#rest(key, beginning), Number(value)]));
    return {
      running: running.map((found) => json<Member>(found)),
      formats: numbers(members, 'members/'),
      starting: numbers(starting, 'starting/'),
      revision,
    };
  }

  async hold(name: string, sequence: Sequence, lease: string): Promise<void> {
    await this.#transaction([], [this.#put(`starting/${name}`, String(sequence), lease)]);
  }

  async forget(name: string, revision?: number): Promise<void> {
    const key = this.#key(`members/${name}`);
    const isThis = { key, target: 'MOD', result: 'EQUAL', mod_revision: String(revision) };
    await this.#transaction(revision === undefined ? [] : [isThis], [
      { request_delete_range: { key } },
    ]);
  }

  async drain(name: string, isDrained: boolean): Promise<void> {
    if (isDrained) await this.#transaction([], [this.#put(`drained/${name}`, '')]);
    else await this.#client.call('kv/deleterange', { key: this.#key(`drained/${name}`) });
  }

  async nameSuccessor(name: string, lease: string): Promise<void> {
    await this.#transaction([], [this.#put('successor', name, lease)]);
  }

  async reportDamage(object: BlobName): Promise<void> {
    const name = `damaged/${object}`;
    await this.#transaction([this.#isAbsent(name)], [this.#put(name, '')]);
  }

  async settleDamage(object: BlobName): Promise<void> {
    await this.#client.call('kv/deleterange', { key: this.#key(`damaged/${object}`) });
  }

  // --- Requests ----------------------------------------------------------------------------------

  async #read(from: Sequence, count: number): Promise<{ entries: Entry[]; revision: number }> {
    const limit = Math.min(count, READ_ENTRIES_MAX);
    const { ranges, revision } = await this.#transaction(
      [],
      [this.#range('settings'), this.#range(`log/${hex(from)}`, 'log0', limit)],
    );
    const [[settings] = [], found = []] = ranges;
    const { floor } = settings === undefined ? NO_SETTINGS : json<LogSettings>(settings);
    if (from < floor) throw new TrimmedError(`Entry ${from} is no longer in the log`);
    if (found.length === 0) return { entries: [], revision };
    const { entries: key } = await this.#keys();
    const entries = found.map((one) => this.#entryOf(one, key));
    if (entries.some(({ sequence }, index) => sequence !== from + index)) {
      throw new DamagedError(`The log in etcd has a gap after ${from}`);
    }
    return { entries, revision };
  }

  #entryOf({ key, value }: KeyValue, secretKey: Buffer): Entry {
    const digits = this.#rest(key, 'log/');
    try {
      const body = decryptValue(secretKey, `log/${digits}`, value);
      return { sequence: Number.parseInt(digits, 16), body };
    } catch (error) {
      throw new DamagedError(`The entry ${digits} in etcd is damaged: ${(error as Error).message}`);
    }
  }

  async #derive(): Promise<ClusterKeys> {
    const { identity } = await this.state();
    if (identity === null) throw new UnavailableError('The cluster was not founded');
    if (this.#secret === null) throw new RefusedError('The master key is needed');
    return this.#secret.keysOf(identity.salt);
  }

  async #transaction(
    compare: readonly Compare[],
    success: readonly Operation[],
    failure: readonly Operation[] = [],
  ): Promise<{ succeeded: boolean; revision: number; ranges: KeyValue[][] }> {
    const {
      header,
      succeeded,
      responses = [],
    } = await this.#client.call<WireTransaction>('kv/txn', { compare, success, failure });
    return {
      succeeded: succeeded === true,
      revision: Number(header.revision),
      ranges: responses.map(({ response_range: range }) => (range?.kvs ?? []).map(keyValue)),
    };
  }

  #key(name: string): string {
    return Buffer.from(this.#prefix + name).toString('base64');
  }

  /** What follows a beginning in the name of a key. */
  #rest(key: Buffer, beginning: string): string {
    return key.toString().slice(this.#prefix.length + beginning.length);
  }

  #range(name: string, end?: string, limit?: number): Operation {
    const rest = end === undefined ? {} : { range_end: this.#key(end) };
    const bound = limit === undefined ? {} : { limit: String(limit) };
    return { request_range: { key: this.#key(name), ...rest, ...bound } };
  }

  #put(name: string, value: string | Buffer, lease?: string): Operation {
    const bound = lease === undefined ? {} : { lease };
    const text = Buffer.from(value as Buffer).toString('base64');
    return { request_put: { key: this.#key(name), value: text, ...bound } };
  }

  #isAbsent(name: string): Compare {
    return { key: this.#key(name), target: 'CREATE', result: 'EQUAL', create_revision: '0' };
  }

  #isLeader(epoch: Epoch): Compare {
    const create = { create_revision: String(epoch) };
    return { key: this.#key('leader'), target: 'CREATE', result: 'EQUAL', ...create };
  }

  /** Whether none of the keys was written after a revision. */
  #isUnchanged(name: string, end: string, revision: number): Compare {
    return {
      key: this.#key(name),
      range_end: this.#key(end),
      target: 'MOD',
      result: 'LESS',
      mod_revision: String(revision + 1),
    };
  }

  #isValue(name: string, value: string): Compare {
    const text = Buffer.from(value).toString('base64');
    return { key: this.#key(name), target: 'VALUE', result: 'EQUAL', value: text };
  }
}

/** Equal settings give equal bytes, because etcd compares them. */
function settingsText({ format, formatRequired, checkpoint, floor }: LogSettings): string {
  const ref = checkpoint === null ? null : { sequence: checkpoint.sequence, blob: checkpoint.blob };
  return JSON.stringify({ format, formatRequired, checkpoint: ref, floor });
}

function keyValue({ key, value = '', create_revision: created }: WireKeyValue): KeyValue {
  return {
    key: Buffer.from(key, 'base64'),
    value: Buffer.from(value, 'base64'),
    created: Number(created),
  };
}

function json<T>({ key, value }: KeyValue): T {
  try {
    return JSON.parse(value.toString()) as T;
  } catch {
    throw new DamagedError(`The value of ${key.toString()} in etcd is not JSON`);
  }
}

/** etcd reports a lease that has ended as not found. */
async function unlessNotFound<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof EtcdRefusal && error.isNotFound) return null;
    throw error;
  }
}
