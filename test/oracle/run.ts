/**
 * Compares the engine with the oracle on random collections and searches.
 *
 *   npm run oracle -- [--comparisons 1000000] [--seed N] [--round N] [--size small|large]
 *     [--focus elements|expiry|groups|pairs] [--keep-going] [--no-shrink]
 *
 * One comparison is one hit of a result: its position, and its score and details if the search
 * requests them. Totals, facets and empty results are compared as well, but not counted.
 * GANNET_TUNING is a JSON object of thresholds (EngineTuning): `{"largeBucketMin":1}` makes the
 * engine treat every bucket as a large one, which it splits from posting lists;
 * `"frequentDocumentsMin":2` in addition makes words of two documents frequent, so that distances
 * are listed. With --focus every search tests elements in brackets, or returns groups, or some
 * documents of every collection have expired, or have parts of phrases that stand for words
 * (`pairs`). With --round only this round of the seed runs. A difference is printed as a small
 * case, or with --no-shrink as found, and ends the run unless --keep-going is given.
 */
import { parseArgs } from 'node:util';
import { newSeed } from '../http/kill/support/random.ts';
import { FOCUSES } from './generate.ts';
import { recordRun } from '../support/record-run.ts';
import { runRounds } from './rounds.ts';

const { values } = parseArgs({
  options: {
    comparisons: { type: 'string', default: '1000000' },
    seed: { type: 'string' },
    round: { type: 'string' },
    size: { type: 'string' },
    focus: { type: 'string' },
    'keep-going': { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
  },
});

const seed = values.seed === undefined ? newSeed() : Number(values.seed);
const { failures, comparisons } = await runRounds({
  seed,
  comparisons: Number(values.comparisons),
  round: values.round === undefined ? null : Number(values.round),
  size: values.size === 'small' || values.size === 'large' ? values.size : null,
  focus: FOCUSES.find((focus) => focus === values.focus) ?? null,
  keepGoing: values['keep-going'],
  shrinks: !values['no-shrink'],
  log: console.log,
});
if (failures.length === 0) recordRun('oracle', comparisons, seed);
process.exitCode = failures.length > 0 ? 1 : 0;
