/** Values of options of several parts. */
import { bad, BadOption, type Environment } from '../base/options.ts';
import { variable } from '../base/variables.ts';
import { hasDots } from '../cluster/blobs/s3-blobs.ts';

/** What a timer can wait for. */
export const TIMER_SECONDS_MAX = 2_147_483;

/** Reports that the option `name` is not given although `other` is. */
export function missing(name: string, other: string): never {
  throw new BadOption(`${other} needs ${name}.`);
}

export function address(text: string, name: string): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
  const port = match === null ? NaN : Number(match[3]);
  if (match === null || port > 65_535) bad(name, text, '`host:port`');
  const host = match![1] ?? match![2]!;
  // A name may resolve to the IPv6 address alone, which clients of 127.0.0.1 would not find.
  return { host: host === 'localhost' ? '127.0.0.1' : host === '' ? '0.0.0.0' : host, port };
}

/** A URL without slashes at its end. */
export function serviceUrl(text: string, name: string): string {
  const isUrl = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
  return isUrl ? text.replace(/\/+$/, '') : bad(name, text, 'a URL of http or https');
}

/** The bucket and the prefix of `s3://bucket/prefix`; null: the text is something else. */
export function bucketOf(text: string): { bucket: string; prefix: string } | null {
  const match = /^s3:\/\/([\w.-]+)(?:\/(.*))?$/.exec(text);
  if (match === null || hasDots(match[1]!) || hasDots(match[2] ?? '')) return null;
  const prefix = (match[2] ?? '').replace(/\/*$/, '/').replace(/^\/$/, '');
  return { bucket: match[1]!, prefix };
}

/** A variable in seconds, in ms. @param name without a prefix */
export function seconds(env: Environment, name: string, initial: number): number {
  const text = variable(env, name);
  if (text === null) return initial * 1000;
  return /^\d{1,6}$/.test(text) ? Number(text) * 1000 : bad(name, text, 'a number of seconds');
}

/** A variable that tests move. @param name whole */
export function numberIn(env: Environment, name: string): number | undefined {
  const text = env[name];
  if (text === undefined) return undefined;
  return /^\d{1,9}$/.test(text) ? Number(text) : bad(name, text, 'a number');
}
