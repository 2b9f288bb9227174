/** What the client of a write gets that a node sends on to a leader which does not respond. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Connection } from '../../../src/http/connection.ts';
import { forward } from '../../../src/http/forward.ts';
import { OutboundClient } from '../../../src/outbound/outbound-client.ts';
import { freePort } from '../../support/free-port.ts';

const BODY = Buffer.from('[{"id": 1}]');

/** A request whose body has arrived. */
const connection = {
  ...{ method: 'POST', path: '/indexes/books/documents', query: '' },
  headers: { contentType: 'application/json', contentLength: String(BODY.length) },
  onAbort: () => {},
  receive: (onChunk: (chunk: Buffer, last: boolean) => void) => onChunk(BODY, true),
  pause: () => {},
  resume: () => {},
} as unknown as Connection;

describe('A write that is sent on to the leader', () => {
  let client: OutboundClient;
  beforeEach(() => (client = new OutboundClient({ denyPrivate: false, allow: [] })));
  afterEach(() => client.close());

  it('has not happened where no process listens', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const sent = forward(connection, url, client, new AbortController().signal);
    await assert.rejects(sent, { code: 'no_leader' });
  });

  it('may have happened when the leader changes before it responds', async () => {
    const silent = createServer();
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const change = new AbortController();
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const sent = forward(connection, url, client, change.signal);
    const [socket] = await once(silent, 'connection');
    change.abort();
    try {
      await assert.rejects(sent, {
        code: 'cluster_unavailable',
        message: 'The write may have happened: the leader has changed, or cannot be reached.',
      });
    } finally {
      socket.destroy();
      silent.close();
    }
  });
});
