import { addonIsBuilt } from './support/server-process.ts';
import { runKills } from './support/kills.ts';
import { newSeed } from './support/random.ts';

const KILLS = Number(process.env['KILLS'] ?? 10);

describe('a server killed again and again under load', function () {
  this.timeout(KILLS * 60_000);

  before(function () {
    if (!addonIsBuilt()) this.skip();
  });

  it('keeps every acknowledged task, applies it once and in order, and shows nothing half applied', async () => {
    await runKills({ kills: KILLS, seed: newSeed(), log: console.log });
  });
});
