/**
 * Finds out whether an entry is in the log when the log does not respond, refuses, or has another
 * leader by now.
 */
import assert from 'node:assert/strict';
import { appendSurely } from '../../../src/cluster/appender.ts';
import {
  OutcomeUnknownError,
  RefusedError,
  TrimmedError,
  UnavailableError,
  WritesRefusedError,
} from '../../../src/cluster/errors.ts';
import type { AppendResult, Log } from '../../../src/cluster/log/log.ts';
import type { Entry } from '../../../src/cluster/record.ts';
import { systemRuntime } from '../../../src/cluster/system-runtime.ts';

const MINE: Entry = { sequence: 5, body: Buffer.from('mine') };
const OTHER: Entry = { sequence: 5, body: Buffer.from('other') };
const EPOCH = 3;

type Step =
  | AppendResult['kind']
  /** No response. */
  | 'lost'
  /** The password is not accepted any more. */
  | 'denied'
  | { readonly finds: Entry | 'nothing' | 'trimmed' | 'no response' | 'denied' }
  | { readonly leads: number };

/** Responds with one step after the other, and requires exactly these calls. */
function scripted(steps: readonly Step[]): { log: Log; rest: Step[] } {
  const rest = [...steps];
  const next = (isCall: (step: Step) => boolean): Step => {
    const step = rest.shift();
    assert.ok(step !== undefined && isCall(step), `not expected, but ${JSON.stringify(step)}`);
    return step;
  };
  const log = {
    append: async () => {
      const step = next((one) => typeof one === 'string');
      if (step === 'lost') throw new UnavailableError('lost');
      if (step === 'denied') throw new RefusedError('denied');
      return { kind: step, reason: 'full' };
    },
    read: async () => {
      const { finds } = next((one) => typeof one === 'object' && 'finds' in one) as {
        finds: Entry | string;
      };
      if (finds === 'trimmed') throw new TrimmedError('trimmed');
      if (finds === 'denied') throw new RefusedError('denied');
      if (finds === 'no response') throw new UnavailableError('no response');
      return finds === 'nothing' ? [] : [finds];
    },
    state: async () => {
      const step = next((one) => typeof one === 'object' && 'leads' in one);
      return { leader: { epoch: (step as { leads: number }).leads } };
    },
  };
  return { log: log as unknown as Log, rest };
}

const CASES: readonly [name: string, steps: readonly Step[], outcome: boolean | Function][] = [
  ['it is added at once', ['appended'], true],
  ['there is no space', ['refused'], WritesRefusedError],
  ['it is not let in', ['denied'], WritesRefusedError],
  [
    'it is not let in after an attempt without a response',
    ['lost', { finds: 'denied' }, { finds: 'nothing' }, 'denied', { finds: MINE }],
    true,
  ],
  ['another leads', ['fenced', { finds: 'nothing' }], false],
  ['another has its position', ['conflict', { finds: OTHER }], false],
  ['its attempt arrived without a response', ['lost', { finds: MINE }], true],
  ['its attempt did not arrive', ['lost', { finds: 'nothing' }, 'appended'], true],
  ['its attempt arrives late', ['lost', { finds: 'nothing' }, 'conflict', { finds: MINE }], true],
  ['another has its position by now', ['lost', { finds: OTHER }], false],
  [
    'another leads by now, and the late attempt came first',
    ['lost', { finds: 'nothing' }, 'fenced', { finds: MINE }],
    true,
  ],
  [
    'another leads by now, and no attempt came',
    ['lost', { finds: 'nothing' }, 'fenced', { finds: 'nothing' }],
    false,
  ],
  [
    'the last read has no response',
    [
      'lost',
      { finds: 'no response' },
      { finds: 'nothing' },
      'fenced',
      { finds: 'no response' },
      { finds: MINE },
    ],
    true,
  ],
  [
    'there is no space after an attempt without a response',
    ['lost', { finds: 'nothing' }, 'refused', { leads: EPOCH }, { finds: 'nothing' }, 'appended'],
    true,
  ],
  [
    'there is no space and another leads by now',
    ['lost', { finds: 'nothing' }, 'refused', { leads: EPOCH + 1 }, { finds: MINE }],
    true,
  ],
  ['the log was trimmed beyond it', ['lost', { finds: 'trimmed' }], OutcomeUnknownError],
];

describe('Whether an entry is in the log is reported correctly when', () => {
  const runtime = { ...systemRuntime(() => {}), sleep: async () => {} };

  for (const [name, steps, outcome] of CASES) {
    it(name, async () => {
      const { log, rest } = scripted(steps);
      const adding = appendSurely(log, MINE, EPOCH, runtime, new AbortController().signal);
      if (typeof outcome === 'boolean') assert.equal(await adding, outcome);
      else await assert.rejects(adding, outcome as new () => Error);
      assert.deepEqual(rest, []);
    });
  }

  it('the node stops before that is known', async () => {
    const stop = new AbortController();
    const { log } = scripted(['lost', { finds: 'no response' }]);
    const stopping = { ...runtime, sleep: async () => stop.abort() };
    await assert.rejects(
      appendSurely(log, MINE, EPOCH, stopping, stop.signal),
      OutcomeUnknownError,
    );
  });
});
