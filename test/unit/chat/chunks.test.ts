import assert from 'node:assert/strict';
import {
  CallCollector,
  callMessage,
  CALLS_LENGTH_MAX,
  CALLS_MAX,
  type ProviderChunk,
  readChunk,
} from '../../../src/chat/chunks.ts';
import { mulberry } from '../../support/random.ts';

const SEED = Number(process.env['GANNET_SEED'] ?? 1);

/** The chunk, or why the value is not a chunk. */
function read(chunk: object): ProviderChunk | string {
  const outcome = readChunk(chunk as Record<string, unknown>);
  return outcome.ok ? outcome.value : outcome.error;
}

const ofDelta = (delta: unknown): object => ({ choices: [{ index: 0, delta }] });
const ofPieces = (pieces: unknown): object => ofDelta({ tool_calls: pieces });

/** The calls sent back to the provider for chunks with these lists of pieces. */
function calls(...chunks: unknown[][]): any[] {
  const collector = new CallCollector();
  for (const pieces of chunks) {
    const chunk = read(ofPieces(pieces));
    assert.ok(typeof chunk !== 'string', String(chunk));
    assert.equal(collector.add(chunk.choice!.toolCalls), null);
  }
  return collector.take().map(callMessage);
}

describe('A chunk of a chat provider', () => {
  const refused: [name: string, chunk: object, location: string][] = [
    ['choices that are an object', { choices: {} }, 'choices'],
    ['choices that are a text', { choices: 'x' }, 'choices'],
    ['a choice that is null', { choices: [null] }, 'choices[0]'],
    ['a choice that is a list', { choices: [[]] }, 'choices[0]'],
    ['a choice that is a number', { choices: [1] }, 'choices[0]'],
    ['a delta that is a text', ofDelta('x'), 'delta'],
    ['a delta that is a list', ofDelta([]), 'delta'],
    ['a content that is an object', ofDelta({ content: {} }), 'content'],
    ['a content that is a number', ofDelta({ content: 1 }), 'content'],
    ['an end that is a number', { choices: [{ delta: {}, finish_reason: 1 }] }, 'finish_reason'],
    ['calls that are an object', ofPieces({}), 'tool_calls'],
    ['calls that are a text', ofPieces('x'), 'tool_calls'],
    ['a call that is null', ofPieces([null]), 'tool_calls[0]'],
    ['a call that is a text', ofPieces(['x']), 'tool_calls[0]'],
    ['a call that is a list', ofPieces([[]]), 'tool_calls[0]'],
    ['an id that is an object', ofPieces([{ id: {} }]), 'id'],
    ['a function that is a text', ofPieces([{ function: 'x' }]), 'function'],
    ['a function that is a list', ofPieces([{ function: [] }]), 'function'],
    ['a name that is a list', ofPieces([{ function: { name: [] } }]), 'name'],
    ['arguments that are a list', ofPieces([{ function: { arguments: [] } }]), 'arguments'],
    ['arguments that are a number', ofPieces([{ function: { arguments: 1 } }]), 'arguments'],
    ['arguments that are true', ofPieces([{ function: { arguments: true } }]), 'arguments'],
  ];
  for (const [name, chunk, location] of refused) {
    it(`is refused for ${name}`, () => {
      const outcome = read(chunk);
      assert.ok(typeof outcome === 'string' && outcome.includes(location), JSON.stringify(outcome));
    });
  }

  const empty: [name: string, chunk: object][] = [
    ['no choices', {}],
    ['null choices', { choices: null }],
    ['an empty list of choices', { choices: [] }],
    ['no delta', { choices: [{}] }],
    ['a null delta', ofDelta(null)],
    ['null for everything', ofDelta({ content: null, tool_calls: null, reasoning_content: null })],
    ['no calls in the list', ofPieces([])],
    ['an end that is empty', { choices: [{ delta: {}, finish_reason: '' }] }],
    ['reasoning that is no text', ofDelta({ reasoning_content: 7 })],
  ];
  for (const [name, chunk] of empty) {
    it(`is one without effect: ${name}`, () => {
      const outcome = read(chunk);
      assert.ok(typeof outcome !== 'string', String(outcome));
      const nothing = { toolCalls: [], reasoning: '', finishReason: null };
      assert.deepEqual(outcome.choice ?? nothing, nothing);
    });
  }

  it('forwards no member of another type, and no invalid usage', () => {
    const usages = [
      '7',
      7,
      [],
      { prompt_tokens: '7' },
      { total_tokens: -1 },
      { total_tokens: 1.5 },
    ];
    for (const usage of [...usages, { completion_tokens: null, prompt_tokens: [] }]) {
      const outcome = read({
        ...{
          id: 7,
          object: [],
          created: 'now',
          model: {},
          system_fingerprint: 1,
          service_tier: [],
        },
        ...{ choices: [{ delta: { content: 'a' } }], usage, unknown: 1 },
      });
      assert.ok(typeof outcome !== 'string');
      assert.deepEqual(outcome.forwarded, { choices: [{ delta: { content: 'a' } }] });
      assert.equal(outcome.usage, null, JSON.stringify(usage));
    }
    const usage = { prompt_tokens: 1, completion_tokens: null, details: { cached: 1 } };
    const right = read({ id: 'a', created: 1.5, choices: [], usage });
    assert.ok(typeof right !== 'string');
    assert.deepEqual(right.usage, usage);
    assert.deepEqual(right.forwarded, { id: 'a', created: 1.5, choices: [], usage });
  });

  it(`of any shape is refused, or gives values of known types (seed ${SEED})`, () => {
    const random = mulberry(SEED);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
    const members = [
      ...['id', 'choices', 'delta', 'content', 'tool_calls', 'index', 'function', 'name', 'type'],
      ...['arguments', 'usage', 'prompt_tokens', 'finish_reason', 'reasoning_content', 'created'],
      ...['__proto__', 'constructor', 'extra_content', 'error', 'model'],
    ];
    const value = (depth: number): unknown => {
      const kind = depth > 5 ? Math.floor(random() * 6) : Math.floor(random() * 10);
      if (kind === 0) return null;
      if (kind === 1) return pick([0, -1, 1.5, 1e300, 2 ** 60]);
      if (kind === 2) return random() < 0.5;
      if (kind <= 5) return pick(['', 'a', '{"q":1}', 'stop', '\ud800', '7']);
      if (kind === 6)
        return Array.from({ length: Math.floor(random() * 3) }, () => value(depth + 1));
      return object(depth);
    };
    const object = (depth: number): object => {
      const given: [string, unknown][] = Array.from({ length: Math.floor(random() * 5) }, () => [
        pick(members),
        value(depth + 1),
      ]);
      return Object.fromEntries(given);
    };
    let taken = 0;
    for (let n = 0; n < 20_000; n++) {
      const chunk =
        random() < 0.5 ? ofPieces([object(2), value(2)].slice(0, pick([1, 2]))) : object(0);
      const text = JSON.stringify(chunk);
      const outcome = read(JSON.parse(text) as object);
      if (typeof outcome === 'string') continue;
      const collector = new CallCollector();
      assert.equal(collector.add(outcome.choice?.toolCalls ?? []), null, text);
      for (const call of collector.take()) {
        taken++;
        const message = JSON.parse(JSON.stringify(callMessage(call)));
        assert.ok(message.id.length > 0 && message.type === 'function', text);
        assert.equal(typeof message.function.name, 'string', text);
        assert.equal(typeof message.function.arguments, 'string', text);
      }
      const { forwarded, usage, choice } = outcome;
      assert.ok(['string', 'undefined'].includes(typeof forwarded.id), text);
      assert.ok(Array.isArray(forwarded.choices) && forwarded.choices.length <= 1, text);
      const counts = [usage?.prompt_tokens ?? 0, usage?.total_tokens ?? 0];
      assert.ok(counts.every(Number.isSafeInteger), text);
      assert.ok(choice === null || ['string', 'object'].includes(typeof choice.finishReason), text);
    }
    assert.ok(taken > 1000, `only ${taken} calls`);
  });
});

