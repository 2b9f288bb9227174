import {
  OutcomeUnknownError,
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
 * An attempt without an answer may be in the log, or may still arrive. So nothing else is ever proposed at its sequence
 * by this leader: the log is read, and where the entry is not there the same one is sent again. Two attempts cannot both
 * succeed, because the first moves the head. The end is certain in two cases: the entry is read, or another one is at
 * its place, or the log says that this leader is none any more, after which no attempt of it can succeed.
 *
 * @returns false: it is not in the log and never will be, and this leader is none any more
 * Throws `WritesRefusedError` (nothing was written), or `OutcomeUnknownError` at the signal, or when the log was trimmed
 * beyond the entry meanwhile.
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
      // A log without space refuses an entry before it looks at the epoch.
      const isOver = result.kind !== 'refused' || (await log.state()).leader?.epoch !== epoch;
      // No attempt can succeed from here on, so what is read now is final.
      if (isOver) return (await lookUp(log, entry)) === 'present';
    } catch (error) {
      if (error instanceof TrimmedError) break;
      if (!(error instanceof UnavailableError)) throw error;
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
