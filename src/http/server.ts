/** The HTTP side of the server: routes, lifecycle, and the socket that serves them. */
import type { Logger } from '../base/logger.ts';
import type { Dependencies } from './dependencies.ts';
import {
  listenWithLibrary,
  type Listener,
  type ListenOptions,
  type TlsFiles,
} from './connection.ts';
import { Lifecycle } from './lifecycle.ts';
import { listenWithNode } from './node-connection.ts';
import type { Route } from './route.ts';
import { HttpThreads, type ThreadsSetup } from './threads/http-threads.ts';
import type { Socket } from './socket-types.ts';
import { ALIAS_ROUTES } from './routes/aliases.ts';
import { BRANCH_ROUTES } from './routes/branches.ts';
import { ANALYTICS_ROUTES, EVENT_ROUTE } from './routes/analytics.ts';
import { CHAT_ROUTES } from './routes/chats.ts';
import { descriptionRoutes } from './routes/description.ts';
import { DOCUMENT_ROUTES } from './routes/documents.ts';
import { DUMP_ROUTES } from './routes/dumps.ts';
import { FIELD_ROUTES } from './routes/fields.ts';
import { EXPORT_ROUTES } from './routes/export.ts';
import { LOG_ROUTES } from './routes/logs.ts';
import { NETWORK_ROUTES } from './routes/network.ts';
import { INDEX_ROUTES } from './routes/indexes.ts';
import { INSIGHT_ROUTES } from './routes/insights.ts';
import { KEY_ROUTES } from './routes/keys.ts';
import { MCP_ROUTES } from './routes/mcp.ts';
import { METRICS_ROUTE, METRICS_ROUTES } from './routes/metrics.ts';
import { PASSAGE_ROUTES } from './routes/passages.ts';
import { RENDER_ROUTES } from './routes/render.ts';
import { SEARCH_RULE_ROUTES } from './routes/search-rules.ts';
import { SEARCH_ROUTES } from './routes/search.ts';
import { EMBEDDER_ROUTES } from './routes/embedders.ts';
import { SUGGEST_ROUTES } from './routes/suggest.ts';
import { SETTINGS_ROUTES } from './routes/settings.ts';
import { CLUSTER_ROUTES } from './routes/cluster.ts';
import { ACCESS_ROUTES } from './routes/access.ts';
import { HEALTH_ROUTE, SYSTEM_ROUTES } from './routes/system.ts';
import { TASK_ROUTES } from './routes/tasks.ts';
import { WEBHOOK_ROUTES } from './routes/webhooks.ts';

export interface HttpOptions {
  host: string;
  port: number;
  tls: TlsFiles | null;
  /** Refuse clients without certificate; needs the node transport. */
  tlsRequireAuth?: boolean;
  /** uWebSockets.js; null: node:http is used. */
  library: Socket.Library | null;
  logger: Logger;
  /** Absent, or without the library: the main thread serves everything. */
  threads?: ThreadsSetup;
  /** Further addresses; each serves the health route and what its name says. */
  more: Partial<Record<OtherAddress, { host: string; port: number }>>;
}

export type OtherAddress = 'events' | 'metrics';

const OTHER_ROUTES: Record<OtherAddress, Route[]> = {
  events: [EVENT_ROUTE, HEALTH_ROUTE],
  metrics: [METRICS_ROUTE, HEALTH_ROUTE],
};

export interface HttpServer {
  readonly port: number;
  /** Ports of the further addresses. */
  readonly otherPorts: Readonly<Partial<Record<OtherAddress, number>>>;
  readonly transport: 'uWebSockets.js' | 'node:http';
  /**
   * Serves the same routes at a unix socket as well, for this process itself: these requests do not
   * appear in the metrics. The caller closes it. Rejects when the path is taken or too long.
   */
  listenWithin(socketPath: string): Promise<Listener>;
  /** Refuses new connections, waits for running requests, then drops the rest. */
  stop(graceMs: number): Promise<void>;
}

/** Time to send responses that are already written. */
const FLUSH_MS = 20;

