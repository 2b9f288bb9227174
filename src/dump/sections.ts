/**
 * The contents of a dump other than indexes and tasks. There is one section per store, which writes
 * the store to an archive and loads it from one. To add a store to dumps, add a section to
 * `dumpSections`.
 */
import { randomUUID } from 'node:crypto';
import { rfc3339 } from '../base/clock.ts';
import { isAction } from '../contract/actions.ts';
import {
  CHAT_SOURCES,
  type ChatPrompts,
  type ChatWorkspace,
  DEFAULT_PROMPTS,
  newWorkspace,
  promptsOf,
} from '../contract/chats.ts';
import { FEATURES } from '../contract/features.ts';
import {
  FORMATS,
  headersFault,
  isIndexUid,
  normalizeUuid,
  parseRfc3339,
} from '../contract/formats.ts';
import { KEY_ROTATION, KEY_WEIGHT, type KeyRotation } from '../contract/keys.ts';
import { NO_NETWORK } from '../contract/network.ts';
import type { RateLimit, Remote } from '../contract/responses.ts';
import type { SearchRule } from '../contract/search-rules.ts';
import type { AliasStore } from '../store/alias-store.ts';
import type { ChatStore } from '../store/chat-store.ts';
import type { NetworkStore } from '../store/network-store.ts';
import type { RuleStore } from '../store/rule-store.ts';
import type { FeatureStore } from '../store/feature-store.ts';
import type { KeyStore } from '../store/key-store.ts';
import type { WebhookStore } from '../store/webhook-store.ts';
import { RATE_LIMIT, rateLimitOf } from '../contract/rate-limits.ts';
import { validator } from '../contract/validator.ts';
import { LAUNCH_WEBHOOK_UUID } from '../contract/webhooks.ts';
import type { DumpContents } from './dump-contents.ts';
import { textOf } from '../contract/task-types/dump-form.ts';

type Json = Record<string, unknown>;

const RATE_LIMITS = validator(RATE_LIMIT);
const WEIGHTS = validator(KEY_WEIGHT);
const ROTATIONS = validator(KEY_ROTATION);

export interface DumpFile {
  path: string;
  text: string;
}

export interface DumpSection {
  /** Name of the step in the progress. */
  step: string;
  files(): DumpFile[];
  /** Loads the section into an empty store. */
  load(contents: DumpContents): Promise<void>;
}

export interface DumpStores {
  keys: KeyStore;
  chats: ChatStore;
  rules: RuleStore;
  aliases: AliasStore;
  network: NetworkStore;
  features: FeatureStore;
  webhooks: WebhookStore;
}

/** The sections, in the order in which they are loaded. */
export function dumpSections({
  keys,
  chats,
  rules,
  aliases,
  network,
  features,
  webhooks,
}: DumpStores): DumpSection[] {
  return [
    webhookSection(webhooks),
    keySection(keys),
    chatSection(chats),
    featureSection(features),
    networkSection(network),
    ruleSection(rules),
    aliasSection(aliases),
  ];
}

function jsonFile(path: string, value: unknown): DumpFile {
  return { path, text: `${JSON.stringify(value)}\n` };
}

function keySection(keys: KeyStore): DumpSection {
  return {
    step: 'dump the api keys',
    files: () => [
      {
        path: 'keys.jsonl',
        text: keys
          .list()
          .map((key) => {
            const { description, name, uid, actions, indexes, rateLimit, weight, rotation } = key;
            const line = {
              description,
              name,
              uid,
              actions,
              indexes,
              expires_at: key.expiresAt,
              created_at: key.createdAt,
              updated_at: key.updatedAt,
              ...(rateLimit !== undefined && { rate_limit: rateLimit }),
              ...(weight !== undefined && { weight }),
              ...(rotation !== undefined && { rotation }),
            };
            return `${JSON.stringify(line)}\n`;
          })
          .join(''),
      },
    ],
    load: async ({ keys: lines }) => {
      for (const line of lines) {
        const created = textOf(line.created_at) ?? new Date(0).toISOString();
        await keys.put({
          // Keys of format 4 have no uuid, because their values were derived in another way.
          uid: normalizeUuid(String(line.uid)) ?? randomUUID(),
          name: textOf(line.name),
          description: textOf(line.description),
          actions: listOf(line.actions).filter(isAction),
          indexes: listOf(line.indexes),
          expiresAt: expiryOf(line.expires_at),
          createdAt: created,
          updatedAt: textOf(line.updated_at) ?? created,
          ...storedRateLimit(line.rate_limit),
          ...storedWeight(line.weight),
          ...storedRotation(line.rotation),
        });
      }
    },
  };
}

/** The rate limit of a key, which only dumps of this server contain. */
function storedRateLimit(value: unknown): { rateLimit?: RateLimit } {
  const checked = RATE_LIMITS.validate(value ?? null);
  const rateLimit = checked.ok ? rateLimitOf(checked.value) : null;
  return rateLimit === null ? {} : { rateLimit };
}

/** The same of its weight. */
function storedWeight(value: unknown): { weight?: number } {
  const checked = WEIGHTS.validate(value ?? null);
  return checked.ok && checked.value !== null ? { weight: checked.value } : {};
}

