import { ok, err } from '../../base/result.ts';
import { list, nullable, string } from '../declare.ts';
import { ApiError } from '../errors.ts';
import { setting } from './setting.ts';

const CODE = 'invalid_settings_ranking_rules';

/** Maximum number of stored ranking rules. */
const RANKING_RULES_MAX = 100;

export const DEFAULT_RANKING_RULES = [
  'words',
  'typo',
  'proximity',
  'attribute',
  'sort',
  'exactness',
];

function check(rules: readonly string[]): ApiError | null {
  if (!rules.includes('attribute')) return null;
  const split = rules.find((rule) => rule === 'attributeRank' || rule === 'wordPosition');
  if (split === undefined) return null;
  return new ApiError(
    CODE,
    `Invalid value at \`.rankingRules\`: \`attribute\` cannot stand beside \`${split}\`, which is a part of it.`,
  );
}

export const rankingRules = setting({
  name: 'rankingRules',
  group: 'Ranking',
  explanation:
    'The order of results: each rule orders the documents that the rules before it rank equal. `field:asc` and `field:desc` are rules too, and so are formulas in place of the field.',
  methods: ['PUT'],
  code: CODE,
  schema: nullable(list(string({ format: 'ranking-rule' }), { maxItems: RANKING_RULES_MAX })),
  // For the attributes that `asc` and `desc` rules name.
  touches: ['columns'],
  initial: () => [...DEFAULT_RANKING_RULES],
  check,
  merge(_current: string[], change: string[]) {
    const fault = check(change);
    return fault === null ? ok(change) : err(fault);
  },
});
