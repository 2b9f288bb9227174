/** Lists in the body of a search: maximum numbers of entries. */
import assert from 'node:assert/strict';
import { checkedBody } from '../../../src/contract/validator.ts';
import { SEARCH } from '../../../src/contract/search.ts';

describe('a list of a search', () => {
  for (const [name, entry, limit, code] of [
    ['attributesToRetrieve', 'a', 65_536, 'invalid_search_attributes_to_retrieve'],
    ['facets', 'a', 65_536, 'invalid_search_facets'],
    ['locales', 'fra', 256, 'invalid_search_locales'],
    ['vector', 0.5, 65_536, 'invalid_search_vector'],
  ] as const) {
    it(`of ${name} has at most ${limit} entries`, () => {
      const check = (count: number) =>
        checkedBody(
          Buffer.from(JSON.stringify({ [name]: Array.from({ length: count }, () => entry) })),
          SEARCH,
        );
      assert.ok(check(limit).ok);
      const refused = check(limit + 1);
      assert.equal(refused.ok ? null : refused.error.code, code);
    });
  }
});
