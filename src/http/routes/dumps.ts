import { dumpDate, DUMP_NAME, LIST_DUMPS_QUERY } from '../../contract/dumps.ts';
import { ApiError } from '../../contract/errors.ts';
import type { Pagination } from '../../contract/pages.ts';
import { queryParser } from '../../contract/query.ts';
import { DUMPS, TASK_SUMMARY } from '../../contract/responses.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  longJson,
  registered,
  route,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';
import { page } from './indexes.ts';

export const DUMP_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/dumps',
    action: 'dumps.create',
    summary: 'Creates a dump.',
    success: 202,
    response: TASK_SUMMARY,
    handle: createDump,
  }),
  route({
    method: 'GET',
    path: '/dumps',
    action: 'dumps.get',
    summary: 'Lists the dumps, the newest first.',
    query: queryParser(LIST_DUMPS_QUERY),
    success: 200,
    response: DUMPS,
    handle: listDumps,
  }),
  route({
    method: 'GET',
    path: '/dumps/:dump_uid',
    action: 'dumps.get',
    summary: 'Downloads a dump.',
    success: 200,
    response: 'text',
    responseType: 'application/gzip',
    handle: downloadDump,
  }),
];

function createDump(_: RequestContext, server: Dependencies): Promise<RouteResponse> {
  return registered(server, { type: 'dumpCreation' });
}

async function listDumps(
  { query }: RequestContext<Pagination>,
  { dumps }: Dependencies,
): Promise<RouteResponse> {
  const found = (await dumps.list()).flatMap(({ name, bytes: size }) => {
    const uid = DUMP_NAME.exec(name)?.[1];
    return uid === undefined ? [] : [{ uid, createdAt: dumpDate(uid), size }];
  });
  return longJson(
    page(
      found.sort((a, b) => (a.uid < b.uid ? 1 : -1)),
      query,
    ),
  );
}

async function downloadDump(
  { params }: RequestContext,
  { dumps }: Dependencies,
): Promise<RouteResponse> {
  const name = `${params.dump_uid!}.dump`;
  const pieces = DUMP_NAME.test(name) ? await dumps.read(name) : null;
  if (pieces === null) {
    throw new ApiError('dump_not_found', `There is no dump \`${params.dump_uid!}\`.`);
  }
  return {
    status: 200,
    body: pieces,
    type: 'application/gzip',
    isCompressed: true,
    headers: [['content-disposition', `attachment; filename="${name}"`]],
  };
}
