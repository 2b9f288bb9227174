/** For a network with shards: restricts steps to the documents that belong to this server. */
import { builtFile } from '../../base/built-file.ts';
import { Isolate } from '../../base/isolate.ts';
import type { BatchStep } from '../../engine/native.ts';
import { type Addition, ownShares, type Shares } from '../../network/own-share.ts';
import type { Shard } from '../../network/owner.ts';
import type { ShareResult, ShareWork } from '../../network/share-worker.ts';
import { removeFile } from '../../store/payload-folder.ts';
import type { CancelSwitch, RunContext } from './run.ts';

/**
 * Up to this many bytes of documents are filtered on the event loop, in slices; more are filtered
 * on a thread.
 */
const INLINE_BYTES_MAX = 128 * 1024;

/** Bytes that the thread gets at a time. */
const GROUP_BYTES = 16 * 2 ** 20;

type DocumentStep = Extract<BatchStep, { kind: 'documents' }>;

/**
 * Returns the steps restricted to the documents that belong here; nothing else about them changes.
 * Replaces elements of `payloads`. Call `end` once the steps are done: it removes files.
 */
export async function ownSteps(
  { shard, store, cancel }: RunContext,
  steps: BatchStep[],
  payloads: Buffer[],
  indexKey: string | null,
): Promise<{ steps: BatchStep[]; end: () => void }> {
  const own = steps.filter((step): step is DocumentStep => step.kind === 'documents');
  if (shard === null || own.length === 0) return { steps, end: () => {} };
  const additionOf = (step: DocumentStep): Addition => ({
    source:
      'file' in step.payload
        ? { file: step.payload.file }
        : { bytes: payloads[step.payload.buffer]! },
    primaryKey: step.primaryKey,
    output: `${store.payloadFile(step.task)}.own`,
  });
  const files: string[] = [];
  const end = (): void => files.forEach(removeFile);
  const shared = new Map<BatchStep, BatchStep>();
  let key = indexKey;
  try {
    for (const group of groupsOf(own, payloads)) {
      const additions = group.map(additionOf);
      for (const { source, output } of additions) if ('file' in source) files.push(output);
      const { shares, indexKey: after } = await sharesOf(shard, additions, key, cancel);
      key = after;
      for (const [n, step] of group.entries()) {
        const { bytes, primaryKey } = shares[n]!;
        let { payload } = step;
        // The share replaces the payload that it was taken from.
        if ('buffer' in payload) payloads[payload.buffer] = Buffer.from(bytes!);
        else payload = { file: additions[n]!.output };
        shared.set(step, {
          ...step,
          payload,
          format: 'ndjson',
          primaryKey: step.primaryKey ?? primaryKey,
        });
      }
    }
    return { steps: steps.map((step) => shared.get(step) ?? step), end };
  } catch (error) {
    end();
    throw error;
  }
}

/** Groups steps whose payloads in memory are processed together. */
function* groupsOf(
  steps: readonly DocumentStep[],
  payloads: readonly Buffer[],
): Generator<DocumentStep[], undefined> {
  let group: DocumentStep[] = [];
  let bytes = 0;
  for (const step of steps) {
    group.push(step);
    if ('buffer' in step.payload) bytes += payloads[step.payload.buffer]!.length;
    if (bytes < GROUP_BYTES) continue;
    yield group;
    group = [];
    bytes = 0;
  }
  if (group.length > 0) yield group;
}

function sharesOf(
  shard: Shard,
  additions: readonly Addition[],
  indexKey: string | null,
  cancel: CancelSwitch,
): Promise<Shares> {
  const bytes = additions.map(({ source }) => ('bytes' in source ? source.bytes.length : Infinity));
  const total = bytes.reduce((sum, size) => sum + size, 0);
  if (total <= INLINE_BYTES_MAX) return ownShares(shard, additions, indexKey);
  const workerData: ShareWork = { shard, additions, indexKey };
  const thread = new Isolate<never, ShareResult>({
    host: { thread: builtFile('share-worker.cjs'), options: { workerData } },
    take: (response) => {
      if ('done' in response) shares.resolve(response.done);
      else shares.reject(Object.assign(new Error(response.message), { code: response.code }));
    },
    fault: ({ error }) => error ?? new Error('the thread that looks for own documents has ended'),
  });
  const shares = thread.open<Shares>();
  cancel.listen(() => void thread.end(cancel.signal.reason as Error));
  return shares.result.finally(() => cancel.listen(null));
}
