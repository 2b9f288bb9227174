/** Rules compared with a naive model: which apply to a filter, and the resulting pins. */
import assert from 'node:assert/strict';
import type { SearchRule } from '../../../src/contract/search-rules.ts';
import { pinsOf, RuleTables } from '../../../src/search/rules-in-force.ts';
import { mulberry } from '../../support/random.ts';

type Tree =
  | { op: 'AND' | 'OR'; left: Tree; right: Tree }
  | { op: 'NOT'; of: Tree }
  | { op: '=' | '!=' | '<' | '>='; field: string; value: number };

const NOW = Date.parse('2026-01-01T00:00:00Z');
const FIELDS = ['a', 'b', 'c d'];

function ruleOf(uid: string, conditions: SearchRule['conditions']): SearchRule {
  return {
    uid,
    active: true,
    conditions,
    actions: [{ selector: { id: uid }, action: { type: 'pin', position: 0 } }],
    createdAt: '2025-01-01T00:00:00Z',
    lastUpdatedAt: '2025-01-01T00:00:00Z',
  };
}

const holds = (rule: SearchRule, filter: unknown): boolean =>
  pinsOf(new RuleTables([rule]), { indexUid: 'i', q: '', filter }, NOW).length > 0;

describe('Rules in force', () => {
  it('meet a filter as a plain loop over its alternatives finds', () => {
    const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 2 ** 32);
    const random = mulberry(seed);
    const below = (n: number): number => Math.floor(random() * n);
    const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;

    const treeOf = (depth: number): Tree => {
      const kind = depth === 0 ? 3 : below(4);
      if (kind < 2) {
        const [left, right] = [treeOf(depth - 1), treeOf(depth - 1)];
        return { op: kind === 0 ? 'AND' : 'OR', left, right };
      }
      if (kind === 2) return { op: 'NOT', of: treeOf(depth - 1) };
      return { op: pick(['=', '!=', '<', '>='] as const), field: pick(FIELDS), value: below(4) };
    };
    const textOf = (tree: Tree): string => {
      if (tree.op === 'NOT') return `NOT (${textOf(tree.of)})`;
      if ('left' in tree) return `(${textOf(tree.left)}) ${tree.op} (${textOf(tree.right)})`;
      return `"${tree.field}" ${tree.op} ${tree.value}`;
    };
    /** Alternatives of conditions: [field, whether a value meets it]. */
    type Met = [string, (value: number) => boolean];
    const alternatives = (tree: Tree, not: boolean): Met[][] => {
      if (tree.op === 'NOT') return alternatives(tree.of, !not);
      if ('left' in tree) {
        const [left, right] = [alternatives(tree.left, not), alternatives(tree.right, not)];
        if ((tree.op === 'OR') !== not) return [...left, ...right];
        return left.flatMap((one) => right.map((other) => [...one, ...other]));
      }
      const { op, field, value: given } = tree;
      const test = (value: number): boolean => {
        if (op === '=') return value === given;
        if (op === '!=') return value !== given;
        return op === '<' ? value < given : value >= given;
      };
      return [[[field, (value) => test(value) !== not]]];
    };

    for (let n = 0; n < 3000; n++) {
      const tree = treeOf(below(4));
      const all = alternatives(tree, false);
      if (all.length > 50 || all.some((one) => one.length > 20)) continue;
      const wanted = FIELDS.filter(() => below(2) === 0).map((field): [string, number] => [
        field,
        below(4),
      ]);
      const expected =
        wanted.length === 0 ||
        all.some((one) =>
          wanted.every(([field, value]) => {
            const own = one.filter(([name]) => name === field);
            return own.length > 0 && own.every(([, met]) => met(value));
          }),
        );
      const rule = ruleOf('r', { filter: { values: Object.fromEntries(wanted) } });
      const text = textOf(tree);
      assert.equal(holds(rule, text), expected, `seed ${seed}: ${text} ${JSON.stringify(wanted)}`);
    }
  });

  it('look at 100 conditions of an alternative, and at 1,000 of a filter', () => {
    const rule = ruleOf('r', { filter: { values: { a: 1 } } });
    const ands = (count: number): string =>
      ['a = 1', ...Array.from({ length: count - 1 }, (_, n) => `b${n} = 1`)].join(' AND ');
    assert.equal(holds(rule, ands(100)), true);
    assert.equal(holds(rule, ands(101)), false);
    const ors = (count: number): string =>
      [...Array.from({ length: count }, (_, n) => ands(99).replace('a', `x${n}`)), 'a = 1'].join(
        ' OR ',
      );
    assert.equal(holds(rule, ors(10)), true);
    assert.equal(holds(rule, ors(11)), false);
    // Factors whose alternatives multiply.
    const factors = Array.from({ length: 1500 }, (_, n) => [`a = ${n}`, `b = ${n}`]);
    assert.equal(holds(rule, factors), false);
  });

  it('of many are those that hold each alone, in their order', () => {
    const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 2 ** 32);
    const random = mulberry(seed);
    const below = (n: number): number => Math.floor(random() * n);
    const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
    const value = (): unknown => pick([1, 2.5, 'Red', 'red', '1', true, null, ['red', 1], 'blue']);
    const conditionsOf = (): SearchRule['conditions'] => ({
      ...pick([{}, { time: { end: pick(['2020-01-01T00:00:00Z', '2999-01-01T00:00:00Z']) } }]),
      ...pick([{}, { query: { words: pick(['', 'red', 'hat red', 'big']) } }]),
      ...pick([
        {},
        { filter: { values: { a: value() } } },
        { filter: { values: { a: value(), b: value() } } },
      ]),
    });
    const FILTERS = [
      null,
      'a = red',
      'a = 1.0',
      'a = "1"',
      'a != red AND b = true',
      'NOT a = red',
      'a IN [red, 1] AND b = blue',
      'a = 2.5 OR b = red',
      'a > 1',
      ['a = RED', ['b = blue', 'b EXISTS']],
    ];
    for (let n = 0; n < 60; n++) {
      const rules = Array.from({ length: 20 }, (_, i) => ({
        ...ruleOf(String(i), conditionsOf()),
        active: below(5) > 0,
      }));
      for (const filter of FILTERS) {
        const search = { indexUid: 'i', q: pick(['', 'red', 'a red hat', '"red"']), filter };
        assert.deepEqual(
          pinsOf(new RuleTables(rules), search, NOW).map(({ id }) => id),
          rules.filter((rule) => alone(rule, search)).map(({ uid }) => uid),
          `seed ${seed}`,
        );
      }
    }
  });

  /** Whether each condition of the rule holds by itself. */
  function alone(rule: SearchRule, search: Parameters<typeof pinsOf>[1]): boolean {
    const { filter, query, ...others } = rule.conditions;
    const parts = [others, query && { query }, filter && { filter }].filter((part) => part);
    return (
      rule.active &&
      parts.every(
        (conditions) => pinsOf(new RuleTables([ruleOf('r', conditions!)]), search, NOW).length > 0,
      )
    );
  }

  it('are read again when they change', () => {
    const rule = ruleOf('r', { query: { words: 'red' } });
    const search = { indexUid: 'i', q: 'red hat', filter: null };
    assert.deepEqual(pinsOf(new RuleTables([rule]), search, NOW), [{ id: 'r', position: 0 }]);
    const changed = { ...rule, conditions: { query: { words: 'blue' } } };
    assert.deepEqual(pinsOf(new RuleTables([changed]), search, NOW), []);
  });

  it('are the same after any changes as if they had been read at once', () => {
    const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 2 ** 32);
    const random = mulberry(seed);
    const below = (n: number): number => Math.floor(random() * n);
    const rules = new Map<string, SearchRule>();
    const tables = new RuleTables();
    let moment = 0;
    const newRule = (uid: string): SearchRule => {
      const rule = ruleOf(
        uid,
        [
          {},
          { query: { words: `w${below(3)}` } },
          { filter: { values: { a: below(3) } } },
          { query: { words: `w${below(3)}` }, filter: { values: { a: below(3) } } },
        ][below(4)]!,
      );
      const indexUid = [undefined, 'i', 'alias', 'other'][below(4)];
      rule.actions = [
        {
          selector: { id: uid, ...(indexUid !== undefined && { indexUid }) },
          action: { type: 'pin', position: below(4) },
        },
      ];
      if (below(3) > 0) rule.precedence = below(3);
      rule.active = below(5) > 0;
      rule.createdAt = new Date(++moment).toISOString();
      return rule;
    };
    for (let round = 0; round < 400; round++) {
      for (let n = below(5); n >= 0; n--) {
        const uid = `r${below(30)}`;
        const before = rules.get(uid);
        const after = below(3) > 0 ? newRule(uid) : undefined;
        if (after === undefined) rules.delete(uid);
        else rules.set(uid, after);
        tables.change(before, after);
      }
      const search = {
        ...{ indexUid: 'i', names: ['i', 'alias'] },
        ...{ q: `w${below(3)} w${below(3)}`, filter: `a = ${below(3)} OR a > ${below(3)}` },
      };
      const found = pinsOf(tables, search, NOW);
      const sorted = [...rules.values()].sort(
        (a, b) => (a.precedence ?? 9) - (b.precedence ?? 9) || (a.createdAt < b.createdAt ? -1 : 1),
      );
      assert.deepEqual(found, pinsOf(new RuleTables(sorted), search, NOW), `seed ${seed}`);
      // Each rule by itself, in order: the same again without any lists.
      const alone = sorted.flatMap((rule) => pinsOf(new RuleTables([rule]), search, NOW));
      assert.deepEqual(found, alone, `seed ${seed}`);
    }
  });
});
