import assert from 'node:assert/strict';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { type Call, Isolate, type IsolateOptions, type Host } from '../../../src/base/isolate.ts';
import { mulberry } from '../../support/random.ts';

const FILE = pathToFileURL('test/support/isolated.cjs');
const HEAP_MB = 32;
const seed = Number(process.env['GANNET_SEED'] ?? Math.floor(Math.random() * 2 ** 32));

type Message = { echo: number } | { is: 'crash' | 'throw' | 'hang' | 'fill' };

const HOSTS: Record<string, Host> = {
  thread: {
    thread: FILE,
    options: { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB }, stderr: true },
  },
  process: {
    process: FILE,
    options: {
      execArgv: [`--max-old-space-size=${HEAP_MB}`],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    },
    nice: 1,
  },
};

for (const [kind, host] of Object.entries(HOSTS)) {
  describe(`An isolate in a ${kind} (GANNET_SEED=${seed})`, () => {
    /** Calls by what they wait for. */
    let calls: Map<number, Call<number>>;
    let isolate: Isolate<Message, { echo: number }>;
    let ends: number;

    function start(more: Partial<IsolateOptions<{ echo: number }>> = {}): void {
      calls = new Map();
      ends = 0;
      isolate = new Isolate<Message, { echo: number }>({
        host,
        take: ({ echo }) => calls.get(echo)?.resolve(echo),
        fault: ({ cause }) => new Error(`ended: ${cause}`),
        onEnd: () => ends++,
        ...more,
      });
    }
    function open(n: number, ...watch: Parameters<typeof isolate.open>): Promise<number | string> {
      const call = isolate.open<number>(...watch);
      calls.set(n, call);
      return call.result.catch((error: Error) => error.message);
    }
    afterEach(() => isolate.end(new Error('the test has ended')));

    it('settles calls as a model says, whatever happens in between', async function () {
      this.timeout(60_000);
      const random = mulberry(seed);
      for (let round = 0; round < 4; round++) {
        start();
        const expected: (number | string)[] = [];
        const outcomes: Promise<number | string>[] = [];
        const waiting = new Set<number>();
        let end: string | null = null;
        const settle = (n: number, outcome: number | string): void => {
          expected[n] = outcome;
          waiting.delete(n);
        };
        for (let step = 0; step < 30; step++) {
          const [some] = [...waiting].filter(() => random() < 0.5);
          const dice = random();
          if (dice < 0.5) {
            const n = outcomes.length;
            outcomes.push(open(n));
            if (end === null) waiting.add(n);
            else expected[n] = end;
          } else if (dice < 0.75 && some !== undefined) {
            isolate.send({ echo: some });
            settle(some, await outcomes[some]!);
            assert.equal(expected[some], some);
          } else if (dice < 0.85 && some !== undefined) {
            calls.get(some)!.reject(new Error('given up'));
            settle(some, 'given up');
          } else if (dice > 0.93 && end === null && waiting.size > 0) {
            const isCrash = random() < 0.5;
            end = isCrash ? 'ended: status 3' : 'canceled';
            if (isCrash) isolate.send({ is: 'crash' });
            else void isolate.end(new Error(end));
            for (const n of waiting) assert.equal(await outcomes[n], end);
            for (const n of waiting) settle(n, end);
          }
        }
        await isolate.end(new Error((end ??= 'canceled')));
        for (const n of waiting) settle(n, end);
        assert.deepEqual(await Promise.all(outcomes), expected);
        assert.ok(isolate.hasEnded);
        assert.equal(ends, 1);
      }
    });

    it('fails its calls when it throws, and when its memory is used up', async () => {
      start();
      isolate.send({ is: 'throw' });
      assert.match(String(await open(1)), kind === 'thread' ? /^ended: thrown$/ : /^ended: /);
      start();
      isolate.send({ is: 'fill' });
      assert.match(String(await open(1)), /^ended: .*(?:memory|SIGABRT|heap|status|Node\.js)/);
    });

    it('is ended by the limit of a call', async () => {
      start();
      isolate.send({ is: 'hang' });
      let passed = 0;
      const look = (ms: number): Error | null => {
        assert.ok(ms <= 40);
        passed += ms;
        return passed < 60 ? null : new Error('it took too long');
      };
      assert.equal(await open(1, { everyMs: 20, look }), 'it took too long');
      await isolate.end(new Error('again'));
      assert.equal(await open(2), 'it took too long');
      assert.equal(ends, 1);
    });

    it('ends when it was idle, and not while a call is open', async () => {
      const idle = new EventTarget();
      start({ idleMs: 30, onEnd: () => idle.dispatchEvent(new Event('end')) });
      const outcome = open(1);
      const ended = once(idle, 'end');
      isolate.send({ echo: 1 });
      assert.equal(await outcome, 1);
      assert.ok(!isolate.hasEnded);
      // The timer of an isolate at rest does not keep the process alive.
      const alive = setInterval(() => {}, 1000);
      await ended;
      clearInterval(alive);
      assert.ok(isolate.hasEnded);
    });
  });
}
