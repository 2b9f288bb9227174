import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { activeSpan, type SpanRecord, Tracer, within } from '../../../src/base/tracing.ts';
import { TraceExporter } from '../../../src/outbound/trace-exporter.ts';

describe('Spans', () => {
  const records: SpanRecord[] = [];
  const tracer = (ratio: number, random = 0.5): Tracer =>
    new Tracer(
      ratio,
      (record) => void records.push(record),
      () => random,
    );
  beforeEach(() => void (records.length = 0));

  it('are recorded for a share of the traces that begin here', () => {
    for (const [ratio, random, count] of [
      ...[
        [0, 0, 0],
        [1, 0.999, 1],
        [0.5, 0.4, 1],
        [0.5, 0.6, 0],
      ],
    ] as const) {
      records.length = 0;
      tracer(ratio, random).request('r', {}).end({});
      assert.equal(records.length, count, `${ratio} ${random}`);
    }
  });

  it('take over a valid traceparent only', () => {
    const id = '4bf92f3577b34da6a3ce929d0e0e4736';
    const parent = '00f067aa0ba902b7';
    const cases: [string, boolean][] = [
      [`00-${id}-${parent}-01`, true],
      [`cc-${id}-${parent}-01-what-comes`, true],
      [`00-${id}-${parent}-01-more`, false],
      [`ff-${id}-${parent}-01`, false],
      [`00-${'0'.repeat(32)}-${parent}-01`, false],
      [`00-${id}-${'0'.repeat(16)}-01`, false],
      [`00-${id.toUpperCase()}-${parent}-01`, false],
      [`00-${id}-${parent}`, false],
      ['', false],
    ];
    for (const [traceparent, isTaken] of cases) {
      const span = tracer(1).request('r', { traceparent });
      assert.equal(span.traceId === id, isTaken, traceparent);
      assert.match(span.headers.traceparent!, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    }
  });

  it('are those of the work that they contain, and not of what goes on after them', async () => {
    const outer = tracer(1).request('outer', {});
    let late: Promise<boolean>;
    await within(outer, async () => {
      assert.equal(activeSpan(), outer);
      const inner = activeSpan()!.child('inner', 'internal');
      await within(inner, () => delay(1));
      inner.end({});
      late = delay(20).then(() => activeSpan() === undefined);
    });
    outer.end({}, true);
    outer.end({});
    assert.equal(await late!, true);
    assert.equal(activeSpan(), undefined);
    const [inner, root] = records;
    assert.deepEqual([records.length, inner!.parentId, root!.failed], [2, root!.spanId, true]);
  });
});

describe('The exporter of spans', () => {
  let collector: Server;
  let exporter: TraceExporter;
  let bodies: number[];
  let status: number;
  let warnings: number;

  const open = (endpoint?: string, timeoutMs = 60_000): void => {
    const { port } = collector.address() as AddressInfo;
    exporter = new TraceExporter({
      endpoint: endpoint ?? `http://127.0.0.1:${port}/otlp/`,
      ...{ headers: {}, resource: { 'service.name': 'gannet' }, sendAfterMs: 1 },
      ...{ timeoutMs, log: { warn: () => void warnings++ } as never },
    });
  };
  beforeEach(async () => {
    [bodies, status, warnings] = [[], 200, 0];
    collector = createServer((request, response) => {
      let text = '';
      request.on('data', (part: Buffer) => (text += part.toString()));
      request.on('end', () => {
        bodies.push(JSON.parse(text).resourceSpans[0].scopeSpans[0].spans.length);
        if (status !== 0) response.writeHead(status).end();
      });
    });
    await new Promise<void>((done) => collector.listen(0, '127.0.0.1', done));
  });
  afterEach(() => {
    collector.closeAllConnections();
    collector.close();
  });

  const take = (count: number): void => {
    const tracer = new Tracer(1, exporter.take);
    for (let n = 0; n < count; n++) tracer.request('r', {}).end({});
  };

  it('sends all of them, many at once', async () => {
    open();
    take(1500);
    await exporter.close(60_000);
    assert.equal(
      bodies.reduce((sum, count) => sum + count, 0),
      1500,
    );
    assert.ok(bodies.every((count) => count <= 512));
    assert.deepEqual([exporter.dropped, warnings], [0, 0]);
  });

  it('holds a bounded number for a collector that hangs, and drops the others', async () => {
    status = 0;
    open();
    take(10_000);
    assert.equal(exporter.dropped, 10_000 - 512 - 4096);
    await exporter.close(0);
  });

  for (const [name, endpoint, response] of [
    ['is down', 'http://127.0.0.1:1', 200],
    ['refuses', undefined, 503],
    ['hangs', undefined, 0],
  ] as const) {
    it(`drops what a collector that ${name} does not take, and says so once`, async () => {
      status = response;
      open(endpoint, response === 0 ? 100 : 60_000);
      take(600);
      await exporter.close(60_000);
      assert.deepEqual([exporter.dropped, warnings], [600, 1]);
    });
  }
});
