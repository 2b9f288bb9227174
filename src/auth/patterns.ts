/** `movies` matches itself, `mov*` every uid that begins with `mov`, `*` every uid. Case-sensitive. */
export function matchesPattern(uid: string, pattern: string): boolean {
  return pattern.endsWith('*') ? uid.startsWith(pattern.slice(0, -1)) : uid === pattern;
}

export function matchesAny(uid: string, patterns: readonly string[]): boolean {
  for (const pattern of patterns) if (matchesPattern(uid, pattern)) return true;
  return false;
}
