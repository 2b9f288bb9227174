/**
 * The network of instances: the body of `PATCH /network`, and merging it with the stored network.
 */
import { err, ok, type Result } from '../base/result.ts';
import { maskedUrl, unmaskedUrl } from '../base/secrets.ts';
import {
  boolean,
  declared,
  map,
  nullable,
  object,
  optionals,
  string,
  type Static,
} from './declare.ts';
import { ApiError } from './errors.ts';
import type { Network } from './responses.ts';

/** Each search of the whole network queries all of them. */
const REMOTES_MAX = 128;

export const NO_NETWORK: Network = { self: null, remotes: {}, sharding: false };

/** Maximum number of remotes that one request changes or removes. */
const CHANGED_REMOTES_MAX = 1_000;

/** Absent members stay, null resets; a null remote is removed. */
export const PATCH_NETWORK = object(
  optionals({
    self: nullable(
      string({
        title: 'Name of this server',
        description:
          'The name by which the other servers know it. Configure each server separately: the same list of servers, and its own name.',
        'x-code': 'invalid_network_self',
      }),
    ),
    remotes: nullable(
      map(
        nullable(
          object(
            optionals({
              url: nullable(
                string({
                  title: 'Address',
                  description: 'For example http://10.0.0.2:7700.',
                  'x-secret': true,
                  format: 'http-url',
                  'x-code': 'invalid_network_url',
                }),
              ),
              searchApiKey: nullable(
                string({
                  title: 'Key for searches',
                  description: 'A key of that server with the action search.',
                  'x-secret': true,
                  'x-code': 'invalid_network_search_api_key',
                }),
              ),
              writeApiKey: nullable(
                string({
                  title: 'Key for writes',
                  description:
                    'A key of that server with the action documents.*. Needed for sharding.',
                  'x-secret': true,
                  'x-code': 'invalid_network_write_api_key',
                }),
              ),
            }),
          ),
        ),
        {
          maxProperties: CHANGED_REMOTES_MAX,
          'x-code': 'invalid_network_remotes',
          'x-key-code': 'invalid_network_remotes',
        },
      ),
    ),
    sharding: nullable(
      boolean({
        title:
          'Sharding: each write is sent to all servers, and each server keeps its own share of the documents',
        'x-code': 'invalid_network_sharding',
      }),
    ),
    // Clients send these although they set nothing; null means absent.
    leader: declared<null>({ type: 'null', 'x-code': 'invalid_network_leader' }),
    shards: nullable(
      map(nullable(map(declared<null>({ type: 'null' }))), {
        maxProperties: CHANGED_REMOTES_MAX,
        'x-code': 'invalid_network_shards',
        'x-key-code': 'invalid_network_shards',
      }),
    ),
  }),
);
export type NetworkPatch = Static<typeof PATCH_NETWORK>;

/** The stored network with a request applied. */
export function mergeNetwork(stored: Network, patch: NetworkPatch): Result<Network, ApiError> {
  const remotes = new Map(patch.remotes === null ? [] : Object.entries(stored.remotes));
  for (const [name, change] of Object.entries(patch.remotes ?? {})) {
    if (change === null) {
      remotes.delete(name);
      continue;
    }
    const before = remotes.get(name);
    const given = change.url === undefined ? before?.url : change.url;
    if (given === undefined || given === null) return err(noUrl(name, before !== undefined));
    const url = unmaskedUrl(given, before?.url);
    const key = (field: 'searchApiKey' | 'writeApiKey'): string | null =>
      change[field] === undefined ? (before?.[field] ?? null) : change[field];
    remotes.set(name, { url, searchApiKey: key('searchApiKey'), writeApiKey: key('writeApiKey') });
  }
  if (remotes.size > REMOTES_MAX) {
    return err(
      new ApiError(
        'invalid_network_remotes',
        `Invalid value at \`.remotes\`: a network has at most ${REMOTES_MAX} remotes.`,
      ),
    );
  }
  return ok({
    self: patch.self === undefined ? stored.self : patch.self,
    remotes: Object.fromEntries(remotes),
    sharding: patch.sharding === undefined ? stored.sharding : (patch.sharding ?? false),
  });
}

/**
 * The network as the API shows it. Callers who may read the network get the keys of its remotes:
 * clients send the object back.
 */
export function networkView(network: Network): Network {
  const remotes = Object.entries(network.remotes).map(([name, remote]) => [
    name,
    { ...remote, url: maskedUrl(remote.url) },
  ]);
  return { ...network, remotes: Object.fromEntries(remotes) as Network['remotes'] };
}

function noUrl(name: string, isKnown: boolean): ApiError {
  const at = `\`.remotes.${name}.url\``;
  return isKnown
    ? new ApiError(
        'invalid_network_url',
        `Invalid value at ${at}: the url of a remote cannot be null.`,
      )
    : new ApiError('missing_network_url', `Missing field ${at}: a new remote needs it.`);
}
