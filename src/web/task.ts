/** Tasks and batches as the server shows them. */
import type { BatchView, ProgressView, TaskPage, TaskView } from '../contract/responses.ts';

export type { TaskPage, TaskView as Task };

export interface Batch extends Omit<BatchView, 'progress'> {
  /** Its percentage is a number in JSON. */
  readonly progress: (Omit<ProgressView, 'percentage'> & { readonly percentage: number }) | null;
}
