/**
 * Runs a damage campaign from the command line: `npm run test:damage -- --changes 2000 [--seed N]
 * [--port N]`
 */
import { parseArgs } from 'node:util';
import { newSeed } from '../http/kill/support/random.ts';
import { freePort } from '../support/free-port.ts';
import { recordRun } from '../support/record-run.ts';
import { runCampaign } from './campaign.ts';

const { values } = parseArgs({
  options: {
    changes: { type: 'string', default: '200' },
    seed: { type: 'string' },
    port: { type: 'string' },
  },
});

const seed = values.seed === undefined ? newSeed() : Number(values.seed);
console.log(`seed ${seed}`);
const { refused, errors, harmless, faults } = await runCampaign({
  changes: Number(values.changes),
  seed,
  port: values.port === undefined ? await freePort() : Number(values.port),
  log: (line) => console.log(line),
});
console.log(
  `${refused} refused at start, ${errors} answered with errors, ${harmless} harmless, ${faults.length} faults`,
);
if (faults.length === 0) recordRun('damage', refused + errors + harmless, seed);
process.exitCode = faults.length === 0 ? 0 : 1;
