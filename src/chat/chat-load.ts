import { ConcurrencyLimit } from '../outbound/concurrency-limit.ts';

/** Maximum number of conversations that build the description of the indexes at the same time. */
const DESCRIBED_AT_ONCE = 4;

/** State shared by all conversations. */
export class ChatLoad {
  /** Number of running conversations. */
  conversations = 0;
  readonly describing = new ConcurrencyLimit(DESCRIBED_AT_ONCE);
}
