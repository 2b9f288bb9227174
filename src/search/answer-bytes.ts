import { answerTooLarge, type RequestLimits } from '../contract/limits.ts';

/** The parts as one answer. Throws `ApiError` when they are more than what an answer may have. */
export function joined(parts: readonly (Buffer | string)[], limits: RequestLimits): Buffer {
  const buffers = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
  const bytes = buffers.reduce((sum, { length }) => sum + length, 0);
  if (bytes > limits.answerBytes) throw answerTooLarge(limits);
  return Buffer.concat(buffers, bytes);
}
