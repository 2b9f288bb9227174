/** `gannet migrate`: copies all data of a running server to another. */
import { bad, type GivenOptions, type Options } from '../base/options.ts';
import type { KeyView } from '../contract/responses.ts';
import { RefusedRequest } from '../outbound/api-peer.ts';
import { algolia } from './algolia-source.ts';
import { type Command, command, DONE, FAILED, SKIPPED } from './command.ts';
import {
  authoritiesOf,
  Connection,
  CONNECTION_OPTIONS,
  DEFAULT_URL,
  resultsOf,
  RETRY_OPTIONS,
  serverUrl,
} from './connection.ts';
import { documentPages } from './document-pages.ts';
import { type Connect, copyForeign, type ForeignSource } from './foreign-source.ts';
import {
  type Counts,
  countsOf,
  MigrationTarget,
  pathOf,
  TARGET_OPTIONS,
  type NewIndex,
} from './migration-target.ts';
import { counted } from './progress.ts';
import { refuseSameServer, type KnownIndex } from './same-server.ts';
import { typesense } from './typesense-source.ts';

const PAGE = 1000;
const KINDS = ['meilisearch', 'typesense', 'algolia'] as const;

const OPTIONS = {
  from: { kind: 'text', help: 'Address of the server to copy. Required.' },
  'from-key': { kind: 'text', shown: 'that of --key', help: 'Key of that server.' },
  'from-kind': {
    kind: 'text',
    initial: 'meilisearch',
    help: 'Program of that server: `meilisearch` (or Gannet), `typesense`, `algolia`.',
  },
  'from-app': { kind: 'text', help: 'Application ID, for Algolia. Required there.' },
  ...CONNECTION_OPTIONS,
  indexes: { kind: 'text', shown: 'all', help: 'Uids of indexes, separated by commas.' },
  overwrite: TARGET_OPTIONS.overwrite,
  yes: TARGET_OPTIONS.yes,
  'skip-keys': { kind: 'flag', help: 'Do not copy keys.' },
  'source-sends': {
    kind: 'flag',
    help: 'Let the source send the indexes itself (POST /export) to --url, which it must be able to reach.',
  },
  ...RETRY_OPTIONS,
  quiet: TARGET_OPTIONS.quiet,
} as const satisfies Options;

type IndexSummary = NewIndex & KnownIndex;

/** Some servers do not show the value. */
type Key = Omit<KeyView, 'key' | 'createdAt' | 'updatedAt' | 'rateLimit'> & { key?: string };

const FOREIGN = {
  typesense: (given: GivenOptions<typeof OPTIONS>, connect: Connect) =>
    typesense(connect, given.required('from-key', 'a key that may read everything')),
  algolia: (given: GivenOptions<typeof OPTIONS>, connect: Connect) => {
    const app = given.required('from-app', 'the application ID');
    return algolia(connect, app, given.required('from-key', 'a key that may browse'));
  },
} satisfies Record<
  string,
  (given: GivenOptions<typeof OPTIONS>, connect: Connect) => ForeignSource
>;

