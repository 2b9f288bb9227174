import type { ResultHead } from '../../src/engine/native.ts';

/** The head of a made-up result. */
export function headOf(
  processingTimeMs: number,
  totalHits: number | null = null,
  degraded = false,
): ResultHead {
  return { processingTimeMs, degraded, totalHits };
}
