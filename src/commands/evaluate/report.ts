/**
 * An evaluation as a text for a terminal, as Markdown and as JSON. None contains a time, so that a
 * report in a repository changes only when the figures do.
 */
import { METRIC_NAMES, type MetricName } from '../../relevance/metrics.ts';
import { CONFIDENCE, type Estimate, isClear, RESAMPLES } from '../../relevance/resampling.ts';
import { counted } from '../progress.ts';
import type { Change, Evaluation } from './evaluation.ts';
import type { Way } from './ways.ts';

/** Characters of a query in a list. */
const QUERY_SHOWN = 80;

export interface Reported {
  readonly evaluation: Evaluation;
  readonly ways: readonly Way[];
  readonly notes: readonly string[];
  readonly seed: number;
}

interface Section {
  readonly title: string | null;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function textReport(reported: Reported): string {
  const sections = sectionsOf(reported).map(
    ({ title, head, rows }) => `${title === null ? '' : `${title}\n`}${textTable([head, ...rows])}`,
  );
  return `${headline(reported)}\n\n${sections.join('\n')}`;
}

export function markdownReport(reported: Reported): string {
  const { ways, notes, seed } = reported;
  const described = ways.map(
    ({ name, index, search, settings }) =>
      `- ${name}: \`${index}\`, search \`${JSON.stringify(search)}\`${settings === null ? '' : `, settings \`${JSON.stringify(settings)}\``}\n`,
  );
  const sections = [...sectionsOf(reported), eachQuery(reported)].map(
    ({ title, head, rows }) =>
      `${title === null ? '' : `## ${title}\n\n`}${markdownTable([head, head.map(() => '---'), ...rows])}`,
  );
  const noted = notes.length === 0 ? '' : `${notes.map((one) => `- ${one}\n`).join('')}\n`;
  const intervals = `Intervals of ${CONFIDENCE * 100} % by ${RESAMPLES.toLocaleString('en')} resamples of the queries, seed ${seed}.`;
  return `# Relevance of ${ways[0]!.index}\n\n${headline(reported)}. ${intervals}\n\n${described.join('')}\n${noted}${sections.join('\n')}`;
}

export function jsonReport({ evaluation, ways, notes, seed }: Reported): string {
  const { depths, queries, ways: measured, differences } = evaluation;
  const report = {
    page: depths.page,
    recallAt: depths.recall,
    seed,
    notes,
    ways: measured.map(({ name, estimates, withoutJudged }, n) => ({
      name,
      index: ways[n]!.index,
      search: ways[n]!.search,
      settings: ways[n]!.settings,
      ...estimates,
      queriesWithoutJudgedHits: withoutJudged,
      difference: differences[n - 1] ?? null,
    })),
    queries: queries.map(({ id, q }, n) => ({
      id,
      q,
      ways: measured.map(({ metrics }) => metrics[n]),
    })),
  };
  const rounded = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toFixed(6)) : value;
  return `${JSON.stringify(report, rounded, 2)}\n`;
}

function headline({ evaluation, ways }: Reported): string {
  const { depths, queries } = evaluation;
  return `${counted(queries.length, 'query', 'queries')} of ${ways[0]!.index}, pages of ${depths.page}, recall among ${depths.recall}`;
}

/** The name of a metric in a table. */
export function shownMetric(metric: MetricName, { depths }: Pick<Evaluation, 'depths'>): string {
  const names = { ndcg: 'nDCG', mrr: 'MRR', recall: 'recall', coverage: 'coverage' };
  return `${names[metric]}@${metric === 'recall' ? depths.recall : depths.page}`;
}

function sectionsOf({ evaluation }: Reported): Section[] {
  const { ways, differences, changes } = evaluation;
  const ndcg = shownMetric('ndcg', evaluation);
  const figures = {
    title: null,
    head: [
      '',
      ...METRIC_NAMES.map((metric) => shownMetric(metric, evaluation)),
      'without judged hits',
    ],
    rows: ways.map(({ name, estimates, withoutJudged }) => [
      name,
      ...METRIC_NAMES.map((metric) => shownEstimate(estimates[metric])),
      String(withoutJudged),
    ]),
  };
  if (changes === null) return [figures];
  const compared = {
    title: `Difference of ${ndcg} from ${ways[0]!.name}`,
    head: ['', 'difference', 'better', 'worse', 'same', ''],
    rows: differences.map(({ name, estimate, better, worse, same }) => [
      name,
      shownEstimate(estimate, true),
      ...[better, worse, same].map(String),
      isClear(estimate) || better + worse === 0 ? '' : 'may be chance',
    ]),
  };
  const list = (title: string, some: readonly Change[]): Section[] =>
    some.length === 0
      ? []
      : [
          {
            title: `${title} by ${changes.name}`,
            head: [ndcg, 'id', 'query'],
            rows: some.map(({ query, by }) => [signed(by), query.id, shortened(query.q)]),
          },
        ];
  return [
    figures,
    compared,
    ...list('Gained most', changes.gained),
    ...list('Lost most', changes.lost),
  ];
}

function eachQuery({ evaluation }: Reported): Section {
  const { ways, queries } = evaluation;
  return {
    title: `${shownMetric('ndcg', evaluation)} of each query`,
    head: ['id', 'query', ...ways.map(({ name }) => name)],
    rows: queries.map(({ id, q }, n) => [
      id,
      shortened(q),
      ...ways.map(({ metrics }) => metrics[n]!.ndcg.toFixed(3)),
    ]),
  };
}

function shownEstimate({ mean, low, high }: Estimate, isSigned = false): string {
  const shown = isSigned ? signed : (number: number): string => number.toFixed(3);
  return `${shown(mean)} [${shown(low)}, ${shown(high)}]`;
}

function signed(number: number): string {
  return `${number < 0 ? '' : '+'}${number.toFixed(3)}`;
}

function shortened(query: string): string {
  const line = query.replaceAll(/\s+/g, ' ');
  return line.length > QUERY_SHOWN ? `${line.slice(0, QUERY_SHOWN)}…` : line;
}

function textTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ');
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('');
}

function markdownTable(rows: readonly (readonly string[])[]): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|');
  return rows.map((row) => `| ${row.map(cell).join(' | ')} |\n`).join('');
}
