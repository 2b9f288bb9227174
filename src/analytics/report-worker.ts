/**
 * The thread that computes one report. It reads all recorded rows, which would block the event
 * loop.
 */
import { jsonString } from '../base/json.ts';
import { reportFloats } from '../contract/responses.ts';
import { parentPort, workerData } from 'node:worker_threads';
import { IndexPatterns } from '../auth/patterns.ts';
import { parseRows, type Grouping } from '../contract/analytics.ts';
import { csvOf } from './csv.ts';
import {
  FilterReport,
  QueryReport,
  type QueryReportKind,
  type Report,
  ReportFault,
  SummaryReport,
} from './reports.ts';

export interface ReportSpec {
  kind: QueryReportKind | 'filters' | 'summary';
  /** Time range in ms since the epoch: `[from, to)`. */
  from: number;
  to: number;
  /** null: all indexes. */
  indexUids: readonly string[] | null;
  /** Patterns of the indexes that the caller may see; null: all indexes. */
  patterns: readonly string[] | null;
  format: 'json' | 'csv';
  groupBy: readonly Grouping[];
  /** For query reports: count only the final query of a user who is typing. */
  finalQueries: boolean;
  /** null: a summary, which is not paged. */
  page: { offset: number; limit: number } | null;
}

/** A chunk of rows, or the end of the rows. */
export type ReportInput = { rows: string } | { end: true };

export type ReportOutput = { ready: true } | { body: string } | { fault: string };

const spec = workerData as ReportSpec;
const report = reportOf(spec);

parentPort?.on('message', (input: ReportInput) => parentPort!.postMessage(take(input), []));

function take(input: ReportInput): ReportOutput {
  try {
    if ('end' in input) return { body: bodyOf(report) };
    report.add(parseRows(input.rows));
    return { ready: true };
  } catch (error) {
    if (error instanceof ReportFault) return { fault: error.message };
    throw error;
  }
}

function reportOf({
  kind,
  from,
  to,
  indexUids,
  patterns,
  groupBy,
  finalQueries,
}: ReportSpec): Report<object> {
  const requested = indexUids === null ? null : new Set(indexUids);
  const visible = patterns === null ? null : new IndexPatterns(patterns);
  const known = new Map<string, boolean>();
  const includes = (uid: string): boolean => {
    let included = known.get(uid);
    if (included === undefined) {
      included = requested?.has(uid) !== false && visible?.matches(uid) !== false;
      known.set(uid, included);
    }
    return included;
  };
  const selection = { from, to, includes };
  if (kind === 'summary') return new SummaryReport(selection, groupBy);
  return kind === 'filters'
    ? new FilterReport(selection)
    : new QueryReport(selection, kind, finalQueries);
}

function bodyOf(made: Report<object>): string {
  const rows = made.rows();
  const { page, format } = spec;
  const shown = page === null ? rows : rows.slice(page.offset, page.offset + page.limit);
  if (format === 'csv') return csvOf(shown, made.columns);
  const body = page === null ? { results: shown } : { results: shown, ...page, total: rows.length };
  return jsonString(reportFloats(body));
}
