import { readFileSync, writeFileSync } from 'node:fs';
import { createDefaultKeys } from '../../../src/auth/keys.ts';
import { Authorizer } from '../../../src/auth/authorize.ts';
import { BufferPool } from '../../../src/base/buffer-pool.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { Logs } from '../../../src/base/logger.ts';
import { silentLogger } from '../../support/silent-logger.ts';
import { DEFAULT_LIMITS, type RequestLimits } from '../../../src/contract/limits.ts';
import { ApiError } from '../../../src/contract/errors.ts';
import { RequestMetrics, ProcessMetrics } from '../../../src/http/metrics.ts';
import { Phase } from '../../../src/http/phase.ts';
import { compileEdit } from '../../../src/rhai/edit.ts';
import { startHttp, type HttpServer } from '../../../src/http/server.ts';
import { loadSocketLibrary } from '../../../src/http/socket-library.ts';
import type { Dependencies } from '../../../src/http/dependencies.ts';
import { ChatLoad } from '../../../src/chat/chat-load.ts';
import { McpLoad } from '../../../src/mcp/mcp-load.ts';
import { AllInsights, Insights } from '../../../src/search/insights.ts';
import { ChatTotals } from '../../../src/chat/totals.ts';
import { RenderPool } from '../../../src/embedding/render-pool.ts';
import { OutboundClient } from '../../../src/outbound/outbound-client.ts';
import { InnerRequests } from '../../../src/http/inner-request.ts';
import { TaskStreams } from '../../../src/http/task-streams.ts';
import { BackupFolder } from '../../../src/archive/backup-store.ts';
import { AliasStore } from '../../../src/store/alias-store.ts';
import { BranchStore } from '../../../src/store/branch-store.ts';
import { ChatStore } from '../../../src/store/chat-store.ts';
import { NetworkStore } from '../../../src/store/network-store.ts';
import { KnownWrites } from '../../../src/network/origin.ts';
import { Replication } from '../../../src/network/replication.ts';
import { RuleStore } from '../../../src/store/rule-store.ts';
import { WebhookStore } from '../../../src/store/webhook-store.ts';
import { fakeServices, type FakeServices } from './fake-services.ts';

export interface TestServer {
  readonly url: string;
  readonly port: number;
  readonly services: FakeServices;
  readonly server: HttpServer;
  readonly phase: Phase;
  call(method: string, path: string, options?: CallOptions): Promise<TestResponse>;
  close(): Promise<void>;
}

export interface CallOptions {
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is. */
  text?: string | Uint8Array;
  type?: string;
  /** Default: the master key, when there is one. null: none. */
  key?: string | null;
  headers?: Record<string, string>;
}

export interface TestResponse {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON, undefined when it is not JSON. */
  json: any;
}

export interface TestServerOptions {
  masterKey?: string | null;
  transport?: 'fastest' | 'node';
  clock?: Clock;
  port?: number;
  limits?: Partial<RequestLimits>;
  checkPayload?: Dependencies['checkPayload'];
  responseBuffers?: BufferPool;
}

/** Counts JSON documents and NDJSON lines; enough of the engine for the upload routes. */
const countDocuments: Dependencies['checkPayload'] = (source, format, _, output) => {
  const text = typeof source === 'string' ? readFileSync(source, 'utf8') : source.toString('utf8');
  try {
    if (format === 'json') {
      const value: unknown = JSON.parse(text);
      return Promise.resolve({ documents: Array.isArray(value) ? value.length : 1 });
    }
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    if (format === 'ndjson') for (const line of lines) JSON.parse(line);
    if (output !== '') writeFileSync(output, text);
    return Promise.resolve({ documents: lines.length, ndjson: Buffer.from(text) });
  } catch (error) {
    return Promise.reject(new ApiError('malformed_payload', String(error)));
  }
};

