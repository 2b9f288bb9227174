/** Nodes that are slow, cut off, or wrong: what the asked node makes of it. */
import assert from 'node:assert/strict';
import { Peers } from '../../../src/analytics/peers.ts';
import { PeerSearches } from '../../../src/analytics/peer-searches.ts';
import type { FoundSearch, RecordedEvent, Recorder } from '../../../src/analytics/recorder.ts';
import type { ReportSpec } from '../../../src/analytics/report-worker.ts';
import { Reporter } from '../../../src/analytics/reporter.ts';
import { type AnalyticsRow, SEARCH_ROW } from '../../../src/contract/analytics.ts';
import type { OutboundResponse } from '../../../src/outbound/outbound-client.ts';
import type { AnalyticsStore } from '../../../src/store/analytics-store.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { silentLogger } from '../../support/silent-logger.ts';

type Asked = { url: URL; method: string; timeoutMs: number };
type Node = (asked: Asked) => Promise<{ status?: number; text: string; position?: string }>;

function search(at: number, query: string, user = 'user'): AnalyticsRow {
  return [SEARCH_ROW, at, at, 'books', query, null, 1, 1000, user];
}

const textOf = (rows: readonly AnalyticsRow[]): string => JSON.stringify(rows);

/** Sends its rows one by one. */
const whole =
  (rows: readonly AnalyticsRow[]): Node =>
  async ({ url }) => {
    const from = Number(url.searchParams.get('position')?.split('.')[0] ?? 0);
    return { text: textOf(rows.slice(from, from + 1)), position: `${from + 1}.0` };
  };
const cutOff: Node = () => Promise.reject(new Error('connect ECONNREFUSED'));

/** @param nodes by name; null: it does not run */
function peersOf(nodes: Record<string, Node | null>): Peers {
  const registered = [...Object.keys(nodes), 'here'];
  const running = registered.filter((name) => nodes[name] !== null);
  return new Peers({
    name: 'here',
    token: 'secret',
    node: {
      status: async () => ({
        ...{ leader: null, head: 0, fault: null, damagedObjects: [], registered },
        nodes: running.map((name) => ({
          ...{ name, url: `http://${name}.test`, formatMax: 1 },
          ...{ applied: 0, lagMs: 0, bytesToFetch: 0, isFit: true, storeFault: null },
        })),
      }),
    },
    client: {
      fetch: async ({ url, method, headers, timeoutMs }) => {
        assert.equal(headers?.authorization, 'Bearer secret');
        const asked = new URL(url);
        const node = nodes[asked.hostname.split('.')[0]!]!;
        const sent = await node({ url: asked, method, timeoutMs });
        const response = { 'gannet-position': sent.position };
        const body = Buffer.from(sent.text);
        const result = { status: sent.status ?? 200, headers: response, body };
        return { ...result, hide: (text) => text } satisfies OutboundResponse;
      },
    },
  });
}

describe('A report of a node whose cluster has other nodes', () => {
  const spec: ReportSpec = {
    ...{ kind: 'top', from: 0, to: 1000, indexUids: null, patterns: null },
    ...{ format: 'json', groupBy: [], finalQueries: false, page: { offset: 0, limit: 20 } },
  };

  async function report(nodes: Record<string, Node | null>, more: Partial<ReportSpec> = {}) {
    const peers = peersOf(nodes);
    const store = {
      *chunks() {
        yield textOf([search(1, 'dune'), search(30, 'emma')]).slice(1, -1);
      },
    } as unknown as AnalyticsStore;
    const recorder = { flushed: async () => {} } as Recorder;
    const others = (from: number, to: number) => peers.rows(from, to);
    const clock = new FakeClock();
    const reporter = new Reporter({ store, recorder, clock, retentionMs: 1e15, others });
    const { body, missing } = await reporter.report({ ...spec, ...more }, () => false);
    const json = JSON.parse(body);
    assert.deepEqual(json.missingNodes ?? [], missing);
    const counts: Record<string, number> = {};
    for (const { query, searches } of json.results) counts[query] = searches;
    return { counts, missing };
  }

  it('counts the rows of all', async () => {
    const made = await report({
      two: whole([search(2, 'dune'), search(40, 'emma')]),
      three: whole([search(3, 'dune')]),
    });
    assert.deepEqual(made, { counts: { dune: 3, emma: 2 }, missing: [] });
  });

  it('sees a user who types on several of them as one', async () => {
    const made = await report(
      { two: whole([search(10, 'd'), search(50, 'dun')]), three: whole([search(20, 'du')]) },
      { finalQueries: true },
    );
    // In the order of time: `dune`, `d`, `du`, `emma`, `dun`.
    assert.deepEqual(made.counts, { du: 1, emma: 1, dun: 1 });
  });

  it('names those that do not run, are cut off, or send what is none', async () => {
    const half: Node = async (asked) =>
      asked.url.searchParams.has('position') ? cutOff(asked) : whole([search(5, 'dune')])(asked);
    const made = await report({
      ...{ stopped: null, cut: cutOff, half },
      wrong: async () => ({ text: '[["dune"]]', position: '1.0' }),
      page: async () => ({ text: '<html>', position: '1.0' }),
      refused: async () => ({ text: '[]', position: '1.0', status: 403 }),
      lost: async () => ({ text: textOf([search(5, 'dune')]) }),
      unordered: async () => ({ text: textOf([search(9, 'x'), search(5, 'y')]), position: '1.0' }),
      good: whole([search(5, 'dune')]),
    });
    assert.deepEqual(made.missing.toSorted(), [
      ...['cut', 'half', 'lost', 'page', 'refused', 'stopped', 'unordered', 'wrong'],
    ]);
    assert.deepEqual(made.counts, { dune: 3, emma: 1 });
  });

  it('gives each request a limit, and ends one that never ends', async () => {
    let asked = 0;
    const endless: Node = async ({ timeoutMs }) => {
      assert.ok(timeoutMs > 0 && timeoutMs <= 3000);
      asked++;
      return { text: textOf([search(5, 'dune')]), position: `${asked}.0` };
    };
    const { now } = performance;
    const begin = now.call(performance);
    // Each request takes a second.
    performance.now = () => begin + asked * 1000;
    try {
      const made = await report({ endless });
      assert.deepEqual(made.missing, ['endless']);
      assert.ok(asked <= 31);
    } finally {
      performance.now = now;
    }
  });
});

