import assert from 'node:assert/strict';
import type { Network } from '../../../src/contract/responses.ts';
import { type ReplicatedWrite, Replication } from '../../../src/network/replication.ts';
import type { OutboundClient } from '../../../src/outbound/outbound-client.ts';
import { OutboundError } from '../../../src/outbound/outbound-error.ts';

const remoteAt = (url: string) => ({ url, searchApiKey: null, writeApiKey: null });
const network = (...urls: string[]): Network => ({
  self: 'here',
  sharding: true,
  remotes: Object.fromEntries(urls.map((url) => [url, remoteAt(url)])),
});
const WRITE: ReplicatedWrite = {
  method: 'DELETE',
  ...{ path: '/indexes/a/documents', query: '', contentType: null, body: null },
};

describe('Writes that are passed on', () => {
  it('know nothing any more of a remote that left the network, once it is back', async () => {
    let now = network('http://gone');
    let attempts = 0;
    const client = {
      fetch: () => {
        attempts++;
        throw new OutboundError('unreachable', 'gone');
      },
    } as unknown as OutboundClient;
    const replication = new Replication({
      ...{ network: () => now, client, requestMsMax: 1000, retriesMsMax: 150 },
      wait: () => Promise.resolve(),
    });
    const attemptsOfOne = async (): Promise<number> => {
      attempts = 0;
      await replication.send(WRITE, 1);
      return attempts;
    };
    assert.ok((await attemptsOfOne()) > 1);
    assert.equal(await attemptsOfOne(), 1, 'it rests');
    now = network('http://other');
    await attemptsOfOne();
    now = network('http://gone');
    assert.ok((await attemptsOfOne()) > 1);
  });
});
