/** Waiting for a task to finish. */
import { Fault, pathOf, REFUSED, type Client, type TaskReceipt } from './client.ts';
import { durationMs, milliseconds } from './format.ts';
import type { Batch, Task } from './task.ts';

const POLL_MS = 200;
const POLL_MS_MAX = 2000;
/** How long the server may be unreachable, for example during a restart, before waiting fails. */
const AWAY_MS_MAX = 120_000;

/**
 * Waits until a write has finished and describes the outcome. Throws the error of a failed task.
 * @param onProgress is called with the progress of the task's batch, in percent
 */
export async function ended(
  client: Client,
  receipt: TaskReceipt,
  onProgress?: (percentage: number) => void,
): Promise<string> {
  const { taskUid } = receipt;
  let task: Task | null = null;
  let seenAt = performance.now();
  for (let wait = POLL_MS; ; wait = Math.min(wait * 1.3, POLL_MS_MAX)) {
    try {
      task = await client.send<Task>('GET', pathOf(['tasks', taskUid]));
      if (task.status !== 'enqueued' && task.status !== 'processing') break;
      if (onProgress !== undefined && task.batchUid !== null) {
        const batch = await client.send<Batch>('GET', pathOf(['batches', task.batchUid]));
        onProgress(batch.progress?.percentage ?? 0);
      }
      seenAt = performance.now();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (error.status === 403) {
        return `Accepted as task ${taskUid}, which this key may not read.`;
      }
      if (error.status !== 0 || performance.now() - seenAt > AWAY_MS_MAX) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
  if (task.status === 'succeeded') {
    return `Done in ${milliseconds(durationMs(task.duration))} (task ${taskUid}).`;
  }
  const { code, message } = task.error ?? {
    code: 'canceled',
    message: `Task ${taskUid} was canceled.`,
  };
  throw new Fault(REFUSED, code, message);
}

/** Sends a write and waits until it has finished. */
export async function finish(
  client: Client,
  method: string,
  path: string,
  body?: unknown,
): Promise<string> {
  return ended(client, await client.send<TaskReceipt>(method, path, { body }));
}

/** Changes what a setting of an index is now, and waits until the index has it. */
export async function changeSetting<T>(
  client: Client,
  uid: string,
  setting: string,
  change: (before: T) => T,
): Promise<string> {
  const path = pathOf(['indexes', uid, 'settings', setting]);
  return finish(client, 'PUT', path, change(await client.send<T>('GET', path)));
}
