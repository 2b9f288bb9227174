const NUMBERS = [
  'largeBucketMin',
  'cachedWordsMin',
  'cachedPositionWordsMin',
  'frequentDocumentsMin',
  'prefixUnionWordsMin',
  'storedRestMin',
  'scannedCandidatesMax',
  'signedRowsMin',
] as const;
const CPU_LEVELS = ['portable', 'avx2', 'avx512'] as const;

/**
 * Thresholds at which the engine switches between two algorithms, for tests and comparisons:
 * `native/base/tuning.h` describes the trade-off of each. Absent ones have their defaults; numbers
 * are whole and above 0.
 */
export type EngineTuning = Partial<
  Record<(typeof NUMBERS)[number], number> & { cpuMax: (typeof CPU_LEVELS)[number] }
>;

/**
 * Parses thresholds that tests change, as a JSON object.
 * @returns null when it is not an object, or has unknown names or values out of range
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
      ? (CPU_LEVELS as readonly unknown[]).includes(given)
      : (NUMBERS as readonly string[]).includes(name) && Number.isSafeInteger(given) && given > 0,
  );
  return isValid ? (value as EngineTuning) : null;
}
