/** Sends indexes to another server with the same API. */
import type { FeatureSet } from '../contract/features.ts';
import { renderSettings, type SettingsObject } from '../contract/settings.ts';
import type { RowOf } from '../contract/task-types.ts';
import { type CancelSignal, cancelSignalOf } from '../base/cancel-signal.ts';
import type { OpenDocuments } from '../engine/handle.ts';
import type { IndexEntry } from '../engine/registry.ts';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import { readTask, type RunContext, type RunResult, succeeded } from '../tasks/run/run.ts';
import type { AliasStore } from '../store/alias-store.ts';
import { ExportTarget } from './export-target.ts';
import { type Payload, payloadsOf } from './payloads.ts';

/** Default bytes of documents per request, before compression. */
const PAYLOAD_BYTES = 50 * 2 ** 20;
/** Maximum bytes of documents per request. Two compressed payloads are in memory at a time. */
const PAYLOAD_BYTES_MAX = 256 * 2 ** 20;
/** Approximate number of bytes read at a time. */
const READ_BYTES = 2 ** 20;

export interface ExportOptions {
  client: OutboundClient;
  processMark: string;
  features: () => FeatureSet;
  aliases: Pick<AliasStore, 'of' | 'targetOf'>;
}

type ExportRow = RowOf<'export'>;
type IndexOptions = ExportRow['indexes'][string];

/** Creates the function that runs an `export` task. */
export function exportRunner(options: ExportOptions): (context: RunContext) => Promise<RunResult> {
  return (context) => runExport(options, context);
}

async function runExport(options: ExportOptions, context: RunContext): Promise<RunResult> {
  const { registry, store, batch, cancel } = context;
  const uid = batch.uids[0]!;
  const row = readTask(store, uid).row as ExportRow;
  const features = options.features();
  const chosen: ChosenIndex[] = [];
  try {
    const signal = cancelSignalOf(cancel.signal);
    for (const [indexUid, entry] of registry.list()) {
      cancel.check();
      const given = optionsOf(indexUid, row.indexes);
      if (given !== null)
        chosen.push(await openIndex({ indexUid, entry, given, features, signal }));
    }
    const names = chosen.flatMap(({ indexUid }) =>
      options.aliases.of(indexUid).map((alias) => [alias, indexUid] as const),
    );
    // The export sends the open snapshots, so other tasks may run meanwhile.
    context.detach();
    const peer = { url: row.url, apiKey: row.apiKey, client: options.client };
    const target = new ExportTarget({ ...peer, signal: cancel.signal }, options.processMark);
    const payloadBytes = payloadBytesOf(row.payloadSizeBytes);
    const exporter = new Exporter(context, target, payloadBytes);
    const indexes = await exporter.run(chosen);
    for (const [alias, indexUid] of names) await target.putAlias(alias, indexUid);
    return { ends: [{ ...succeeded(uid, null), details: { indexes } }] };
  } catch (error) {
    cancel.check();
    throw error;
  } finally {
    for (const { documents } of chosen) documents.close();
  }
}

/** Bytes of documents per request. @param requested null: not specified */
export function payloadBytesOf(requested: number | null): number {
  return Math.min(requested ?? PAYLOAD_BYTES, PAYLOAD_BYTES_MAX);
}

/** An index in its state at the beginning of the export. */
interface ChosenIndex {
  indexUid: string;
  given: IndexOptions;
  primaryKey: string | null;
  settings: SettingsObject;
  features: FeatureSet;
  documents: OpenDocuments;
}

async function openIndex({
  indexUid,
  entry,
  given,
  features,
  signal,
}: {
  indexUid: string;
  entry: IndexEntry;
  given: IndexOptions;
  features: FeatureSet;
  signal: CancelSignal;
}): Promise<ChosenIndex> {
  const { containsFilter, multimodal, foreignKeys } = features;
  const { filter } = given;
  const request = JSON.stringify({ filter, containsFilter, multimodal, foreignKeys });
  const { settings, summary } = entry;
  return {
    indexUid,
    given,
    primaryKey: summary.primaryKey,
    settings,
    features,
    documents: await entry.handle.openDocuments(request, signal),
  };
}

/** The options of the most specific pattern that matches: the full uid, then the longest prefix. */
export function optionsOf(
  indexUid: string,
  patterns: ExportRow['indexes'],
): ExportRow['indexes'][string] | null {
  const exact = Object.hasOwn(patterns, indexUid) ? patterns[indexUid] : undefined;
  if (exact !== undefined) return exact;
  const [longest] = Object.keys(patterns)
    .filter((pattern) => pattern.endsWith('*') && indexUid.startsWith(pattern.slice(0, -1)))
    .toSorted((a, b) => b.length - a.length);
  return longest === undefined ? null : patterns[longest]!;
}

class Exporter {
  readonly #context: RunContext;
  readonly #target: ExportTarget;
  readonly #payloadBytes: number;

  constructor(context: RunContext, target: ExportTarget, payloadBytes: number) {
    this.#context = context;
    this.#target = target;
    this.#payloadBytes = payloadBytes;
  }

  /** @returns the task details of each index */
  async run(chosen: readonly ChosenIndex[]): Promise<Record<string, unknown>> {
    const { progress, cancel } = this.#context;
    const details = new Map<string, unknown>();
    for (const [n, index] of chosen.entries()) {
      const { indexUid, given, documents } = index;
      cancel.check();
      progress.enter(1, `exporting index \`${indexUid}\``, n, chosen.length);
      await this.#sendIndex(index);
      await this.#sendDocuments(indexUid, documents);
      documents.close();
      details.set(indexUid, { ...given, matched_documents: documents.total });
    }
    return Object.fromEntries(details);
  }

  async #sendIndex(index: ChosenIndex): Promise<void> {
    const target = this.#target;
    const { indexUid: uid, given, primaryKey, settings, features } = index;
    const override = given.overrideSettings;
    const exists = await target.hasIndex(uid);
    if (!exists) await target.sendJson('POST', '/indexes', { uid, primaryKey });
    else if (override) await target.sendJson('PATCH', `/indexes/${uid}`, { primaryKey });
    if (exists && !override) return;
    // The settings in the format of GET, but with secrets in clear.
    const { embedders, rerankers } = settings;
    // Only servers that know rerankers have some.
    const ranks = Object.keys(rerankers).length > 0;
    const secrets = { embedders, ...(ranks && { rerankers }) };
    const complete = { ...renderSettings(settings, features), ...secrets };
    await target.sendJson('PATCH', `/indexes/${uid}/settings`, complete, secrets);
  }

  /** Sends documents. The next payload is prepared while one is sent. */
  async #sendDocuments(uid: string, documents: OpenDocuments): Promise<void> {
    const { progress, cancel } = this.#context;
    let sent = 0;
    let sending: Promise<void> = Promise.resolve();
    const send = async ({ bytes, documents: count }: Payload): Promise<void> => {
      await this.#target.send('POST', `/indexes/${uid}/documents`, {
        bytes,
        headers: { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' },
      });
      sent += count;
      progress.enter(2, 'document', sent, documents.total);
    };
    try {
      for await (const payload of payloadsOf(documents.lines(READ_BYTES), this.#payloadBytes)) {
        await sending;
        cancel.check();
        sending = send(payload);
        sending.catch(() => {});
      }
    } finally {
      await sending;
    }
  }
}
