/** API keys as the API shows them: secret values, defaults, creation and changes. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { rfc3339 } from '../base/clock.ts';
import { err, ok, type Result } from '../base/result.ts';
import { ApiError } from '../contract/errors.ts';
import {
  canonicalKeyDate,
  KEY_DATE_RULE,
  normalizeUuid,
  parseKeyDate,
} from '../contract/formats.ts';
import {
  type CreateKeyRequest,
  KEY_VALUES_MAX,
  type KeyRecord,
  type PatchKeyRequest,
  type RotateKeyRequest,
} from '../contract/keys.ts';
import type { KeyView } from '../contract/responses.ts';
import { rateLimitOf } from '../contract/rate-limits.ts';
import type { KeyStore } from '../store/key-store.ts';
import type { KeyValues } from './key-values.ts';

/** Minimum length of a master key in production, bytes. */
export const MASTER_KEY_BYTES_MIN = 16;

/** 32 random bytes as URL-safe base64 without padding, 43 characters. */
export function generateMasterKey(): string {
  return randomBytes(32).toString('base64url');
}

/** In creation order: a list shows the newest first, so the search key comes first. */
const DEFAULT_KEYS: readonly Pick<KeyRecord, 'name' | 'description' | 'actions'>[] = [
  {
    name: 'Default Chat API Key',
    description: 'Lets a front end chat with the documents and search them.',
    actions: ['chatCompletions', 'search'],
  },
  {
    name: 'Default Read-Only Admin API Key',
    description: 'Reads everything on the instance. Keep it on servers, never in a front end.',
    actions: ['*.get', 'keys.get'],
  },
  {
    name: 'Default Admin API Key',
    description: 'Does everything but search from a front end. Keep it on servers.',
    actions: ['*'],
  },
  {
    name: 'Default Search API Key',
    description: 'Lets a front end search the documents.',
    actions: ['search'],
  },
];

/** Creates the default keys when the store has no key at all. */
export async function createDefaultKeys(store: KeyStore, clock: Clock): Promise<void> {
  if (store.size > 0) return;
  const start = clock.now();
  // One transaction: a process that dies between two of them would leave only some of the keys.
  await store.put(
    ...DEFAULT_KEYS.map((key, i) => {
      // One millisecond apart, so that the order of the list is defined.
      const createdAt = rfc3339(start + i);
      const times = { createdAt, updatedAt: createdAt };
      return { uid: randomUUID(), ...key, indexes: ['*'], expiresAt: null, ...times };
    }),
  );
}

/** @param value secret value of the key */
export function keyView(record: KeyRecord, value: string, clock: Clock): KeyView {
  const now = clock.now();
  const ends = (record.rotation?.earlier ?? [])
    .map(({ until }) => until)
    .filter((until) => Date.parse(until) > now);
  const last = ends.toSorted((a, b) => Date.parse(a) - Date.parse(b)).at(-1);
  return {
    name: record.name,
    description: record.description,
    key: value,
    uid: record.uid,
    actions: record.actions,
    indexes: record.indexes,
    expiresAt: record.expiresAt,
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
    ...(record.rateLimit !== undefined && { rateLimit: record.rateLimit }),
    ...(record.weight !== undefined && { weight: record.weight }),
    ...(last !== undefined && { previousExpiresAt: last }),
  };
}

/** The record for a valid request, not yet stored. */
export function newKey(
  request: CreateKeyRequest,
  store: KeyStore,
  clock: Clock,
): Result<KeyRecord, ApiError> {
  const uid = request.uid === undefined ? randomUUID() : normalizeUuid(request.uid)!;
  const now = clock.now();
  let expiresAt: string | null = null;
  if (request.expiresAt !== null) {
    const expiry = parseKeyDate(request.expiresAt)!;
    if (expiry <= now) {
      return err(
        new ApiError(
          'invalid_api_key_expires_at',
          `Invalid value at \`.expiresAt\`: \`${request.expiresAt}\` is not in the future; ${KEY_DATE_RULE}.`,
        ),
      );
    }
    expiresAt = canonicalKeyDate(request.expiresAt);
  }
  if (store.get(uid) !== undefined) {
    return err(
      new ApiError('api_key_already_exists', `An API key with the uid \`${uid}\` already exists.`),
    );
  }
  // Not earlier than the newest key, so that lists keep the order of creation.
  const newest = store.list()[0]?.createdAt;
  const created = newest === undefined ? now : Math.max(now, Date.parse(newest) + 1);
  const rateLimit = rateLimitOf(request.rateLimit);
  return ok({
    uid,
    name: request.name ?? null,
    description: request.description ?? null,
    actions: request.actions,
    indexes: request.indexes,
    expiresAt,
    createdAt: rfc3339(created),
    updatedAt: rfc3339(created),
    ...(rateLimit !== null && { rateLimit }),
    ...(isSet(request.weight) && { weight: request.weight }),
  });
}

export function patchedKey(record: KeyRecord, change: PatchKeyRequest, clock: Clock): KeyRecord {
  const { rateLimit: before, weight: weightBefore, ...plain } = record;
  const rateLimit = change.rateLimit === undefined ? before : rateLimitOf(change.rateLimit);
  const weight = change.weight === undefined ? weightBefore : change.weight;
  return {
    ...plain,
    ...(isSet(rateLimit) && { rateLimit }),
    ...(isSet(weight) && { weight }),
    name: change.name === undefined ? record.name : change.name,
    description: change.description === undefined ? record.description : change.description,
    updatedAt: rfc3339(clock.now()),
  };
}

function isSet<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

/** How long the values from before a rotation are accepted unless the request says so. */
const OVERLAP_MS = 24 * 60 * 60 * 1000;

/**
 * The key with a further value. None of the earlier ones is accepted longer than the request says,
 * but one that ends before that still does: so the answer to a rotation may be lost.
 */
export function rotatedKey(
  record: KeyRecord,
  { previousExpiresAt }: RotateKeyRequest,
  clock: Clock,
): Result<KeyRecord, ApiError> {
  const now = clock.now();
  const end =
    previousExpiresAt === undefined || previousExpiresAt === null
      ? now + OVERLAP_MS
      : parseKeyDate(previousExpiresAt)!;
  const { count, earlier } = record.rotation ?? { count: 0, earlier: [] };
  const kept = [{ count, until: end }]
    .concat(earlier.map((one) => ({ count: one.count, until: Date.parse(one.until) })))
    .map((one) => ({ ...one, until: Math.min(one.until, end) }))
    .filter(({ until }) => until > now);
  if (kept.length >= KEY_VALUES_MAX) {
    return err(
      new ApiError(
        'bad_request',
        `The key has ${KEY_VALUES_MAX} values that are accepted. Choose an earlier \`previousExpiresAt\`, or wait until one has ended.`,
      ),
    );
  }
  const rotation = {
    count: count + 1,
    earlier: kept.map((one) => ({ ...one, until: rfc3339(one.until) })),
  };
  return ok({ ...record, rotation, updatedAt: rfc3339(now) });
}

/** The key of a path segment: by uid if it is a UUID, else by value. */
export function findKey(
  segment: string,
  store: KeyStore,
  values: KeyValues,
): KeyRecord | undefined {
  const uid = normalizeUuid(segment);
  return uid === undefined ? values.find(segment)?.record : store.get(uid);
}
