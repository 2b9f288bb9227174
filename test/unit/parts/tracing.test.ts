import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { open } from '../../../src/parts/tracing.ts';
import type { TaskChange } from '../../../src/store/task-store.ts';
import { silentLogger } from '../../support/silent-logger.ts';

describe('Traces of batches', () => {
  it('are sent by the node that ran them, not by those that learn of them', async () => {
    const names: string[] = [];
    const collector = createServer((request, response) => {
      let text = '';
      request.on('data', (part: Buffer) => (text += part.toString()));
      request.on('end', () => {
        const { spans } = JSON.parse(text).resourceSpans[0].scopeSpans[0];
        names.push(...spans.map(({ name }: { name: string }) => name));
        response.end('{}');
      });
    });
    await new Promise<void>((done) => collector.listen(0, '127.0.0.1', done));
    const { port } = collector.address() as AddressInfo;
    let tell: (change: TaskChange) => void = () => {};
    const stats = {
      ...{ totalNbTasks: 1, status: { succeeded: 1 }, types: { indexCreation: 1 } },
      indexUids: { books: 1 },
    };
    const times = { startedAt: '2026-03-01T09:30:00Z', finishedAt: '2026-03-01T09:30:01Z' };
    let leads = false;
    const part = open(
      { tracing: { endpoint: `http://127.0.0.1:${port}`, headers: {}, ratio: 1 } },
      {
        ...{ version: '1.0.0', instance: 'i', logger: silentLogger(), leads: () => leads },
        queue: {
          watch: (watcher) => {
            tell = watcher;
            return () => {};
          },
          getBatch: () => ({ stats, ...times }) as never,
        },
      },
    );
    const change = { uids: [1], batchUid: 1, finishedAt: 1 };
    tell(change);
    leads = true;
    tell({ ...change, finishedAt: null });
    tell(change);
    await part.close(60_000);
    collector.close();
    assert.deepEqual(names, ['batch indexCreation']);
  });
});
