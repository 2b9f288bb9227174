import { maskedUrl } from '../base/secrets.ts';
import type { GivenEmbedders } from '../contract/embedders/check.ts';
import { reportedEmbedders } from '../contract/embedders/shown.ts';
import { SHOWN_IN_BATCH, type TaskRow, taskTypeEntry } from '../contract/task-types.ts';
import type { TaskDetails, TaskStatus } from '../contract/tasks.ts';

/**
 * The details of a task as shown, without those that its outcome adds.
 * @param result the counter that the task ended with; null while it has not ended, or has none
 * @param nameOf returns the uid of an index by its number
 * @returns null for a type without details
 */
export function detailsOf(
  row: TaskRow,
  status: TaskStatus,
  result: number | null,
  nameOf: (index: number) => string | null,
): TaskDetails | null {
  return taskTypeEntry(row.type).details(row, { status, result }, nameOf);
}

/**
 * Masks the stored details of a batch: older versions and dumps may have left credentials in them.
 */
export function reportedDetails(details: TaskDetails): TaskDetails {
  const { embedders, url } = details;
  const shown = { ...details };
  if (typeof embedders === 'object' && embedders !== null)
    shown.embedders = reportedEmbedders(embedders as GivenEmbedders);
  if (typeof url === 'string') shown.url = maskedUrl(url);
  return shown;
}

/** Combines the details of the tasks of a batch. */
export class BatchDetails {
  readonly #sum: TaskDetails = {};

  add(details: TaskDetails | null): void {
    for (const [key, value] of Object.entries(details ?? {})) {
      this.#sum[key] = accumulate(key, this.#sum[key], value);
    }
  }

  /** @param finished leave out keys without a value */
  result(finished: boolean): TaskDetails {
    if (!finished) return { ...this.#sum };
    return Object.fromEntries(Object.entries(this.#sum).filter(([, value]) => value !== null));
  }
}

function accumulate(key: string, before: unknown, value: unknown): unknown {
  if (before === undefined || before === null) return value;
  switch (SHOWN_IN_BATCH[key]) {
    case 'sum':
      return (before as number) + ((value as number | null) ?? 0);
    case 'joined':
      return value === null ? before : joined(before as string, value as string);
    case 'concatenated':
      return [...(before as unknown[]), ...(value as unknown[])];
    case 'first':
      return before;
    case undefined:
      return value;
  }
}

/** Once the joined text of a batch is longer than this, no more texts are added. UTF-16 units. */
const JOINED_UNITS_MAX = 64 * 1024;

function joined(before: string, value: string): string {
  return before.length + value.length > JOINED_UNITS_MAX ? before : `${before}&${value}`;
}
