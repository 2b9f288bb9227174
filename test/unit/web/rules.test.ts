import assert from 'node:assert/strict';
import { conditionWords, draftOf, ruleChange, type Rule } from '../../../src/web/rules.ts';

const RULE: Rule = {
  uid: 'r',
  description: 'explained',
  precedence: 0,
  active: false,
  conditions: {
    time: { start: '2026-11-26T01:02:03.5+01:00', end: '2030-01-01T00:00:00Z' },
    query: { isEmpty: false, words: 'red shoe' },
    filter: { values: { genre: 'shoes', price: 60 } },
  },
  actions: [
    { selector: { indexUid: 'products', id: '1' }, action: { type: 'pin', position: 0 } },
    { selector: { id: '2' }, action: { type: 'pin', position: 4294967295 } },
  ],
};

describe('Search rules of the page', () => {
  it('stay what they are when nothing was typed', () => {
    const bare: Rule = { uid: 'b', active: true, conditions: {}, actions: [] };
    for (const rule of [RULE, bare]) {
      const { uid: _, ...body } = rule;
      const none = { description: null, precedence: null };
      assert.deepEqual(ruleChange(rule, draftOf(rule)), { ...none, ...body });
    }
  });

  it('lose emptied fields', () => {
    const draft = {
      ...draftOf(RULE),
      ...{ description: '', precedence: '', start: '', end: '', words: '', values: ' ' },
    };
    assert.deepEqual(ruleChange(RULE, { ...draft, query: '', pins: [] }), {
      ...{ description: null, precedence: null, active: false, conditions: {}, actions: [] },
    });
  });

  it('refuse values that are not an object', () => {
    const draft = draftOf(null);
    assert.throws(() => ruleChange(null, { ...draft, values: '[1]' }), /must be a JSON object/);
    assert.throws(() => ruleChange(null, { ...draft, values: '{"a"' }), /not valid JSON/);
  });

  it('are described in words', () => {
    assert.deepEqual(
      conditionWords(RULE, (moment) => moment.slice(0, 4)),
      [
        'Starts at 2026.',
        'Ends at 2030.',
        'The query is not empty.',
        'The query contains each of the words “red shoe”.',
        'The filter restricts genre, and "shoes" passes it.',
        'The filter restricts price, and 60 passes it.',
      ],
    );
  });
});