/** The same of its rotation. Without it, the first value would be accepted again. */
function storedRotation(value: unknown): { rotation?: KeyRotation } {
  const checked = ROTATIONS.validate(value);
  return checked.ok ? { rotation: checked.value } : {};
}

function chatSection(chats: ChatStore): DumpSection {
  return {
    step: 'dump the chat completion settings',
    files: () =>
      chats.list().map((workspace) => {
        const { uid, ...settings } = workspace;
        const prompts = promptsOf(workspace);
        return jsonFile(`chat-completions-settings/${uid}.json`, { ...settings, prompts });
      }),
    load: async ({ chats: given }) => {
      for (const [uid, settings] of given) await chats.put(workspaceOf(uid, settings));
    },
  };
}

/** Converts a workspace. Default prompts are not stored. */
function workspaceOf(uid: string, settings: Json): ChatWorkspace {
  const prompts = Object.entries((settings.prompts ?? {}) as Json).filter(
    ([name, text]) =>
      Object.hasOwn(DEFAULT_PROMPTS, name) &&
      typeof text === 'string' &&
      text !== DEFAULT_PROMPTS[name as keyof ChatPrompts],
  );
  const initial = newWorkspace(uid);
  return {
    uid,
    source: CHAT_SOURCES.find((source) => source === settings.source) ?? initial.source,
    orgId: textOf(settings.orgId),
    projectId: textOf(settings.projectId),
    apiVersion: textOf(settings.apiVersion),
    deploymentId: textOf(settings.deploymentId),
    baseUrl: textOf(settings.baseUrl),
    apiKey: textOf(settings.apiKey),
    prompts: Object.fromEntries(prompts),
  };
}

function ruleSection(rules: RuleStore): DumpSection {
  return {
    step: 'dump the dynamic search rules',
    files: () =>
      rules.size === 0 ? [] : [jsonFile('dynamic-search-rules.json', { rules: rules.list() })],
    load: async ({ rules: given }) => {
      for (const rule of given as SearchRule[]) {
        if (typeof rule?.uid === 'string') await rules.put(rule);
      }
    },
  };
}

function aliasSection(aliases: AliasStore): DumpSection {
  return {
    step: 'dump the aliases',
    files: () =>
      aliases.size === 0 ? [] : [jsonFile('aliases.json', { aliases: aliases.list() })],
    load: async ({ aliases: given, indexes }) => {
      const uids = new Set(indexes.map(({ uid }) => uid));
      for (const one of given as Json[]) {
        const alias = textOf(one.alias) ?? '';
        const indexUid = textOf(one.indexUid) ?? '';
        if (!isIndexUid(alias) || !isIndexUid(indexUid) || uids.has(alias)) continue;
        const createdAt = textOf(one.createdAt) ?? rfc3339(0);
        const updatedAt = textOf(one.updatedAt) ?? createdAt;
        await aliases.put({ alias, indexUid, createdAt, updatedAt });
      }
    },
  };
}

function networkSection(network: NetworkStore): DumpSection {
  return {
    step: 'dump the network',
    files: () => (network.get() === NO_NETWORK ? [] : [jsonFile('network.json', network.get())]),
    load: async ({ network: given }) => {
      if (given === null) return;
      const remotes = Object.entries((given.remotes ?? {}) as Json).flatMap(([name, remote]) => {
        const { url, searchApiKey, writeApiKey } = (remote ?? {}) as Json;
        if (typeof url !== 'string' || FORMATS['http-url'](url) !== null) return [];
        const read: Remote = {
          url,
          searchApiKey: textOf(searchApiKey),
          writeApiKey: textOf(writeApiKey),
        };
        return [[name, read] as const];
      });
      await network.patch({
        self: textOf(given.self ?? given.local),
        remotes: Object.fromEntries(remotes),
        sharding: given.sharding === true,
      });
    },
  };
}

function featureSection(features: FeatureStore): DumpSection {
  return {
    step: 'dump the experimental features',
    files: () => [jsonFile('experimental-features.json', features.get())],
    load: async ({ features: given }) => {
      const known = FEATURES.filter((name) => typeof given[name] === 'boolean');
      await features.patch(Object.fromEntries(known.map((name) => [name, given[name] as boolean])));
    },
  };
}

function webhookSection(webhooks: WebhookStore): DumpSection {
  return {
    step: 'dump the webhooks',
    files: () => {
      const stored = webhooks.list().filter(({ uuid }) => uuid !== LAUNCH_WEBHOOK_UUID);
      const entries = stored.map(({ uuid, url, headers }) => [uuid, { url, headers }]);
      return [jsonFile('webhooks.json', { webhooks: Object.fromEntries(entries) })];
    },
    load: async ({ webhooks: given }) => {
      for (const [name, value] of Object.entries(given)) {
        const { url, headers } = value as Json;
        const uuid = normalizeUuid(name);
        if (uuid === undefined || typeof url !== 'string') continue;
        const kept = Object.entries((headers ?? {}) as Json).filter(
          (entry): entry is [string, string] =>
            typeof entry[1] === 'string' && headersFault({ [entry[0]]: entry[1] }) === null,
        );
        await webhooks.put({ uuid, url, headers: Object.fromEntries(kept) });
      }
    },
  };
}

function expiryOf(value: unknown): string | null {
  const text = textOf(value);
  if (text === null) return null;
  if (parseRfc3339(text) !== undefined) return text;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
