/** Checks the servers of a network by searching each of them. */
import type { Network } from '../contract/responses.ts';
import type { Client } from './client.ts';

/** The outcome of a search on one server. */
export type Reached =
  | { readonly kind: 'responded'; readonly documents: number; readonly ms: number }
  | { readonly kind: 'failed'; readonly message: string };

interface FederatedResult {
  readonly estimatedTotalHits: number;
  readonly remoteErrors?: Readonly<Record<string, { readonly message: string }>>;
}

/**
 * Counts the documents of an index on each server of the network, using the search key configured
 * for that server.
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
  const result = await client.send<FederatedResult>('POST', '/multi-search', options);
  const failure = result.remoteErrors?.[name];
  if (failure !== undefined) return { kind: 'failed', message: failure.message };
  return {
    kind: 'responded',
    documents: result.estimatedTotalHits,
    ms: performance.now() - began,
  };
}
