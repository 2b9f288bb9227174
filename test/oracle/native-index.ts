/**
 * The real engine, in process: one index in a folder of its own, driven through the addon as the
 * server drives it.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SearchRequest } from '../../src/contract/search.ts';
import { mergeSettings, type PartialSettings } from '../../src/contract/settings.ts';
import { loadAddon } from '../../src/engine/addon.ts';
import type { BatchOutcome, BatchStep, NativeAddon } from '../../src/engine/native.ts';
import { parseTuning } from '../../src/engine/tuning.ts';
import { grouped } from '../../src/search/groups.ts';
import { planSearch } from '../../src/search/plan.ts';
import type { Document } from './corpus.ts';
import type { Body, SearchParams, Settings } from './engine.ts';

/** One commit. Deletions come after the documents. */
export interface Batch {
  documents: Document[];
  deleted: (string | number)[];
}

/** A slow machine must not cut a search short. */
const CUTOFF_MS = 3_600_000;

let addon: NativeAddon | null = null;

function engine(): NativeAddon {
  if (addon === null) {
    addon = loadAddon();
    const tuning = parseTuning(process.env['GANNET_TUNING'] ?? '{}');
    if (tuning === null) throw new Error('GANNET_TUNING is no tuning of the engine');
    const sizes = { searchThreads: 1, indexingThreads: 1, indexingMemoryBytes: 64 << 20 };
    addon.configure({ ...sizes, tuning });
  }
  return addon;
}

export class NativeIndex {
  readonly #dir = mkdtempSync(join(tmpdir(), 'gannet-oracle-'));
  #handle = this.#open();
  #batches = 0;

  static async of(settings: Settings, batches: readonly Batch[]): Promise<NativeIndex> {
    const index = new NativeIndex();
    try {
      await index.setSettings(settings);
      for (const batch of batches) await index.add(batch);
      return index;
    } catch (error) {
      index.close();
      throw error;
    }
  }

  async setSettings(settings: Settings): Promise<void> {
    const given = { ...settings, searchCutoffMs: CUTOFF_MS };
    const merged = mergeSettings(null, given as unknown as PartialSettings);
    if (!merged.ok) throw merged.error;
    await this.#apply(
      [{ task: 0, kind: 'settings', settings: { ...merged.value } as Record<string, unknown> }],
      [],
    );
  }

  async add({ documents, deleted }: Batch): Promise<void> {
    const steps: BatchStep[] = [];
    if (documents.length > 0) {
      steps.push({
        task: 0,
        kind: 'documents',
        method: 'replace',
        payload: { buffer: 0 },
        format: 'json',
        primaryKey: 'id',
        skipCreation: false,
      });
    }
    if (deleted.length > 0) steps.push({ task: 1, kind: 'deleteIds', ids: deleted.map(String) });
    if (steps.length > 0) await this.#apply(steps, [Buffer.from(JSON.stringify(documents))]);
  }

  async #apply(steps: BatchStep[], payloads: Buffer[]): Promise<void> {
    const batchUid = this.#batches++;
    const job = { batchUid, taskUids: [batchUid], now: '2026-01-01T00:00:00Z', steps };
    const outcome = JSON.parse(
      await engine().applyBatch(this.#handle, JSON.stringify(job), payloads),
    ) as BatchOutcome;
    const failed = outcome.results.find(({ error }) => error !== undefined);
    if (failed !== undefined) throw new Error(`${failed.error!.code}: ${failed.error!.message}`);
  }

  /** The result, or the code of the error. */
  async search(params: SearchParams): Promise<Body | { code: string }> {
    const features = { containsFilter: true, multimodal: true };
    try {
      const request = planSearch(grouped(params as SearchRequest), features, {});
      const { bytes } = await engine().search(this.#handle, JSON.stringify(request));
      return JSON.parse(String(bytes)) as Body;
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === undefined) throw error;
      return { code };
    }
  }

  /** All documents, in the order of their internal numbers. */
  async documents(): Promise<Document[]> {
    const request = JSON.stringify({ offset: 0, limit: 1_000_000 });
    const parts: Buffer[] = [];
    let part = await engine().fetchDocuments(this.#handle, request);
    for (; part.rest !== null; part = await engine().fetchRest(part.rest)) parts.push(part.bytes);
    const body = Buffer.concat([...parts, part.bytes]);
    return (JSON.parse(body.toString()) as { results: Document[] }).results;
  }

  isMerging(): boolean {
    return engine().isMerging(this.#handle);
  }

  mergeAtRest(): void {
    engine().mergeAtRest(this.#handle);
  }

  /** Number of files in its folder of segments. */
  segmentFiles(): number {
    return readdirSync(join(this.#dir, 'index', 'segments')).length;
  }

  async reopen(): Promise<void> {
    await engine().closeIndex(this.#handle);
    this.#handle = this.#open();
  }

  #open(): number {
    return engine().openIndex(join(this.#dir, 'index'), true);
  }

  async close(): Promise<void> {
    await engine().closeIndex(this.#handle);
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/**
 * The documents that batches leave, by internal number: a replaced document keeps its number, a new
 * one takes the lowest free one (docs/behaviour/fields.md, docids).
 */
export function finalDocuments(batches: readonly Batch[]): Document[] {
  const slots: (Document | null)[] = [];
  const slotOf = new Map<string, number>();
  for (const { documents, deleted } of batches) {
    const removed = new Set(deleted.map(String));
    for (const document of documents) {
      const id = String(document.id);
      let slot = slotOf.get(id);
      if (slot === undefined) {
        // A document that the same batch deletes again never gets a number.
        if (removed.has(id)) continue;
        const free = slots.indexOf(null);
        slot = free < 0 ? slots.length : free;
        slotOf.set(id, slot);
      }
      slots[slot] = document;
    }
    for (const id of removed) {
      const slot = slotOf.get(id);
      if (slot === undefined) continue;
      slots[slot] = null;
      slotOf.delete(id);
    }
  }
  return slots.filter((document) => document !== null);
}
