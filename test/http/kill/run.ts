/**
 * Many kills from the command line: `node --import=tsx test/http/kill/run.ts --kills 200 [--seed N]
 * [--port N] [--dir FOLDER]`
 */
import { parseArgs } from 'node:util';
import { recordRun } from '../../support/record-run.ts';
import { runKills } from './support/kills.ts';
import { newSeed } from './support/random.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    seed: { type: 'string' },
    port: { type: 'string' },
    dir: { type: 'string' },
  },
});

const kills = Number(values.kills);
const seed = values.seed === undefined ? newSeed() : Number(values.seed);
await runKills({
  kills,
  seed,
  log: console.log,
  ...(values.port === undefined ? {} : { port: Number(values.port) }),
  ...(values.dir === undefined ? {} : { dir: values.dir }),
});
recordRun('kill', kills, seed);
