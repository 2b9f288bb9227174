import assert from 'node:assert/strict';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
} from 'node:http';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { startCluster } from './support/cluster.ts';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

interface Sent {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  status: { code?: number };
}

/** Keeps the spans that it gets; `how` may keep it from answering. */
class Collector {
  readonly spans: Sent[] = [];
  readonly heads: IncomingHttpHeaders[] = [];
  how: 'answers' | 'hangs' = 'answers';
  #onSpans = (): void => {};
  readonly #server: Server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    if (this.how === 'hangs') return;
    this.heads.push(request.headers);
    assert.equal(request.url, '/v1/traces');
    const { resourceSpans } = JSON.parse(Buffer.concat(parts).toString());
    for (const { scopeSpans } of resourceSpans) {
      for (const { spans } of scopeSpans) this.spans.push(...spans);
    }
    response.end('{}');
    this.#onSpans();
  });

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return this.address;
  }

  get address(): string {
    return addressOf(this.#server);
  }

  /** The first span that fits, once it has arrived. */
  async find(fits: (span: Sent) => boolean): Promise<Sent> {
    for (;;) {
      const found = this.spans.find(fits);
      if (found !== undefined) return found;
      await new Promise<void>((done) => (this.#onSpans = done));
    }
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A span and those below it, a line each, in the order in which they began. */
function tree(spans: readonly Sent[], { name, spanId }: Sent, depth = 0): string {
  const below = spans
    .filter(({ parentSpanId }) => parentSpanId === spanId)
    .toSorted((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)));
  return ['  '.repeat(depth) + name, ...below.map((one) => tree(spans, one, depth + 1))].join('\n');
}

/** Kinds of spans, as OTLP numbers them. */
const INTERNAL = 1;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

describe('Traces', () => {
  const collector = new Collector();
  let embedder: Server;
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.end());
  });
  let asked: IncomingHttpHeaders[];
  let server: BuiltServer;

  /** Settings of an index with the embedder. */
  const embedded = (): object => ({
    embedders: {
      remote: {
        ...{ source: 'rest', url: `${addressOf(embedder)}/embed`, dimensions: 2 },
        documentTemplate: '{{doc.id}}',
        request: { input: ['{{text}}', '{{..}}'] },
        response: { embeddings: ['{{embedding}}', '{{..}}'] },
      },
    },
  });

  before(async () => {
    asked = [];
    embedder = createServer((request, response) => {
      asked.push(request.headers);
      request.resume().on('end', () => response.end(JSON.stringify({ embeddings: [[1, 0]] })));
    });
    for (const one of [embedder, receiver]) {
      await new Promise<void>((done) => one.listen(0, '127.0.0.1', done));
    }
    server = await startBuiltServer([
      ...['--otlp-endpoint', await collector.listen(), '--otlp-headers', 'x-tenant=shop'],
      ...['--http-threads', '2', '--experimental-logs-mode', 'JSON'],
      ...['--slow-search-ms', '0'],
    ]);
    await server.finish('PATCH', '/indexes/books/settings', { body: embedded() });
    await server.finish('POST', '/indexes/books/documents', { body: [{ id: 1, title: 'dune' }] });
  });
  after(async () => {
    await server.close();
    collector.close();
    for (const one of [embedder, receiver]) one.close();
  });

  const search = async (
    body: object,
    headers: Record<string, string> = {},
    { url, masterKey }: BuiltServer = server,
  ): Promise<number> => {
    const response = await fetch(`${url}/indexes/books/search`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
        ...headers,
      },
      body: JSON.stringify(body),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const attribute = ({ attributes }: Sent, name: string): unknown =>
    Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0];

  it('go from the caller through a search to its embedder', async () => {
    asked.length = 0;
    const status = await search(
      { q: 'sand', hybrid: { embedder: 'remote', semanticRatio: 1 } },
      {
        traceparent: `00-${TRACE}-${PARENT}-01`,
        tracestate: 'vendor=1',
        'x-request-id': 'mine',
      },
    );
    assert.equal(status, 200);
    const request = await collector.find((one) => one.traceId === TRACE && one.kind === 2);
    assert.equal(request.name, 'POST /indexes/:index_uid/search');
    assert.equal(request.parentSpanId, PARENT);
    assert.equal(attribute(request, 'http.response.status_code'), '200');
    assert.equal(attribute(request, 'gannet.request_id'), 'mine');
    const searched = await collector.find((one) => one.parentSpanId === request.spanId);
    assert.equal(searched.name, 'search');
    assert.equal(attribute(searched, 'gannet.order'), 'semantic');
    const call = await collector.find((one) => one.parentSpanId === searched.spanId);
    assert.deepEqual([call.name, call.kind], ['POST', 3]);
    const [head] = asked;
    assert.equal(head!.traceparent, `00-${TRACE}-${call.spanId}-01`);
    assert.equal(head!.tracestate, 'vendor=1');
    // Each is within its parent.
    const spans = [request, searched, call];
    for (const [n, { startTimeUnixNano: start, endTimeUnixNano: end }] of spans.entries()) {
      assert.ok(BigInt(start) <= BigInt(end));
      if (n === 0) continue;
      assert.ok(BigInt(start) >= BigInt(spans[n - 1]!.startTimeUnixNano));
      assert.ok(BigInt(end) <= BigInt(spans[n - 1]!.endTimeUnixNano));
    }
    assert.equal(collector.heads[0]!['x-tenant'], 'shop');
    assert.ok(!JSON.stringify(collector.spans).includes('sand'), 'no words of users');
  });

  it('go through another server, as the documentation draws them', async function () {
    this.timeout(60_000);
    const options = ['--otlp-endpoint', collector.address];
    const { servers, idle, close } = await startCluster({ count: 2, options });
    try {
      const body = [{ id: 1, title: 'dune' }];
      for (const one of servers) {
        await one.finish('PATCH', '/indexes/books/settings', { body: embedded() });
        await one.finish('POST', '/indexes/books/documents', { body });
      }
      await idle();
      const trace = TRACE.replace(/^4/, '7');
      const status = await search(
        { q: 'sand', useNetwork: true, hybrid: { embedder: 'remote', semanticRatio: 1 } },
        { traceparent: `00-${trace}-${PARENT}-01` },
        servers[0],
      );
      assert.equal(status, 200);
      const ofTrace = (one: Sent): boolean => one.traceId === trace;
      await collector.find((one) => ofTrace(one) && one.name === 'POST /multi-search');
      const root = await collector.find((one) => ofTrace(one) && one.parentSpanId === PARENT);
      const spans = collector.spans.filter(ofTrace);
      for (const name of ['embed', 'network', 'request', 'terms', 'rule vectorSort', 'write']) {
        assert.ok(
          spans.some((span) => span.name === name),
          `no stage ${name}`,
        );
      }
      const withoutStages = spans.filter(
        ({ name, kind }) => kind !== INTERNAL || name.endsWith('search'),
      );
      const page = readFileSync('docs/operations.md', 'utf8');
      const [, block] = /^## Traces\n[^]*?^```text\n([^]*?)^```/m.exec(page)!;
      const drawn = block!.trimEnd().split('\n');
      assert.equal(
        drawn.map((line) => line.replace(/(?<=\S) {3,}\S.*$/, '')).join('\n'),
        tree(withoutStages, root),
      );
    } finally {
      await close();
    }
  });

  it('are not recorded if the caller records none, but its ids are sent on', async () => {
    asked.length = 0;
    const id = TRACE.replace(/^4/, '5');
    await search(
      { q: 'spice', hybrid: { embedder: 'remote', semanticRatio: 1 } },
      { traceparent: `00-${id}-${PARENT}-00` },
    );
    assert.match(asked[0]!.traceparent as string, new RegExp(`^00-${id}-\\w{16}-00$`));
    // Spans are sent in the order in which they end.
    const next = TRACE.replace(/^4/, '6');
    await search({ q: 'dune' }, { traceparent: `00-${next}-${PARENT}-01` });
    await collector.find((one) => one.traceId === next && one.kind === 2);
    assert.ok(!collector.spans.some(({ traceId }) => traceId === id));
  });

  it('begin with a batch, and go on to its embedder and to the webhook that learns of it', async () => {
    const notified = new Promise<IncomingHttpHeaders>((done) => {
      receiver.once('request', ({ headers }: IncomingMessage) => done(headers));
    });
    const { json: webhook } = await server.call('POST', '/webhooks', {
      body: { url: addressOf(receiver) },
    });
    asked.length = 0;
    const task = await server.finish('POST', '/indexes/books/documents', {
      body: [{ id: 2, title: 'sand' }],
    });
    const batch = await collector.find(
      (one) =>
        attribute(one, 'gannet.batch') === String(task.batchUid) && one.name.startsWith('batch'),
    );
    assert.equal(batch.name, 'batch documentAdditionOrUpdate');
    assert.deepEqual([batch.parentSpanId, batch.status.code], [undefined, undefined]);
    assert.equal(attribute(batch, 'gannet.index'), 'books');
    assert.equal(attribute(batch, 'gannet.tasks'), '1');
    const call = await collector.find((one) => one.parentSpanId === batch.spanId);
    assert.equal(asked[0]!.traceparent, `00-${batch.traceId}-${call.spanId}-01`);
    const { traceparent } = await notified;
    const delivery = await collector.find(
      (one) => one.name === 'webhook' && attribute(one, 'gannet.batch') === String(task.batchUid),
    );
    assert.equal(attribute(delivery, 'gannet.webhook'), webhook.uuid);
    const sent = await collector.find((one) => one.parentSpanId === delivery.spanId);
    assert.equal(traceparent, `00-${delivery.traceId}-${sent.spanId}-01`);
    await server.call('DELETE', `/webhooks/${webhook.uuid}`);
    const lost = await server.finish('DELETE', '/indexes/none');
    const failed = await collector.find(
      (one) => attribute(one, 'gannet.batch') === String(lost.batchUid),
    );
    assert.equal(failed.status.code, 2);
  });

  it('begin here if the caller has none that is valid', async () => {
    const zeros = '0'.repeat(32);
    await search(
      { q: 'dune' },
      { traceparent: `00-${zeros}-${PARENT}-01`, 'x-request-id': 'root' },
    );
    const root = await collector.find((one) => attribute(one, 'gannet.request_id') === 'root');
    assert.equal(root.parentSpanId, undefined);
    assert.match(root.traceId, /^[1-9a-f]|0*[1-9a-f]/);
  });

  it('keep nothing waiting when the collector hangs', async () => {
    collector.how = 'hangs';
    for (let n = 0; n < 20; n++) {
      const statuses = await Promise.all(Array.from({ length: 4 }, () => search({ q: 'dune' })));
      assert.deepEqual([...new Set(statuses)], [200]);
    }
    await server.kill('SIGTERM');
    const { status, printed } = await server.exited();
    assert.equal(status, 0, printed);
    // Lines within a request name its trace.
    const lines = printed
      .split('\n')
      .filter((line) => line.includes('slow search') && line.includes('"mine"'));
    assert.match(lines.join(), new RegExp(`"traceId":"${TRACE}"`));
    await server.restart();
  });
});
