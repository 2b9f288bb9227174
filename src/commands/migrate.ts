/** `gannet migrate`: copies all data of a running server to another. */
import { bad, type GivenOptions, type Options } from '../base/options.ts';
import { isMasked } from '../base/secrets.ts';
import { RefusedRequest } from '../outbound/api-peer.ts';
import {
  type Command,
  command,
  CommandFailure,
  DONE,
  FAILED,
  refusalText,
  type Terminal,
} from './command.ts';
import {
  authoritiesOf,
  Connection,
  CONNECTION_OPTIONS,
  DEFAULT_URL,
  resultsOf,
  RETRY_OPTIONS,
  retrySeconds,
  serverUrl,
} from './connection.ts';
import { confirm } from './confirm.ts';
import { documentPages } from './document-pages.ts';
import { counted, showProgress } from './progress.ts';
import { refuseSameServer } from './same-server.ts';
import { TaskTally } from './task-tally.ts';

const PAGE = 1000;
/** Matches a URL with a masked part. */
const MASKED_PART = /X{3,6}\.\.\.(?:[:@&#]|$)/;

const OPTIONS = {
  from: { kind: 'text', help: 'Address of the server to copy. Required.' },
  'from-key': { kind: 'text', initial: 'that of --key', help: 'Key of that server.' },
  ...CONNECTION_OPTIONS,
  indexes: { kind: 'text', initial: 'all', help: 'Uids of indexes, separated by commas.' },
  overwrite: {
    kind: 'flag',
    help: 'Delete indexes of the same names that have documents, instead of refusing them. Asks first.',
  },
  yes: { kind: 'flag', help: 'Do not ask; needed with --overwrite where nobody can answer.' },
  'skip-keys': { kind: 'flag', help: 'Do not copy keys.' },
  'source-sends': {
    kind: 'flag',
    help: 'Let the source send the indexes itself (POST /export) to --url, which it must be able to reach.',
  },
  ...RETRY_OPTIONS,
  quiet: { kind: 'flag', help: 'Hide progress.' },
} as const satisfies Options;

interface IndexSummary {
  uid: string;
  primaryKey: string | null;
  createdAt?: string;
}

interface Key {
  uid: string;
  key?: string;
  name: string | null;
  description: string | null;
  actions: string[];
  indexes: string[];
  expiresAt: string | null;
}

interface Counts {
  numberOfDocuments: number;
  numberOfEmbeddings?: number;
}

export const migrateCommand: Command = command({
  name: 'migrate',
  summary: 'Copies indexes, settings, documents, embeddings and keys of a running server.',
  operands: '',
  notes:
    'The source has the same API and is only read. Migrating a server onto itself is refused, whatever the two addresses\n' +
    'look like. Keys stay the same if both servers have the same master key. At the end the command lists the secrets that\n' +
    'the source does not show (keys of embedders) and compares the counts of both servers; do not write to either\n' +
    'meanwhile.',
  examples: [
    'migrate --from http://old:7700 --from-key OLD_MASTER_KEY --url http://127.0.0.1:7700 --key MASTER_KEY',
    'migrate --from http://old:7700 --indexes books,films --skip-keys',
  ],
  options: OPTIONS,
  async run(given, _, terminal) {
    const from = serverUrl('from', given.required('from', 'the address of the server to copy'));
    const url = serverUrl('url', given.text('url') ?? DEFAULT_URL);
    const key = given.text('key');
    const shared = { authorities: authoritiesOf(given), retrySeconds: retrySeconds(given) };
    const fromKey = given.text('from-key') ?? key;
    const source = new Connection({ ...shared, url: from, key: fromKey }, terminal);
    const target = new Connection({ ...shared, url, key }, terminal);
    try {
      await source.reach();
      await target.reach();
      return await new Migration(source, target, { url, key }, given, terminal).run();
    } finally {
      await source.close();
      await target.close();
    }
  },
});

class Migration {
  readonly #source: Connection;
  readonly #target: Connection;
  readonly #address: { url: string; key: string | null };
  readonly #given: GivenOptions<typeof OPTIONS>;
  readonly #terminal: Terminal;
  readonly #isQuiet: boolean;
  /** Number of items that could not be copied. */
  #faults = 0;

  constructor(
    source: Connection,
    target: Connection,
    address: { url: string; key: string | null },
    given: GivenOptions<typeof OPTIONS>,
    terminal: Terminal,
  ) {
    this.#source = source;
    this.#target = target;
    this.#address = address;
    this.#given = given;
    this.#terminal = terminal;
    this.#isQuiet = given.flag('quiet');
  }

  async run(): Promise<number> {
    const indexes = await this.#chosen();
    const settings = new Map<string, Record<string, unknown>>();
    for (const { uid } of indexes) {
      settings.set(uid, await this.#source.get(`${pathOf(uid)}/settings`));
    }
    await refuseSameServer(this.#source, this.#target, indexes, (line) => this.#say(line));
    await this.#makeRoom(indexes);
    await this.#copyFeatures();
    if (!this.#given.flag('skip-keys')) await this.#copyKeys();
    for (const index of indexes) {
      if (this.#given.flag('source-sends')) await this.#letSend(index);
      else await this.#copyIndex(index, settings.get(index.uid)!);
    }
    await this.#copyAliases(indexes);
    await this.#compare(indexes);
    this.#say(
      this.#faults === 0 ? 'Everything was copied.' : `${this.#faults} could not be copied.`,
    );
    return this.#faults === 0 ? DONE : FAILED;
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

  async #makeRoom(indexes: readonly IndexSummary[]): Promise<void> {
    const full: string[] = [];
    const found: string[] = [];
    for (const { uid } of indexes) {
      const counts = await this.#countsOf(this.#target, uid);
      if (counts === null || counts.numberOfDocuments === 0) continue;
      full.push(uid);
      found.push(`\`${uid}\` (${counted(counts.numberOfDocuments, 'document')})`);
    }
    if (full.length > 0) await this.#requireConsent(found.join(', '));
    for (const uid of full) {
      await this.#waitFor([await this.#target.register({ method: 'DELETE', path: pathOf(uid) })]);
    }
  }

  /** Throws `CommandFailure` unless the indexes may be deleted. */
  async #requireConsent(found: string): Promise<void> {
    const { address } = this.#target;
    if (!this.#given.flag('overwrite')) {
      throw new CommandFailure(
        `${address} has documents in ${found}; use --overwrite to delete them.`,
      );
    }
    if (this.#given.flag('yes')) return;
    const isWanted = await confirm(
      this.#terminal,
      `Delete ${found} at ${address}?`,
      `--overwrite would delete ${found} at ${address}, and there is no terminal to ask at; add --yes to delete them.`,
    );
    if (!isWanted) throw new CommandFailure('Nothing was copied or deleted.');
  }

  /** Enables the features of the source, which settings may need. */
  async #copyFeatures(): Promise<void> {
    const path = '/experimental-features';
    try {
      const here = await this.#source.get<Record<string, unknown>>(path);
      const there = await this.#target.get<Record<string, unknown>>(path);
      const missing = Object.keys(here).filter(
        (name) => here[name] === true && there[name] === false,
      );
      for (const name of missing) await this.#target.sendJson('PATCH', path, { [name]: true });
      if (missing.length > 0) this.#say(`features enabled: ${missing.join(', ')}`);
    } catch (error) {
      this.#report('features', error, 'use a key that may read and change features');
    }
  }

  async #copyKeys(): Promise<void> {
    let keys: Key[];
    try {
      keys = await pages<Key>(this.#source, '/keys');
    } catch (error) {
      this.#report('keys', error, 'use the master key, or --skip-keys');
      return;
    }
    let copied = 0;
    let others = 0;
    for (const { uid, key, name, description, actions, indexes, expiresAt } of keys) {
      if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) continue;
      const wanted = { uid, name, description, actions, indexes, expiresAt };
      try {
        const made = await this.#target.sendJson<Key>('POST', '/keys', wanted);
        copied++;
        if (made.key !== key) others++;
      } catch (error) {
        if (error instanceof RefusedRequest && error.body.code === 'api_key_already_exists')
          continue;
        this.#report(`the key ${uid}`, error);
      }
    }
    this.#say(`keys: ${copied} copied`);
    if (others > 0) {
      this.#say(`The master keys differ: the values of ${counted(others, 'key')} changed.`);
    }
  }

  /** Copies the aliases of the indexes. Servers of other programs have none. */
  async #copyAliases(indexes: readonly IndexSummary[]): Promise<void> {
    let aliases: { alias: string; indexUid: string }[];
    try {
      aliases = await pages(this.#source, '/aliases');
    } catch (error) {
      if (!(error instanceof RefusedRequest)) throw error;
      if (error.status !== 404) this.#report('aliases', error, 'use a key that may read aliases');
      return;
    }
    const uids = new Set(indexes.map(({ uid }) => uid));
    const chosen = aliases.filter(({ indexUid }) => uids.has(indexUid));
    for (const { alias, indexUid } of chosen) {
      try {
        const path = `/aliases/${encodeURIComponent(alias)}`;
        const { taskUid } = await this.#target.sendJson<{ taskUid: number }>('PUT', path, {
          indexUid,
        });
        await this.#waitFor([taskUid]);
      } catch (error) {
        this.#report(`the alias \`${alias}\``, error);
      }
    }
    if (chosen.length > 0) this.#say(`aliases: ${chosen.length} copied`);
  }

  async #copyIndex(
    { uid, primaryKey }: IndexSummary,
    settings: Record<string, unknown>,
  ): Promise<void> {
    const target = this.#target;
    const tasks: number[] = [];
    if ((await this.#countsOf(target, uid)) === null) {
      const created = await target.finish('POST', '/indexes', { uid, primaryKey });
      // A retried request may have created it in its first attempt.
      const isThere = created.error?.code === 'index_already_exists';
      if (created.status !== 'succeeded' && !isThere) tasks.push(created.uid);
    }
    tasks.push(...(await this.#copySettings(uid, settings)));
    let sent = 0;
    const { numberOfDocuments } = await this.#source.get<Counts>(`${pathOf(uid)}/stats`);
    const progress = await showProgress(this.#terminal, uid, numberOfDocuments, this.#isQuiet);
    const query = primaryKey === null ? '' : `?primaryKey=${encodeURIComponent(primaryKey)}`;
    let sending: Promise<number> | null = null;
    try {
      const wanted = { index: uid, filter: null, withVectors: true };
      for await (const { lines, documents } of documentPages(this.#source, wanted)) {
        if (sending !== null) tasks.push(await sending);
        sending = target.register({
          method: 'POST',
          path: `${pathOf(uid)}/documents${query}`,
          body: { bytes: lines, headers: { 'content-type': 'application/x-ndjson' } },
        });
        // The error is reported where `sending` is awaited.
        sending.catch(() => {});
        sent += documents;
        progress.update(sent, counted(sent, 'document'));
      }
      if (sending !== null) tasks.push(await sending);
    } finally {
      progress.end();
    }
    this.#say(`\`${uid}\`: ${counted(sent, 'document')} sent`);
    await this.#waitFor(tasks);
  }

  /**
   * Sends all settings together. If the target refuses them, sends them one by one, so that the
   * valid ones are set.
   */
  async #copySettings(uid: string, settings: Record<string, unknown>): Promise<number[]> {
    const path = `${pathOf(uid)}/settings`;
    const { value, secrets } = withoutSecrets(settings);
    for (const secret of secrets) {
      this.#say(`\`${uid}\`: ${secret} is hidden by the source: set it again`);
    }
    const patch = (body: unknown): Promise<number> =>
      this.#target
        .sendJson<{ taskUid: number }>('PATCH', path, body)
        .then(({ taskUid }) => taskUid);
    try {
      return [await patch(value)];
    } catch (error) {
      if (!(error instanceof RefusedRequest) || error.status !== 400) throw error;
    }
    const tasks: number[] = [];
    for (const [name, one] of Object.entries(value as object)) {
      try {
        tasks.push(await patch({ [name]: one }));
      } catch (error) {
        this.#report(`the setting ${name} of \`${uid}\``, error);
      }
    }
    return tasks;
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
      this.#say(`\`${uid}\`: sent by ${this.#source.address}`);
    } else {
      this.#faults++;
      this.#complain(`\`${uid}\`: ${ended.error?.message ?? ended.status}`);
    }
    const open = `/tasks?indexUids=${encodeURIComponent(uid)}&statuses=enqueued,processing&limit=${PAGE}`;
    for (;;) {
      const waiting = resultsOf<{ uid: number }>(await this.#target.get(open));
      if (waiting.length === 0) return;
      await this.#waitFor(waiting.map((task) => task.uid));
    }
  }

  async #compare(indexes: readonly IndexSummary[]): Promise<void> {
    for (const { uid } of indexes) {
      const here = await this.#countsOf(this.#source, uid);
      const there = await this.#countsOf(this.#target, uid);
      const describe = (counts: Counts | null): string =>
        counts === null
          ? 'missing'
          : `${counted(counts.numberOfDocuments, 'document')}, ${counted(counts.numberOfEmbeddings ?? 0, 'embedding')}`;
      const isSame = describe(here) === describe(there);
      if (!isSame) this.#faults++;
      this.#say(
        `\`${uid}\`: ${describe(there)}${isSame ? '' : `, but the source has ${describe(here)}`}`,
      );
    }
  }

  /** null: there is no such index. */
  async #countsOf(connection: Connection, uid: string): Promise<Counts | null> {
    try {
      return await connection.get<Counts>(`${pathOf(uid)}/stats`);
    } catch (error) {
      if (error instanceof RefusedRequest && error.body.code === 'index_not_found') return null;
      throw error;
    }
  }

  async #waitFor(tasks: readonly number[]): Promise<void> {
    const tally = new TaskTally(this.#terminal, this.#isQuiet);
    this.#faults += await tally.waitFor(this.#target, tasks);
  }

  /** Reports an item that could not be copied. Errors other than refusals end the command. */
  #report(what: string, error: unknown, advice?: string): void {
    if (!(error instanceof RefusedRequest)) throw error;
    this.#faults++;
    this.#complain(`${what}: ${refusalText(error)}${advice === undefined ? '' : `; ${advice}`}`);
  }

  #say(line: string): void {
    this.#terminal.output.write(`${line}\n`);
  }

  #complain(line: string): void {
    this.#terminal.complaints.write(`${line}\n`);
  }
}

function pathOf(uid: string): string {
  return `/indexes/${encodeURIComponent(uid)}`;
}

async function pages<T>(connection: Connection, path: string): Promise<T[]> {
  const found: T[] = [];
  for (;;) {
    const page = resultsOf<T>(await connection.get(`${path}?limit=${PAGE}&offset=${found.length}`));
    found.push(...page);
    if (page.length < PAGE) return found;
  }
}

/** The settings without the keys that the source masks, and the paths of these keys. */
export function withoutSecrets(value: unknown, path = ''): { value: unknown; secrets: string[] } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { value, secrets: [] };
  }
  const kept: Record<string, unknown> = {};
  const secrets: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`;
    if (name === 'apiKey' && typeof member === 'string' && isMasked(member)) {
      secrets.push(at);
      continue;
    }
    // The rest of a URL is kept. The URL works once its credentials are set.
    if (path.startsWith('embedders') && typeof member === 'string' && MASKED_PART.test(member)) {
      secrets.push(at);
    }
    const inner = withoutSecrets(member, at);
    kept[name] = inner.value;
    secrets.push(...inner.secrets);
  }
  return { value: kept, secrets };
}