/** Also those that only other nodes use. */
export function allRoutes(): Route[] {
  const routes = [
    ...SYSTEM_ROUTES,
    ...ACCESS_ROUTES,
    ...CLUSTER_ROUTES,
    ...METRICS_ROUTES,
    ...INSIGHT_ROUTES,
    ...INDEX_ROUTES,
    ...DOCUMENT_ROUTES,
    ...SEARCH_ROUTES,
    ...SUGGEST_ROUTES,
    ...EMBEDDER_ROUTES,
    ...SETTINGS_ROUTES,
    ...TASK_ROUTES,
    ...KEY_ROUTES,
    ...WEBHOOK_ROUTES,
    ...FIELD_ROUTES,
    ...DUMP_ROUTES,
    ...MCP_ROUTES,
    ...SEARCH_RULE_ROUTES,
    ...ALIAS_ROUTES,
    ...BRANCH_ROUTES,
    ...PASSAGE_ROUTES,
    ...RENDER_ROUTES,
    ...CHAT_ROUTES,
    ...ANALYTICS_ROUTES,
    ...LOG_ROUTES,
    ...NETWORK_ROUTES,
    ...EXPORT_ROUTES,
  ];
  return [...routes, ...descriptionRoutes(routes)];
}

/** Rejects when the address is taken. */
export async function startHttp(
  dependencies: Dependencies,
  options: HttpOptions,
): Promise<HttpServer> {
  const { tracer, audit, responseBuffers, authorizer, limits, metrics, logs, phase, processMark } =
    dependencies;
  const { cluster: member, services } = dependencies;
  const { host, port, tls, logger, library } = options;
  const lifecycleOf = (routes: Route[]): Lifecycle =>
    new Lifecycle({
      routes,
      tracer,
      audit,
      server: dependencies,
      authorizer,
      metrics,
      limits,
      responseBuffers,
      logger,
      logs,
      phase,
      processMark,
      cluster: member === null ? null : { member, tasks: services.tasks },
    });
  const routes = allRoutes();
  const lifecycle = lifecycleOf(routes);
  dependencies.inner.serve = (connection, outer) => lifecycle.handle(connection, true, outer);
  const listen = (listening: ListenOptions): Promise<Listener> =>
    library === null ? listenWithNode(listening) : listenWithLibrary(library, listening);
  const listenAt = (
    address: { host: string; port: number },
    serving: Lifecycle,
    threads: HttpThreads | null = null,
  ): Promise<Listener> =>
    listen({
      address,
      children: threads?.descriptors ?? [],
      tls,
      tlsRequireAuth: options.tlsRequireAuth ?? false,
      onRequest: (connection) => serving.handle(connection, true),
    });
  const threads = await startThreads(dependencies, options, routes, lifecycle);
  const listener = await listenAt({ host, port }, lifecycle, threads);
  const lifecycles = [lifecycle];
  const listeners = [listener];
  const otherPorts: Partial<Record<OtherAddress, number>> = {};
  for (const [name, address] of Object.entries(options.more)) {
    const other = lifecycleOf(OTHER_ROUTES[name as OtherAddress]);
    const otherListener = await listenAt(address, other);
    otherPorts[name as OtherAddress] = otherListener.port;
    lifecycles.push(other);
    listeners.push(otherListener);
  }
  return {
    port: listener.port,
    otherPorts,
    transport: library === null ? 'node:http' : 'uWebSockets.js',
    listenWithin: (socketPath) =>
      listen({
        address: { socketPath },
        tls: null,
        tlsRequireAuth: false,
        onRequest: (connection) => lifecycle.handle(connection, false),
      }),
    stop: (graceMs) => stopHttp(dependencies, lifecycles, listeners, threads, graceMs),
  };
}

/** null: the main thread serves everything. */
async function startThreads(
  { metrics, logs, insights }: Dependencies,
  { threads: setup, library }: HttpOptions,
  routes: readonly Route[],
  lifecycle: Lifecycle,
): Promise<HttpThreads | null> {
  if (setup === undefined || library === null) return null;
  const threads = await HttpThreads.start(setup, {
    routes,
    metrics,
    logs,
    handle: (connection) => lifecycle.handle(connection, true),
  });
  metrics.collect = () => threads.flush();
  insights.threads = threads;
  return threads;
}

async function stopHttp(
  { logs, taskStreams }: Dependencies,
  lifecycles: readonly Lifecycle[],
  listeners: readonly Listener[],
  threads: HttpThreads | null,
  graceMs: number,
): Promise<void> {
  for (const listener of listeners) listener.stopListening();
  logs.closeStream();
  taskStreams.closeAll();
  await Promise.all([...lifecycles, threads].map((part) => part?.drained(graceMs)));
  // Sending the last response takes another iteration of the event loop; closing at once would
  // drop it.
  await new Promise((resolve) => setTimeout(resolve, FLUSH_MS));
  for (const listener of listeners) listener.close();
  await threads?.close();
}
