/** Routes behind experimental features: logs, network; and the export. */
import { NETWORK, TASK_SUMMARY } from '../../contract/answers.ts';
import { parseLogFilter, type LogFilter } from '../../base/logger.ts';
import { parseSize } from '../../base/size.ts';
import { ApiError, featureNotEnabled } from '../../contract/errors.ts';
import type { Feature } from '../../contract/features.ts';
import {
  EXPORT,
  LOG_LEVEL,
  LOG_STREAM,
  type ExportBody,
  type LogLevelBody,
  type LogStreamBody,
} from '../../contract/gated.ts';
import { type NetworkPatch, networkView, PATCH_NETWORK } from '../../contract/network.ts';
import type { TaskFilter, TaskView } from '../../contract/tasks.ts';
import { originOf } from '../../network/origin.ts';
import { shardOf } from '../../network/owner.ts';
import type { Dependencies } from '../dependencies.ts';
import type { ReplyStream } from '../exchange.ts';
import { bodyOf, json, NO_CONTENT, route, STREAMED, type Route } from '../route.ts';

const LOG_STREAM_HEADERS = [
  ['content-type', 'text/plain; charset=utf-8'],
  ['x-accel-buffering', 'no'],
] as const;

export function gatedRoutes({ services, logs, network, replication }: Dependencies): Route[] {
  const { features, tasks } = services;

  function need(feature: Feature, action: string): void {
    if (!features.get()[feature]) throw featureNotEnabled(action, feature);
  }

  function logFilter(target: string | null | undefined): LogFilter {
    const filter = parseLogFilter(target ?? 'info');
    if (filter.ok) return filter.value;
    throw new ApiError('bad_request', `Invalid value at \`.target\`: ${filter.error}.`);
  }

  /** A document that is on its way belongs where the network says that it does. */
  function refuseWhileMoving(): void {
    const unfinished: TaskFilter = { statuses: ['enqueued', 'processing'] };
    const moves = { ...unfinished, types: ['networkTopologyChange' as const] };
    const { self } = network.get();
    const deletions = tasks.list(
      { ...unfinished, types: ['documentDeletion'] },
      { limit: 1000, from: null, reverse: false },
      null,
    );
    const isOfMove = ({ network: of }: TaskView): boolean =>
      of !== undefined && 'origin' in of && of.origin.remoteName === self;
    if (tasks.countMatching(moves, null) === 0 && !deletions.results.some(isOfMove)) return;
    throw new ApiError(
      'unprocessed_network_task',
      'Documents are being moved between the servers of the network. Wait until that has ended.',
    );
  }

  const logRoutes: Route[] = [
    route<unknown, LogStreamBody & { profileMemory?: boolean }>({
      method: 'POST',
      path: '/logs/stream',
      action: 'metrics.get',
      summary: 'Streams the logs until the client closes the connection.',
      body: bodyOf(LOG_STREAM),
      success: 200,
      handle: ({ body, exchange, requestId }) => {
        const filter = logFilter(body.target);
        if (body.profileMemory === true) {
          throw new ApiError(
            'bad_request',
            'Invalid value at `.profileMemory`: memory profiles are not available.',
          );
        }
        need('logsRoute', 'Streaming the logs');
        // The head goes out with the first line.
        let stream: ReplyStream | null = null;
        let room = true;
        const close = logs.openStream(
          filter,
          body.mode ?? 'human',
          (line) => {
            if (stream === null) {
              stream = exchange.stream(200, [...LOG_STREAM_HEADERS, ['x-request-id', requestId]]);
              stream.onDrain(() => (room = true));
            }
            // A client that reads too slowly misses lines.
            if (room) room = stream.write(line);
          },
          () => stream?.end(),
        );
        if (close === null) {
          throw new ApiError('bad_request', 'The log stream is in use; only one can be open.');
        }
        exchange.onAbort(close);
        return STREAMED;
      },
    }),
    route({
      method: 'DELETE',
      path: '/logs/stream',
      action: 'metrics.get',
      summary: 'Ends the log stream.',
      success: 204,
      handle: () => {
        need('logsRoute', 'Ending the log stream');
        logs.closeStream();
        return NO_CONTENT;
      },
    }),
    route<unknown, LogLevelBody>({
      method: 'POST',
      path: '/logs/stderr',
      action: 'metrics.get',
      summary: 'Sets the levels of the log on standard error.',
      body: bodyOf(LOG_LEVEL),
      success: 204,
      handle: ({ body }) => {
        const filter = logFilter(body.target);
        need('logsRoute', 'Setting the log levels');
        logs.setStderrFilter(filter);
        return NO_CONTENT;
      },
    }),
  ];

  return [
    ...logRoutes,
    route({
      method: 'GET',
      path: '/network',
      action: 'network.get',
      summary: 'Shows the network.',
      success: 200,
      answer: NETWORK,
      handle: () => {
        need('network', 'Reading the network');
        return json(200, networkView(network.get()));
      },
    }),
    route<unknown, NetworkPatch>({
      method: 'PATCH',
      path: '/network',
      action: 'network.update',
      summary: 'Changes the network.',
      body: bodyOf(PATCH_NETWORK),
      success: 200,
      answer: NETWORK,
      handle: async ({ body }) => {
        need('network', 'Changing the network');
        refuseWhileMoving();
        return json(200, networkView(await network.patch(body)));
      },
    }),
    route({
      method: 'POST',
      path: '/network/rebalance',
      action: 'network.update',
      summary: 'Moves documents to the servers of the network that they belong to.',
      success: 202,
      answer: TASK_SUMMARY,
      handle: async ({ exchange }) => {
        need('network', 'Moving documents in the network');
        if (shardOf(network.get()) === null) {
          throw new ApiError(
            'bad_request',
            'The network does not share documents out: `sharding` is off, or `self` is not one of the remotes.',
          );
        }
        const origin = originOf(exchange.headers);
        const summary = await tasks.register({
          type: 'networkTopologyChange',
          ...(origin === null ? {} : { network: origin }),
        });
        if (origin !== null) return json(202, summary);
        const { path } = exchange;
        const sent = await replication.send(
          { method: 'POST', path, query: '', contentType: null, body: null },
          summary.taskUid,
        );
        if (sent !== null) await tasks.setNetwork(summary.taskUid, sent).catch(() => {});
        return json(202, summary);
      },
    }),
    route<unknown, ExportBody>({
      method: 'POST',
      path: '/export',
      action: 'export',
      summary: 'Sends indexes to another instance.',
      body: bodyOf(EXPORT),
      success: 200,
      answer: TASK_SUMMARY,
      handle: async ({ body }) =>
        json(
          200,
          await tasks.register({
            type: 'export',
            url: body.url,
            apiKey: body.apiKey ?? null,
            payloadSizeBytes: payloadSize(body.payloadSize),
            indexes: Object.fromEntries(
              Object.entries(body.indexes ?? { '*': {} }).map(([pattern, options]) => [
                pattern,
                {
                  filter: options.filter ?? null,
                  overrideSettings: options.overrideSettings ?? false,
                },
              ]),
            ),
          }),
        ),
    }),
  ];
}

/** Bytes; null when not given. REQUIRES: it has been checked */
function payloadSize(size: string | number | null | undefined): number | null {
  if (size === undefined || size === null) return null;
  return typeof size === 'number' ? size : parseSize(size)!;
}
