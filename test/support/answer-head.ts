import type { AnswerHead } from '../../src/engine/native.ts';

/** The head of an answer that a test makes up. */
export function headOf(
  processingTimeMs: number,
  totalHits: number | null = null,
  degraded = false,
): AnswerHead {
  return { processingTimeMs, degraded, totalHits };
}
