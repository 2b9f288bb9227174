/** The headers of a write that another server of the network sends on. */
import { ApiError } from '../contract/errors.ts';
import { TASK_UID_MAX, type TaskNetwork } from '../contract/tasks.ts';
import type { TaskSummary } from '../contract/responses.ts';

export const ORIGIN_REMOTE_HEADER = 'X-Meili-Proxy-Origin-Remote';
export const ORIGIN_TASK_HEADER = 'X-Meili-Proxy-Origin-TaskUid';
/** The same for all attempts to send one write. */
export const WRITE_ID_HEADER = 'X-Gannet-Write-Id';

export interface OriginHeaders {
  originRemote: string | undefined;
  originTaskUid: string | undefined;
}

/** null: a client sends the write. Throws `ApiError`. */
export function originOf({ originRemote, originTaskUid }: OriginHeaders): TaskNetwork | null {
  if (originRemote === undefined && originTaskUid === undefined) return null;
  if (originRemote === undefined || originTaskUid === undefined) {
    const [given, missing] =
      originRemote === undefined
        ? [ORIGIN_TASK_HEADER, ORIGIN_REMOTE_HEADER]
        : [ORIGIN_REMOTE_HEADER, ORIGIN_TASK_HEADER];
    throw new ApiError(
      'inconsistent_document_change_headers',
      `The header \`${given}\` is given without \`${missing}\`.`,
    );
  }
  const remoteName = decoded(ORIGIN_REMOTE_HEADER, originRemote);
  const uid = decoded(ORIGIN_TASK_HEADER, originTaskUid);
  if (!/^\d{1,10}$/.test(uid) || Number(uid) > TASK_UID_MAX) throw invalid(ORIGIN_TASK_HEADER);
  return { origin: { remoteName, taskUid: Number(uid) } };
}

function decoded(header: string, value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw invalid(header);
  }
}

function invalid(header: string): ApiError {
  return new ApiError(
    'invalid_header_value',
    `The value of the header \`${header}\` is not valid.`,
  );
}

/** Maximum number of remembered writes. */
const WRITES_MAX = 10_000;

/** Recently received writes: another attempt gets the task of the first as response. */
export class KnownWrites {
  readonly #tasks = new Map<string, Promise<TaskSummary>>();

  get(id: string): Promise<TaskSummary> | undefined {
    return this.#tasks.get(id);
  }

  /** @param task forgotten when it rejects */
  add(id: string, task: Promise<TaskSummary>): void {
    this.#tasks.set(id, task);
    task.catch(() => this.#tasks.delete(id));
    if (this.#tasks.size <= WRITES_MAX) return;
    const [oldest] = this.#tasks.keys();
    this.#tasks.delete(oldest!);
  }
}
