import assert from 'node:assert/strict';
import { McpLoad } from '../../../src/mcp/mcp-load.ts';
import { respond } from '../../../src/mcp/protocol.ts';
import { assistantOf, type Peer } from '../../../src/mcp/tools.ts';

const NEVER = new AbortController().signal;

describe('A request of an assistant', () => {
  it('leaves the event loop to others between two messages, and uses one tool at a time', async () => {
    let inFlight = 0;
    let inFlightMax = 0;
    const peer: Peer = {
      async send() {
        inFlightMax = Math.max(inFlightMax, ++inFlight);
        await new Promise((resolve) => setImmediate(resolve));
        inFlight--;
        return { status: 200, json: { hits: [] } };
      },
    };
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    const pings = Array.from({ length: 20 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
    const assistant = assistantOf(peer, false, '1');
    setImmediate(turn);
    await respond(assistant, undefined, Buffer.from(JSON.stringify(pings)));
    assert.ok(turns >= pings.length - 1, String(turns));
    const searches = pings.map(({ id }) => ({
      ...{ jsonrpc: '2.0', id, method: 'tools/call' },
      params: { name: 'search', arguments: { indexUid: 'a' } },
    }));
    const { text } = await respond(assistant, undefined, Buffer.from(JSON.stringify(searches)));
    isOver = true;
    assert.equal((JSON.parse(text) as unknown[]).length, searches.length);
    assert.equal(inFlightMax, 1);
  });

  it('waits for others of its caller, but not of other callers, and not when it is aborted', async () => {
    const load = new McpLoad();
    const ends: (() => void)[] = [];
    const long = (caller: string, signal = NEVER): Promise<void> =>
      load.run(caller, () => new Promise<void>((resolve) => ends.push(resolve)), signal);
    const running = Array.from({ length: 4 }, () => long('a'));
    const endings = Array.from({ length: 100 }, () => new AbortController());
    const waiting = endings.map(({ signal }) => long('a', signal));
    await assert.rejects(long('a'), { code: 'too_many_search_requests' });
    assert.equal(await load.run('b', async () => 7, NEVER), 7);
    for (const ending of endings) ending.abort();
    const ended = await Promise.allSettled(waiting);
    assert.ok(ended.every(({ status }) => status === 'rejected'));
    const next = long('a');
    assert.equal(ends.length, 4);
    ends[0]!();
    await running[0];
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(ends.length, 5);
    for (const end of ends) end();
    await Promise.all([...running, next]);
  });
});
