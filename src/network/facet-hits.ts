import { parseAnswer } from '../base/json.ts';
import { MalformedJson } from '../base/json-scanner.ts';
import { countOf } from './count.ts';

/** Counts by value of an answer to a search for values of a facet. Throws `MalformedJson`. */
export function readFacetHits(body: Buffer): Record<string, number> {
  const counts: [string, number][] = [];
  for (const { value, count } of hitsOf(body)) {
    if (typeof value !== 'string') throw new MalformedJson('not a facet value');
    counts.push([value, countOf(count)]);
  }
  return Object.fromEntries(counts);
}

function hitsOf(body: Buffer): { value?: unknown; count?: unknown }[] {
  try {
    const { facetHits } = parseAnswer(body) as { facetHits?: unknown };
    if (Array.isArray(facetHits)) return facetHits as { value?: unknown; count?: unknown }[];
  } catch {
    // Told below.
  }
  throw new MalformedJson('no answer to a facet search');
}
