/**
 * The other nodes of the cluster, as far as they record searches and events.
 *
 * Each node keeps what it has recorded itself. A report reads the rows of all nodes, an event goes
 * to the node that has recorded its search, and suggestions follow the rows of all nodes. A node
 * that does not respond in time delays nothing: it is left out, and a report names it.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../contract/errors.ts';
import type { ClusterNode } from '../cluster/node.ts';
import type { OutboundClient, OutboundResponse } from '../outbound/outbound-client.ts';
import type { RowPosition } from '../store/analytics-store.ts';
import type { FoundSearch, RecordedEvent } from './recorder.ts';
import type { OtherRows } from './reporter.ts';

/** Paths of the routes that only nodes use. */
export const ROWS_PATH = '/cluster/rows';
export const EVENTS_PATH = '/cluster/events';
/** Header with the position after the rows of a response. */
export const POSITION = 'gannet-position';

/** How long a node may take to send some rows, and all rows of a report, ms. */
const ROWS_MS_MAX = 3000;
const REPORT_MS_MAX = 30_000;
const ROWS_BYTES_MAX = 4 * 2 ** 20;
/** How long a node may take to say whether it knows a search, and to record an event, ms. */
const ASK_MS_MAX = 1000;
const RECORD_MS_MAX = 10_000;
/** A node that has not said so in time is not asked again for this time, ms. */
const REST_MS = 5000;
/** Maximum number of events for which other nodes are asked at a time. */
const EVENTS_MAX = 1000;

export interface Peer {
  readonly name: string;
  /** null: it does not run. */
  readonly url: string | null;
}

/** A secret that only nodes with the same master key can make. */
export function nodeSecret(masterKey: string | null, clusterId: string, purpose: string): Buffer {
  return createHmac('sha256', masterKey ?? '')
    .update(`gannet ${purpose} ${clusterId}`)
    .digest();
}

export interface PeersParts {
  /** Name of this node. */
  readonly name: string;
  readonly node: Pick<ClusterNode, 'status'>;
  readonly client: Pick<OutboundClient, 'fetch'>;
  /** Proves to other nodes that a request comes from a node. */
  readonly token: string;
}

export class Peers {
  readonly #parts: PeersParts;
  /** As of the last time that the log could be reached. */
  #known: readonly Peer[] = [];
  /**
   * Names of nodes that did not say in time whether they know a search, and until when they rest.
   */
  readonly #resting = new Map<string, number>();
  #events = 0;

  constructor(parts: PeersParts) {
    this.#parts = parts;
  }

  /** Whether a request with this header comes from a node of the cluster. */
  isOfNode(authorization: string | undefined): boolean {
    const [given, own] = [authorization ?? '', `Bearer ${this.#parts.token}`].map((text) =>
      createHash('sha256').update(text).digest(),
    );
    return timingSafeEqual(given!, own!);
  }

  async list(): Promise<readonly Peer[]> {
    const { nodes, registered } = await this.#parts.node.status();
    if (registered === null) return this.#known;
    const urls = new Map(nodes.map(({ name, url }) => [name, url]));
    this.#known = [...new Set([...registered, ...urls.keys()])]
      .filter((name) => name !== this.#parts.name)
      .map((name) => ({ name, url: urls.get(name) ?? null }));
    return this.#known;
  }

  /** What all other nodes have recorded from one time to another, ms since 1970. */
  async rows(from: number, to: number): Promise<readonly OtherRows[]> {
    const end = performance.now() + REPORT_MS_MAX;
    return (await this.list()).map(({ name, url }) => ({
      name,
      chunks: url === null ? null : this.#chunks(url, { from, to }, end),
    }));
  }

  async *#chunks(
    url: string,
    { from, to }: { from: number; to: number },
    end: number,
  ): AsyncGenerator<string, undefined> {
    const range = Number.isFinite(to) ? { from, to } : { from };
    for (let position: RowPosition | null = null; ;) {
      const left = end - performance.now();
      const { text, after } = await this.rowsOf(url, position, range, Math.min(left, ROWS_MS_MAX));
      if (text === '') return;
      yield text;
      position = after;
    }
  }

