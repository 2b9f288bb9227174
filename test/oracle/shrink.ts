/**
 * Makes a case on which the engine and the oracle differ smaller: whatever can go while they still
 * differ goes.
 */
import { compareOnce, type Case, type Difference } from './compare.ts';
import type { Document, Json } from './corpus.ts';
import { finalDocuments } from './native-index.ts';

/** Each attempt builds an index. */
const ATTEMPTS_MAX = 600;

class Shrinker {
  best: Case;
  found: Difference[];
  #left = ATTEMPTS_MAX;
  #kind: string;

  constructor(first: Case, found: Difference[]) {
    this.best = first;
    this.found = found;
    this.#kind = kindOf(found);
  }

  /** Takes the candidate when both sides still differ in the same way. */
  async attempt(candidate: Case): Promise<boolean> {
    if (this.#left-- <= 0) return false;
    let found: Difference[];
    try {
      found = await compareOnce(candidate);
    } catch {
      return false;
    }
    if (kindOf(found) !== this.#kind) return false;
    this.best = candidate;
    this.found = found;
    return true;
  }

  /** Leaves out runs of items, long runs first. */
  async list<T>(items: readonly T[], rebuild: (items: T[]) => Case): Promise<void> {
    let now = [...items];
    for (let size = Math.ceil(now.length / 2); size >= 1; size = Math.floor(size / 2)) {
      for (let at = 0; at < now.length;) {
        const fewer = [...now.slice(0, at), ...now.slice(at + size)];
        if (await this.attempt(rebuild(fewer))) now = fewer;
        else at += size;
      }
    }
  }

  async keys(of: 'settings' | 'params'): Promise<void> {
    for (const key of Object.keys(this.best[of])) {
      const fewer: Record<string, unknown> = { ...this.best[of] };
      delete fewer[key];
      await this.attempt({ ...this.best, [of]: fewer });
    }
  }

  async lists(of: 'settings' | 'params'): Promise<void> {
    for (const [key, value] of Object.entries(this.best[of])) {
      const rebuild = (items: unknown): Case => ({
        ...this.best,
        [of]: { ...this.best[of], [key]: items },
      });
      if (Array.isArray(value)) await this.list(value, rebuild);
      else if (key === 'synonyms') {
        await this.list(Object.entries(value as object), (e) => rebuild(Object.fromEntries(e)));
      }
    }
  }

  async query(): Promise<void> {
    const { q } = this.best.params;
    if (typeof q !== 'string') return;
    await this.list(q.split(/(?<=\s)/), (words) => ({
      ...this.best,
      params: { ...this.best.params, q: words.join('') },
    }));
  }

  async documents(): Promise<void> {
    const [first, ...others] = this.best.batches;
    if (others.length > 0) {
      await this.attempt({
        ...this.best,
        batches: [{ documents: finalDocuments(this.best.batches), deleted: [] }],
      });
    }
    for (const [at] of [first, ...others].entries()) {
      const batch = this.best.batches[at];
      if (batch === undefined) continue;
      const put = (more: object): Case => ({
        ...this.best,
        batches: this.best.batches.map((b, i) => (i === at ? { ...b, ...more } : b)),
      });
      await this.list(batch.documents, (documents) => put({ documents }));
      await this.list(batch.deleted, (deleted) => put({ deleted }));
    }
    await this.list(this.best.batches, (batches) => ({ ...this.best, batches }));
  }

  async fields(): Promise<void> {
    const keys = new Set(
      this.best.batches.flatMap(({ documents }) => documents.flatMap(Object.keys)),
    );
    for (const key of keys) {
      if (key === 'id') continue;
      await this.attempt(
        this.#mapped((document) => {
          const { [key]: _removed, ...rest } = document;
          return rest;
        }),
      );
    }
  }

  /** Fewer words in the texts, one document at a time, where there are few. */
  async words(): Promise<void> {
    const documents = this.best.batches.flatMap((batch) => batch.documents);
    if (documents.length > 12) return;
    for (const { id } of documents) {
      for (const key of Object.keys(documents[0]!)) {
        const document = this.best.batches
          .flatMap((batch) => batch.documents)
          .find((d) => d.id === id)!;
        const value = document[key];
        const put = (changed: Json): Case =>
          this.#mapped((d) => (d.id === id ? { ...d, [key]: changed } : d));
        if (key === 'id' || value === undefined) continue;
        if (typeof value === 'string')
          await this.list(value.split(/(?<=\s)/), (words) => put(words.join('')));
        else if (Array.isArray(value)) await this.list(value, put);
      }
    }
  }

  #mapped(change: (document: Document) => Document): Case {
    const batches = this.best.batches.map((batch) => ({
      ...batch,
      documents: batch.documents.map(change),
    }));
    return { ...this.best, batches };
  }
}

/** What differs first, without numbers: a smaller case should show the same fault. */
function kindOf(found: readonly Difference[]): string {
  const paths = found.map(({ path }) => path.replace(/\[\d+\]/g, '[]'));
  if (paths.length === 0) return '';
  const order = paths.find((path) => path === 'hits[].id' || path === 'hits.length');
  return order === undefined ? paths[0]! : 'order';
}

export async function shrink(first: Case, found: Difference[]): Promise<[Case, Difference[]]> {
  const shrinker = new Shrinker(first, found);
  for (let round = 0; round < 2; round++) {
    await shrinker.documents();
    await shrinker.keys('params');
    await shrinker.keys('settings');
    await shrinker.lists('settings');
    await shrinker.lists('params');
    await shrinker.query();
    await shrinker.fields();
    await shrinker.words();
  }
  return [shrinker.best, shrinker.found];
}

export function describeCase({ settings, batches, params }: Case, found: Difference[]): string {
  const lines = [`settings ${JSON.stringify(settings)}`];
  for (const [i, { documents, deleted }] of batches.entries()) {
    lines.push(`batch ${i}`);
    for (const document of documents) lines.push(`  ${JSON.stringify(document)}`);
    if (deleted.length > 0) lines.push(`  deleted ${JSON.stringify(deleted)}`);
  }
  lines.push(`search ${JSON.stringify(params)}`);
  for (const { path, engine, oracle } of found.slice(0, 8)) {
    lines.push(`  ${path}  engine ${JSON.stringify(engine)}  oracle ${JSON.stringify(oracle)}`);
  }
  return lines.join('\n');
}
