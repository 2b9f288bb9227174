/** In a network that shares documents out: steps with the documents that belong to this server. */
import { startThread } from '../../base/thread.ts';
import type { BatchStep } from '../../engine/native.ts';
import { type Addition, ownShares, type Share } from '../../network/own-share.ts';
import type { Shard } from '../../network/owner.ts';
import type { ShareReply, ShareWork } from '../../network/share-worker.ts';
import { removeFile } from '../../store/payload-folder.ts';
import type { CancelSwitch, RunContext } from './run.ts';

/** Bytes of documents that are looked at on the event loop, in slices; more get a thread. */
const INLINE_BYTES_MAX = 128 * 1024;

type DocumentStep = Extract<BatchStep, { kind: 'documents' }>;

/**
 * The steps with what belongs here; nothing else of them changes. `payloads` gets more.
 * `end` must be called once the steps are done: it removes files.
 */
export async function ownSteps(
  { shard, store, cancel }: RunContext,
  steps: BatchStep[],
  payloads: Buffer[],
  indexKey: string | null,
): Promise<{ steps: BatchStep[]; end: () => void }> {
  const own = steps.filter((step): step is DocumentStep => step.kind === 'documents');
  if (shard === null || own.length === 0) return { steps, end: () => {} };
  const additions = own.map((step): Addition => ({
    source:
      'file' in step.payload
        ? { file: step.payload.file }
        : { bytes: payloads[step.payload.buffer]! },
    primaryKey: step.primaryKey,
    output: `${store.payloadFile(step.task)}.own`,
  }));
  const files = additions.flatMap(({ source, output }) => ('file' in source ? [output] : []));
  const end = (): void => files.forEach(removeFile);
  try {
    const shares = await sharesOf(shard, additions, indexKey, cancel);
    const shared = new Map<BatchStep, BatchStep>();
    for (const [n, step] of own.entries()) {
      const { bytes, primaryKey } = shares[n]!;
      shared.set(step, {
        ...step,
        payload:
          bytes === null
            ? { file: additions[n]!.output }
            : { buffer: payloads.push(Buffer.from(bytes)) - 1 },
        format: 'ndjson',
        primaryKey: step.primaryKey ?? primaryKey,
      });
    }
    return { steps: steps.map((step) => shared.get(step) ?? step), end };
  } catch (error) {
    end();
    throw error;
  }
}

function sharesOf(
  shard: Shard,
  additions: readonly Addition[],
  indexKey: string | null,
  cancel: CancelSwitch,
): Promise<Share[]> {
  const bytes = additions.map(({ source }) => ('bytes' in source ? source.bytes.length : Infinity));
  const total = bytes.reduce((sum, size) => sum + size, 0);
  if (total <= INLINE_BYTES_MAX) return ownShares(shard, additions, indexKey);
  const workerData: ShareWork = { shard, additions, indexKey };
  const worker = startThread(
    import.meta.url,
    './share-worker.cjs',
    '../../network/share-worker.ts',
    {
      workerData,
    },
  );
  return new Promise<Share[]>((resolve, reject) => {
    cancel.listen(() => void worker.terminate());
    worker.once('message', (reply: ShareReply) => {
      if ('shares' in reply) resolve(reply.shares);
      else reject(Object.assign(new Error(reply.message), { code: reply.code }));
    });
    worker.once('error', reject);
    worker.once('exit', () => {
      try {
        cancel.check();
      } catch (canceled) {
        reject(canceled);
      }
      reject(new Error('the thread that looks for own documents has ended'));
    });
  }).finally(() => cancel.listen(null));
}
