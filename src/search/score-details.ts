/** From the details of scores to what hits of several servers are compared by. */
import { JsonScanner } from '../base/json-scanner.ts';
import type { ScoreValue } from '../network/score-values.ts';

type Details = Record<string, { order: number; score?: number; similarity?: number | null }>;

/** Of `_rankingScoreDetails` of a hit. */
function scoreValues(details: Details, weight: number, global: number): ScoreValue[] {
  const rules = Object.entries(details).sort(([, a], [, b]) => a.order - b.order);
  const values = rules.flatMap(([name, rule]): ScoreValue[] => {
    if (name === 'vectorSort') return [{ vectorSort: Math.max(0, rule.similarity ?? 0) * weight }];
    if (rule.score !== undefined) return [{ weightedScore: rule.score * weight }];
    if (name.startsWith('<hidden')) return [{ sort: { asc: true, value: null } }];
    const asc = name.endsWith(':asc');
    if ('distance' in rule) return [{ geoSort: { asc, distance: rule.distance as number | null } }];
    if (!('value' in rule)) return [];
    return [{ sort: { asc, value: rule.value as string | number | null } }];
  });
  const isOneScore = values.length > 0 && values.every((value) => 'weightedScore' in value);
  return isOneScore ? [{ weightedScore: global }] : values;
}

/** The answer of a federated search that shows details, with the values and without the details that nobody asked for. */
export async function withScoreValues(
  answer: Buffer,
  queries: readonly { weight: number; position: number; showsDetails: boolean }[],
): Promise<Buffer> {
  const byPosition = new Map(queries.map((query) => [query.position, query]));
  const parts: (Buffer | string)[] = [];
  let from = 0;
  const scanner = new JsonScanner(answer);
  await scanner.objectInTurns(async (member) => {
    if (member !== 'hits') return;
    await scanner.arrayInTurns(() => {
      const open = scanner.at + 1;
      let previous = open;
      let details: Details = {};
      let cut: [number, number] = [0, 0];
      let federation: { queriesPosition: number; weightedRankingScore: number } | undefined;
      let place = 0;
      scanner.object((name) => {
        if (name === '_rankingScoreDetails') {
          details = scanner.value() as Details;
          cut = [previous, scanner.at];
          if (previous === open && answer[scanner.at] === 0x2c) cut[1]++;
        } else if (name === '_federation') {
          place = scanner.at;
          federation = scanner.value() as typeof federation;
        } else scanner.skip();
        previous = scanner.at;
      });
      const query = byPosition.get(federation!.queriesPosition)!;
      const values = scoreValues(details, query.weight, federation!.weightedRankingScore);
      const text = `"weightedScoreValues":${JSON.stringify(values)},`;
      const edits: [number, number, string][] = [[place + 1, place + 1, text]];
      if (!query.showsDetails && cut[1] > 0) edits.push([...cut, '']);
      for (const [start, end, replacement] of edits.sort(([a], [b]) => a - b)) {
        parts.push(answer.subarray(from, start), replacement);
        from = end;
      }
    });
  });
  parts.push(answer.subarray(from));
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}
