import { pauser } from '../../base/pauser.ts';
import { responseTooLarge, isResponseTooLarge, type RequestLimits } from '../../contract/limits.ts';
import { type SearchResponse, sizeOf } from '../response.ts';
import type { SearchCaller } from '../caller.ts';

/**
 * Runs the searches of one request in order, few at a time, so that searches of others run between
 * them. Reports the first failure in order, and starts no search after it; nor when the responses
 * are too large together, or the client has disconnected.
 * @param run runs the search at a position. `bytesLeft`: limit of its response. `caller`: with its
 *     own stages
 */
export async function severally(
  count: number,
  atOnce: number,
  limits: RequestLimits,
  caller: SearchCaller,
  run: (position: number, bytesLeft: number, caller: SearchCaller) => Promise<SearchResponse>,
): Promise<SearchResponse[]> {
  const responses: SearchResponse[] = [];
  let bytesLeft = limits.responseBytes;
  let failed = count;
  let failure: unknown;
  let next = 0;
  const fail = (position: number, error: unknown): void => {
    if (position >= failed) return;
    failed = position;
    failure = error;
  };
  caller.signal.onAbort(() => fail(0, new Error('the client went away')));
  // Results that arrive while others are started are handled in the same iteration of the event
  // loop, which could go on without end.
  const pause = pauser();
  caller.stages?.begin('permit');
  const runSome = async (): Promise<void> => {
    while (next < failed) {
      const position = next++;
      const isWhole = bytesLeft === limits.responseBytes;
      try {
        const stages = count === 1 ? caller.stages : caller.stages?.of(position);
        const response = await run(position, bytesLeft, stages ? { ...caller, stages } : caller);
        if (count > 1) stages?.begin('others');
        responses[position] = response;
        bytesLeft -= sizeOf(response);
        if (bytesLeft < 0) throw responseTooLarge(limits);
      } catch (error) {
        // Report the limit of the request, not what the other responses have left of it.
        fail(position, !isWhole && isResponseTooLarge(error) ? responseTooLarge(limits) : error);
      }
      await pause();
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, atOnce) }, runSome));
  if (failed < count) {
    for (const response of responses) response?.page?.drop();
    throw failure;
  }
  return responses;
}
