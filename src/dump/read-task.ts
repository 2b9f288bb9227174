/** Converts a line of `tasks/queue.jsonl` to the form of the task store. */
import type { ErrorBody } from '../contract/errors.ts';
import { READ_FROM_DUMP, type TaskRequest } from '../contract/task-types.ts';
import type { ExactDates, TaskDetails, TaskNetwork, TaskStatus } from '../contract/tasks.ts';
import { DumpError } from './dump-error.ts';
import { dateOf, exactDates } from './dump-dates.ts';

type Json = Record<string, unknown>;

/**
 * A task of a dump. Dates are in milliseconds with microseconds as the fraction; more precise dates
 * are stored in addition.
 */
export interface DumpedTask {
  uid: number;
  batchUid: number | null;
  status: Exclude<TaskStatus, 'processing'>;
  /** The request. The payload of an addition is not included. */
  request: TaskRequest;
  /** The uids that a cancelation or deletion of tasks matched, ascending. */
  matched: number[];
  /** The counter with which the task ended. */
  result: number | null;
  error?: ErrorBody;
  /** Keys to replace in or add to the details. */
  details?: TaskDetails;
  canceledBy: number | null;
  enqueuedAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  exactDates?: ExactDates;
}

/** Returns null for an unknown task type. Throws `DumpError`. */
export function readTask(line: Json, location: string): DumpedTask | null {
  const bad = (what: string): never => {
    throw new DumpError(`${location}: ${what}`);
  };
  const uid = line.uid;
  if (!isUid(uid)) return bad('`uid` is not the number of a task');
  const enqueuedAt = dateOf(line.enqueuedAt) ?? bad('`enqueuedAt` is not a date');
  const status = line.status === 'processing' ? 'enqueued' : line.status;
  if (!isStatus(status)) return bad(`\`status\` is ${JSON.stringify(status)}`);
  const [name, content] = variantOf(line.type);
  const read = READ_FROM_DUMP.get(name)?.({
    indexUid: typeof line.indexUid === 'string' ? line.indexUid : '',
    content,
    details: variantOf(line.details)[1],
    succeeded: line.status === 'succeeded',
  });
  if (read === undefined || read === null) return null;
  const finishedAt = status === 'enqueued' ? null : dateOf(line.finishedAt);
  if (status !== 'enqueued' && finishedAt === null) return bad('`finishedAt` is not a date');
  const task: DumpedTask = {
    uid,
    batchUid: status !== 'enqueued' && isUid(line.batchUid) ? line.batchUid : null,
    status,
    request: read.request,
    matched: read.matched ?? [],
    result: status === 'enqueued' ? null : (read.result ?? null),
    canceledBy: status === 'canceled' && isUid(line.canceledBy) ? line.canceledBy : null,
    enqueuedAt,
    startedAt:
      finishedAt === null ? null : Math.min(dateOf(line.startedAt) ?? finishedAt, finishedAt),
    finishedAt,
  };
  const exact = exactDates(
    status === 'enqueued'
      ? { enqueuedAt: line.enqueuedAt }
      : { startedAt: line.finishedAt, ...line },
  );
  if (exact !== undefined) task.exactDates = exact;
  const network = networkOf(line.network);
  if (network !== undefined) task.request.network = network;
  if (typeof line.customMetadata === 'string') task.request.customMetadata = line.customMetadata;
  if (status === 'failed') task.error = (line.error ?? undefined) as ErrorBody;
  if (status !== 'enqueued' && read.details !== undefined) task.details = read.details;
  return task;
}

/** Reads the network part of a task. Dumps of other programs use other names or have none. */
function networkOf(value: unknown): TaskNetwork | undefined {
  const { origin, remotes } = (value ?? {}) as Json;
  if (isObject(origin)) {
    const { remoteName, taskUid } = origin;
    return typeof remoteName === 'string' && isUid(taskUid)
      ? { origin: { remoteName, taskUid } }
      : undefined;
  }
  if (!isObject(remotes)) return undefined;
  const known = new Map<string, { task_uid: number } | { error: string }>();
  for (const [name, result] of Object.entries(remotes)) {
    const { task_uid: taskUid, error } = (result ?? {}) as Json;
    if (isUid(taskUid)) known.set(name, { task_uid: taskUid });
    else if (typeof error === 'string') known.set(name, { error });
  }
  return { remotes: Object.fromEntries(known) };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isUid(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < 0xffff_ffff;
}

function isStatus(value: unknown): value is DumpedTask['status'] {
  return ['enqueued', 'succeeded', 'failed', 'canceled'].includes(value as string);
}

/** Reads a variant: a name, or an object with the name as its only key. */
function variantOf(value: unknown): [name: string, content: Json] {
  if (typeof value === 'object' && value !== null) {
    const entry = Object.entries(value)[0];
    if (entry !== undefined && typeof entry[1] === 'object' && entry[1] !== null) {
      return [entry[0], entry[1] as Json];
    }
    if (entry !== undefined) return [entry[0], {}];
  }
  return [typeof value === 'string' ? value : '', {}];
}
