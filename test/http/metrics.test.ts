import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
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
  indexes: 'gauge',
  index_documents: 'gauge index',
  nb_tasks: 'gauge kind value',
  batch_running_progress_trace: 'gauge batch_uid step_name',
  last_finished_batch_step_duration_seconds: 'gauge batch_uid step_name',
  last_indexed_documents: 'gauge batch_uid index',
  last_indexed_documents_duration_seconds: 'gauge batch_uid index',
  last_update: 'gauge',
  is_indexing: 'gauge',
  last_backup_age_seconds: 'gauge kind',
  search_duration_seconds: 'histogram kind order',
  search_wait_seconds: 'histogram',
  search_permits: 'gauge',
  outbound_requests_total: 'counter kind',
  outbound_failures_total: 'counter kind',
  merge_debt_bytes: 'gauge',
  disk_size_bytes: 'gauge folder',
  disk_free_bytes: 'gauge folder',
  disk_read_bytes_total: 'counter',
  page_cache_misses_total: 'counter',
  search_queue_size: 'gauge',
  searches_running: 'gauge',
  searches_waiting_to_be_processed: 'gauge',
  task_queue_latency_seconds: 'gauge',
  task_queue_max_size: 'gauge',
  task_queue_used_size: 'gauge',
  task_queue_size_until_stop_registering: 'gauge',
};

/** Names that version 1.1 drops, with those that replace them. */
const EARLIER: Record<string, string> = {
  index_count: 'indexes',
  index_docs_count: 'index_documents',
  last_finished_batches_progress_trace_ms: 'last_finished_batch_step_duration_seconds',
  last_indexed_documents_count: 'last_indexed_documents',
  last_indexed_documents_duration_ms: 'last_indexed_documents_duration_seconds',
};

/** Cases for `promtool test rules`. */
const ALERT_CASES = 'test/http/support/alert-cases.yaml';

function namesOf(file: string, pattern: RegExp): string[] {
  const found = [...readFileSync(file, 'utf8').matchAll(pattern)].map(([, name]) => name!);
  return [...new Set(found)].toSorted();
}

const PROMTOOL = spawnSync('promtool', ['--version']).status === 0;

/** Labels that Prometheus adds. */
const ADDED = ['instance', 'job', 'le'];

interface Dashboard {
  panels: { title: string; type: string; targets?: { expr: string; legendFormat: string }[] }[];
  templating: { list: { definition?: string }[] };
}

/** A node of a cluster has it: see cluster-damage.test.ts. */
const isOfCluster = (name: string): boolean => name.startsWith('gannet_cluster_');

