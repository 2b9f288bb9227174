import {
  OutcomeUnknownError,
  RefusedError,
  TrimmedError,
  UnavailableError,
  WritesRefusedError,
} from './errors.ts';
import type { Log } from './log/log.ts';
import type { Entry, Epoch } from './record.ts';
import type { Runtime } from './runtime.ts';

const RETRY_MS = 200;

/**
 * Adds an entry to the log and finds out whether it is there, however long that takes.
 *
 * If the log does not respond to an attempt, the entry may be in the log or may still arrive. So
 * this leader never proposes anything else at its sequence: it reads the log, and sends the same
 * entry again if it is not there. Two attempts cannot both succeed, because the first moves the
 * head. The outcome is certain once the entry is read, or another entry is read at its sequence, or
 * the log says that this node is no longer the leader, after which none of its attempts can
 * succeed.
 *
 * Throws `WritesRefusedError` (nothing was written), or `OutcomeUnknownError` at the signal or when
 * the log was trimmed beyond the entry meanwhile.
 *
 * @returns false: the entry is not in the log and never will be, and this node is no longer the
 *   leader
 */
export async function appendSurely(
  log: Log,
  entry: Entry,
  epoch: Epoch,
  runtime: Runtime,
  signal: AbortSignal,
): Promise<boolean> {
  let isUnknown = false;
  while (!signal.aborted) {
    try {
      const found = isUnknown ? await lookUp(log, entry) : 'absent';
      if (found !== 'absent') return found === 'present';
      const result = await log.append(entry, epoch);
      if (result.kind === 'appended') return true;
      if (result.kind === 'refused' && !isUnknown) throw new WritesRefusedError(result.reason);
      // A log without space refuses an entry before it checks the epoch.
      const isOver = result.kind !== 'refused' || (await log.state()).leader?.epoch !== epoch;
      // No attempt can succeed any more, so what is read now is final.
      if (isOver) return (await lookUp(log, entry)) === 'present';
    } catch (error) {
      if (error instanceof TrimmedError) break;
      // The log no longer lets this node in, and says so before it does anything.
      const isDenied = error instanceof RefusedError;
      if (isDenied && !isUnknown) throw new WritesRefusedError(error.message);
      if (!isDenied && !(error instanceof UnavailableError)) throw error;
      isUnknown = true;
    }
    await runtime.sleep(RETRY_MS, signal);
  }
  throw new OutcomeUnknownError('It is not known whether the commit is in the log');
}

async function lookUp(log: Log, entry: Entry): Promise<'present' | 'absent' | 'other'> {
  const [found] = await log.read(entry.sequence, 1);
  if (found === undefined) return 'absent';
  return found.body.equals(entry.body) ? 'present' : 'other';
}
