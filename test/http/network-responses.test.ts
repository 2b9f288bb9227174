/** Responses of remotes that are not what was requested. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

const source = (score: number): string =>
  `"_federation":{"indexUid":"books","queriesPosition":1,"weightedRankingScore":${score},` +
  `"weightedScoreValues":[{"weightedScore":${score}}],"documentKey":"x"}`;
const responseOf = (hits: string): string =>
  `{"hits":[${hits}],"estimatedTotalHits":2,"processingTimeMs":1}`;

/** Not understood. */
const BAD: Record<string, Buffer> = {
  'no JSON': Buffer.from('<html>'),
  'cut off': Buffer.from(responseOf(`{${source(1)}}`).slice(0, -1)),
  'no UTF-8': Buffer.from([...Buffer.from('{"hits":[],"totalHits":0,"x":"'), 0xff, 0x22, 0x7d]),
  'nested 100,000 deep': Buffer.from(responseOf(`{"x":${'['.repeat(1e5)}${']'.repeat(1e5)}}`)),
  'a hit without scores': Buffer.from(responseOf('{"id":1}')),
  'an endless score': Buffer.from(responseOf(`{${source(1)}}`.replace(':1}]', ':1e999}]'))),
  'a list of numbers': Buffer.from(responseOf('1,2')),
  'a total below 0': Buffer.from('{"hits":[],"estimatedTotalHits":-1}'),
};

describe('A remote that answers with', () => {
  let server: BuiltServer;
  const remotes: Server[] = [];
  let bad: Buffer = Buffer.alloc(0);

  before(async function () {
    this.timeout(60_000);
    const good = Buffer.from(responseOf(`{ "id" : 2, "n": 1.00e2, ${source(2)} }`));
    for (const received of [() => good, () => bad]) {
      const remote = createServer((request, response) => {
        request.resume().on('end', () => response.end(received()));
      });
      await new Promise<void>((resolve) => remote.listen(0, '127.0.0.1', resolve));
      remotes.push(remote);
    }
    const [goodUrl, badUrl] = remotes.map(
      (remote) => `http://127.0.0.1:${(remote.address() as AddressInfo).port}`,
    );
    server = await startBuiltServer();
    await server.call('PATCH', '/experimental-features', { body: { network: true } });
    const network = { self: 'me', remotes: { good: { url: goodUrl }, bad: { url: badUrl } } };
    await server.call('PATCH', '/network', { body: network });
    await server.finish('POST', '/indexes/books/documents', { body: [{ id: 1 }] });
  });
  after(async () => {
    await server?.close();
    for (const remote of remotes) remote.close();
  });

  async function search(): Promise<{ json: any; text: string }> {
    const queries = ['me', 'good', 'bad'].map((remote) => ({
      indexUid: 'books',
      federationOptions: { remote },
    }));
    const body = { federation: {}, queries };
    const response = await fetch(`${server.url}/multi-search`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.masterKey}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return { json: JSON.parse(text), text };
  }

  for (const [what, bytes] of Object.entries(BAD)) {
    it(`${what} costs its own hits alone`, async () => {
      bad = bytes;
      const { json } = await search();
      assert.equal(json.remoteErrors.bad.code, 'remote_bad_response');
      assert.deepEqual(Object.keys(json.remoteErrors), ['bad']);
      assert.deepEqual(json.hits.map(({ id }: { id: number }) => id).sort(), [1, 2]);
      assert.equal(json.estimatedTotalHits, 3);
    });
  }

  it('hits has them in the list as they came, with their source', async () => {
    bad = Buffer.from(responseOf(`{${source(0.5)},"id":3}`).replace('"x"', '"y"'));
    const { json, text } = await search();
    assert.deepEqual(json.remoteErrors, {});
    const shown =
      '{ "id" : 2, "n": 1.00e2, "_federation":{"indexUid":"books","queriesPosition":1,' +
      '"weightedRankingScore":2.0,"remote":"good"} }';
    assert.ok(text.includes(shown), text);
    assert.deepEqual(json.hits.map(({ id }: { id: number }) => id).sort(), [1, 2, 3]);
  });
});