function checkFilterText(filter: string): void {
  if (/[=<>]\s*"?$/.test(filter)) throw new ApiError('invalid_search_filter', 'value missing');
}

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const masterKey = options.masterKey === undefined ? 'MASTER_KEY_OF_TESTS' : options.masterKey;
  const clock = options.clock ?? new FakeClock('2025-03-01T09:30:00Z');
  const services = fakeServices(clock);
  await createDefaultKeys(services.keys, clock);
  const authorizer = new Authorizer(masterKey, services.keys, clock);
  const phase = new Phase('ready');
  const renders = new RenderPool();
  const dependencies: Dependencies = {
    services,
    authorizer,
    clock,
    phase,
    webhooks: new WebhookStore(services.store, null),
    chats: new ChatStore(services.store),
    searchRules: new RuleStore(services.store),
    aliases: new AliasStore(services.store),
    branches: new BranchStore(services.store),
    dumps: new BackupFolder('no such folder'),
    inner: new InnerRequests(),
    mcpAllowsWrites: false,
    taskStreams: new TaskStreams(services.tasks),
    network: new NetworkStore(services.store),
    replication: new Replication({
      network: () => null,
      client: new OutboundClient({ denyPrivate: false, allow: [] }),
      requestMsMax: 0,
      retriesMsMax: 0,
    }),
    chatTotals: new ChatTotals(),
    insights: new AllInsights(new Insights('0')),
    chatLoad: new ChatLoad(),
    mcpLoad: new McpLoad(),
    knownWrites: new KnownWrites(),
    chatAllowNonStreaming: false,
    background: { status: async () => null, retry: () => {} },
    analytics: null,
    outbound: new OutboundClient({ denyPrivate: false, allow: [] }),
    renders,
    logs: new Logs('off', 'json', false),
    metrics: new RequestMetrics(() => services.features.get().metrics),
    processMetrics: new ProcessMetrics(),
    tracer: null,
    audit: null,
    folders: { db: '.', dumps: 'no such folder' },
    version: { commitSha: 'unknown', commitDate: 'unknown', serverVersion: '1.0.0' },
    processMark: 'the mark of this process',
    cluster: null,
    production: false,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    responseBuffers: options.responseBuffers ?? new BufferPool(),
    checkPayload: options.checkPayload ?? countDocuments,
    checkFunction: async (text, withContext) => {
      try {
        compileEdit(text, withContext);
        return null;
      } catch (error) {
        return (error as Error).message;
      }
    },
    checkFilter: checkFilterText,
    checkRankingRule: () => {},
    checkLargeFilter: async (filter) => checkFilterText(String(filter)),
  };
  const server = await startHttp(dependencies, {
    host: '127.0.0.1',
    port: options.port ?? 0,
    tls: null,
    library: options.transport === 'node' ? null : loadSocketLibrary(),
    logger: silentLogger(),
    more: { metrics: { host: '127.0.0.1', port: 0 } },
  });
  const url = `http://127.0.0.1:${server.port}`;

  async function call(
    method: string,
    path: string,
    { body, text, type, key, headers = {} }: CallOptions = {},
  ): Promise<TestResponse> {
    const sent: Record<string, string> = { ...headers };
    const credential = key === undefined ? masterKey : key;
    if (credential !== null) sent.authorization ??= `Bearer ${credential}`;
    const payload = text ?? (body === undefined ? undefined : JSON.stringify(body));
    const contentType = type ?? (payload === undefined ? '' : 'application/json');
    if (contentType !== '') sent['content-type'] = contentType;
    const response = await fetch(url + path, {
      method,
      headers: sent,
      ...(payload === undefined ? {} : { body: payload }),
    });
    const received = await response.text();
    let json: unknown;
    try {
      json = JSON.parse(received);
    } catch {
      json = undefined;
    }
    return { status: response.status, headers: response.headers, text: received, json };
  }

  return {
    url,
    port: server.port,
    services,
    server,
    phase,
    call,
    async close() {
      await server.stop(100);
      await renders.close();
      await services.close();
    },
  };
}
