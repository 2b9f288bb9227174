/**
 * A thread that finds the documents that belong to this server, so that large payloads do not delay
 * requests.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type Addition, ownShares, type Shares } from './own-share.ts';
import type { Shard } from './owner.ts';

export interface ShareWork {
  shard: Shard;
  additions: readonly Addition[];
  indexKey: string | null;
}

export type ShareResult = { done: Shares } | { code: string | undefined; message: string };

const { shard, additions, indexKey } = workerData as ShareWork;

ownShares(shard, additions, indexKey).then(
  (done) => post({ done }),
  ({ code, message }: NodeJS.ErrnoException) => post({ code, message }),
);

function post(message: ShareResult): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of Node
  parentPort!.postMessage(message);
}