describe('Calls of a chat provider', () => {
  const piece = (more: object, args = '', name?: string): object => ({
    ...more,
    function: { ...(name === undefined ? {} : { name }), arguments: args },
  });
  const shown = (list: any[]): string[] =>
    list.map(({ id, function: fn }) => `${id.length > 8 ? '?' : id} ${fn.name} ${fn.arguments}`);

  const rows: [name: string, chunks: object[][], wanted: string[]][] = [
    [
      'in pieces by index',
      [
        [piece({ index: 0, id: 'a' }, '{"q', 'f'), piece({ index: 1, id: 'b' }, '{"r', 'g')],
        [piece({ index: 1 }, '":1}'), piece({ index: 0 }, '":2}')],
      ],
      ['a f {"q":2}', 'b g {"r":1}'],
    ],
    [
      'with the same index',
      [
        [piece({ index: 0, id: 'a' }, '{"q":1}', 'f')],
        [piece({ index: 0, id: 'b' }, '{"q"', 'f')],
        [piece({ index: 0 }, ':2}')],
      ],
      ['a f {"q":1}', 'b f {"q":2}'],
    ],
    [
      'without index',
      [
        [piece({ id: 'a' }, '{"q"', 'f')],
        [piece({}, ':1}')],
        [piece({ id: 'b' }, '{"q"', 'f'), piece({}, ':2}')],
      ],
      ['a f {"q":1}', 'b f {"q":2}'],
    ],
    [
      'whole in one chunk, without index',
      [[piece({ id: 'a' }, '{"q":1}', 'f'), piece({ id: 'b' }, '{"q":2}', 'f')]],
      ['a f {"q":1}', 'b f {"q":2}'],
    ],
    [
      'whole in one chunk, with neither index nor id',
      [[piece({}, '{"q":1}', 'f'), piece({}, '{"q":2}', 'f')]],
      ['? f {"q":1}', '? f {"q":2}'],
    ],
    [
      'with an empty id after the first piece',
      [[piece({ index: 0, id: 'a' }, '{"q"', 'f')], [piece({ index: 0, id: '' }, ':1}', '')]],
      ['a f {"q":1}'],
    ],
    [
      'with the id in every piece',
      [[piece({ index: 0, id: 'a' }, '{"q"', 'f')], [piece({ index: 0, id: 'a' }, ':1}', 'f')]],
      ['a f {"q":1}'],
    ],
    [
      'with the id after the name',
      [[piece({ index: 0 }, '', 'f')], [piece({ index: 0, id: 'a' }, '{"q":1}')]],
      ['a f {"q":1}'],
    ],
    [
      'without id, by index',
      [
        [piece({ index: 0 }, '{"q"', 'f'), piece({ index: 1 }, '{"r"', 'g')],
        [piece({ index: 0 }, ':1}'), piece({ index: 1 }, ':2}')],
      ],
      ['? f {"q":1}', '? g {"r":2}'],
    ],
    ['with an id that is a number', [[piece({ id: 7 }, '{}', 'f')]], ['7 f {}']],
    [
      'with an index that is none',
      [[piece({ index: 'x', id: 'a' }, '{"q"', 'f')], [piece({ index: -1 }, ':1}')]],
      ['a f {"q":1}'],
    ],
  ];
  for (const [name, chunks, wanted] of rows) {
    it(`are put together: ${name}`, () => assert.deepEqual(shown(calls(...chunks)), wanted));
  }

  it('may have their arguments as an object', () => {
    const args = { index_uid: 'films', q: 'a', filter: null };
    const [call] = calls([{ id: 'a', function: { name: 'f', arguments: args } }]);
    assert.deepEqual(JSON.parse(call.function.arguments), args);
  });

  it('keep members that only the provider knows', () => {
    const extra = { google: { thought_signature: 'c2ln' } };
    const [call] = calls(
      [{ index: 0, id: 'a', type: 'function', extra_content: extra, function: { name: 'f' } }],
      [{ index: 0, later: [1, null], gone: null, function: { arguments: '{}', strict: true } }],
    );
    assert.deepEqual(call, {
      ...{ extra_content: extra, later: [1, null], id: 'a', type: 'function' },
      function: { strict: true, name: 'f', arguments: '{}' },
    });
    const odd = JSON.parse('{"id":"a","__proto__":{"x":1},"function":{"name":"f","__proto__":2}}');
    assert.equal(
      JSON.stringify(calls([odd])),
      '[{"__proto__":{"x":1},"id":"a","type":"function","function":{"__proto__":2,"name":"f","arguments":""}}]',
    );
  });

  it('are limited, as are members that only the provider knows', () => {
    const add = (pieces: unknown[]): string | null => {
      const chunk = read(ofPieces(pieces));
      assert.ok(typeof chunk !== 'string');
      return new CallCollector().add(chunk.choice!.toolCalls);
    };
    const many = Array.from({ length: CALLS_MAX + 1 }, (_, n) => ({ id: `c${n}` }));
    assert.equal(add(many.slice(1)), null);
    assert.match(add(many)!, /more than 32 calls/);
    const long = 'x'.repeat(CALLS_LENGTH_MAX);
    const size = /more than 1048576 characters/;
    assert.match(add([{ id: 'a', function: { arguments: `${long}x` } }])!, size);
    assert.match(add([{ id: 'a', extra_content: long }])!, size);
    assert.match(add([{ id: 'a', function: { more: { x: long } } }])!, size);
    assert.match(add([{ id: 'a', [long]: 1 }])!, size);
    // A value that replaces another one also counts.
    const half = 'x'.repeat(CALLS_LENGTH_MAX / 2);
    assert.match(add([{ id: 'a', extra: half }, { extra: half }])!, size);
  });
});
