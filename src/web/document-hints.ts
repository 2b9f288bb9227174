/** What is unusual in a document that somebody types, compared with its index. Pure functions. */
import { distance } from './typo-match.ts';

/** @param fields the fields of the index, with the number of documents that have each */
export function unknownFields(
  document: unknown,
  fields: Readonly<Record<string, number>>,
): { name: string; meant: string | null }[] {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return [];
  const known = Object.keys(fields);
  return Object.keys(document)
    .filter((name) => !Object.hasOwn(fields, name) && name !== '_vectors' && known.length > 0)
    .map((name) => ({ name, meant: nearest(name, known) }));
}

/** The known name with at most two different letters. */
function nearest(name: string, known: readonly string[]): string | null {
  const ranked = known
    .map((one) => ({ one, far: distance([...name.toLowerCase()], [...one.toLowerCase()]) }))
    .filter(({ one, far }) => far <= 2 && far < one.length / 2)
    .sort((a, b) => a.far - b.far);
  return ranked[0]?.one ?? null;
}