export const migrateCommand: Command = command({
  name: 'migrate',
  summary: 'Copies indexes, settings, documents, embeddings and keys of a running server.',
  operands: '',
  notes:
    'The source is only read. Migrating a server onto itself is refused, whatever the two addresses\n' +
    'look like. Keys stay the same if both servers have the same master key. At the end the command lists the secrets that\n' +
    'the source does not show (keys of embedders) and compares the counts of both servers; do not write to either\n' +
    'meanwhile.',
  examples: [
    'migrate --from http://old:7700 --from-key OLD_MASTER_KEY --url http://127.0.0.1:7700 --key MASTER_KEY',
    'migrate --from http://old:7700 --indexes books,films --skip-keys',
    'migrate --from-kind typesense --from http://old:8108 --from-key KEY --key MASTER_KEY',
  ],
  options: OPTIONS,
  async run(given, _, terminal) {
    const from = serverUrl('from', given.required('from', 'the address of the server to copy'));
    const url = serverUrl('url', given.text('url') ?? DEFAULT_URL);
    const key = given.text('key');
    const kind = KINDS.find((one) => one === (given.text('from-kind') ?? KINDS[0]));
    if (kind === undefined)
      bad('from-kind', given.text('from-kind')!, `one of ${KINDS.join(', ')}`);
    const shared = {
      authorities: authoritiesOf(given),
      retrySeconds: given.values['retry-seconds'],
    };
    const fromKey = given.text('from-key');
    const connectionTo = (headers: Record<string, string>): Connection =>
      new Connection({ ...shared, url: from, key: null, headers }, terminal);
    const source =
      kind === 'meilisearch'
        ? new Connection({ ...shared, url: from, key: fromKey ?? key }, terminal)
        : FOREIGN[kind](given, connectionTo);
    const connection = new Connection({ ...shared, url, key }, terminal);
    const target = new MigrationTarget(connection, given, terminal);
    try {
      await source.reach();
      await connection.reach();
      if (source instanceof Connection) {
        await new Migration(source, target, { url, key }, given).run();
      } else await copyForeign(source, target, given.text('indexes'));
      const { faults, skipped } = target;
      if (skipped > 0) target.say(`${counted(skipped, 'refused document')} skipped.`);
      else if (faults === 0) target.say('Everything was copied.');
      if (faults > 0) target.say(`${faults} could not be copied.`);
      return faults > 0 ? FAILED : skipped > 0 ? SKIPPED : DONE;
    } finally {
      await source.close();
      await connection.close();
    }
  },
});

class Migration {
  readonly #source: Connection;
  readonly #target: MigrationTarget;
  readonly #address: { url: string; key: string | null };
  readonly #given: GivenOptions<typeof OPTIONS>;
  /** How many documents of an index the target refused. */
  readonly #skipped = new Map<string, number>();

  constructor(
    source: Connection,
    target: MigrationTarget,
    address: { url: string; key: string | null },
    given: GivenOptions<typeof OPTIONS>,
  ) {
    this.#source = source;
    this.#target = target;
    this.#address = address;
    this.#given = given;
  }

