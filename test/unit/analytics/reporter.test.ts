import assert from 'node:assert/strict';
import type { Recorder } from '../../../src/analytics/recorder.ts';
import type { ReportSpec } from '../../../src/analytics/report-worker.ts';
import { type MadeReport, Reporter, REPORTS_WAITING_MAX } from '../../../src/analytics/reporter.ts';
import type { AnalyticsStore } from '../../../src/store/analytics-store.ts';
import { SEARCH_ROW } from '../../../src/contract/analytics.ts';
import { FakeClock } from '../../support/fake-clock.ts';

describe('Concurrent requests for reports', () => {
  const spec: ReportSpec = {
    ...{ kind: 'summary', from: 0, to: Infinity, indexUids: null, patterns: null },
    ...{ format: 'json', groupBy: [], finalQueries: false, page: null },
  };

  it('wait for each other, and are refused when too many wait', async () => {
    let flush = (): void => {};
    const flushed = new Promise<void>((resolve) => (flush = resolve));
    const recorder = { flushed: () => flushed } as Recorder;
    const store = { chunks: function* () {} } as unknown as AnalyticsStore;
    const reporter = new Reporter({ store, recorder, clock: new FakeClock(), retentionMs: 1 });
    const asked: number[] = [];
    const report = (n: number): Promise<MadeReport> =>
      reporter.report(spec, () => {
        if (n > 0) asked.push(n);
        return n > 0;
      });
    const first = report(0);
    const waiting = Array.from({ length: REPORTS_WAITING_MAX }, (_, n) => report(n + 1));
    const left = Promise.allSettled(waiting);
    await assert.rejects(report(REPORTS_WAITING_MAX + 1), { code: 'too_many_search_requests' });
    assert.deepEqual(asked, []);
    flush();
    const { results } = JSON.parse((await first).body) as { results: { searches: number }[] };
    assert.equal(results[0]!.searches, 0);
    // No report is computed for a client that has disconnected.
    assert.ok((await left).every(({ status }) => status === 'rejected'));
    assert.deepEqual(
      asked,
      waiting.map((_, n) => n + 1),
    );
    assert.match((await report(0)).body, /"searches":0/);
  });

  it('are refused when they need too much memory, and the next one is made', async () => {
    const recorder = { flushed: async () => {} } as Recorder;
    let chunks = 1000;
    // Queries longer than recorded ones reach the limit sooner.
    function* longQueries(): Generator<string> {
      for (; chunks > 0; chunks--) {
        const rows = Array.from({ length: 400 }, (_, n) => {
          const query = `${chunks}-${n} ${'é“'.repeat(3000)}`;
          return JSON.stringify([SEARCH_ROW, 0, 0, 'books', query, null, 1, 1000, 'user']);
        });
        yield rows.join();
      }
    }
    const store = { chunks: longQueries } as unknown as AnalyticsStore;
    const clock = new FakeClock();
    const reporter = new Reporter({ store, recorder, clock, retentionMs: 1 });
    const top: ReportSpec = { ...spec, kind: 'top' };
    await assert.rejects(
      reporter.report(top, () => false),
      { code: 'bad_request', message: /memory/ },
    );
    assert.ok(chunks > 0);
    chunks = 1;
    const { results } = JSON.parse((await reporter.report(top, () => false)).body);
    assert.equal(results.length, 400);
  });
});
