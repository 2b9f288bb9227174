import assert from 'node:assert/strict';
import { MalformedJson } from '../../../src/base/json-scanner.ts';
import type { Network } from '../../../src/contract/responses.ts';
import { FanOut, type RemoteQuestion } from '../../../src/network/fan-out.ts';
import { RemoteClient } from '../../../src/network/remote-client.ts';
import type { OutboundClient } from '../../../src/outbound/outbound-client.ts';
import { OutboundError } from '../../../src/outbound/outbound-error.ts';

const REMOTES = 30;
const BYTES_MAX = 1000;

const names = Array.from({ length: REMOTES }, (_, n) => `s${n}`);
const network: Network = {
  ...{ self: null, sharding: false },
  remotes: Object.fromEntries(
    names.map((name) => [name, { url: `http://${name}`, searchApiKey: null, writeApiKey: null }]),
  ),
};
const question: RemoteQuestion = { method: 'POST', path: '/', key: () => null, isOptional: false };
const questions = (count: number) => new Map(names.slice(0, count).map((name) => [name, question]));

/** Remotes whose responses have the maximum size. */
function fanOut(): FanOut {
  const outbound = {
    fetch: async (_: unknown, { admit }: { admit: (bytes: number) => boolean }) => {
      await Promise.resolve();
      if (!admit(BYTES_MAX)) throw new OutboundError('responseTooLarge', 'no space');
      return { status: 200, headers: {}, body: Buffer.alloc(BYTES_MAX) };
    },
  } as unknown as OutboundClient;
  const client = new RemoteClient(outbound, { wait: () => Promise.resolve() });
  return new FanOut({ network: () => network, client, msMax: 10_000, bytesMax: BYTES_MAX });
}

describe('Responses of many remotes', () => {
  const never = new AbortController().signal;

  it('have twice the bytes of one together; further ones are too large', async () => {
    const asked = fanOut();
    const { responses, errors } = await asked.holding((held) =>
      asked.ask(questions(REMOTES), (body) => body.length, held, never),
    );
    assert.equal(responses.size, 2);
    const codes = Object.values(errors).map(({ code }) => code);
    assert.deepEqual(codes, Array(REMOTES - 2).fill('remote_bad_response'));
  });

  it('of requests at the same time have eight times as many, until these have ended', async () => {
    const asked = fanOut();
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    const counts: number[] = [];
    const running = Array.from({ length: 5 }, () =>
      asked.holding(async (held) => {
        const { responses } = await asked.ask(questions(2), (body) => body, held, never);
        counts.push(responses.size);
        await ended;
      }),
    );
    while (counts.length < 5) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(counts.sort(), [0, 2, 2, 2, 2]);
    end();
    await Promise.all(running);
    const later = await asked.holding((held) =>
      asked.ask(questions(2), (body) => body, held, never),
    );
    assert.equal(later.responses.size, 2);
  });

  it('that are not understood leave their share to others', async () => {
    const asked = fanOut();
    const read = (): never => {
      throw new MalformedJson('nonsense');
    };
    const { responses } = await asked.holding(async (held) => {
      await asked.ask(questions(2), read, held, never);
      return asked.ask(questions(2), (body) => body, held, never);
    });
    assert.equal(responses.size, 2);
  });
});
