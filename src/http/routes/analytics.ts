import { REPORT } from '../../contract/responses.ts';
import {
  FILTER_REPORT_QUERY,
  QUERY_REPORT_QUERY,
  SUMMARY_QUERY,
  USAGE_EVENT,
  usageEventFault,
  type QueryReportQuery,
  type SummaryQuery,
  type UsageEvent,
} from '../../contract/analytics.ts';
import { ApiError, indexNotFound } from '../../contract/errors.ts';
import { pageOf } from '../../contract/pages.ts';
import { queryParser, type QueryParser } from '../../contract/query.ts';
import type { RecordedEvent } from '../../analytics/recorder.ts';
import type { ReportSpec } from '../../analytics/report-worker.ts';
import type { Analytics, Dependencies } from '../dependencies.ts';
import { route, type RouteResponse, type RequestContext, type Route } from '../route.ts';
import type { HeaderList } from '../connection.ts';
import { senderOf } from '../search-recording.ts';

/** Header of a report in CSV: the nodes of the cluster whose rows do not count. */
const MISSING_NODES = 'gannet-missing-nodes';

/** Also served at a separate address. */
export const EVENT_ROUTE = route({
  method: 'POST',
  path: '/events',
  action: 'search',
  summary: 'Records a click on a result of a search, or a conversion.',
  body: { schema: USAGE_EVENT, fault: usageEventFault },
  success: 201,
  errors: ['index_not_found'],
  handle: recordEvent,
});

export const ANALYTICS_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/analytics/summary',
    action: 'analytics.get',
    summary:
      'Shows totals of searches, clicks, conversions and latency, by index or day on request.',
    query: queryParser(SUMMARY_QUERY),
    success: 200,
    response: REPORT,
    otherResponseTypes: ['text/csv'],
    handle: sumUp,
  }),
  queryReport('/analytics/top-searches', 'top', 'Lists the queries, the most frequent first.'),
  queryReport(
    '/analytics/searches-without-results',
    'withoutResults',
    'Lists the queries that found nothing, the most frequent first.',
  ),
  queryReport(
    '/analytics/searches-without-clicks',
    'withoutClicks',
    'Lists the queries whose results nobody clicked, the most frequent first.',
  ),
  queryReport('/analytics/top-filters', 'filters', 'Lists the filters, the most frequent first.'),
  queryReport(
    '/analytics/clicked-documents',
    'clicks',
    'Lists the documents that were clicked after each query, the most clicked first.',
  ),
  queryReport(
    '/analytics/interleaving',
    'interleaving',
    'Shows which of two indexes the users of interleaved searches prefer.',
  ),
  EVENT_ROUTE,
];

function queryReport(path: string, kind: ReportSpec['kind'], summary: string): Route {
  const query: QueryParser<QueryReportQuery> =
    kind === 'filters' || kind === 'clicks' || kind === 'interleaving'
      ? queryParser(FILTER_REPORT_QUERY)
      : queryParser(QUERY_REPORT_QUERY);
  return route({
    method: 'GET',
    path,
    action: 'analytics.get',
    summary,
    query,
    success: 200,
    response: REPORT,
    otherResponseTypes: ['text/csv'],
    handle: (context, server) => {
      const { finalQueries = false } = context.query;
      const more = { kind, groupBy: [], finalQueries, page: pageOf(context.query) };
      return report(context, server, more);
    },
  });
}

async function recordEvent(
  { body, access, connection }: RequestContext<unknown, UsageEvent>,
  { analytics, services }: Dependencies,
): Promise<RouteResponse> {
  const { recorder, peers } = switchedOn(analytics, 'Sending events');
  const { indexUid, position, queryUid } = body;
  if (!access.mayAccess(indexUid)) throw access.refusal(indexUid);
  if (services.indexes.get(indexUid) === undefined) throw indexNotFound(indexUid);
  const objectId = body.objectId ?? body.objectID ?? null;
  const event: RecordedEvent = {
    type: body.eventType,
    name: body.eventName,
    indexUid,
    objectId: objectId === null ? null : String(objectId),
    position: position ?? -1,
    sender: senderOf(connection, body.userId ?? null),
    queryUid: queryUid ?? null,
  };
  const isElsewhere = (await peers?.record(event, recorder.searchOf(event))) === true;
  if (!isElsewhere) await recorder.event(event);
  return { status: 201, body: null };
}

function sumUp(
  context: RequestContext<SummaryQuery>,
  server: Dependencies,
): Promise<RouteResponse> {
  return report(context, server, {
    kind: 'summary',
    finalQueries: false,
    page: null,
    groupBy: context.query.groupBy ?? [],
  });
}

async function report(
  { access, connection, query }: RequestContext<SummaryQuery>,
  { analytics }: Dependencies,
  more: Pick<ReportSpec, 'kind' | 'groupBy' | 'finalQueries' | 'page'>,
): Promise<RouteResponse> {
  const { from = 0, to = Infinity, indexUids, format = 'json' } = query;
  const { reporter } = switchedOn(analytics, 'Reading analytics');
  const spec: ReportSpec = {
    from,
    to,
    format,
    ...more,
    indexUids: indexUids ?? null,
    patterns: access.indexPatterns,
  };
  const { body, missing } = await reporter.report(spec, () => connection.aborted);
  if (format === 'json') return { status: 200, body };
  const headers: HeaderList = missing.length === 0 ? [] : [[MISSING_NODES, missing.join(', ')]];
  return { status: 200, body, type: 'text/csv; charset=utf-8', headers };
}

export function switchedOn(analytics: Analytics | null, what: string): Analytics {
  if (analytics !== null) return analytics;
  throw new ApiError(
    'feature_not_enabled',
    `${what} needs analytics, which are off: start the server with \`--analytics-retention-days\`.`,
  );
}
