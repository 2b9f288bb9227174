import assert from 'node:assert/strict';
import { PATCH_RULE, type SearchRule } from '../../../src/contract/search-rules.ts';
import { conditionWords, ruleBody } from '../../../src/web/rules.ts';

const WRITTEN = { lastUpdatedAt: '2026-01-01T00:00:00Z', createdAt: '2026-01-01T00:00:00Z' };
const BARE: SearchRule = { ...WRITTEN, uid: 'b', active: true, conditions: {}, actions: [] };
const RULE: SearchRule = {
  ...WRITTEN,
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
  const MEMBERS = Object.keys(PATCH_RULE.properties);

  it('stay what they are when nothing was typed', () => {
    for (const { uid: _, lastUpdatedAt: __, createdAt: ___, ...body } of [RULE, BARE]) {
      assert.deepEqual(ruleBody(MEMBERS, { ...body, lastUpdatedAt: 'then' }), body);
    }
  });

  it('lose emptied conditions, and keep the values of the user', () => {
    const conditions = { time: { start: null }, query: { isEmpty: null, words: null }, filter: {} };
    assert.deepEqual(ruleBody(MEMBERS, { description: null, conditions, actions: [] }), {
      description: null,
      conditions: {},
      actions: [],
    });
    const filter = { values: { a: null, b: {}, c: [] } };
    assert.deepEqual(ruleBody(MEMBERS, { conditions: { filter } }), { conditions: { filter } });
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
