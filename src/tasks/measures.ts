import { humanSize } from '../base/size.ts';

/**
 * How the sizes of the parts of an index have changed, such as `1.25 MiB (+12.00 KiB)`; undefined
 * if none has changed.
 */
export function changedSizes(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): Record<string, string> | undefined {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const shown: Record<string, string> = {};
  for (const name of names) {
    const size = after[name] ?? 0;
    const change = size - (before[name] ?? 0);
    if (change === 0) continue;
    shown[name] = `${humanSize(size)} (${change < 0 ? '-' : '+'}${humanSize(Math.abs(change))})`;
  }
  return Object.keys(shown).length === 0 ? undefined : shown;
}