describe('Metrics', () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTestServer();
    await server.call('PATCH', '/experimental-features', { body: { metrics: true } });
  });
  afterEach(() => server.close());

  /** Name without prefix to kind, without those that go. */
  const kinds = (text: string): Map<string, string> =>
    new Map(
      [...text.matchAll(/^# TYPE gannet_(\w+) (\w+)$/gm)]
        .filter(([, name]) => EARLIER[name!] === undefined)
        .map(([, name, kind]) => [name!, kind!]),
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

  it('need the feature at the main address, and a key but no feature at their own', async () => {
    await server.call('PATCH', '/experimental-features', { body: { metrics: false } });
    const refused = await server.call('GET', '/metrics');
    assert.deepEqual([refused.status, refused.json.code], [400, 'feature_not_enabled']);
    const own = (path: string, key?: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${server.server.otherPorts.metrics}${path}`, {
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      });
    const keyOf = async (actions: string[], indexes: string[]): Promise<string> =>
      (await server.call('POST', '/keys', { body: { actions, indexes, expiresAt: null } })).json
        .key;
    const shown = await own('/metrics', await keyOf(['metrics.get'], ['*']));
    assert.equal(shown.status, 200);
    assert.match(await shown.text(), /^gannet_searches_running 2$/m);
    assert.equal((await own('/metrics')).status, 401);
    for (const [actions, indexes] of [
      [['stats.get'], ['*']],
      [['*'], ['movies']],
    ] as const) {
      const denied = await own('/metrics', await keyOf([...actions], [...indexes]));
      assert.equal(denied.status, 403, String(actions));
    }
    assert.equal((await own('/health')).status, 200);
    assert.equal((await own('/version', 'MASTER_KEY_OF_TESTS')).status, 404);
  });

  it('show the disks, the debt of merges and the permits of searches', async () => {
    const { text } = await server.call('GET', '/metrics');
    const value = (name: string): number =>
      Number(new RegExp(`^gannet_${name} (\\S+)$`, 'm').exec(text)?.[1]);
    const free = value('disk_free_bytes{folder="db"}');
    assert.ok(free > 0 && free < value('disk_size_bytes{folder="db"}'));
    // A folder that does not exist yet has no sample.
    assert.doesNotMatch(text, /folder="dumps"/);
    assert.equal(value('merge_debt_bytes'), 5000);
    assert.equal(value('search_permits'), 8);
    assert.ok(value('page_cache_misses_total') >= 0);
    assert.ok(value('disk_read_bytes_total') >= 0);
    assert.equal(value('outbound_requests_total{kind="webhook"}'), 0);
  });

  it('have their labels', async () => {
    server.services.addIndex('movies');
    await server.call('GET', '/version');
    const { text } = await server.call('GET', '/metrics');
    for (const [, name, labels] of text.matchAll(/^gannet_(\w+)\{(.*?)\} /gm)) {
      const present = EARLIER[name!] ?? name!;
      const base = present.replace(/_(bucket|sum|count)$/, '');
      const [, ...described] = DESCRIBED[present in DESCRIBED ? present : base]!.split(' ');
      const shown = [...labels!.matchAll(/(\w+)=/g)].map(([, label]) => label!);
      assert.deepEqual(
        shown.filter((label) => label !== 'le').toSorted(),
        described.toSorted(),
        name,
      );
    }
  });

  it('are those of the process and of Node too', async () => {
    const { text } = await server.call('GET', '/metrics');
    const value = (name: string): number =>
      Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, 'm').exec(text)?.[1]);
    assert.ok(value('process_cpu_seconds_total') > 0);
    assert.ok(value('process_resident_memory_bytes') > 10 * 2 ** 20);
    assert.ok(value('process_open_fds') > 3);
    assert.ok(value('process_max_fds') >= value('process_open_fds'));
    assert.ok(Math.abs(value('process_start_time_seconds') - Date.now() / 1000) < 86_400);
    assert.ok(value('nodejs_heap_size_used_bytes') > 2 ** 20);
    assert.ok(value('nodejs_eventloop_lag_p99_seconds') >= 0);
    assert.equal(value('nodejs_version_info'), 1);
    assert.match(text, /^# TYPE nodejs_gc_duration_seconds histogram$/m);
  });

  it('have the values of their earlier names, in seconds', async () => {
    server.services.addIndex('movies');
    server.services.addIndex('books');
    const { text } = await server.call('GET', '/metrics');
    for (const [earlier, present] of Object.entries(EARLIER)) {
      assert.match(
        text,
        new RegExp(`^# HELP gannet_${earlier} Earlier name of gannet_${present},`, 'm'),
      );
    }
    for (const name of ['indexes', 'index_count']) {
      assert.match(text, new RegExp(`^gannet_${name} 2$`, 'm'));
    }
    for (const name of ['index_documents', 'index_docs_count']) {
      assert.match(text, new RegExp(`^gannet_${name}{index="movies"} \\d+$`, 'm'));
    }
  });

  it('have names in the style of Prometheus', async () => {
    const { text } = await server.call('GET', '/metrics');
    const names = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
    assert.equal(new Set(names.map(([, name]) => name)).size, names.length);
    for (const [, name, kind] of names) {
      if (EARLIER[name!.replace(/^gannet_/, '')] !== undefined) continue;
      assert.equal(name!.endsWith('_total'), kind === 'counter', name);
      assert.doesNotMatch(name!, /_(?:count|sum|bucket|ms|us|ns|sec|secs|kb|mb)$/);
    }
    for (const [, name] of names) assert.match(text, new RegExp(`^# HELP ${name} \\S`, 'm'));
    if (!PROMTOOL) return;
    const { stderr, stdout } = spawnSync('promtool', ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    });
    const found = (stderr + stdout).split('\n').filter((line) => line !== '');
    assert.deepEqual(
      found.filter((line) => EARLIER[/^gannet_(\w+) /.exec(line)?.[1] ?? ''] === undefined),
      [],
    );
  });

  it('are those that the alert rules name', async function () {
    const { text } = await server.call('GET', '/metrics');
    const rules = readFileSync('docs/deploy/alerts.yaml', 'utf8');
    const known = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name!));
    const named = [...rules.matchAll(/\b(?:gannet|process|nodejs)_\w+/g)].map(([name]) => name);
    assert.ok(named.length > 10);
    for (const name of named) {
      if (isOfCluster(name)) continue;
      const base = name.replace(/_bucket$/, '');
      assert.ok(known.has(base), name);
      assert.equal(EARLIER[base.replace(/^gannet_/, '')], undefined, name);
    }
  });

  it('raise the alerts that they should', function () {
    const alerts = namesOf('docs/deploy/alerts.yaml', /- alert: (\w+)/g);
    // Each alert has a case in which it fires and one in which it does not.
    assert.deepEqual(namesOf(ALERT_CASES, /alertname="(\w+)"/g), alerts);
    if (!PROMTOOL) {
      console.log('      promtool is not installed (package prometheus): the rules are not run');
      this.skip();
    }
    for (const args of [
      ['check', 'rules', 'docs/deploy/alerts.yaml'],
      ['test', 'rules', ALERT_CASES],
    ]) {
      const { status, stderr, stdout } = spawnSync('promtool', args, { encoding: 'utf8' });
      assert.equal(status, 0, stderr + stdout);
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
        if (isOfCluster(`gannet_${name}`)) continue;
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
