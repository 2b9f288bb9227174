/** The servers of a network, as searches find them. */
import type { Client } from './client.ts';

export interface Remote {
  readonly url: string;
  readonly searchApiKey: string | null;
  readonly writeApiKey: string | null;
}

export interface Network {
  readonly self: string | null;
  readonly remotes: Readonly<Record<string, Remote>>;
  readonly sharding: boolean;
}

/** What a search of one server came to. */
export type Reached =
  | { readonly kind: 'answered'; readonly documents: number; readonly ms: number }
  | { readonly kind: 'failed'; readonly message: string };

interface FederatedAnswer {
  readonly estimatedTotalHits: number;
  readonly remoteErrors?: Readonly<Record<string, { readonly message: string }>>;
}

/**
 * Each server of the network, asked for its documents of an index with the key that the network has
 * for it.
 */
export async function reachAll(
  client: Client,
  { remotes }: Network,
  indexUid: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, Reached>>> {
  const reached = await Promise.all(
    Object.keys(remotes).map(
      async (name) => [name, await reach(client, name, indexUid, signal)] as const,
    ),
  );
  return Object.fromEntries(reached);
}

async function reach(
  client: Client,
  name: string,
  indexUid: string,
  signal: AbortSignal,
): Promise<Reached> {
  const body = {
    federation: { limit: 0 },
    queries: [{ indexUid, q: '', federationOptions: { remote: name } }],
  };
  const began = performance.now();
  const options = { body, signal, isTest: true };
  const answer = await client.send<FederatedAnswer>('POST', '/multi-search', options);
  const failure = answer.remoteErrors?.[name];
  if (failure !== undefined) return { kind: 'failed', message: failure.message };
  return {
    kind: 'answered',
    documents: answer.estimatedTotalHits,
    ms: performance.now() - began,
  };
}