describe('An event', () => {
  const event: RecordedEvent = {
    ...{ type: 'click', name: 'opened', indexUid: 'books', objectId: '1', position: 0 },
    ...{ sender: { id: 'user' }, queryUid: 'q' },
  };
  let recorded: string[];
  beforeEach(() => (recorded = []));

  const knowing =
    (name: string, found: FoundSearch | null): Node =>
    async ({ url, method }) => {
      assert.equal(method, 'POST');
      const { records, ...sent } = JSON.parse(url.searchParams.get('event')!);
      assert.deepEqual(sent, event);
      if (records === true) recorded.push(name);
      return { text: JSON.stringify(found ?? { at: null, isNamed: false }) };
    };

  it('goes to the node that has recorded its search, by uid before by time', async () => {
    const nodes = {
      two: knowing('two', { at: 9, isNamed: false }),
      three: knowing('three', { at: 5, isNamed: true }),
      four: knowing('four', null),
    };
    assert.equal(await peersOf(nodes).record(event, { at: 20, isNamed: false }), true);
    assert.deepEqual(recorded, ['three']);
    assert.equal(await peersOf(nodes).record(event, { at: 1, isNamed: true }), false);
    assert.deepEqual(recorded, ['three']);
  });

  it('goes to the node with the last search of its user', async () => {
    const nodes = {
      two: knowing('two', { at: 9, isNamed: false }),
      three: knowing('three', { at: 5, isNamed: false }),
    };
    assert.equal(await peersOf(nodes).record(event, { at: 7, isNamed: false }), true);
    assert.deepEqual(recorded, ['two']);
    assert.equal(await peersOf(nodes).record(event, { at: 10, isNamed: false }), false);
  });

  it('stays here when the others are cut off, wrong, or do not know it', async () => {
    let asked = 0;
    const nodes = {
      ...{ stopped: null, four: knowing('four', null) },
      cut: (async (sent: Asked) => (asked++, cutOff(sent))) as Node,
      wrong: async () => ({ text: '<html>' }),
      odd: async () => ({ text: '{"at":"9","isNamed":true}' }),
      refused: async () => ({ text: '{"at":9,"isNamed":true}', status: 403 }),
    };
    const peers = peersOf(nodes);
    assert.equal(await peers.record(event, null), false);
    assert.equal(await peers.record(event, { at: 1, isNamed: false }), false);
    assert.deepEqual(recorded, []);
    assert.equal(asked, 1, 'one that does not respond is left alone for a while');
  });

  it('is refused when it is not known whether the other node has recorded it', async () => {
    const dying: Node = async (asked) => {
      if (asked.url.searchParams.get('event')!.includes('"records":true')) return cutOff(asked);
      return knowing('dying', { at: 9, isNamed: true })(asked);
    };
    await assert.rejects(peersOf({ dying }).record(event, null), { code: 'cluster_unavailable' });
  });
});

describe('Completions', () => {
  it('follow the searches of all nodes, in the order of time', async () => {
    const clock = new FakeClock();
    const added: AnalyticsRow[] = [];
    const loaded: AnalyticsRow[] = [];
    const rows = [search(1, 'old')];
    const searches = new PeerSearches(
      peersOf({ two: whole(rows), cut: cutOff, three: whole([]), stopped: null }),
      {
        add: (more) => void added.push(...more),
        load: async (chunks) => {
          for (const text of chunks) loaded.push(...(JSON.parse(`[${text}]`) as AnalyticsRow[]));
        },
      },
      { clock, logger: silentLogger() },
    );
    const { signal } = new AbortController();
    await searches.round(signal);
    assert.deepEqual([loaded, added], [[search(1, 'old')], []]);
    const now = clock.now();
    rows.push(search(now + 2, 'b'), search(now + 4, 'd'));
    searches.add([search(now + 1, 'a'), search(now + 3, 'c')]);
    await searches.round(signal);
    assert.deepEqual(added, [], 'rows of other nodes may still come');
    clock.advance(60_000);
    await searches.round(signal);
    assert.deepEqual(
      added.map((row) => row[4]),
      ['a', 'b', 'c', 'd'],
    );
    assert.equal(loaded.length, 1);
  });
});
