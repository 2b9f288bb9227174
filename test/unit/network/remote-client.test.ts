import assert from 'node:assert/strict';
import { MalformedJson } from '../../../src/base/json-scanner.ts';
import { ApiError } from '../../../src/contract/errors.ts';
import { RemoteClient } from '../../../src/network/remote-client.ts';
import { KnownRemotes } from '../../../src/network/known-remotes.ts';
import type { OutboundResponse, OutboundClient } from '../../../src/outbound/outbound-client.ts';
import { OutboundError, type OutboundFailure } from '../../../src/outbound/outbound-error.ts';

const remote = { url: 'http://secret.example/base/' };

/** Returns its responses in order. */
function clientOf(...responses: (number | OutboundFailure)[]): {
  client: RemoteClient;
  urls: string[];
} {
  const urls: string[] = [];
  const outbound = {
    fetch: ({ url }: { url: string }): Promise<OutboundResponse> => {
      urls.push(url);
      const next = responses.length > 1 ? responses.shift()! : responses[0]!;
      if (typeof next === 'string') throw new OutboundError(next, `secret.example ${next}`);
      return Promise.resolve({
        ...{ status: next, headers: {}, body: Buffer.from('said') },
        hide: (text: string) => text,
      });
    },
  } as unknown as OutboundClient;
  return { client: new RemoteClient(outbound, { wait: () => Promise.resolve() }), urls };
}

function ask(client: RemoteClient, read = async () => 'read') {
  return client.ask(
    remote,
    {
      method: 'POST',
      path: '/x',
      apiKey: 'key',
      deadline: performance.now() + 10_000,
      bytesMax: 9,
    },
    read,
  );
}

describe('A request to a remote', () => {
  it('goes below the path of its URL', async () => {
    const { client, urls } = clientOf(200);
    assert.equal(await ask(client), 'read');
    assert.deepEqual(urls, ['http://secret.example/base/x']);
  });

  const failures: [number | OutboundFailure, code: string, attempts: number][] = [
    ['unreachable', 'proxy_could_not_send_request', 4],
    ['broken', 'proxy_could_not_send_request', 4],
    ['addressRefused', 'proxy_could_not_send_request', 1],
    ['invalidRequest', 'proxy_could_not_send_request', 1],
    ['timeout', 'remote_timeout', 1],
    ['responseTooLarge', 'remote_bad_response', 1],
    [401, 'remote_invalid_api_key', 1],
    [403, 'remote_invalid_api_key', 1],
    [404, 'remote_bad_request', 1],
    [500, 'remote_remote_error', 4],
    [503, 'remote_remote_error', 4],
  ];
  for (const [failure, code, attempts] of failures) {
    it(`that fails with ${failure} ends as ${code} after ${attempts} attempts`, async () => {
      const { client, urls } = clientOf(failure);
      await assert.rejects(ask(client), (error: ApiError) => {
        assert.equal(error.code, code);
        assert.ok(!/secret|key\b.*key/.test(error.message), error.message);
        if (code === 'remote_bad_request') assert.match(error.message, /said/);
        return true;
      });
      assert.equal(urls.length, attempts);
    });
  }

  it('is sent again after a response that is not understood', async () => {
    const { client, urls } = clientOf(200);
    const read = async (): Promise<string> => {
      if (urls.length < 3) throw new MalformedJson('nonsense');
      return 'read';
    };
    assert.equal(await ask(client, read), 'read');
    assert.equal(urls.length, 3);
  });
});

describe('KnownRemotes', () => {
  it('rests a remote that failed, longer each time, and lets one request find out', () => {
    let now = 0;
    const health = new KnownRemotes(64, () => now);
    assert.ok(health.admits('a'));
    health.failed('a');
    assert.ok(!health.admits('a'));
    now = 1000;
    assert.ok(health.admits('a'));
    assert.ok(!health.admits('a'), 'one at a time');
    health.failed('a');
    now = 2999;
    assert.ok(!health.admits('a'));
    now = 3000;
    assert.ok(health.admits('a'));
    health.undecided('a');
    assert.ok(health.admits('a'));
    health.succeeded('a');
    assert.ok(health.admits('a') && health.admits('a'));
  });

  it('takes requests that fail together for one failure', () => {
    let now = 0;
    const health = new KnownRemotes(64, () => now);
    for (let n = 0; n < 50; n++) health.failed('a');
    now = 1000;
    assert.ok(health.admits('a'));
  });

  it('never rests longer than half a minute', () => {
    let now = 0;
    const health = new KnownRemotes(64, () => now);
    for (let n = 0; n < 50; n++) {
      health.failed('a');
      now += 30_000;
    }
    assert.ok(health.admits('a'));
  });
});
