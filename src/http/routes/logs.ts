import { type LogFilter, parseLogFilter } from '../../base/logger.ts';
import { ApiError } from '../../contract/errors.ts';
import {
  LOG_LEVEL,
  LOG_STREAM,
  type LogLevelBody,
  type LogStreamBody,
} from '../../contract/logs.ts';
import type { Dependencies } from '../dependencies.ts';
import type { ResponseStream } from '../connection.ts';
import { needFeature } from '../need-feature.ts';
import {
  bodyOf,
  NO_CONTENT,
  route,
  STREAMED,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';

export const LOG_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/logs/stream',
    action: 'metrics.get',
    summary: 'Streams the logs until the client closes the connection.',
    body: bodyOf(LOG_STREAM),
    success: 200,
    handle: streamLogs,
  }),
  route({
    method: 'DELETE',
    path: '/logs/stream',
    action: 'metrics.get',
    summary: 'Ends the log stream.',
    success: 204,
    handle: endStream,
  }),
  route({
    method: 'POST',
    path: '/logs/stderr',
    action: 'metrics.get',
    summary: 'Sets the levels of the log on standard error.',
    body: bodyOf(LOG_LEVEL),
    success: 204,
    handle: setLogLevels,
  }),
];

function streamLogs(
  { body, connection, requestId }: RequestContext<unknown, LogStreamBody>,
  server: Dependencies,
): RouteResponse {
  const filter = logFilter(body.target);
  if (body.profileMemory === true) {
    throw new ApiError(
      'bad_request',
      'Invalid value at `.profileMemory`: memory profiles are not available.',
    );
  }
  needFeature(server, 'logsRoute', 'Streaming the logs');
  // The head is sent with the first line.
  let stream: ResponseStream | null = null;
  let canWrite = true;
  const close = server.logs.openStream(
    filter,
    body.mode ?? 'human',
    (line) => {
      if (stream === null) {
        stream = connection.stream(200, [...STREAM_HEADERS, ['x-request-id', requestId]]);
        stream.onDrain(() => (canWrite = true));
      }
      // A client that reads too slowly misses lines.
      if (canWrite) canWrite = stream.write(line);
    },
    () => stream?.end(),
  );
  if (close === null) {
    throw new ApiError('bad_request', 'The log stream is in use; only one can be open.');
  }
  connection.onAbort(close);
  return STREAMED;
}

const STREAM_HEADERS = [
  ['content-type', 'text/plain; charset=utf-8'],
  ['x-accel-buffering', 'no'],
] as const;

function endStream(_: RequestContext, server: Dependencies): RouteResponse {
  needFeature(server, 'logsRoute', 'Ending the log stream');
  server.logs.closeStream();
  return NO_CONTENT;
}

function setLogLevels(
  { body }: RequestContext<unknown, LogLevelBody>,
  server: Dependencies,
): RouteResponse {
  const filter = logFilter(body.target);
  needFeature(server, 'logsRoute', 'Setting the log levels');
  server.logs.setStderrFilter(filter);
  return NO_CONTENT;
}

function logFilter(target: string | null | undefined): LogFilter {
  const filter = parseLogFilter(target ?? 'info');
  if (filter.ok) return filter.value;
  throw new ApiError('bad_request', `Invalid value at \`.target\`: ${filter.error}.`);
}
