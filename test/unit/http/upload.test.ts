import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { receiveUpload } from '../../../src/http/body.ts';
import type { Exchange } from '../../../src/http/exchange.ts';

/** A client that keeps sending chunks it has under way when it is told to wait. */
class FakeExchange {
  readonly headers = {};
  readonly aborted = false;
  paused = false;
  #onChunk: (chunk: Buffer, last: boolean) => void = () => {};

  onAbort(): void {}
  receive(onChunk: (chunk: Buffer, last: boolean) => void): void {
    this.#onChunk = onChunk;
  }
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
  deliver(chunk: Buffer, last = false): void {
    this.#onChunk(chunk, last);
  }
}

describe('An upload', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'gannet-upload-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('goes on after every pause, also when chunks arrive during it', async () => {
    const exchange = new FakeExchange();
    const path = join(folder, 'payload');
    const files = { newPayloadFile: () => ({ path }), removePayloadFile: () => {} };
    const upload = receiveUpload(exchange as unknown as Exchange, 1 << 30, files);
    const sent: Buffer[] = [];
    const send = (bytes: number, last = false): void => {
      const chunk = Buffer.alloc(bytes, sent.length + 1);
      sent.push(chunk);
      exchange.deliver(chunk, last);
    };
    for (let round = 0; round < 50; ++round) {
      while (!exchange.paused) send(300 * 1024);
      // Some of the bytes reach the disk, but not enough for there to be room; then a late chunk comes in.
      for (let turn = 0; turn < round % 4; ++turn) await new Promise(setImmediate);
      send(1);
      for (let waited = 0; exchange.paused && waited < 500; ++waited) await sleep(2);
      assert.equal(exchange.paused, false, `round ${round}: never resumed`);
    }
    send(0, true);
    assert.deepEqual(await upload, { file: path });
    assert.ok(readFileSync(path).equals(Buffer.concat(sent)));
  });
});
