import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { settle } from '../kill/support/compare.ts';
import { addonIsBuilt, ServerProcess } from '../kill/support/server-process.ts';

export interface TestResponse {
  status: number;
  body: any;
}

export interface RealServer {
  /** @param body a text is sent as it is, anything else as JSON */
  send(method: string, path: string, body?: unknown): Promise<TestResponse>;
  /** The finished task. */
  done(method: string, path: string, body: unknown): Promise<any>;
  /** Ids of hits or documents. */
  idsOf(response: TestResponse): number[];
  /** The code of the error. */
  code(method: string, path: string, body: unknown): Promise<string>;
  server(): ServerProcess;
}

/**
 * A server with the real engine for the tests of the suite that calls this; skipped where the
 * engine is not built. It has an index `i` with documents 1 to 3 (`text`, filterable `kind`) and
 * 1000 (`text`).
 */
export function useServer(): RealServer {
  let dir: string;
  let server: ServerProcess | undefined;

  before(async function () {
    if (!addonIsBuilt()) this.skip();
    dir = mkdtempSync(join(tmpdir(), 'gannet-http-'));
    server = await ServerProcess.start({ dir, port: await freePort() });
    await send('PATCH', '/indexes/i/settings', { filterableAttributes: ['kind'] });
    const documents = [1, 2, 3].map((id) => ({ id, text: 'word', kind: id % 2 }));
    await send('POST', '/indexes/i/documents', documents);
    await send('POST', '/indexes/i/documents', [{ id: 1000, text: 'other' }]);
    await settle(server.client);
  });

  after(async () => {
    if (server === undefined) return;
    await server.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  async function send(method: string, path: string, body?: unknown): Promise<TestResponse> {
    const options = typeof body === 'string' ? { bytes: Buffer.from(body) } : { body };
    const { status, json } = await server!.client.call(method, path, options);
    return { status, body: json() };
  }

  async function done(method: string, path: string, body: unknown): Promise<any> {
    const { status, body: task } = await send(method, path, body);
    assert.equal(status, 202, JSON.stringify(task));
    await settle(server!.client);
    return (await send('GET', `/tasks/${task.taskUid}`)).body;
  }

  return {
    send,
    done,
    idsOf: ({ body }) => (body.hits ?? body.results).map(({ id }: { id: number }) => id),
    code: async (method, path, body) => (await send(method, path, body)).body.code,
    server: () => server!,
  };
}
