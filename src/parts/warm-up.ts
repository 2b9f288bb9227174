/**
 * What the first searches after a start would wait for, done before they come.
 *
 * V8 interprets code that is new to it, and compiles code that has run some hundred times, on
 * threads that take the processors away from searches (docs/internals/caches.md). So the server
 * sends itself searches of an index of its own that no list names; they run the same code from the
 * socket to the response.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { Agent, request, type RequestOptions } from 'node:http';
import { join, relative } from 'node:path';
import { defaultSettings } from '../contract/settings.ts';
import type { BatchStep } from '../engine/native.ts';
import { type IndexEntry, IndexRegistry } from '../engine/registry.ts';
import type { Listener } from '../http/connection.ts';
import type { HttpServer } from '../http/server.ts';

export interface WarmUpOptions {
  http: Pick<HttpServer, 'listenWithin'>;
  registry: IndexRegistry;
  /** Created at each start, and erased once the files in it are open. */
  folder: string;
  /** RFC 3339. */
  now: string;
  masterKey: string | null;
  /** Ends it between two searches. */
  signal: AbortSignal;
  /** Searches to ask. */
  searches?: number | undefined;
}

/** Most of what V8 compiles of a search it has compiled by then. */
const SEARCHES = 1000;
/** Slow machines do without the rest, ms. */
const MS_MAX = 3000;

const DOCUMENTS = 200;
const WORDS = (
  'harbour lantern meadow orchard pebble quarry ribbon saddle timber valley willow anchor barley candle ' +
  'drizzle ember falcon gravel hollow island juniper kettle linen marble nettle otter pocket quiver'
).split(' ');

/** A batch each: documents are indexed for the settings that were there before their batch. */
const STEPS: readonly BatchStep[] = [
  {
    kind: 'settings',
    task: 0,
    settings: {
      ...defaultSettings(),
      filterableAttributes: ['kind', 'year'],
      sortableAttributes: ['year'],
    },
  },
  {
    kind: 'documents',
    task: 0,
    method: 'replace',
    payload: { buffer: 0 },
    format: 'ndjson',
    primaryKey: 'id',
    skipCreation: false,
  },
];

/**
 * Resolves to the number of searches that were answered; rejects where it cannot be done. Leaves
 * nothing behind, unless the process is killed before the first answer: then the folder, to the
 * next start.
 */
export async function warmUp(options: WarmUpOptions): Promise<number> {
  const { http, registry, folder, now, masterKey, signal, searches = SEARCHES } = options;
  // What is open can be used without its name.
  const unlink = (): Promise<void> => rm(folder, { recursive: true, force: true });
  await unlink();
  await mkdir(folder);
  const own = new IndexRegistry(registry.native, folder, []);
  const uid = `warm-up-${randomUUID()}`;
  try {
    registry.publishUnlisted(uid, await createIndex(own, now));
    const socketPath = shortest(join(folder, 'socket'));
    const client = new Client(await http.listenWithin(socketPath), socketPath, masterKey);
    try {
      const end = performance.now() + MS_MAX;
      let asked = 0;
      for (; asked < searches && !signal.aborted && performance.now() < end; asked++) {
        await client.post(searchRequest(uid, asked));
        if (asked === 0) await unlink();
      }
      return asked;
    } finally {
      client.close();
    }
  } finally {
    registry.withdrawUnlisted(uid);
    await own.closeAll();
    await unlink();
  }
}

/** The path of a socket may not be long. */
function shortest(path: string): string {
  const fromHere = relative('', path);
  return fromHere.length < path.length ? fromHere : path;
}

async function createIndex(registry: IndexRegistry, now: string): Promise<IndexEntry> {
  const entry = registry.create(now);
  const payload = Buffer.from(documents());
  for (const [batchUid, step] of STEPS.entries()) {
    const batch = { batchUid, taskUids: [], now, steps: [step] };
    const { results } = await entry.handle.applyBatch(batch, [payload]);
    const failed = results.find(({ error }) => error !== undefined)?.error;
    if (failed !== undefined) throw new Error(failed.message);
  }
  entry.refresh();
  return entry;
}

/**
 * Words that people type: one or two, the last one half of the time not yet to its end, now and
 * then mistyped.
 */
function typed(n: number): string {
  const word = (k: number): string => WORDS[k % WORDS.length]!;
  const last = n % 2 === 0 ? word(n * 5) : word(n * 5).slice(0, 3);
  if (n % 5 === 0) return `${word(n).slice(1)} ${last}`;
  return n % 3 === 0 ? last : `${word(n * 3 + 1)} ${last}`;
}

interface SearchCall {
  path: string;
  body: unknown;
}

/** The kinds of requests that search boxes send, the plainest most often. */
function searchRequest(uid: string, n: number): SearchCall {
  const q = typed(n);
  const path = `/indexes/${uid}/search`;
  const rich = {
    filter: 'year > 1900',
    facets: ['kind'],
    attributesToHighlight: ['*'],
    highlightPreTag: '<em>',
    highlightPostTag: '</em>',
    limit: 20,
    offset: 0,
  };
  switch (n % 8) {
    case 6:
      return { path, body: { q, ...rich, sort: ['year:desc'] } };
    case 7:
      return { path: '/multi-search', body: { queries: [{ indexUid: uid, q, ...rich }] } };
    default:
      return { path, body: { q, limit: 20 } };
  }
}

/** NDJSON, about half a kilobyte each, so that answers have a usual size. */
function documents(): string {
  const lines: string[] = [];
  for (let id = 0; id < DOCUMENTS; id++) {
    const words = (count: number, step: number): string =>
      Array.from(
        { length: count },
        (_, k) => WORDS[(id * 7 + k * step + ((id * k) >> 3)) % WORDS.length],
      ).join(' ');
    const kind = WORDS[id % 4];
    lines.push(
      JSON.stringify({ id, title: words(3, 5), kind, year: 1850 + id, text: words(70, 11) }),
    );
  }
  return lines.join('\n');
}

/** Asks the server through a unix socket, over one connection. */
class Client {
  readonly #listener: Listener;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #options: RequestOptions;

  /** @param listener at that path; closed with this */
  constructor(listener: Listener, socketPath: string, key: string | null) {
    this.#listener = listener;
    const headers = {
      'content-type': 'application/json',
      ...(key !== null && { authorization: `Bearer ${key}` }),
    };
    this.#options = { agent: this.#agent, socketPath, method: 'POST', headers };
  }

  /** Rejects unless the answer has status 200. */
  post({ path, body }: SearchCall): Promise<void> {
    return new Promise((resolve, reject) => {
      request({ ...this.#options, path }, (response) => {
        if (response.statusCode === 200) response.resume().on('end', resolve).on('error', reject);
        else reject(new Error(`${path}: status ${response.statusCode}`));
      })
        .on('error', reject)
        .end(JSON.stringify(body));
    });
  }

  close(): void {
    this.#agent.destroy();
    this.#listener.stopListening();
    this.#listener.close();
  }
}
