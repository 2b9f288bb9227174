/**
 * Decides whether a caller may use a route, and on which indexes.
 *
 * Order: header, master key, tenant token, key, index in the path, action and expiry. The meaning
 * of a token is cached until its key changes; expiry is checked on every request.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { rfc3339, type Clock } from '../base/clock.ts';
import { err, ok, type Result } from '../base/result.ts';
import { expandAction, isGlobalAction, type Action } from '../contract/actions.ts';
import { ApiError } from '../contract/errors.ts';
import { parseKeyDate } from '../contract/formats.ts';
import type { KeyRecord } from '../contract/keys.ts';
import type { RateLimit } from '../contract/responses.ts';
import type { IndexVisibility } from '../contract/tasks.ts';
import type { KeyStore } from '../store/key-store.ts';
import { type FoundKey, KeyValues } from './key-values.ts';
import { IndexPatterns } from './patterns.ts';
import { RememberedPrincipals } from './remembered-principals.ts';
import { Throttle } from './throttle.ts';
import {
  combineFilters,
  decodeTenantToken,
  isSignedWith,
  ruleFor,
  type TenantToken,
} from './tenant-token.ts';

/** Maximum number of patterns that a refusal lists. */
const PATTERNS_SHOWN = 100;

/** Further names of indexes. */
export interface Aliases {
  /** The uid that an alias stands for. */
  targetOf(alias: string): string | undefined;
  /** The aliases of a uid. */
  of(indexUid: string): readonly string[];
}

const NO_ALIASES: Aliases = { targetOf: () => undefined, of: () => [] };

/** The headers that may carry a credential; undefined when absent. */
export interface Credentials {
  authorization: string | undefined;
  /** For older clients; read only when there is no `Authorization`. */
  legacyKey: string | undefined;
}

/** What an authorized caller may access. */
export interface Access {
  /**
   * The caller, for fair sharing of resources among callers: the uid of a key, with a digest of the
   * claims if it is a tenant token.
   */
  readonly holder: string;
  /** How many times the turns of others the key gets, together with its tenant tokens. */
  readonly weight: number;
  /**
   * Whose tasks the caller sees; null: those of every index. A caller that may access an alias sees
   * the tasks of its index.
   */
  readonly visible: IndexVisibility;
  /** Patterns of the indexes of a key; null: every index. A tenant token may cover fewer. */
  readonly indexPatterns: readonly string[] | null;
  /** @param uid or an alias: an alias is accessed like an index of that uid */
  mayAccess(uid: string): boolean;
  /** Whether a write may create this index. */
  mayCreate(uid: string): boolean;
  /** Whether all documents of this index may be read. */
  mayRead(uid: string): boolean;
  /** Filter of the caller's tenant token for an index, null for none. */
  tenantFilter(uid: string): unknown;
  /** Limits of the key; null: none. A tenant token has those of its key. */
  readonly throttle: Throttle | null;
  /** The 403 for an index that `mayAccess` refuses. */
  refusal(uid: string): ApiError;
}

const FULL_ACCESS: Access = {
  holder: 'master',
  weight: 1,
  visible: null,
  indexPatterns: null,
  throttle: null,
  mayAccess: () => true,
  mayCreate: () => true,
  mayRead: () => true,
  tenantFilter: () => null,
  refusal: (uid) => new ApiError('invalid_api_key', `The index \`${uid}\` may not be accessed.`),
};

/** A key, or a tenant token of a key, with all derived data that does not change. */
class Principal implements Access {
  /** The stored record: another object once the key has changed. */
  readonly record: KeyRecord;
  readonly holder: string;
  readonly weight: number;
  readonly token: TenantToken | null;
  readonly #patterns: IndexPatterns;
  readonly #restricted: boolean;
  readonly #granted: ReadonlySet<Action>;
  /** Global actions that the key names itself, not through `*` or `*.get`. */
  readonly #named: ReadonlySet<Action>;
  /** The end of the key, or of the value of it that was presented. */
  readonly #expiresAt: number;
  readonly visible: IndexVisibility;
  readonly indexPatterns: readonly string[] | null;
  readonly throttle: Throttle | null;

  readonly #aliases: Aliases;

