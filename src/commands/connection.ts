/** The server that a command talks to. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { maskedUrl } from '../base/secrets.ts';
import { bad, type GivenOptions, type Options } from '../base/options.ts';
import type { TaskView } from '../contract/responses.ts';
import { ApiPeer, jsonBody, type PeerRequest, RefusedRequest } from '../outbound/api-peer.ts';
import { OutboundClient } from '../outbound/outbound-client.ts';
import { OutboundError } from '../outbound/outbound-error.ts';
import { FileError, type Terminal } from './command.ts';

export const DEFAULT_URL = 'http://127.0.0.1:7700';
const RETRY_SECONDS_MAX = 86_400;

/** Maximum number of tasks per request. */
const TASKS_PER_REQUEST = 200;
const POLL_MS = 50;
const POLL_MS_MAX = 1000;
/** Maximum size of a response: a page of tasks, or an index with its settings. */
const RESPONSE_BYTES_MAX = 64 * 2 ** 20;

export const CONNECTION_OPTIONS = {
  url: { kind: 'text', initial: DEFAULT_URL, help: 'Address of the server.' },
  key: { kind: 'text', help: 'API key. A variable keeps it out of the process list.' },
  ca: {
    kind: 'text',
    shown: 'those of Node',
    help: 'File of the certificate authorities (PEM) to trust for https.',
  },
} as const satisfies Options;

export const RETRY_OPTIONS = {
  'retry-seconds': {
    kind: 'count',
    initial: '300',
    max: RETRY_SECONDS_MAX,
    help: 'How long to repeat a request while the server is unreachable or busy.',
  },
} as const satisfies Options;

export type FinishedTask = Pick<
  TaskView,
  'uid' | 'status' | 'indexUid' | 'type' | 'details' | 'error'
>;

/** Throws `BadOption` if the text is not an http or https URL. */
export function serverUrl(name: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    bad(name, maskedUrl(text), 'a URL such as `http://127.0.0.1:7700`');
  }
  return text;
}

/** The certificate authorities to trust; null: those of Node. Throws `FileError`. */
export function authoritiesOf(
  given: GivenOptions<Pick<typeof CONNECTION_OPTIONS, 'ca'>>,
): string | null {
  const path = given.text('ca');
  if (path === null) return null;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new FileError(`${path} cannot be read: ${(error as Error).message}.`);
  }
  if (/-----BEGIN (?:[A-Z0-9]+ )?CERTIFICATE-----/.test(text)) return text;
  throw new FileError(`${path} contains no certificate: --ca needs a file in PEM format.`);
}

export interface ConnectionTarget {
  url: string;
  key: string | null;
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>>;
  authorities: string | null;
  /** How long to repeat a request that fails for the moment. */
  retrySeconds: number;
}

/** Must be closed, otherwise the process keeps running. */
export class Connection {
  readonly #peer: ApiPeer;
  readonly #client: OutboundClient;
  readonly #signal: AbortSignal;

