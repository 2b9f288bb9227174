/**
 * The state of the main thread that HTTP threads copy: keys, features, aliases, search rules,
 * indexes, the phase.
 *
 * A copy is never older than what a client may know. The main thread sends a change to all threads
 * and counts it in shared memory before it goes on, so before anybody can learn of the change. A
 * thread compares the count with the changes that it has taken before it handles a request, and
 * takes those that are missing first: they are in its port already.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { Logs } from '../../base/logger.ts';
import type { IndexEntry, IndexRegistry } from '../../engine/registry.ts';
import type { IndexCopy } from '../../engine/mirrored-indexes.ts';
import type { SearchedSettings } from '../../engine/searched-index.ts';
import type { SettingsObject } from '../../contract/settings.ts';
import type { AliasStore } from '../../store/alias-store.ts';
import type { FeatureStore } from '../../store/feature-store.ts';
import type { KeyStore } from '../../store/key-store.ts';
import type { RuleStore } from '../../store/rule-store.ts';
import type { Phase } from '../phase.ts';
import type { MirroredTable, StateChange } from './messages.ts';

/** The parts of the main thread that are copied. */
export interface MirroredParts {
  keys: KeyStore;
  features: FeatureStore;
  aliases: AliasStore;
  searchRules: RuleStore;
  registry: Pick<IndexRegistry, 'watch'>;
  phase: Phase;
  logs: Pick<Logs, 'onFilter'>;
}

/** The table `features` has one record. */
const FEATURES_KEY = 'features';

/** What a thread reads changes from. */
export interface StateSource {
  port: MessagePort;
  /** Number of changes, modulo 2^32. */
  count: SharedArrayBuffer;
}

export class StatePublisher {
  readonly #receivers: { port: MessagePort; count: Int32Array }[] = [];

  /** Sends all of the state and every change from now on. Call it after `add`. */
  follow(parts: MirroredParts): void {
    const { keys, features, aliases, searchRules, registry, phase, logs } = parts;
    const record = (table: MirroredTable, key: string, value: unknown): void =>
      this.#publish({ is: 'record', table, key, value });
    for (const key of keys.list()) record('keys', key.uid, key);
    keys.onChange((uid) => record('keys', uid, keys.get(uid)));
    record('features', FEATURES_KEY, features.get());
    features.onChange((set) => record('features', FEATURES_KEY, set));
    for (const alias of aliases.list()) record('aliases', alias.alias, alias);
    aliases.onChange((name, alias) => record('aliases', name, alias));
    for (const rule of searchRules.values()) record('search-rules', rule.uid, rule);
    searchRules.onChange((before, after) => {
      const uid = (after ?? before)?.uid;
      // Removing a rule that is not there changes nothing.
      if (uid !== undefined) record('search-rules', uid, after);
    });
    registry.watch({
      named: (uid, entry) =>
        this.#publish({ is: 'name', uid, index: entry === null ? null : copyOf(entry) }),
      changed: (entry) => this.#publish({ is: 'index', index: copyOf(entry) }),
    });
    phase.onChange = () => this.#publish({ is: 'phase', phase: phase.current });
    phase.onChange();
    logs.onFilter((filter) => this.#publish({ is: 'logged', filter }));
  }

  /** A source for one more thread. */
  add(): StateSource {
    const { port1, port2 } = new MessageChannel();
    const count = new SharedArrayBuffer(4);
    port1.unref();
    this.#receivers.push({ port: port1, count: new Int32Array(count) });
    return { port: port2, count };
  }

  #publish(change: StateChange): void {
    for (const { port, count } of this.#receivers) {
      port.postMessage(change);
      Atomics.add(count, 0, 1);
    }
  }
}

function copyOf(entry: IndexEntry): IndexCopy {
  const { uuid: folder, openHandle, slot, summary, knownSettings } = entry;
  return {
    folder,
    open: openHandle === null || slot === null ? null : { handle: openHandle.number, slot },
    primaryKey: summary.primaryKey,
    settings: knownSettings === null ? null : searchedSettings(knownSettings),
  };
}

function searchedSettings(settings: SettingsObject): SearchedSettings {
  const { displayedAttributes, searchCutoffMs, semanticCutoff, embedders, rerankers } = settings;
  const shown = Object.entries(embedders).map(([name, embedder]) => [
    name,
    'dimensions' in embedder ? { dimensions: embedder.dimensions } : {},
  ]);
  return {
    displayedAttributes,
    searchCutoffMs,
    semanticCutoff,
    embedders: Object.fromEntries(shown) as Record<string, object>,
    // Only their names: they have credentials.
    rerankers: Object.fromEntries(Object.keys(rerankers).map((name) => [name, {}])),
  };
}

/** Takes the changes in a thread. */
export class StateReader {
  readonly #port: MessagePort;
  readonly #count: Int32Array;
  readonly #take: (change: StateChange) => void;
  #taken = 0;

  constructor({ port, count }: StateSource, take: (change: StateChange) => void) {
    this.#port = port;
    this.#count = new Int32Array(count);
    this.#take = take;
    port.on('message', (change: StateChange) => this.#takeOne(change));
  }

  /** Takes everything that the main thread has published so far. */
  catchUp(): void {
    // A change may arrive before it is counted.
    while (((Atomics.load(this.#count, 0) - this.#taken) | 0) > 0) {
      const received = receiveMessageOnPort(this.#port) as { message: StateChange } | undefined;
      if (received === undefined) throw new Error('a change of the state is missing');
      this.#takeOne(received.message);
    }
  }

  #takeOne(change: StateChange): void {
    this.#taken = (this.#taken + 1) | 0;
    this.#take(change);
  }
}
