/**
 * The thread that computes one report. It reads all recorded rows, which would block the event
 * loop.
 */
import { jsonString } from '../base/json.ts';
import { reportFloats } from '../contract/responses.ts';
import { parentPort, workerData } from 'node:worker_threads';
import { IndexPatterns } from '../auth/patterns.ts';
import { checkedRows, parseRows, type Grouping } from '../contract/analytics.ts';
import { csvOf } from './csv.ts';
import { InterleavingReport } from './interleaving.ts';
import { RowMerger } from './merge-rows.ts';
import {
  ClickReport,
  FilterReport,
  QueryReport,
  type QueryReportKind,
  type Report,
  ReportFault,
  SummaryReport,
} from './reports.ts';

export interface ReportSpec {
  kind: QueryReportKind | 'clicks' | 'filters' | 'interleaving' | 'summary';
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

/** Where rows come from: the server itself, which is the first one, and other nodes. */
export type ReportSources = readonly { readonly name: string; readonly isMissing: boolean }[];

/** A chunk of rows of a source, or their end. `isMissing`: not all of them could be read. */
export type ReportInput = { source: number } & ({ rows: string } | { isMissing: boolean });

/** `ready`: a chunk of the source was read; `missing`: the names of nodes whose rows lack. */
export type ReportOutput =
  { ready: number } | { body: string; missing: readonly string[] } | { fault: string };

const { spec, sources } = workerData as { spec: ReportSpec; sources: ReportSources };
const report = reportOf(spec);
const merger = new RowMerger(sources.length, (rows) => report.add(rows));
const missing = new Set<number>();
const ended = new Set<number>();
for (const [n, { isMissing }] of sources.entries()) if (isMissing) end(n, true);

parentPort?.on('message', (input: ReportInput) => {
  const output = take(input);
  if (output !== null) parentPort!.postMessage(output, []);
});

function end(source: number, isMissing: boolean): void {
  if (isMissing) missing.add(source);
  ended.add(source);
  merger.end(source);
}

/** Returns null for what a source sends after its end. */
function take(input: ReportInput): ReportOutput | null {
  const { source } = input;
  if (ended.has(source)) return null;
  try {
    if ('rows' in input) {
      const rows = source === 0 ? parseRows(input.rows) : checkedRows(input.rows);
      if (rows !== null) {
        merger.put(source, rows);
        return { ready: source };
      }
      end(source, true);
    } else end(source, input.isMissing);
    if (!merger.isDone) return null;
    const names = sources.filter((_, n) => missing.has(n)).map(({ name }) => name);
    return { body: bodyOf(report, names), missing: names };
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
  const isVisible = (uid: string): boolean => visible?.matches(uid) !== false;
  const known = new Map<string, boolean>();
  const includes = (uid: string): boolean => {
    let included = known.get(uid);
    if (included === undefined) {
      included = requested?.has(uid) !== false && isVisible(uid);
      known.set(uid, included);
    }
    return included;
  };
  const selection = { from, to, includes };
  if (kind === 'summary') return new SummaryReport(selection, groupBy);
  if (kind === 'clicks') return new ClickReport(selection);
  if (kind === 'interleaving') return new InterleavingReport(selection, isVisible);
  return kind === 'filters'
    ? new FilterReport(selection)
    : new QueryReport(selection, kind, finalQueries);
}

function bodyOf(made: Report<object>, missingNodes: readonly string[]): string {
  const rows = made.rows();
  const { page, format } = spec;
  const shown = page === null ? rows : rows.slice(page.offset, page.offset + page.limit);
  if (format === 'csv') return csvOf(shown, made.columns);
  const body = {
    results: shown,
    ...(page !== null && { ...page, total: rows.length }),
    ...(missingNodes.length > 0 && { missingNodes }),
  };
  return jsonString(reportFloats(body));
}
