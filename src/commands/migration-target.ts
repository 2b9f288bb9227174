/** The server that `gannet migrate` fills, with the count of what could not be copied. */
import { membersAt } from '../base/json-spans.ts';
import type { GivenOptions, Options } from '../base/options.ts';
import { isMasked } from '../base/secrets.ts';
import type { IndexInfo, IndexStats } from '../contract/responses.ts';
import { RefusedRequest } from '../outbound/api-peer.ts';
import { CommandFailure, refusalText, type Terminal } from './command.ts';
import { BatchSender } from './batch-sender.ts';
import { Batch } from './batches.ts';
import type { Connection } from './connection.ts';
import { confirm } from './confirm.ts';
import { counted, showProgress } from './progress.ts';
import { TaskTally } from './task-tally.ts';

/** Matches a URL with a masked part. */
const MASKED_PART = /X{3,6}\.\.\.(?:[:@&#]|$)/;

export const TARGET_OPTIONS = {
  overwrite: {
    kind: 'flag',
    help: 'Delete indexes of the same names that have documents, instead of refusing them. Asks first.',
  },
  yes: { kind: 'flag', help: 'Do not ask; needed with --overwrite where nobody can answer.' },
  quiet: { kind: 'flag', help: 'Hide progress.' },
} as const satisfies Options;

/** Older servers do not count embeddings. */
export type Counts = Pick<IndexStats, 'numberOfDocuments'> &
  Partial<Pick<IndexStats, 'numberOfEmbeddings'>>;

/** Some documents, one per line. */
interface Lines {
  lines: Buffer;
  documents: number;
}

export type NewIndex = Pick<IndexInfo, 'uid' | 'primaryKey'>;

export class MigrationTarget {
  readonly connection: Connection;
  readonly #given: GivenOptions<typeof TARGET_OPTIONS>;
  readonly #terminal: Terminal;
  readonly #isQuiet: boolean;
  /** Number of items that could not be copied. */
  faults = 0;
  /** Number of documents that the target refused. */
  skipped = 0;

  constructor(
    connection: Connection,
    given: GivenOptions<typeof TARGET_OPTIONS>,
    terminal: Terminal,
  ) {
    this.connection = connection;
    this.#given = given;
    this.#terminal = terminal;
    this.#isQuiet = given.flag('quiet');
  }

  /** null: there is no such index. */
  counts(uid: string): Promise<Counts | null> {
    return countsOf(this.connection, uid);
  }

  /** Deletes those of the indexes that have documents, if that is wanted. */
  async makeRoom(uids: readonly string[]): Promise<void> {
    const full: string[] = [];
    const found: string[] = [];
    for (const uid of uids) {
      const counts = await this.counts(uid);
      if (counts === null || counts.numberOfDocuments === 0) continue;
      full.push(uid);
      found.push(`\`${uid}\` (${counted(counts.numberOfDocuments, 'document')})`);
    }
    if (full.length > 0) await this.#requireConsent(found.join(', '));
    for (const uid of full) {
      await this.waitFor([await this.connection.register({ method: 'DELETE', path: pathOf(uid) })]);
    }
  }

  /** Throws `CommandFailure` unless the indexes may be deleted. */
  async #requireConsent(found: string): Promise<void> {
    const { address } = this.connection;
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

  /** Creates an index unless it exists. @returns the task, if it has failed */
  async createIndex({ uid, primaryKey }: NewIndex): Promise<number[]> {
    if ((await this.counts(uid)) !== null) return [];
    const created = await this.connection.finish('POST', '/indexes', { uid, primaryKey });
    // A retried request may have created it in its first attempt.
    const isThere = created.error?.code === 'index_already_exists';
    return created.status === 'succeeded' || isThere ? [] : [created.uid];
  }

  /**
   * Sends documents while the next ones are read. Those that the target refuses are named and
   * skipped.
   * @param total how many there are, for the progress
   * @returns the tasks, and how many documents were skipped
   */
  async sendDocuments(
    { uid, primaryKey }: NewIndex,
    pages: AsyncIterable<Lines>,
    total: number,
  ): Promise<{ tasks: number[]; skipped: number }> {
    const query = primaryKey === null ? '' : `?primaryKey=${encodeURIComponent(primaryKey)}`;
    const progress = await showProgress(this.#terminal, uid, total, this.#isQuiet);
    const sender = new BatchSender({
      connection: this.connection,
      waits: true,
      register: ({ bytes }) =>
        this.connection.register({
          method: 'POST',
          path: `${pathOf(uid)}/documents${query}`,
          body: { bytes, headers: { 'content-type': 'application/x-ndjson' } },
        }),
      refused: async ({ bytes, lines }, fault) => {
        this.complain(`\`${uid}\`: ${documentName(bytes, primaryKey, lines.first)}: ${fault}`);
      },
    });
    let read = 0;
    let sending = Promise.resolve();
    try {
      for await (const { lines, documents } of pages) {
        await sending;
        const batch = Batch.ofLines(lines, read + 1);
        sending = sender.send(batch).then(() => sender.settle());
        // The error is reported where `sending` is awaited.
        sending.catch(() => {});
        read += documents;
        progress.update(read, counted(read, 'document'));
      }
      await sending;
      const tasks = [...(await sender.end()).keys()];
      this.skipped += sender.refused;
      this.say(`\`${uid}\`: ${counted(sender.documents, 'document')} sent`);
      return { tasks, skipped: sender.refused };
    } finally {
      progress.end();
    }
  }

  /**
   * Sends all settings together. If the target refuses them, sends them one by one, so that the
   * valid ones are set.
   */
  async copySettings(uid: string, settings: Record<string, unknown>): Promise<number[]> {
    const path = `${pathOf(uid)}/settings`;
    const { value, secrets } = withoutSecrets(settings);
    for (const secret of secrets) {
      this.say(`\`${uid}\`: ${secret} is hidden by the source: set it again`);
    }
    const patch = (body: unknown): Promise<number> =>
      this.connection
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
        this.report(`the setting ${name} of \`${uid}\``, error);
      }
    }
    return tasks;
  }

  async waitFor(tasks: readonly number[]): Promise<void> {
    const tally = new TaskTally(this.#terminal, this.#isQuiet);
    this.faults += await tally.waitFor(this.connection, tasks);
  }

  /** Reports an item that could not be copied. Errors other than refusals end the command. */
  report(what: string, error: unknown, advice?: string): void {
    if (!(error instanceof RefusedRequest)) throw error;
    this.faults++;
    this.complain(`${what}: ${refusalText(error)}${advice === undefined ? '' : `; ${advice}`}`);
  }

  /** Reports an item that could not be copied. */
  fail(line: string): void {
    this.faults++;
    this.complain(line);
  }

  /** Points an alias to an index. */
  async setAlias(alias: string, indexUid: string): Promise<void> {
    try {
      const path = `/aliases/${encodeURIComponent(alias)}`;
      const { taskUid } = await this.connection.sendJson<{ taskUid: number }>('PUT', path, {
        indexUid,
      });
      await this.waitFor([taskUid]);
    } catch (error) {
      this.report(`the alias \`${alias}\``, error);
    }
  }

  say(line: string): void {
    this.#terminal.output.write(`${line}\n`);
  }

  complain(line: string): void {
    this.#terminal.complaints.write(`${line}\n`);
  }
}

/** The id of a document, or its position in the source if it has none. */
function documentName(line: Buffer, primaryKey: string | null, position: number): string {
  const text = line.toString();
  const member =
    primaryKey === null ? undefined : membersAt(text, 0).find(({ name }) => name === primaryKey);
  if (member === undefined) return `document ${position} of the source`;
  return `document ${text.slice(member.begin, Math.min(member.end, member.begin + 600))}`;
}

export function pathOf(uid: string): string {
  return `/indexes/${encodeURIComponent(uid)}`;
}

/** null: there is no such index. */
export async function countsOf(connection: Connection, uid: string): Promise<Counts | null> {
  try {
    return await connection.get<Counts>(`${pathOf(uid)}/stats`);
  } catch (error) {
    if (error instanceof RefusedRequest && error.body.code === 'index_not_found') return null;
    throw error;
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
    const isModel = path.startsWith('embedders') || path.startsWith('rerankers');
    if (isModel && typeof member === 'string' && MASKED_PART.test(member)) {
      secrets.push(at);
    }
    const inner = withoutSecrets(member, at);
    kept[name] = inner.value;
    secrets.push(...inner.secrets);
  }
  return { value: kept, secrets };
}
