import { JsonScanner, MalformedJson } from '../base/json-scanner.ts';
import { pauser } from '../base/pauser.ts';
import { countOf } from './count.ts';
import type { ValueCounts } from './federated-answer.ts';

/** The values and their counts in an answer to a search for values of a facet. Throws `MalformedJson`. */
export async function readFacetHits(body: Buffer): Promise<ValueCounts> {
  const counts: [value: string, count: number][] = [];
  const pause = pauser();
  const scanner = new JsonScanner(body);
  let hasHits = false;
  await scanner.objectInTurns(async (name) => {
    if (name !== 'facetHits') return;
    hasHits = true;
    await scanner.arrayInTurns(() => counts.push(hitOf(scanner.value())));
    await pause();
  });
  scanner.end();
  if (!hasHits) throw new MalformedJson('no answer to a facet search');
  return counts;
}

function hitOf(hit: unknown): [value: string, count: number] {
  const { value, count } = (hit ?? {}) as { value?: unknown; count?: unknown };
  if (typeof value === 'string') return [value, countOf(count)];
  throw new MalformedJson('not a facet value');
}
