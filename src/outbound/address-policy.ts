/**
 * Which addresses the server may connect to. Link-local and cloud metadata addresses are never
 * allowed, because services there hand out credentials of the machine. Loopback and private
 * addresses are allowed unless `--outbound-deny-private` is given; `--outbound-allow` lists
 * exceptions from that.
 */
import { BlockList, isIP } from 'node:net';
import { err, ok, type Result } from '../base/result.ts';

export interface AddressPolicyOptions {
  /** Refuses every address that is not globally reachable. */
  denyPrivate: boolean;
  /** Exceptions from `denyPrivate`: networks (`10.0.0.0/8`), single addresses, or `any`. */
  allow: readonly string[];
}

/**
 * Link-local addresses, and metadata services at other addresses: Alibaba, AWS (IPv6), Google
 * (IPv6).
 */
const NEVER = [
  '169.254.0.0/16',
  'fe80::/10',
  '100.100.100.200',
  'fd00:ec2::254',
  'fd20:ce::254',
] as const;

/** The addresses in the IANA special-purpose registries that are not globally reachable. */
const PRIVATE = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  '::1/128',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fec0::/10',
  'ff00::/8',
] as const;

/** Prefixes of IPv6 addresses whose last 32 bits are the IPv4 address that receives the packet. */
const EMBEDDED_AT_END = ['::ffff:0:0/96', '::/96', '64:ff9b::/96'] as const;
/** 6to4: the IPv4 address follows the first 16 bits. */
const SIX_TO_FOUR = 0x2002;

const BITS = { 4: 32, 6: 128 } as const;

interface Network {
  address: string;
  family: 'ipv4' | 'ipv6';
  prefix: number;
}

/** @param text an address, or an address and a prefix length (`10.0.0.0/8`) */
export function parseNetwork(text: string): Result<Network, string> {
  const [address = '', length, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || address.includes('%') || rest.length > 0) {
    return err(`\`${text}\` is not a network such as \`10.0.0.0/8\``);
  }
  const bits = BITS[version as 4 | 6];
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : NaN;
  if (!(prefix <= bits)) return err(`\`${text}\` has a prefix length beyond 0 to ${bits}`);
  return ok({ address, family: version === 4 ? 'ipv4' : 'ipv6', prefix });
}

function networks(texts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of texts) {
    const network = parseNetwork(text);
    if (!network.ok) throw new Error(network.error);
    list.addSubnet(network.value.address, network.value.prefix, network.value.family);
  }
  return list;
}

export class AddressPolicy {
  readonly #never = networks(NEVER);
  readonly #private = networks(PRIVATE);
  readonly #embedded = networks(EMBEDDED_AT_END);
  readonly #allowed: BlockList;
  readonly #denyPrivate: boolean;

  /** Throws if an item of `allow` is not a network. */
  constructor({ denyPrivate, allow }: AddressPolicyOptions) {
    this.#denyPrivate = denyPrivate && !allow.includes('any');
    this.#allowed = networks(allow.filter((item) => item !== 'any'));
  }

  /** @param address as text, with or without a zone; an invalid address is refused */
  allows(address: string): boolean {
    const bare = address.replace(/%.*$/, '');
    const version = isIP(bare);
    if (version === 0) return false;
    const forms = version === 4 ? [bare] : [bare, ...this.#embeddedIn(bare)];
    return forms.every((form) => this.#allowsForm(form));
  }

  #allowsForm(address: string): boolean {
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    if (this.#never.check(address, family)) return false;
    if (!this.#denyPrivate || !this.#private.check(address, family)) return true;
    return this.#allowed.check(address, family);
  }

  /** The IPv4 addresses embedded in an IPv6 address. */
  #embeddedIn(address: string): string[] {
    const groups = ipv6Groups(address);
    if (groups[0] === SIX_TO_FOUR) return [dotted(groups[1]!, groups[2]!)];
    if (!this.#embedded.check(address, 'ipv6')) return [];
    const [high, low] = [groups[6]!, groups[7]!];
    // `::` and `::1` do not embed an IPv4 address.
    return high === 0 && low <= 1 ? [] : [dotted(high, low)];
  }
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** The eight 16-bit groups of an address. REQUIRES: `isIP(address) === 6`. */
function ipv6Groups(address: string): number[] {
  // The URL parser converts a dotted ending to two groups.
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => parseInt(group, 16));
  const first = groups(head);
  const last = tail === undefined ? [] : groups(tail);
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}
