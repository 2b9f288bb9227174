import { compareUtf8 } from '../../base/json.ts';
import { ApiError, indexNotFound } from '../../contract/errors.ts';
import type { IndexEntry } from '../../engine/registry.ts';
import type { RowOf } from '../../contract/task-types.ts';
import { takenName } from './indexes.ts';
import { allFailed, readTask, type RunContext, type RunResult, succeeded } from './run.ts';

/** Swaps all pairs or none. */
export function runSwap({ registry, store, batch, progress }: RunContext): RunResult {
  progress.enter(1, 'ensuring correctness of the swap', 0, 2);
  const { uid, row } = readTask(store, batch.uids[0]!);
  const swaps = (row as RowOf<'indexSwap'>).swaps.map(({ pair, rename }) => ({
    pair: [store.indexName(pair[0])!, store.indexName(pair[1])!] as [string, string],
    rename,
  }));
  const missing = swaps
    .flatMap(({ pair, rename }) => (rename ? [pair[0]] : pair))
    .filter((name) => !registry.has(name));
  if (missing.length > 0) return { ends: allFailed(batch, indexesNotFound(missing)) };
  const taken = swaps
    .map(({ pair, rename }) => (rename ? takenName(registry, pair[1], pair[0]) : null))
    .find((error) => error !== null);
  if (taken !== undefined) return { ends: allFailed(batch, taken) };
  progress.enter(1, 'swapping the indexes', 1, 2);
  const indexes = new Map<string, IndexEntry | null>();
  for (const { pair } of swaps) {
    const [first, second] = pair;
    const target = registry.get(second) ?? null;
    indexes.set(second, registry.get(first)!);
    indexes.set(first, target);
  }
  return {
    ends: [succeeded(uid, null)],
    indexes,
    history: { pairs: swaps.map(({ pair }) => pair), before: uid },
  };
}

function indexesNotFound(uids: readonly string[]): ApiError {
  const sorted = [...new Set(uids)].sort(compareUtf8);
  if (sorted.length === 1) return indexNotFound(sorted[0]!);
  const list = sorted.map((uid) => `\`${uid}\``).join(', ');
  return new ApiError('index_not_found', `Indexes ${list} not found.`);
}
