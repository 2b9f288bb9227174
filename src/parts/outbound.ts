/** The clients for requests to other servers. */
import { bad, type Environment, type GivenOptions, type Options } from '../base/options.ts';
import { parseNetwork } from '../outbound/address-policy.ts';
import { OutboundClient } from '../outbound/outbound-client.ts';
import { seconds } from './values.ts';

export const OPTIONS = {
  'experimental-allowed-ip-networks': {
    kind: 'text',
    read: networks,
    help: 'The same as outbound-allow.',
  },
  'outbound-deny-private': {
    kind: 'flag',
    ours: true,
    help: 'Refuse outbound connections to loopback and private addresses.',
  },
  'outbound-allow': {
    kind: 'text',
    ours: true,
    read: networks,
    help: 'Exceptions to outbound-deny-private: networks (CIDR, comma-separated) or `any`.',
  },
} as const satisfies Options;

/** Time limits of requests to other servers of the network. */
export const VARIABLES = [
  'EXPERIMENTAL_REMOTE_SEARCH_TIMEOUT_SECONDS',
  'EXPERIMENTAL_PROXY_CONNECT_TIMEOUT_SECONDS',
  'EXPERIMENTAL_PROXY_REQUEST_TIMEOUT_SECONDS',
  'EXPERIMENTAL_PROXY_BACKOFF_TIMEOUT_SECONDS',
] as const;

export type OutboundConfig = ReturnType<typeof configure>;

export function configure({ values }: GivenOptions<typeof OPTIONS>, env: Environment) {
  const [search, connect, request, retries] = VARIABLES;
  return {
    outboundDenyPrivate: values['outbound-deny-private'],
    outboundAllow: [
      ...(values['outbound-allow'] ?? []),
      ...(values['experimental-allowed-ip-networks'] ?? []),
    ],
    network: {
      /** Ms that a search waits for remotes. */
      searchMsMax: seconds(env, search, 25),
      /** Ms to connect to a remote that gets a write. */
      connectMsMax: seconds(env, connect, 3),
      /** Ms for one request that passes a write on. */
      requestMsMax: seconds(env, request, 30),
      /** Ms in which a write is tried again. */
      retriesMsMax: seconds(env, retries, 25),
    },
  };
}

/**
 * `proxy` passes writes on to the other servers of the network. The part of the tasks closes both,
 * before it waits for the batch that runs.
 */
export function open({
  outboundDenyPrivate: denyPrivate,
  outboundAllow: allow,
  network: { connectMsMax },
}: OutboundConfig): { outbound: OutboundClient; proxy: OutboundClient } {
  return {
    outbound: new OutboundClient({ denyPrivate, allow }),
    proxy: new OutboundClient({ denyPrivate, allow, connectMsMax }),
  };
}

function networks(text: string, name: string): string[] {
  const items = text.split(',').map((item) => item.trim());
  const named = items.filter((item) => item !== '');
  for (const network of named) {
    if (network !== 'any' && !parseNetwork(network).ok) {
      bad(name, network, 'networks such as `10.0.0.0/8`, separated by commas, or `any`');
    }
  }
  return named;
}