  async run(): Promise<void> {
    const indexes = await this.#chosen();
    const settings = new Map<string, Record<string, unknown>>();
    for (const { uid } of indexes) {
      settings.set(uid, await this.#source.get(`${pathOf(uid)}/settings`));
    }
    await refuseSameServer(this.#source, this.#target.connection, indexes, (line) =>
      this.#target.say(line),
    );
    await this.#target.makeRoom(indexes.map(({ uid }) => uid));
    await this.#copyFeatures();
    if (!this.#given.flag('skip-keys')) await this.#copyKeys();
    for (const index of indexes) {
      if (this.#given.flag('source-sends')) await this.#letSend(index);
      else await this.#copyIndex(index, settings.get(index.uid)!);
    }
    await this.#copyAliases(indexes);
    await this.#compare(indexes);
  }

  async #chosen(): Promise<IndexSummary[]> {
    const all = await pages<IndexSummary>(this.#source, '/indexes');
    const named = this.#given.text('indexes')?.split(',');
    if (named === undefined) return all;
    return named.map(
      (uid) =>
        all.find((index) => index.uid === uid.trim()) ??
        bad('indexes', uid, `indexes of ${this.#source.address}`),
    );
  }

  /** Enables the features of the source, which settings may need. */
  async #copyFeatures(): Promise<void> {
    const path = '/experimental-features';
    try {
      const here = await this.#source.get<Record<string, unknown>>(path);
      const there = await this.#target.connection.get<Record<string, unknown>>(path);
      const missing = Object.keys(here).filter(
        (name) => here[name] === true && there[name] === false,
      );
      for (const name of missing)
        await this.#target.connection.sendJson('PATCH', path, { [name]: true });
      if (missing.length > 0) this.#target.say(`features enabled: ${missing.join(', ')}`);
    } catch (error) {
      this.#target.report('features', error, 'use a key that may read and change features');
    }
  }

  async #copyKeys(): Promise<void> {
    let keys: Key[];
    try {
      keys = await pages<Key>(this.#source, '/keys');
    } catch (error) {
      this.#target.report('keys', error, 'use the master key, or --skip-keys');
      return;
    }
    let copied = 0;
    let others = 0;
    for (const { uid, key, name, description, actions, indexes, expiresAt } of keys) {
      if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) continue;
      const wanted = { uid, name, description, actions, indexes, expiresAt };
      try {
        const made = await this.#target.connection.sendJson<Key>('POST', '/keys', wanted);
        copied++;
        if (made.key !== key) others++;
      } catch (error) {
        if (error instanceof RefusedRequest && error.body.code === 'api_key_already_exists')
          continue;
        this.#target.report(`the key ${uid}`, error);
      }
    }
    this.#target.say(`keys: ${copied} copied`);
    if (others > 0) {
      this.#target.say(`The master keys differ: the values of ${counted(others, 'key')} changed.`);
    }
  }

  /** Copies the aliases of the indexes. Servers of other programs have none. */
  async #copyAliases(indexes: readonly IndexSummary[]): Promise<void> {
    let aliases: { alias: string; indexUid: string }[];
    try {
      aliases = await pages(this.#source, '/aliases');
    } catch (error) {
      if (!(error instanceof RefusedRequest)) throw error;
      if (error.status !== 404)
        this.#target.report('aliases', error, 'use a key that may read aliases');
      return;
    }
    const uids = new Set(indexes.map(({ uid }) => uid));
    const chosen = aliases.filter(({ indexUid }) => uids.has(indexUid));
    for (const { alias, indexUid } of chosen) await this.#target.setAlias(alias, indexUid);
    if (chosen.length > 0) this.#target.say(`aliases: ${chosen.length} copied`);
  }

  async #copyIndex(
    { uid, primaryKey }: IndexSummary,
    settings: Record<string, unknown>,
  ): Promise<void> {
    const target = this.#target;
    const tasks = await target.createIndex({ uid, primaryKey });
    tasks.push(...(await target.copySettings(uid, settings)));
    const { numberOfDocuments } = await this.#source.get<Counts>(`${pathOf(uid)}/stats`);
    const wanted = { index: uid, filter: null, withVectors: true };
    const copied = documentPages(this.#source, wanted);
    const sent = await target.sendDocuments({ uid, primaryKey }, copied, numberOfDocuments);
    tasks.push(...sent.tasks);
    if (sent.skipped > 0) this.#skipped.set(uid, sent.skipped);
    await target.waitFor(tasks);
  }

  async #letSend({ uid }: IndexSummary): Promise<void> {
    const { url, key } = this.#address;
    const body = {
      url,
      ...(key === null ? {} : { apiKey: key }),
      indexes: { [uid]: { overrideSettings: true } },
    };
    const ended = await this.#source.finish('POST', '/export', body);
    if (ended.status === 'succeeded') {
      this.#target.say(`\`${uid}\`: sent by ${this.#source.address}`);
    } else {
      this.#target.faults++;
      this.#target.complain(`\`${uid}\`: ${ended.error?.message ?? ended.status}`);
    }
    const open = `/tasks?indexUids=${encodeURIComponent(uid)}&statuses=enqueued,processing&limit=${PAGE}`;
    for (;;) {
      const waiting = resultsOf<{ uid: number }>(await this.#target.connection.get(open));
      if (waiting.length === 0) return;
      await this.#target.waitFor(waiting.map((task) => task.uid));
    }
  }

  async #compare(indexes: readonly IndexSummary[]): Promise<void> {
    for (const { uid } of indexes) {
      const here = await countsOf(this.#source, uid);
      const there = await this.#target.counts(uid);
      const describe = (counts: Counts | null): string =>
        counts === null
          ? 'missing'
          : `${counted(counts.numberOfDocuments, 'document')}, ${counted(counts.numberOfEmbeddings ?? 0, 'embedding')}`;
      const skipped = this.#skipped.get(uid) ?? 0;
      // How many embeddings the skipped documents have is not known.
      const isSame =
        skipped === 0
          ? describe(here) === describe(there)
          : here!.numberOfDocuments - skipped === there?.numberOfDocuments;
      if (!isSame) this.#target.faults++;
      this.#target.say(
        `\`${uid}\`: ${describe(there)}${isSame ? '' : `, but the source has ${describe(here)}`}`,
      );
    }
  }
}

async function pages<T>(connection: Connection, path: string): Promise<T[]> {
  const found: T[] = [];
  for (;;) {
    const page = resultsOf<T>(await connection.get(`${path}?limit=${PAGE}&offset=${found.length}`));
    found.push(...page);
    if (page.length < PAGE) return found;
  }
}
