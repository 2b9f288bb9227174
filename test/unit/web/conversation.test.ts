import assert from 'node:assert/strict';
import {
  completionRequest,
  newTurn,
  withEvent,
  type ChatEvent,
  type Turn,
} from '../../../src/web/conversation.ts';

const text = (content: string): ChatEvent => ({ choices: [{ delta: { content } }] });
const report = (name: string, content: unknown): ChatEvent => ({
  choices: [
    { delta: { tool_calls: [{ function: { name, arguments: JSON.stringify(content) } }] } },
  ],
});
const search = (id: string, args: string): ChatEvent[] => [
  report('_meiliSearchProgress', { call_id: id, function_arguments: args }),
  report('_meiliAppendConversationMessage', { role: 'assistant', tool_calls: [{ id }] }),
];
const found = (id: string, sources: unknown[]): ChatEvent[] => [
  report('_meiliSearchSources', { call_id: id, sources }),
  report('_meiliAppendConversationMessage', {
    ...{ role: 'tool', content: 'what was found', tool_call_id: id },
  }),
];
const after = (events: readonly ChatEvent[], turn: Turn = newTurn('Why?')): Turn =>
  events.reduce(withEvent, turn);
const roles = (turns: readonly Turn[]): unknown[] =>
  (completionRequest('m', turns).messages as { role: string }[]).map(({ role }) => role);

describe('A conversation of the page', () => {
  it('joins texts, and keeps searches in their position', () => {
    const turn = after([
      text('I look '),
      text('for it.'),
      ...search('a', '{"index_uid":"books","q":"dune","filter":"year > 1900"}'),
      ...search('b', 'not JSON'),
      ...found('b', []),
      ...found('a', [{ id: 1 }]),
      text(''),
      text('Dune.'),
    ]);
    assert.deepEqual(turn.parts, [
      { kind: 'text', text: 'I look for it.' },
      {
        kind: 'search',
        search: {
          ...{ callId: 'a', indexUid: 'books', q: 'dune', filter: 'year > 1900' },
          sources: [{ id: 1 }],
        },
      },
      { kind: 'search', search: { callId: 'b', indexUid: '', q: '', filter: '', sources: [] } },
      { kind: 'text', text: 'Dune.' },
    ]);
  });

  it('sends what was said and searched before, in its order', () => {
    const first = after([
      text('I look.'),
      ...search('a', '{}'),
      ...found('a', []),
      text('Nothing.'),
    ]);
    assert.deepEqual(roles([first, newTurn('And now?')]), [
      ...['user', 'assistant', 'assistant', 'tool', 'assistant', 'user'],
    ]);
    const { messages } = completionRequest('m', [first]) as { messages: object[] };
    assert.deepEqual(messages[1], { role: 'assistant', content: 'I look.' });
    assert.deepEqual(messages.at(-1), { role: 'assistant', content: 'Nothing.' });
  });

  it('leaves out a call without a result', () => {
    const stopped = after([text('I look.'), ...search('a', '{}')]);
    assert.deepEqual(roles([stopped, newTurn('And now?')]), ['user', 'assistant', 'user']);
  });

  it('shows errors, and continues', () => {
    const turn = after([{ error: { message: 'the provider is tired' } }, text('Still here.')]);
    assert.deepEqual(turn.errors, ['the provider is tired']);
    assert.deepEqual(turn.parts, [{ kind: 'text', text: 'Still here.' }]);
  });
});
