import type { EngineTuning } from './native.ts';

const NUMBERS = [
  'largeBucketMin',
  'cachedWordsMin',
  'cachedPositionWordsMin',
  'frequentDocumentsMin',
  'prefixUnionWordsMin',
  'storedRestMin',
  'scannedCandidatesMax',
] as const satisfies readonly (keyof EngineTuning)[];
const CPU_LEVELS: readonly unknown[] = ['portable', 'avx2', 'avx512'];

/**
 * Reads thresholds that tests move, as a JSON object.
 * @returns null when it is not one, or has unknown names or values out of range
 */
export function parseTuning(text: string): EngineTuning | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const isValid = Object.entries(value).every(([name, given]) =>
    name === 'cpuMax'
      ? CPU_LEVELS.includes(given)
      : (NUMBERS as readonly string[]).includes(name) && Number.isSafeInteger(given) && given > 0,
  );
  return isValid ? (value as EngineTuning) : null;
}