  constructor(
    { record, until }: FoundKey,
    token: TenantToken | null,
    throttle: Throttle | null,
    aliases: Aliases,
  ) {
    this.#aliases = aliases;
    this.record = record;
    this.holder = token === null ? record.uid : `${record.uid} ${digestOf(token)}`;
    this.weight = record.weight ?? 1;
    this.token = token;
    this.throttle = throttle;
    this.#patterns = new IndexPatterns(record.indexes);
    this.#restricted = !record.indexes.includes('*');
    this.indexPatterns = this.#restricted ? record.indexes : null;
    this.#granted = new Set(record.actions.flatMap(expandAction));
    this.#named = new Set(
      record.actions.filter((name) => name !== '*' && name !== '*.get').flatMap(expandAction),
    );
    const end = record.expiresAt === null ? Infinity : (parseKeyDate(record.expiresAt) ?? 0);
    this.#expiresAt = Math.min(end, until);
    this.visible =
      this.#restricted || token !== null
        ? (uid): boolean =>
            this.mayAccess(uid) || aliases.of(uid).some((alias) => this.mayAccess(alias))
        : null;
  }

  mayAccess(uid: string): boolean {
    if (this.token !== null && ruleFor(this.token, uid) === undefined) return false;
    return !this.#restricted || this.#patterns.matches(uid);
  }

  mayCreate(uid: string): boolean {
    return this.#granted.has('indexes.create') && this.mayAccess(uid);
  }

  mayRead(uid: string): boolean {
    return this.#granted.has('documents.get') && this.mayAccess(uid);
  }

  tenantFilter(uid: string): unknown {
    if (this.token === null) return null;
    const rule = ruleFor(this.token, uid) ?? null;
    const target = this.#aliases.targetOf(uid);
    if (target === undefined) return rule;
    // An alias must not be a way around the rule of its index.
    const other = ruleFor(this.token, target) ?? null;
    return other === rule ? rule : combineFilters(rule, other);
  }

  refusal(uid: string): ApiError {
    if (this.token !== null && ruleFor(this.token, uid) === undefined) {
      const patterns = shownPatterns(this.token.searchRules.keys());
      return refused(
        `The index \`${uid}\` is not covered by the tenant token, which covers ${patterns}.`,
      );
    }
    if (this.token !== null) return refused(`The index \`${uid}\` may not be accessed.`);
    return refused(
      `The API key may not access the index \`${uid}\`; it may access ${shownPatterns(this.record.indexes)}.`,
    );
  }

  /** `indexUid`: the index in the path, null when the route has none. */
  check(action: RouteAction, indexUid: string | null, now: number): ApiError | null {
    if (indexUid !== null && !this.mayAccess(indexUid)) return this.refusal(indexUid);
    const exp = this.token?.exp ?? null;
    if (exp !== null && Math.floor(now / 1000) > exp) return expired(exp, now);
    if (!this.#granted.has(action as Action) || now >= this.#expiresAt) return refused(GENERIC);
    if (indexUid === null && this.#restricted) {
      if (
        isGlobalAction(action as Action)
          ? !this.#named.has(action as Action)
          : this.record.indexes.length === 0
      ) {
        return refused(GENERIC);
      }
    }
    return null;
  }
}

function shownPatterns(patterns: Iterable<string>): string {
  const sorted = [...patterns].sort();
  const shown = JSON.stringify(sorted.slice(0, PATTERNS_SHOWN));
  const more = sorted.length - PATTERNS_SHOWN;
  return more > 0 ? `${shown} and ${more} more` : shown;
}

/** The signature is left out: the same token may be written with several. */
function digestOf({ text }: TenantToken): string {
  const signed = text.slice(0, text.lastIndexOf('.'));
  return createHash('sha256').update(signed).digest('base64url');
}

const GENERIC = 'The provided API key is invalid.';

function refused(message: string): ApiError {
  return new ApiError('invalid_api_key', message);
}

function expired(exp: number, now: number): ApiError {
  return refused(
    `The tenant token expired at second ${exp} of Unix time; it is now ${Math.floor(now / 1000)} (${rfc3339(now)}).`,
  );
}

/** The action of a route; null: no authorization. */
export type RouteAction = Action;

const TENANT_ACTIONS: readonly RouteAction[] = ['search', 'chatCompletions'];

export class Authorizer {
  readonly #masterKey: string | null;
  readonly #keys: KeyStore;
  readonly #clock: Clock;
  readonly #salt = randomBytes(32);
  /** Digests of the present master key and the previous one. */
  readonly #masterDigests: readonly Buffer[];
  readonly #values: KeyValues;
  /** The master keys that have been presented. */
  readonly #masterTokens = new Set<string>();
  /** By the value of the key. */
  readonly #keyPrincipals = new RememberedPrincipals<Principal>();
  /** By the tenant token. */
  readonly #tokenPrincipals = new RememberedPrincipals<Principal>();
  /** Throttles of the keys that have limits, by uid. */
  readonly #throttles = new Map<string, Throttle>();
  /** Limits of keys without limits of their own. */
  readonly #rateLimit: RateLimit | null;
  readonly #aliases: Aliases;

  constructor(
    masterKey: string | null,
    keys: KeyStore,
    clock: Clock,
    rateLimit: RateLimit | null = null,
    aliases: Aliases = NO_ALIASES,
    previousMasterKey: string | null = null,
  ) {
    const masterKeys = [
      masterKey ?? '',
      ...(previousMasterKey === null ? [] : [previousMasterKey]),
    ];
    this.#aliases = aliases;
    this.#rateLimit = rateLimit;
    this.#masterKey = masterKey;
    this.#keys = keys;
    this.#clock = clock;
    this.#masterDigests = masterKeys.map((one) => this.#digest(one));
    this.#values = new KeyValues(masterKeys, keys, clock);
    keys.onChange((uid) => {
      if (keys.get(uid) === undefined) this.#throttles.delete(uid);
    });
  }

