const NUMBERS = [
  'largeBucketMin',
  'cachedWordsMin',
  'cachedPositionWordsMin',
  'frequentDocumentsMin',
  'prefixUnionWordsMin',
  'storedRestMin',
  'scannedCandidatesMax',
] as const;
const CPU_LEVELS = ['portable', 'avx2', 'avx512'] as const;

/**
 * Thresholds that decide between two ways to an answer, for tests and comparisons: `native/base/tuning.h` says of each what it
 * trades. What is absent has its default; numbers are whole and above 0.
 */
export type EngineTuning = Partial<
  Record<(typeof NUMBERS)[number], number> & { cpuMax: (typeof CPU_LEVELS)[number] }
>;

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
      ? (CPU_LEVELS as readonly unknown[]).includes(given)
      : (NUMBERS as readonly string[]).includes(name) && Number.isSafeInteger(given) && given > 0,
  );
  return isValid ? (value as EngineTuning) : null;
}
