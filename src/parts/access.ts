/** The master key, limits of keys, and the features that are on from the start. */
import { generateMasterKey, MASTER_KEY_BYTES_MIN } from '../auth/keys.ts';
import { BadOption, type GivenOptions, type Options } from '../base/options.ts';
import { RATE_LIMIT_MAX } from '../contract/rate-limits.ts';
import type { RateLimit } from '../contract/responses.ts';

export const OPTIONS = {
  'master-key': {
    kind: 'text',
    common: true,
    help: 'Key that allows everything; at least 16 bytes in production.',
  },
  'master-key-previous': {
    kind: 'text',
    ours: true,
    help: 'A master key that is accepted as well, with the keys derived from it.',
  },
  env: {
    kind: 'text',
    common: true,
    initial: 'development',
    oneOf: ['development', 'production'],
    help: '`development`, or `production`, which needs a master key.',
  },
  'experimental-contains-filter': { kind: 'flag', help: 'Enable the feature containsFilter.' },
  'experimental-enable-metrics': { kind: 'flag', help: 'Enable the feature metrics.' },
  'experimental-enable-logs-route': { kind: 'flag', help: 'Enable the feature logsRoute.' },
  'rate-limit': {
    kind: 'count',
    ours: true,
    shown: 'unlimited',
    min: 1,
    max: RATE_LIMIT_MAX,
    help: 'Requests per second of each API key.',
  },
  'rate-limit-searches': {
    kind: 'count',
    ours: true,
    shown: 'unlimited',
    min: 1,
    max: RATE_LIMIT_MAX,
    help: 'Concurrent searches of each API key.',
  },
} as const satisfies Options;

export type AccessConfig = ReturnType<typeof configure>;

export function configure({ values }: GivenOptions<typeof OPTIONS>) {
  const production = values.env === 'production';
  const masterKey = values['master-key'];
  if (production || masterKey === '') checkMasterKey(masterKey);
  return {
    production,
    masterKey,
    /** Accepted as well; null: there is none. */
    previousMasterKey: previousMasterKey(values['master-key-previous'], masterKey),
    launchFeatures: {
      containsFilter: values['experimental-contains-filter'],
      metrics: values['experimental-enable-metrics'],
      logsRoute: values['experimental-enable-logs-route'],
    },
    /** The limit for every key that has none of its own; null: no limit. */
    rateLimit: rateLimit(values['rate-limit'], values['rate-limit-searches']),
  };
}

/** Throws `BadOption`. An empty key, as of a variable whose value is missing, protects nothing. */
function checkMasterKey(masterKey: string | null): void {
  if (masterKey !== null && Buffer.byteLength(masterKey) >= MASTER_KEY_BYTES_MIN) return;
  if (masterKey === '') {
    throw new BadOption(
      `The master key is empty. Set one, or remove the option and its variables. ` +
        `A random one: --master-key ${generateMasterKey()}`,
    );
  }
  throw new BadOption(
    `In production a master key of at least ${MASTER_KEY_BYTES_MIN} bytes is required` +
      `${masterKey === null ? '' : `, but it has ${Buffer.byteLength(masterKey)}`}. ` +
      `A random one: --master-key ${generateMasterKey()}`,
  );
}

function previousMasterKey(previous: string | null, masterKey: string | null): string | null {
  if (previous === null) return null;
  if (masterKey === null) throw new BadOption('master-key-previous needs master-key.');
  if (previous === '') throw new BadOption('The previous master key is empty.');
  return previous;
}

/** What to tell about the master key at start in development, or null. */
export function masterKeyNotice({ masterKey }: Pick<AccessConfig, 'masterKey'>): string | null {
  if (masterKey !== null && Buffer.byteLength(masterKey) >= MASTER_KEY_BYTES_MIN) return null;
  return (
    `${masterKey === null ? 'No master key is set: everyone may do everything' : `The master key is shorter than ${MASTER_KEY_BYTES_MIN} bytes`}. ` +
    `A random one: --master-key ${generateMasterKey()}`
  );
}

function rateLimit(
  requestsPerSecond: number | null,
  concurrentSearches: number | null,
): RateLimit | null {
  return requestsPerSecond === null && concurrentSearches === null
    ? null
    : { requestsPerSecond, concurrentSearches };
}
