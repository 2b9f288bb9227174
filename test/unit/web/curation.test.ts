import assert from 'node:assert/strict';
import type { SearchRule } from '../../../src/contract/search-rules.ts';
import {
  curationBody,
  hasPhrase,
  spotsOf,
  previewed,
  ruleFor,
  termsOf,
  termsOfRule,
  withSpot,
  type Spots,
} from '../../../src/web/curation.ts';
import { mulberry } from '../../support/random.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const rule = (conditions: SearchRule['conditions'], indexUid?: string): SearchRule => ({
  ...{ uid: 'r', active: true, createdAt: '', lastUpdatedAt: '', conditions },
  actions: [
    { selector: { id: '1', ...(indexUid && { indexUid }) }, action: { type: 'hide' } },
    { selector: { id: '2', ...(indexUid && { indexUid }) }, action: { type: 'pin', position: 3 } },
  ],
});

describe('Hits arranged on the page', () => {
  const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 2 ** 32);

  it(`stand at the positions of their pins, and others in order (GANNET_SEED=${seed})`, () => {
    const random = mulberry(seed);
    const below = (n: number): number => Math.floor(random() * n);
    for (let round = 0; round < 300; round++) {
      const hits = Array.from({ length: below(12) }, (_, n) => String(n));
      let spots: Spots = new Map();
      for (let n = below(5); n > 0; n--) {
        spots = withSpot(spots, String(below(14)), below(3) === 0 ? null : below(15));
      }
      const shown = previewed(hits, (hit) => hit, 0, spots);
      const pinned = hits.filter((hit) => typeof spots.get(hit) === 'number');
      const ordinary = hits.filter((hit) => !spots.has(hit));
      const context = JSON.stringify([hits, [...spots], shown]);
      assert.deepEqual(shown.toSorted(), [...ordinary, ...pinned].toSorted(), context);
      assert.deepEqual(
        shown.filter((hit) => !spots.has(hit)),
        ordinary,
        context,
      );
      // A pin stands at its position, or behind pins that share it, or at the end.
      const before = (hit: string): string[] => shown.slice(0, shown.indexOf(hit));
      for (const hit of pinned) {
        const spot = spots.get(hit)!;
        const at = shown.indexOf(hit);
        const isAfterPins = before(hit)
          .slice(spot)
          .every((one) => spots.has(one));
        const isAtEnd = shown.slice(at).every((one) => spots.has(one));
        assert.ok(at === spot || (at > spot ? isAfterPins : isAtEnd), context);
      }
    }
  });

  it('belong to the rule of the words, the index, the choices and the time', () => {
    const find = (one: SearchRule, q: string, chosen = {}): boolean =>
      ruleFor([one], 'books', { q, chosen }, NOW) === one;
    const words = { query: { words: 'Red shoe' } };
    assert.ok(find(rule(words, 'books'), ' red  SHOE -blue '));
    assert.ok(!find(rule(words, 'books'), 'red'));
    assert.ok(!find(rule(words), 'red shoe'));
    assert.ok(!find(rule(words, 'other'), 'red shoe'));
    assert.ok(find(rule({ query: { isEmpty: true } }, 'books'), ''));
    const narrowed = rule({ ...words, filter: { values: { kind: 'hat' } } }, 'books');
    assert.ok(!find(narrowed, 'red shoe'));
    assert.ok(find(narrowed, 'red shoe', { kind: ['hat', 'shoe'] }));
    assert.ok(find(rule({ ...words, time: { end: '2027-01-01T00:00:00Z' } }, 'books'), 'red shoe'));
    assert.ok(
      !find(rule({ ...words, time: { end: '2026-01-01T00:00:00Z' } }, 'books'), 'red shoe'),
    );
  });

  it('are written as they are read', () => {
    for (const conditions of [
      { query: { isEmpty: true } },
      {
        query: { words: 'a b' },
        filter: { values: { n: 1 } },
        time: { start: '2026-01-01T00:00:00Z' },
      },
    ]) {
      const one = rule(conditions, 'books');
      assert.deepEqual(curationBody('books', spotsOf(one.actions), termsOfRule(one)), {
        conditions,
        actions: one.actions,
      });
    }
    assert.deepEqual(
      termsOf({ q: '"red shoe" -blue', chosen: { kind: ['hat'], size: ['1', '2'] } }),
      {
        ...{ words: 'red shoe', values: { kind: 'hat' }, start: '', end: '' },
      },
    );
  });

  it('tell which queries have words that rules do not see', () => {
    for (const q of ['"war and peace"', 'war "and peace"', '"war', 'a "b" c']) {
      assert.equal(hasPhrase(q), true, q);
    }
    for (const q of ['', 'war', 'war -"and peace"', '-"a b"', 'war ""', '"" war', '-a b']) {
      assert.equal(hasPhrase(q), false, q);
    }
  });
});