  /** The values of the stored keys. */
  get values(): KeyValues {
    return this.#values;
  }

  get masterKey(): string | null {
    return this.#masterKey;
  }

  /** For routes without authorization. */
  open(): Access {
    return FULL_ACCESS;
  }

  /**
   * @param action of the route
   * @param indexUid the index in its path, null when it has none
   */
  authorize(
    credentials: Credentials,
    action: RouteAction,
    indexUid: string | null,
  ): Result<Access, ApiError> {
    const token = this.#token(credentials);
    if (!token.ok) return token;
    if (this.#masterKey === null) {
      return action.startsWith('keys.')
        ? err(
            new ApiError(
              'missing_master_key',
              'The server runs without a master key. Set one at launch (`--master-key` or GANNET_MASTER_KEY) to use the `/keys` routes.',
            ),
          )
        : ok(FULL_ACCESS);
    }
    const text = token.value;
    if (text === null) return err(missingHeader());
    const known = this.#known(this.#keyPrincipals, text);
    if (known !== undefined) return this.#checked(known, action, indexUid);
    if (this.#masterTokens.has(text)) return ok(FULL_ACCESS);
    const digest = this.#digest(text);
    if (this.#masterDigests.filter((master) => timingSafeEqual(digest, master)).length > 0) {
      this.#masterTokens.add(text);
      return ok(FULL_ACCESS);
    }
    if (TENANT_ACTIONS.includes(action)) {
      const tenant = this.#tenant(text);
      if (!tenant.ok) return tenant;
      if (tenant.value !== undefined) return this.#checked(tenant.value, action, indexUid);
    }
    const found = this.#values.find(text);
    if (found === undefined) return err(refused(GENERIC));
    const principal = new Principal(found, null, this.#throttleOf(found.record), this.#aliases);
    this.#keyPrincipals.set(text, principal);
    return this.#checked(principal, action, indexUid);
  }

  #checked(
    principal: Principal,
    action: RouteAction,
    indexUid: string | null,
  ): Result<Access, ApiError> {
    const fault = principal.check(action, indexUid, this.#clock.now());
    return fault === null ? ok(principal) : err(fault);
  }

  #token({ authorization, legacyKey }: Credentials): Result<string | null, ApiError> {
    if (authorization === undefined) return ok(legacyKey ?? null);
    const space = authorization.indexOf(' ');
    const scheme = space < 0 ? authorization : authorization.slice(0, space);
    if (scheme !== 'Bearer') return err(missingHeader());
    const text = space < 0 ? '' : authorization.slice(space + 1);
    return text === '' ? err(refused(GENERIC)) : ok(text);
  }

  /** Equal length for every text, so that comparisons take the same time. */
  #digest(text: string): Buffer {
    return createHmac('sha256', this.#salt).update(text).digest();
  }

  /** The cached principal of a credential, unless its key has changed since. */
  #known(remembered: RememberedPrincipals<Principal>, text: string): Principal | undefined {
    const known = remembered.get(text);
    if (known === undefined || this.#keys.get(known.record.uid) === known.record) return known;
    remembered.delete(text);
    return undefined;
  }

  /**
   * The same object as before the keys changed: a change of another key does not reset this one.
   */
  #throttleOf({ uid, rateLimit }: KeyRecord): Throttle | null {
    const limit = rateLimit ?? this.#rateLimit;
    if (limit === null) return null;
    let throttle = this.#throttles.get(uid);
    if (throttle === undefined) {
      throttle = new Throttle(limit, this.#clock);
      this.#throttles.set(uid, throttle);
    } else if (throttle.limit !== limit) throttle.limit = limit;
    return throttle;
  }

  /** undefined when the text is no token at all. */
  #tenant(text: string): Result<Principal | undefined, ApiError> {
    const known = this.#known(this.#tokenPrincipals, text);
    if (known !== undefined) return ok(known);
    const decoded = decodeTenantToken(text);
    if (decoded === undefined) return ok(undefined);
    if (!decoded.ok) return err(refused(`The tenant token cannot be decoded: ${decoded.error}.`));
    const token = decoded.value;
    const values = this.#values.accepted(token.apiKeyUid);
    const signing = values.find((value) => isSignedWith(token, value.text));
    if (signing === undefined) {
      return err(refused('The tenant token cannot be decoded: its signature is not valid.'));
    }
    const now = this.#clock.now();
    if (token.exp !== null && Math.floor(now / 1000) > token.exp)
      return err(expired(token.exp, now));
    const record = this.#keys.get(token.apiKeyUid);
    if (record === undefined) return err(refused(GENERIC));
    const found = { record, until: signing.until };
    const principal = new Principal(found, token, this.#throttleOf(record), this.#aliases);
    this.#tokenPrincipals.set(text, principal);
    return ok(principal);
  }
}

function missingHeader(): ApiError {
  return new ApiError(
    'missing_authorization_header',
    'The `Authorization` header is missing or has no bearer key: expected `Authorization: Bearer <API key>`.',
  );
}
