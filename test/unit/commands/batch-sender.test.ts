/** Batches sent to a server that refuses documents, compared with documents sent one by one. */
import assert from 'node:assert/strict';
import { BatchSender } from '../../../src/commands/batch-sender.ts';
import { Batch } from '../../../src/commands/batches.ts';
import type { Connection, FinishedTask } from '../../../src/commands/connection.ts';
import { RefusedRequest } from '../../../src/outbound/api-peer.ts';
import { mulberry } from '../../support/random.ts';

const SEED = Number(process.env.SEED ?? Date.now() % 1e6);

/** `good`; refused with its request; refused in its task. */
type Kind = 'good' | 'request' | 'task';
interface Line {
  id: number;
  n: number;
  kind: Kind;
}

function linesOf(bytes: Buffer): Line[] {
  return bytes
    .toString()
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => JSON.parse(text) as Line);
}

describe('Batches with documents that the server refuses', () => {
  it(`have the effect of documents sent one by one (seed ${SEED})`, async () => {
    for (let round = 0; round < 300; round++) {
      const random = mulberry(SEED + round);
      const kinds: Kind[] = ['request', 'task'];
      const share = random() * random();
      const lines = Array.from({ length: Math.ceil(random() * 60) }, (_, n): Line => {
        const isBad = n > 0 && random() < share;
        const kind = isBad ? kinds[Math.floor(random() * 2)]! : 'good';
        return { id: Math.floor(random() * 10), n, kind };
      });
      const documents = new Map<number, number>();
      const tasks: boolean[] = [];
      const refused: number[] = [];
      const sender = new BatchSender({
        keptBytes: random() < 0.2 ? 0 : random() * 2000,
        waits: true,
        // A task is complete when it is waited for; here all run in their order at once.
        connection: {
          async waitFor([uid]: number[], ended: (task: FinishedTask) => void) {
            const error = { message: 'no', code: 'invalid_document_id' };
            const status = tasks[uid!]! ? 'succeeded' : 'failed';
            ended({ uid: uid!, status, error: tasks[uid!]! ? null : error } as FinishedTask);
          },
        } as unknown as Connection,
        async register({ bytes }) {
          const sent = linesOf(bytes);
          if (sent.some(({ kind }) => kind === 'request')) {
            throw new RefusedRequest(400, { code: 'malformed_payload', message: 'no' }, null);
          }
          const succeeds = sent.every(({ kind }) => kind === 'good');
          if (succeeds) for (const { id, n } of sent) documents.set(id, n);
          return tasks.push(succeeds) - 1;
        },
        async refused({ bytes, lines: { first } }) {
          assert.equal(linesOf(bytes)[0]!.n, first);
          refused.push(first);
        },
      });
      for (let at = 0; at < lines.length;) {
        const size = Math.ceil(random() * 12);
        const part = lines.slice(at, at + size).map((line) => `${JSON.stringify(line)}\n`);
        await sender.send(Batch.ofLines(Buffer.from(part.join('')), at));
        await sender.settle();
        at += size;
      }
      await sender.end();
      const expected = new Map<number, number>();
      for (const { id, n, kind } of lines) if (kind === 'good') expected.set(id, n);
      const bad = lines.filter(({ kind }) => kind !== 'good').map(({ n }) => n);
      assert.deepEqual([...documents].toSorted(), [...expected].toSorted(), `round ${round}`);
      assert.deepEqual(
        refused.toSorted((a, b) => a - b),
        bad,
        `round ${round}`,
      );
      assert.deepEqual([sender.documents, sender.refused], [lines.length - bad.length, bad.length]);
    }
  });
});
