import type { ResultHead } from '../../src/engine/native.ts';

/** The head of an answer that a test makes up. */
export function headOf(
  processingTimeMs: number,
  totalHits: number | null = null,
  degraded = false,
): ResultHead {
  return { processingTimeMs, degraded, totalHits };
}
