import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { checkedRows, type AnalyticsRow } from '../contract/analytics.ts';
import type { RowPosition } from '../store/analytics-store.ts';
import type { Completions } from './completions.ts';
import type { Peer, Peers } from './peers.ts';

/** Pause between two rounds that read the new rows of the other nodes, ms. */
const ROUND_MS = 2000;
/**
 * A row waits until the rows that other nodes have recorded before it have arrived, ms: they are
 * written every five seconds.
 */
const SETTLE_MS = 10_000;
/** Maximum number of rows that wait. */
const WAITING_MAX = 20_000;
/** Maximum number of pieces that are read of one node in one round. */
const PIECES_MAX = 100;
/** Chunks of each other node that completions begin with. */
const CHUNKS_MAX = 2000;

interface Followed {
  position: RowPosition | null;
  /** What the node had recorded before this one began is read. */
  isCurrent: boolean;
}

/**
 * Lets the recorded searches of all nodes of the cluster become completions on this one: those of
 * one user count once, whichever nodes answered them.
 */
export class PeerSearches {
  readonly #peers: Pick<Peers, 'list' | 'rowsOf'>;
  readonly #completions: Pick<Completions, 'add' | 'load'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #followed = new Map<string, Followed>();
  #waiting: AnalyticsRow[] = [];

  constructor(
    peers: Pick<Peers, 'list' | 'rowsOf'>,
    completions: Pick<Completions, 'add' | 'load'>,
    { clock, logger }: { clock: Clock; logger: Logger },
  ) {
    this.#peers = peers;
    this.#completions = completions;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Takes rows that were recorded from now on, on any node. */
  add(rows: readonly AnalyticsRow[]): void {
    this.#waiting.push(...rows);
    if (this.#waiting.length > WAITING_MAX) this.#pass(Infinity);
  }

  /** Follows the other nodes until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.round(signal);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ROUND_MS);
        signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
      });
    }
  }

  /** Reads what is new. Never rejects. */
  async round(signal: AbortSignal): Promise<void> {
    const peers = await this.#peers.list().catch(() => []);
    await Promise.all(
      peers.map((peer) =>
        this.#follow(peer, signal).catch((error: unknown) =>
          this.#logger.debug({ err: error }, `the searches of ${peer.name} could not be read`),
        ),
      ),
    );
    this.#pass(this.#clock.now() - SETTLE_MS);
  }

  async #follow({ name, url }: Peer, signal: AbortSignal): Promise<void> {
    if (url === null) return;
    const followed = this.#followed.get(name) ?? { position: null, isCurrent: false };
    this.#followed.set(name, followed);
    for (let n = 0; n < PIECES_MAX && !signal.aborted; n++) {
      const { text, after } = await this.#peers.rowsOf(url, followed.position, {
        last: CHUNKS_MAX,
      });
      if (text === '') {
        followed.isCurrent = true;
        followed.position ??= after;
        return;
      }
      const rows = checkedRows(text);
      if (rows === null) throw new Error('These are no rows');
      followed.position = after;
      if (followed.isCurrent) this.add(rows);
      else await this.#completions.load([text]);
    }
  }

  /** Passes on rows until a time, in their order. */
  #pass(until: number): void {
    const rows = this.#waiting.toSorted((a, b) => a[1] - b[1]);
    const end = rows.findIndex(([, at]) => at > until);
    this.#waiting = end === -1 ? [] : rows.slice(end);
    this.#completions.add(end === -1 ? rows : rows.slice(0, end));
  }
}
