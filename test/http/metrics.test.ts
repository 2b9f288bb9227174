import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { startTestServer, type TestServer } from './support/test-server.ts';

/** Every metric, its prefix left out: kind and labels. */
const DESCRIBED: Record<string, string> = {
  http_requests_total: 'counter method path status',
  http_response_time_seconds: 'histogram method path',
  degraded_search_requests: 'gauge',
  chat_searches_total: 'counter type',
  chat_prompt_tokens_total: 'counter workspace model',
  chat_completion_tokens_total: 'counter workspace model',
  chat_tokens_total: 'counter workspace model',
  db_size_bytes: 'gauge',
  used_db_size_bytes: 'gauge',
  index_count: 'gauge',
  index_docs_count: 'gauge index',
  nb_tasks: 'gauge kind value',
  batch_running_progress_trace: 'gauge batch_uid step_name',
  last_finished_batches_progress_trace_ms: 'gauge batch_uid step_name',
  last_indexed_documents_count: 'gauge batch_uid index',
  last_indexed_documents_duration_ms: 'gauge batch_uid index',
  last_update: 'gauge',
  is_indexing: 'gauge',
  search_queue_size: 'gauge',
  searches_running: 'gauge',
  searches_waiting_to_be_processed: 'gauge',
  task_queue_latency_seconds: 'gauge',
  task_queue_max_size: 'gauge',
  task_queue_used_size: 'gauge',
  task_queue_size_until_stop_registering: 'gauge',
};

/** Labels that Prometheus adds. */
const ADDED = ['instance', 'job', 'le'];

interface Dashboard {
  panels: { title: string; type: string; targets?: { expr: string; legendFormat: string }[] }[];
  templating: { list: { definition?: string }[] };
}

describe('Metrics', () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTestServer();
    await server.call('PATCH', '/experimental-features', { body: { metrics: true } });
  });
  afterEach(() => server.close());

  /** Name without prefix to kind. */
  const kinds = (text: string): Map<string, string> =>
    new Map(
      [...text.matchAll(/^# TYPE gannet_(\w+) (\w+)$/gm)].map(([, name, kind]) => [name!, kind!]),
    );

  it('are all there, whether anything has happened or not', async () => {
    const { text } = await server.call('GET', '/metrics');
    const shown = kinds(text);
    assert.deepEqual([...shown.keys()].toSorted(), Object.keys(DESCRIBED).toSorted());
    for (const [name, described] of Object.entries(DESCRIBED)) {
      assert.equal(shown.get(name), described.split(' ')[0], name);
    }
    assert.match(text, /^gannet_degraded_search_requests 3$/m);
  });

  it('have their labels', async () => {
    server.services.addIndex('movies');
    await server.call('GET', '/version');
    const { text } = await server.call('GET', '/metrics');
    for (const [, name, labels] of text.matchAll(/^gannet_(\w+)\{(.*?)\} /gm)) {
      const base = name!.replace(/_(bucket|sum|count)$/, '');
      const [, ...described] = DESCRIBED[name! in DESCRIBED ? name! : base]!.split(' ');
      const shown = [...labels!.matchAll(/(\w+)=/g)].map(([, label]) => label!);
      assert.deepEqual(
        shown.filter((label) => label !== 'le').toSorted(),
        described.toSorted(),
        name,
      );
    }
  });

  it('are those that the dashboard shows, and each of them is on it', async () => {
    const { text } = await server.call('GET', '/metrics');
    const shown = kinds(text);
    const dashboard = JSON.parse(readFileSync('docs/grafana.json', 'utf8')) as Dashboard;
    const expressions = [
      ...dashboard.panels.flatMap(({ targets = [] }) =>
        targets.flatMap(({ expr, legendFormat }) => ({ expr, legendFormat })),
      ),
      ...dashboard.templating.list.map(({ definition = '' }) => ({
        expr: definition,
        legendFormat: '',
      })),
    ];
    const used = new Set<string>();
    for (const { expr, legendFormat } of expressions) {
      let labels = [...ADDED];
      for (const [, name] of expr.matchAll(/gannet_(\w+)/g)) {
        const base = shown.has(name!) ? name! : name!.replace(/_(bucket|sum|count)$/, '');
        assert.ok(shown.has(base), `${expr}: there is no metric ${name}`);
        used.add(base);
        labels = [...labels, ...DESCRIBED[base]!.split(' ').slice(1)];
      }
      const asked = [
        ...[...expr.matchAll(/(\w+)=~?"/g)],
        ...[...legendFormat.matchAll(/\{\{(\w+)\}\}/g)],
        ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => [
          ...list!.matchAll(/(\w+)/g),
        ]),
      ].map(([, label]) => label!);
      for (const label of asked) assert.ok(labels.includes(label), `${expr}: no label ${label}`);
    }
    assert.deepEqual(
      [...shown.keys()].filter((name) => !used.has(name)),
      [],
    );
  });
});
