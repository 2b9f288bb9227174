/** Statistics, dates and metrics of indexes. */
import assert from 'node:assert/strict';
import { useServer } from './support/real-server.ts';

describe('Reports on indexes', function () {
  this.timeout(60_000);
  const { send, done, server } = useServer();

  it('shows the statistics of an index whatever its name is', async () => {
    for (const uid of ['__proto__', 'constructor']) {
      await done('POST', `/indexes/${uid}/documents`, [{ id: 1 }]);
      const all = Object.entries((await send('GET', '/stats')).body.indexes);
      const found = all.find(([name]) => name === uid);
      assert.deepEqual(found?.[1], (await send('GET', `/indexes/${uid}/stats`)).body, uid);
      await done('DELETE', `/indexes/${uid}`, undefined);
    }
  });

  it('dates an update of an index that changes nothing', async () => {
    await done('POST', '/indexes', { uid: 'dated' });
    const created = (await send('GET', '/indexes/dated')).body;
    const { startedAt } = await done('PATCH', '/indexes/dated', {});
    assert.ok(startedAt > created.updatedAt);
    const { body } = await send('GET', '/indexes/dated');
    assert.deepEqual(body, { ...created, updatedAt: startedAt });
  });

  it('measures the queues and the last batch', async () => {
    await send('PATCH', '/experimental-features', { metrics: true });
    const batch = (await done('POST', '/indexes/metered/documents', [{ id: 1 }, { id: 2 }]))
      .batchUid;
    const { text } = await server().client.call('GET', '/metrics');
    const metrics = new Map(
      text
        .split('\n')
        .filter((line) => line.startsWith('gannet_'))
        .map((line) => /^gannet_(.+) (\S+)$/.exec(line)!)
        .map(([, name, value]) => [name!, Number(value)] as const),
    );
    const value = (name: string): number => {
      assert.ok(metrics.has(name), name);
      return metrics.get(name)!;
    };
    assert.equal(value(`last_indexed_documents{batch_uid="${batch}",index="metered"}`), 2);
    const { body } = await send('GET', `/batches/${batch}`);
    assert.equal(
      value(`last_indexed_documents_duration_ms{batch_uid="${batch}",index="metered"}`),
      Date.parse(body.finishedAt) - Date.parse(body.startedAt),
    );
    assert.equal(
      value(`last_indexed_documents_duration_seconds{batch_uid="${batch}",index="metered"}`) * 1000,
      Date.parse(body.finishedAt) - Date.parse(body.startedAt),
    );
    for (const [step, time] of Object.entries<string>(body.stats.progressTrace)) {
      const name = `last_finished_batches_progress_trace_ms{batch_uid="${batch}",step_name="${step}"}`;
      const present = name.replace(/^\w+/, 'last_finished_batch_step_duration_seconds');
      const factor = { µs: 1e-3, ms: 1 }[time.slice(-2)] ?? 1000;
      assert.ok(Math.abs(value(name) - Number.parseFloat(time) * factor) < 1e-6, `${step} ${time}`);
      assert.ok(Math.abs(value(present) * 1000 - value(name)) < 1e-6, `${step} ${time}`);
    }
    assert.equal(value('search_queue_size'), 1000);
    // One of the requests that the server sends itself at its start may be running.
    assert.ok(value('searches_running') <= 1);
    assert.equal(value('searches_waiting_to_be_processed'), 0);
    assert.equal(value('task_queue_latency_seconds'), 0);
    assert.equal(value('is_indexing'), 0);
    const [bytesMax, used] = [value('task_queue_max_size'), value('task_queue_used_size')];
    assert.equal(value('task_queue_size_until_stop_registering'), bytesMax * 0.4 - used);
    await send('PATCH', '/experimental-features', { metrics: false });
  });
});
