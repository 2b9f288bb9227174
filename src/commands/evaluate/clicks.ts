/** Judgements from the clicks that a server has recorded. */
import { CommandFailure } from '../command.ts';
import { type Connection, resultsOf } from '../connection.ts';
import { TextLine } from './text-lines.ts';

/** The `--judgements` that are no file. */
export const CLICKS = 'clicks';
const PAGE = 1000;

interface Row {
  query: string;
  objectId: string;
  searches: number;
  clicks: number;
}

/**
 * A line of judgements for each query, the most clicked first. The grade of a document is its
 * clicks per search of the query, at most 1.
 * @param clicksMin documents with fewer clicks after the query have no grade
 */
export async function clickedLines(
  connection: Connection,
  index: string,
  clicksMin: number,
): Promise<TextLine[]> {
  const judgements = new Map<string, Record<string, number>>();
  for (let offset = 0; ; offset += PAGE) {
    const path = `/analytics/clicked-documents?indexUids=${encodeURIComponent(index)}&offset=${offset}&limit=${PAGE}`;
    const rows = resultsOf<Row>(await connection.get(path));
    const clicked = rows.filter(({ clicks }) => clicks >= clicksMin);
    for (const { query, objectId, searches, clicks } of clicked) {
      if (query === '' || searches === 0) continue;
      const grade = Number(Math.min(1, clicks / searches).toFixed(4));
      judgements.set(query, { ...judgements.get(query), [objectId]: grade });
    }
    if (clicked.length < PAGE) break;
  }
  if (judgements.size === 0) {
    throw new CommandFailure(
      `No document of \`${index}\` has ${clicksMin} clicks after a query: front ends send them to POST /events.`,
    );
  }
  return [...judgements].map(
    ([q, grades], n) => new TextLine(JSON.stringify({ q, judgements: grades }), CLICKS, n + 1),
  );
}
