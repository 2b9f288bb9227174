import { err, ok } from '../../base/result.ts';
import { integer, nullable, object, optionals, type Static } from '../declare.ts';
import { compile } from '../validator.ts';
import {
  fieldsOf,
  FLAG,
  inOrder,
  isObject,
  mergeFields,
  setting,
  sortedSet,
  TEXTS,
  type Complete,
} from './setting.ts';

const CODE = 'invalid_settings_typo_tolerance';

const SIZE = nullable(integer({ minimum: 0, maximum: 255 }));
const SIZES = nullable(
  object(optionals({ oneTypo: SIZE, twoTypos: SIZE }), { 'x-ascending': ['oneTypo', 'twoTypos'] }),
);

const checkSizes = compile({ ...SIZES, 'x-code': CODE });

const SCHEMA = nullable(
  object(
    optionals({
      enabled: FLAG,
      minWordSizeForTypos: SIZES,
      disableOnWords: TEXTS,
      disableOnAttributes: TEXTS,
      disableOnNumbers: FLAG,
    }),
  ),
);
export type TypoTolerance = Complete<NonNullable<Static<typeof SCHEMA>>>;

function initial(): TypoTolerance {
  return {
    enabled: true,
    minWordSizeForTypos: { oneTypo: 5, twoTypos: 9 },
    disableOnWords: [],
    disableOnAttributes: [],
    disableOnNumbers: false,
  };
}

/** Lower case without accents, the form in which words are compared. */
function normalizedWord(word: string): string {
  return word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

export const typoTolerance = setting({
  name: 'typoTolerance',
  group: 'Words',
  explanation: 'Which words may have typos, and how long a word must be for one or two of them.',
  methods: ['PATCH'],
  code: CODE,
  schema: SCHEMA,
  touches: [],
  initial,
  canonical(sent: Record<string, unknown>) {
    const ordered = inOrder(sent, fieldsOf(SCHEMA));
    if (isObject(ordered.minWordSizeForTypos)) {
      ordered.minWordSizeForTypos = inOrder(ordered.minWordSizeForTypos, fieldsOf(SIZES));
    }
    for (const list of ['disableOnWords', 'disableOnAttributes']) {
      if (Array.isArray(ordered[list])) ordered[list] = sortedSet(ordered[list] as string[]);
    }
    return ordered;
  },
  merge(current: TypoTolerance, change: Partial<TypoTolerance>) {
    const merged = mergeFields(current, change, initial());
    if (isObject(change.minWordSizeForTypos)) {
      const sizes = [current.minWordSizeForTypos, change.minWordSizeForTypos] as const;
      merged.minWordSizeForTypos = mergeFields(...sizes, initial().minWordSizeForTypos);
    }
    merged.disableOnWords = sortedSet(merged.disableOnWords.map(normalizedWord));
    const fault = checkSizes(merged.minWordSizeForTypos);
    if (fault === null) return ok(merged);
    return err(fault.under('.typoTolerance.minWordSizeForTypos').toError());
  },
});
