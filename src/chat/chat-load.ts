import { ConcurrencyLimit } from '../outbound/concurrency-limit.ts';

/**
 * Conversations that read what their model is told of the indexes; all at once would hold the event
 * loop.
 */
const DESCRIBED_AT_ONCE = 4;

/** What all conversations share. */
export class ChatLoad {
  /** Under way. */
  conversations = 0;
  readonly describing = new ConcurrencyLimit(DESCRIBED_AT_ONCE);
}
