import assert from 'node:assert/strict';
import { Transfers, type Transfer } from '../../../src/http/transfers.ts';

class FakeTransfer implements Transfer {
  bytes: number | null = 0;
  kept = 0;
  givenUp = false;

  moved(): number | null {
    return this.bytes;
  }

  keepAlive(): void {
    this.kept++;
  }

  giveUp(): void {
    this.givenUp = true;
  }
}

describe('Transfers', () => {
  let now = 0;
  let transfers: Transfers;
  let transfer: FakeTransfer;

  beforeEach(() => {
    now = 0;
    transfers = new Transfers({ now: () => now, windowMs: 60_000, bytesMin: 60_000 });
    transfer = new FakeTransfer();
    transfers.add(transfer);
  });
  afterEach(() => transfers.remove(transfer));

  function pass(ms: number, bytesPerSecond: number): void {
    for (const end = now + ms; now < end;) {
      now += 4000;
      if (transfer.bytes !== null) transfer.bytes += bytesPerSecond * 4;
      transfers.tick();
    }
  }

  it('are kept alive while they move a little', () => {
    pass(3_600_000, 1100);
    assert.equal(transfer.givenUp, false);
    assert.equal(transfer.kept, 900);
    assert.equal(transfers.size, 1);
  });

  it('are given up when they move next to nothing for a minute', () => {
    pass(56_000, 900);
    assert.equal(transfer.givenUp, false);
    pass(4000, 900);
    assert.equal(transfer.givenUp, true);
    assert.equal(transfers.size, 0);
  });

  it('are not blamed for a server that does not read', () => {
    transfer.bytes = null;
    pass(600_000, 0);
    transfer.bytes = 0;
    pass(56_000, 0);
    assert.equal(transfer.givenUp, false);
    pass(4000, 0);
    assert.equal(transfer.givenUp, true);
  });

  it('end without a trace', () => {
    transfers.remove(transfer);
    transfers.remove(transfer);
    assert.equal(transfers.size, 0);
    transfers.tick();
    assert.equal(transfer.kept, 0);
  });
});
