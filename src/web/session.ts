/** The session of the page: the key, which is kept while the tab is open, and its rights. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { Client, Fault } from './client.ts';

const STORED_KEY = 'gannet-key';

/**
 * The rights that the page checks. Each is checked by the cheapest request that needs it: method,
 * path and body.
 */
const PROBES = {
  search: ['POST', '/multi-search', { queries: [] }],
  indexes: ['GET', '/indexes?limit=1'],
  stats: ['GET', '/stats'],
  tasks: ['GET', '/tasks?limit=1'],
  keys: ['GET', '/keys?limit=1'],
  webhooks: ['GET', '/webhooks'],
  // A period without searches, so that there is nothing to add up.
  analytics: ['GET', '/analytics/summary?from=9999-01-01'],
  // Without a question: a key that may chat gets the error that the question is missing.
  chat: ['POST', '/chats/any/chat/completions', {}],
  chats: ['GET', '/chats?limit=1'],
  network: ['GET', '/network'],
  rules: ['POST', '/dynamic-search-rules', { limit: 0 }],
  features: ['GET', '/experimental-features'],
  version: ['GET', '/version'],
} as const satisfies Record<string, readonly [method: string, path: string, body?: unknown]>;

export type Right = keyof typeof PROBES;

export interface Session {
  readonly client: Client;
  readonly rights: ReadonlySet<Right>;
  /** Whether searches count as tests: those of administrators do, those of visitors do not. */
  readonly testsSearches: boolean;
  /** null: the key may not read it. */
  readonly version: string | null;
}

export type Opening =
  | { readonly kind: 'open'; readonly session: Session }
  /** `message`: why the given key is refused; null: no key was given. */
  | { readonly kind: 'keyNeeded'; readonly message: string | null };

export function storedKey(): string | null {
  return sessionStorage.getItem(STORED_KEY);
}

export function storeKey(key: string | null): void {
  if (key === null) sessionStorage.removeItem(STORED_KEY);
  else sessionStorage.setItem(STORED_KEY, key);
}

/** Throws a {@link Fault} when the server cannot be reached or fails. */
export async function openSession(key: string | null): Promise<Opening> {
  const client = new Client(key);
  // A server with keys refuses every request without one, so a single request is enough.
  if (key === null && !(await allowsProbe(client, 'version'))) {
    return { kind: 'keyNeeded', message: null };
  }
  const names = Object.keys(PROBES) as Right[];
  const granted = await Promise.all(names.map((name) => allowsProbe(client, name)));
  const rights = new Set(names.filter((_, position) => granted[position] === true));
  if (names.every((name) => name === 'version' || !rights.has(name))) {
    const message = 'This key is not valid, has expired, or gives access to nothing on this page.';
    return { kind: 'keyNeeded', message: key === null ? null : message };
  }
  const version = rights.has('version')
    ? (await client.send<{ serverVersion: string }>('GET', '/version')).serverVersion
    : null;
  const testsSearches = names.some((name) => rights.has(name) && !OF_VISITORS.includes(name));
  return { kind: 'open', session: { client, rights, testsSearches, version } };
}

const OF_VISITORS: readonly Right[] = ['search', 'chat', 'version'];

/** Errors that a request with sufficient rights can get. */
const LET_IN = ['missing_master_key', 'feature_not_enabled', 'bad_request'];

function allowsProbe(client: Client, name: Right): Promise<boolean> {
  const [method, path, body] = PROBES[name] as readonly [string, string, unknown?];
  return allows(() => client.send(method, path, { body }));
}

/** Whether the server accepts the key, or its absence, for this request. */
async function allows(send: () => Promise<unknown>): Promise<boolean> {
  try {
    await send();
    return true;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // The view explains what is missing: a master key, or an option of the server.
    if (LET_IN.includes(error.code)) return true;
    if (error.status === 401 || error.status === 403) return false;
    throw error;
  }
}

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('there is no session');
  return session;
}