  constructor(
    { url, key, headers, authorities, retrySeconds: seconds }: ConnectionTarget,
    terminal: Terminal,
  ) {
    const { signal } = terminal;
    this.#client = new OutboundClient({
      denyPrivate: false,
      allow: ['any'],
      ...(authorities === null ? {} : { authorities }),
    });
    this.#signal = signal;
    this.#peer = new ApiPeer({
      url,
      apiKey: key,
      ...(headers === undefined ? {} : { headers }),
      client: this.#client,
      signal,
      retriesMsMax: seconds * 1000,
    });
  }

  /** The address without credentials. */
  get address(): string {
    return this.#peer.address;
  }

  /**
   * Checks once, without retries, whether the server is reachable, so that a mistyped address is
   * reported at once. Throws `OutboundError`.
   */
  async reach(): Promise<void> {
    try {
      await this.#peer.send({ method: 'GET', path: '/health', retriesMsMax: 0 });
    } catch (error) {
      if (error instanceof OutboundError && error.failure === 'unreachable') throw error;
    }
  }

  /** Sends a request and returns the response body. Throws `RefusedRequest` and `OutboundError`. */
  send(request: PeerRequest): Promise<Buffer> {
    return this.#peer.send(request);
  }

  /** Sends one request and yields the response body. Throws like `send`. */
  stream(path: string): AsyncGenerator<Buffer, undefined> {
    return this.#peer.stream(path);
  }

  /** Returns a JSON response. A response that does not fit the API counts as refused. */
  async get<T>(path: string): Promise<T> {
    return objectOf(
      await this.send({ method: 'GET', path, responseBytesMax: RESPONSE_BYTES_MAX }),
    ) as T;
  }

  async sendJson<T>(method: PeerRequest['method'], path: string, value: unknown): Promise<T> {
    return objectOf(await this.send({ method, path, body: jsonBody(value) })) as T;
  }

  /** Sends a request and returns the uid of its task. */
  async register(request: PeerRequest): Promise<number> {
    return taskUidOf(objectOf(await this.send(request)));
  }

  /** Registers a task and waits until it has finished. */
  async finish(method: PeerRequest['method'], path: string, value: unknown): Promise<FinishedTask> {
    return this.finished(await this.register({ method, path, body: jsonBody(value) }));
  }

  /** Waits until a task has finished. */
  async finished(uid: number): Promise<FinishedTask> {
    let ended: FinishedTask | null = null;
    await this.waitFor([uid], (task) => (ended = task));
    if (ended === null) throw new RefusedRequest(200, { message: `task ${uid} was deleted` }, null);
    return ended;
  }

  /** Returns those tasks with these uids that exist. */
  async tasks(uids: readonly number[]): Promise<FinishedTask[]> {
    const found: FinishedTask[] = [];
    for (let at = 0; at < uids.length; at += TASKS_PER_REQUEST) {
      const polled = uids.slice(at, at + TASKS_PER_REQUEST);
      const path = `/tasks?uids=${polled.join(',')}&limit=${TASKS_PER_REQUEST}`;
      found.push(...resultsOf<FinishedTask>(await this.get(path)));
    }
    return found;
  }

  /**
   * Waits until all these tasks have finished. Tasks that are deleted meanwhile are not reported.
   * @param ended called once with each finished task
   */
  async waitFor(uids: readonly number[], ended: (task: FinishedTask) => void): Promise<void> {
    let waiting = uids.toSorted((a, b) => a - b);
    for (let ms = POLL_MS; waiting.length > 0; ms = Math.min(POLL_MS_MAX, ms * 1.5)) {
      const polled = waiting.slice(0, TASKS_PER_REQUEST);
      const tasks = await this.tasks(polled);
      const open = new Set<number>();
      for (const task of tasks) {
        if (task.status === 'enqueued' || task.status === 'processing') open.add(task.uid);
        else ended(task);
      }
      waiting = [...open].toSorted((a, b) => a - b).concat(waiting.slice(TASKS_PER_REQUEST));
      if (open.size < polled.length) ms = POLL_MS;
      else await delay(ms, undefined, { signal: this.#signal });
    }
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

/** Parses a response, which must be a JSON object. */
function objectOf(bytes: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch {
    value = null;
  }
  if (typeof value !== 'object' || value === null) {
    throw new RefusedRequest(200, { message: 'the response is not a JSON object' }, null);
  }
  return value as Record<string, unknown>;
}

function taskUidOf(response: Record<string, unknown>): number {
  const { taskUid } = response;
  if (Number.isSafeInteger(taskUid)) return taskUid as number;
  throw new RefusedRequest(200, { message: 'the response contains no task uid' }, null);
}

/** The entries of a page of results. */
export function resultsOf<T>(page: { results?: unknown }): T[] {
  if (Array.isArray(page.results)) return page.results as T[];
  throw new RefusedRequest(200, { message: 'the response has no list `results`' }, null);
}

/**
 * The connection that the options of a command describe, to a URL that was checked.
 * @param headers sent with every request
 */
export function connectTo(
  url: string,
  given: GivenOptions<typeof CONNECTION_OPTIONS & typeof RETRY_OPTIONS>,
  terminal: Terminal,
  headers: Readonly<Record<string, string>> = {},
): Connection {
  return new Connection(
    {
      url,
      key: given.text('key'),
      headers,
      authorities: authoritiesOf(given),
      retrySeconds: given.values['retry-seconds'],
    },
    terminal,
  );
}
