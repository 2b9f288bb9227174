/** The session of the page: the key, which is kept while the tab is open, and its rights. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Access } from '../contract/responses.ts';
import { Client } from './client.ts';
import { RIGHTS, type Right } from './rights.ts';

export type { Right };

const STORED_KEY = 'gannet-key';

/** Those that alone open no view. */
const FURTHER: readonly Right[] = ['cancels', 'creates', 'deletes', 'swaps', 'reads', 'version'];

export interface Session {
  readonly client: Client;
  readonly rights: ReadonlySet<Right>;
  /** Indexes that the key may search. A key that may list indexes sees them in the list. */
  readonly uids: readonly string[];
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
  const { hasMasterKey, actions, indexes } = await client.send<Access>('GET', '/access');
  const names = Object.keys(RIGHTS) as Right[];
  const rights = new Set(names.filter((name) => actions.includes(RIGHTS[name])));
  // The view explains that keys need a master key.
  if (!hasMasterKey) rights.add('keys');
  if (names.every((name) => FURTHER.includes(name) || !rights.has(name))) {
    const message = 'This key is not valid, has expired, or gives access to nothing on this page.';
    return { kind: 'keyNeeded', message: key === null ? null : message };
  }
  const version = rights.has('version')
    ? (await client.send<{ serverVersion: string }>('GET', '/version')).serverVersion
    : null;
  const testsSearches = names.some((name) => rights.has(name) && !OF_VISITORS.includes(name));
  return { kind: 'open', session: { client, rights, uids: indexes, testsSearches, version } };
}

const OF_VISITORS: readonly Right[] = ['search', 'chat', 'version'];

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('there is no session');
  return session;
}
