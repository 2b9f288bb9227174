/** A network whose members are killed, slow, or disconnected. */
import assert from 'node:assert/strict';
import type { BuiltServer } from '../support/built-server.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { type ProxyMode, TcpProxy } from './support/tcp-proxy.ts';

const UID = 'docs';
const SEARCHES = Number(process.env['GANNET_SEARCHES'] ?? 400);
const AT_ONCE = 8;
/** The error for a remote that was not asked. */
const RESTS = 'proxy_could_not_send_request';

describe('A network with a member that', () => {
  let cluster: Cluster;
  /** Between the others and the second server. */
  let proxy: TcpProxy;
  let first: BuiltServer;
  let second: BuiltServer;

  before(async function () {
    this.timeout(60_000);
    cluster = await startCluster({
      count: 3,
      sharding: true,
      url: async (server, n) => {
        if (n !== 1) return server.url;
        proxy = await TcpProxy.before(server.url);
        return proxy.url;
      },
      env: {
        GANNET_EXPERIMENTAL_REMOTE_SEARCH_TIMEOUT_SECONDS: '5',
        GANNET_EXPERIMENTAL_PROXY_REQUEST_TIMEOUT_SECONDS: '5',
        GANNET_EXPERIMENTAL_PROXY_BACKOFF_TIMEOUT_SECONDS: '5',
      },
    });
    [first, second] = cluster.servers as [BuiltServer, BuiltServer];
    const body = Array.from({ length: 90 }, (_, id) => ({ id, title: `word ${id}` }));
    await first.finish('POST', `/indexes/${UID}/documents`, { body });
    await cluster.idle();
  });
  after(async () => {
    await cluster?.close();
    await proxy?.close();
  });

  async function search(): Promise<{ total: number; errors: Record<string, { code: string }> }> {
    const { status, json } = await first.call('POST', `/indexes/${UID}/search`, {
      body: { q: 'word', useNetwork: true },
    });
    assert.equal(status, 200, JSON.stringify(json));
    return { total: json.estimatedTotalHits, errors: json.remoteErrors };
  }

  /** A search that names the remote, which is then asked whatever happened before. */
  async function ask(): Promise<string | undefined> {
    const queries = ['s0', 's1'].map((remote) => ({
      indexUid: UID,
      q: 'word',
      federationOptions: { remote },
    }));
    const { status, json } = await first.call('POST', '/multi-search', {
      body: { federation: {}, queries },
    });
    assert.equal(status, 200, JSON.stringify(json));
    assert.ok(json.hits.length > 0);
    return json.remoteErrors.s1?.code;
  }

  /** Waits until the remote takes part again. */
  async function back(): Promise<void> {
    proxy.mode = 'pass';
    while ((await search()).total < 90) await new Promise((resolve) => setTimeout(resolve, 50));
  }

  const failures: [ProxyMode, code: string][] = [
    ['refuse', 'proxy_could_not_send_request'],
    ['cut', 'proxy_could_not_send_request'],
    ['hang', 'remote_timeout'],
  ];
  for (const [mode, code] of failures) {
    it(`fails by ${mode} costs its hits, and is back when it responds again`, async function () {
      this.timeout(60_000);
      assert.deepEqual(await search(), { total: 90, errors: {} });
      proxy.mode = mode;
      proxy.drop();
      assert.equal(await ask(), code);
      // It now rests, longer each time: no request waits for it.
      for (let asked = true; asked;) {
        const before = proxy.connections;
        const { total, errors } = await search();
        assert.ok(total < 90 && total > 0);
        assert.ok([code, RESTS].includes(errors.s1!.code));
        asked = proxy.connections > before || errors.s1!.code !== RESTS;
      }
      await back();
    });
  }

  it('cannot be reached gets no write, and the task says so', async function () {
    this.timeout(60_000);
    proxy.mode = 'refuse';
    proxy.drop();
    const body = [{ id: 1000, title: 'word' }];
    const task = await first.finish('POST', `/indexes/${UID}/documents`, { body });
    assert.equal(task.status, 'succeeded');
    assert.equal(typeof task.network.remotes.s1.error, 'string');
    assert.ok(!task.network.remotes.s1.error.includes('127.0.0.1'), task.network.remotes.s1.error);
    assert.equal(typeof task.network.remotes.s2.task_uid, 'number');
    await back();
    // One write that arrives ends the rest of the remote.
    for (;;) {
      const { network } = await first.finish('DELETE', `/indexes/${UID}/documents/1000`);
      if (network.remotes.s1.task_uid !== undefined) break;
    }
    await cluster.idle();
  });

  it('takes a write, but whose response is lost, takes it once', async function () {
    this.timeout(60_000);
    const count = async (): Promise<number> =>
      (await second.call('GET', '/tasks?limit=1')).json.total;
    const before = await count();
    proxy.mode = 'cut';
    proxy.drop();
    const body = [{ id: 1001, title: 'word' }];
    const sent = first.call('POST', `/indexes/${UID}/documents`, { body });
    // The first attempt has arrived, and its response is cut off.
    while ((await count()) === before) await new Promise((resolve) => setTimeout(resolve, 2));
    proxy.mode = 'pass';
    const { json } = await sent;
    const task = (await first.call('GET', `/tasks/${json.taskUid}`)).json;
    assert.equal(typeof task.network.remotes.s1.task_uid, 'number', JSON.stringify(task));
    assert.equal(await count(), before + 1);
    await first.finish('DELETE', `/indexes/${UID}/documents/1001`);
    await cluster.idle();
    await back();
  });

  it(`is killed in the middle of ${SEARCHES} searches fails none of them`, async function () {
    this.timeout(120_000 + 100 * SEARCHES);
    let left = SEARCHES;
    let failed = 0;
    let withErrors = 0;
    const runSome = async (): Promise<void> => {
      while (left > 0) {
        if (left-- === SEARCHES / 2) process.kill(second.pid, 'SIGKILL');
        const { total, errors } = await search();
        if (errors.s1 !== undefined) withErrors++;
        if (total === 0) failed++;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, runSome));
    assert.equal(failed, 0);
    assert.ok(withErrors > 0, 'nobody noticed');
    assert.deepEqual(Object.keys((await search()).errors), ['s1']);
  });
});