  /**
   * Some rows of a node, as texts with commas between them; empty: there are no more. Throws when
   * the node does not send them.
   * @param position after which they begin; null: at a time, or with the last chunks
   */
  async rowsOf(
    url: string,
    position: RowPosition | null,
    range: Readonly<Partial<Record<'from' | 'to' | 'last', number>>>,
    msMax = ROWS_MS_MAX,
  ): Promise<{ text: string; after: RowPosition }> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(range)) {
      query.set(name, String(Math.max(0, Math.floor(value))));
    }
    if (position !== null) query.set('position', textOf(position));
    if (msMax <= 0) throw new Error('The time has passed');
    const { status, headers, body } = await this.#send(
      { method: 'GET', url: `${url}${ROWS_PATH}?${query.toString()}`, timeoutMs: msMax },
      ROWS_BYTES_MAX,
    );
    const after = positionOf(String(headers[POSITION]));
    const text = body.toString();
    const isList = text.startsWith('[') && text.endsWith(']');
    if (status !== 200 || after === null || !isList) throw new Error('These are no rows');
    return { text: text.slice(1, -1), after };
  }

  /**
   * Lets the node record an event that has recorded its search.
   * @param own the search of the event that this node has recorded
   * @returns false: this node has to record it. Throws `ApiError`
   */
  async record(event: RecordedEvent, own: FoundSearch | null): Promise<boolean> {
    if (own?.isNamed === true) return false;
    if (this.#events >= EVENTS_MAX) {
      const message = 'Too many events wait for other nodes of the cluster.';
      throw new ApiError('too_many_search_requests', message);
    }
    this.#events++;
    try {
      const url = await this.#holderOf(event, own);
      if (url === null) return false;
      await this.#recordAt(url, event);
      return true;
    } finally {
      this.#events--;
    }
  }

  /** The node that has recorded the search of an event; null: this node, or none. */
  async #holderOf(event: RecordedEvent, own: FoundSearch | null): Promise<string | null> {
    const peers = (await this.list()).filter(({ name }) => {
      return performance.now() >= (this.#resting.get(name) ?? 0);
    });
    const found = await Promise.all(peers.map((peer) => this.#ask(peer, event)));
    let best: { url: string | null; search: FoundSearch | null } = { url: null, search: own };
    for (const [n, search] of found.entries()) {
      if (isBetter(search, best.search)) best = { url: peers[n]!.url, search };
    }
    return best.url;
  }

  async #ask({ name, url }: Peer, event: RecordedEvent): Promise<FoundSearch | null> {
    if (url === null) return null;
    try {
      const { status, body } = await this.#post(url, { ...event, records: false }, ASK_MS_MAX);
      const { at, isNamed } = JSON.parse(body.toString()) as Partial<FoundSearch>;
      if (status !== 200 || typeof at !== 'number') return null;
      return { at, isNamed: isNamed === true };
    } catch {
      this.#resting.set(name, performance.now() + REST_MS);
      return null;
    }
  }

  async #recordAt(url: string, event: RecordedEvent): Promise<void> {
    const reason = await this.#post(url, { ...event, records: true }, RECORD_MS_MAX).then(
      ({ status }) => (status === 200 ? null : `status ${status}`),
      (error: Error) => error.message,
    );
    if (reason === null) return;
    // It may have been recorded, so no other node may do it.
    const message = `The node that has recorded the search could not be asked: ${reason}.`;
    throw new ApiError('cluster_unavailable', message);
  }

  #post(url: string, body: object, timeoutMs: number): Promise<OutboundResponse> {
    // Not as a body, which would be read before the token is checked.
    const query = new URLSearchParams({ event: JSON.stringify(body) });
    return this.#send(
      { method: 'POST', url: `${url}${EVENTS_PATH}?${query.toString()}`, timeoutMs },
      2 ** 16,
    );
  }

  #send(
    request: Parameters<OutboundClient['fetch']>[0],
    bytesMax: number,
  ): Promise<OutboundResponse> {
    const headers = { authorization: `Bearer ${this.#parts.token}` };
    return this.#parts.client.fetch({ ...request, headers }, { bytesMax });
  }
}

/** Whether an event belongs to the search `one` rather than to the other one. */
function isBetter(one: FoundSearch | null, other: FoundSearch | null): boolean {
  if (one === null || other === null) return one !== null;
  if (one.isNamed !== other.isNamed) return one.isNamed;
  return one.at > other.at;
}

export function textOf({ key, length }: RowPosition): string {
  return `${key}.${length}`;
}

/** null: it is none. */
export function positionOf(text: string): RowPosition | null {
  const match = /^(\d{1,15})\.(\d{1,15})$/.exec(text);
  return match === null ? null : { key: Number(match[1]), length: Number(match[2]) };
}
