/**
 * Tenant tokens: JSON Web Tokens (RFC 7519) that a client signs with the value of an API key to
 * restrict it to some indexes and filters. The server stores nothing about them.
 */
import { createSecretKey } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { excessIn, RawJson, shortJson } from '../base/json.ts';
import { err, ok, type Result } from '../base/result.ts';
import { isIndexPattern, normalizeUuid } from '../contract/formats.ts';
import { IndexPatterns } from './patterns.ts';

export interface TenantToken {
  /** Uid of the key whose value signs the token. */
  apiKeyUid: string;
  /** Index pattern to filter; null: no filter. */
  searchRules: ReadonlyMap<string, unknown>;
  /** The patterns of `searchRules`. */
  patterns: IndexPatterns;
  /** Unix seconds; null: no end. */
  exp: number | null;
  /** As it was sent. */
  text: string;
}

const ALGORITHMS: jwt.Algorithm[] = ['HS256', 'HS384', 'HS512'];

/**
 * Parses a token without checking its signature.
 * @returns undefined when the text does not have the form of a JWT; else the claims, or what is
 *   wrong
 */
export function decodeTenantToken(text: string): Result<TenantToken, string> | undefined {
  const parts = partsOf(text);
  if (parts === null || !isObject(parts.header) || !isObject(parts.payload)) return undefined;
  const { header, payload: claims } = parts;
  const excess = excessOf(text);
  if (excess !== null) return err(excess);
  if (!(ALGORITHMS as string[]).includes(header.alg)) {
    return err(`the algorithm ${shortJson(header.alg)} is not one of ${ALGORITHMS.join(', ')}`);
  }
  if (typeof claims.apiKeyUid !== 'string')
    return err('the claim `apiKeyUid` is missing or not a string');
  const apiKeyUid = normalizeUuid(claims.apiKeyUid);
  if (apiKeyUid === undefined) return err('the claim `apiKeyUid` is not a UUID');
  const { exp } = claims;
  if (exp !== undefined && exp !== null && !Number.isSafeInteger(exp)) {
    return err('the claim `exp` is not an integer');
  }
  const searchRules = parseRules(claims.searchRules);
  if (!searchRules.ok) return searchRules;
  return ok({
    apiKeyUid,
    searchRules: searchRules.value,
    patterns: new IndexPatterns(searchRules.value.keys()),
    exp: (exp as number | null | undefined) ?? null,
    text,
  });
}

function partsOf(text: string): jwt.Jwt | null {
  try {
    return jwt.decode(text, { complete: true });
  } catch {
    return null;
  }
}

/** A value nested too deeply could not be written again, in a filter or in a message. */
function excessOf(text: string): string | null {
  const parts = text.split('.').map((part) => excessIn(Buffer.from(part, 'base64url')));
  return parts.find((excess) => excess !== null) ?? null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseRules(claim: unknown): Result<Map<string, unknown>, string> {
  const rules = new Map<string, unknown>();
  if (Array.isArray(claim)) {
    for (const pattern of claim) {
      if (typeof pattern !== 'string') return err('an element of `searchRules` is not a string');
      rules.set(pattern, null);
    }
  } else if (isObject(claim)) {
    for (const [pattern, rule] of Object.entries(claim)) {
      if (rule !== null && !isObject(rule)) {
        return err(`the rule of \`${pattern}\` in \`searchRules\` is neither null nor an object`);
      }
      const filter = rule === null ? null : (rule.filter ?? null);
      if (filter !== null && typeof filter !== 'string' && !Array.isArray(filter)) {
        return err(
          `the filter of \`${pattern}\` in \`searchRules\` is neither a string nor an array`,
        );
      }
      rules.set(pattern, filter);
    }
  } else return err('the claim `searchRules` is missing or neither an array nor an object');
  for (const pattern of rules.keys()) {
    if (!isIndexPattern(pattern))
      return err(`\`${pattern}\` in \`searchRules\` is not an index pattern`);
  }
  return ok(rules);
}

/** Whether the token is signed with that key value. Does not check its dates. */
export function isSignedWith({ text }: TenantToken, keyValueText: string): boolean {
  // Given a text, the library first tries to parse a public key, which takes 300 microseconds.
  const key = createSecretKey(Buffer.from(keyValueText));
  try {
    jwt.verify(text, key, {
      algorithms: ALGORITHMS,
      ignoreExpiration: true,
      ignoreNotBefore: true,
    });
    return true;
  } catch {
    return false;
  }
}

/**
 * The one rule that applies to an index: an exact uid before patterns, then the longest pattern.
 * @returns undefined when no pattern matches, else the filter or null
 */
export function ruleFor({ patterns, searchRules }: TenantToken, uid: string): unknown {
  const pattern = patterns.best(uid);
  return pattern === undefined ? undefined : searchRules.get(pattern);
}

/** Both filters must hold. Each is a string or an array, or null for none. */
export function combineFilters(request: unknown, rule: unknown): unknown {
  if (rule === null || rule === undefined) return request;
  if (request === null || request === undefined) return rule;
  if (request instanceof RawJson) return withRule(request, rule);
  return [...asArray(request), ...asArray(rule)];
}

/**
 * The text of a filter is not parsed again: it becomes one of the elements that must all hold, or
 * the rule is appended to its elements.
 */
function withRule({ bytes }: RawJson, rule: unknown): RawJson {
  const own = bytes[0] === OPEN_BRACKET ? bytes.subarray(1, -1) : bytes;
  const rules = asArray(rule).map((element) => JSON.stringify(element));
  const comma = own.length > 0 && rules.length > 0 ? ',' : '';
  return new RawJson(
    Buffer.concat([Buffer.from('['), own, Buffer.from(`${comma}${rules.join(',')}]`)]),
  );
}

const OPEN_BRACKET = 0x5b;

function asArray(filter: unknown): unknown[] {
  return Array.isArray(filter) ? filter : [filter];
}
