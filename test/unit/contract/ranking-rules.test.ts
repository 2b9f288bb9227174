import { deepStrictEqual } from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { RANKING_RULES } from '../../../src/contract/formats.ts';

const RULES = 'native/search/ranking/rules';
/** Parts of other rules, which settings cannot name. */
const PARTS = ['exactWords', 'natural', 'vectorSort'];

describe('names of ranking rules', () => {
  it('are those that the engine declares', () => {
    const declared = readdirSync(RULES)
      .filter((file) => file.endsWith('.cc'))
      .flatMap((file) => [
        ...readFileSync(`${RULES}/${file}`, 'utf8').matchAll(/^ {4}\.name = "(\w+)",$/gm),
      ])
      .map((match) => match[1]);
    deepStrictEqual(declared.sort(), [...RANKING_RULES, ...PARTS].sort());
  });
});
