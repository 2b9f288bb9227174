import { newSeed } from '../http/kill/support/random.ts';
import { addonIsBuilt } from '../http/kill/support/server-process.ts';
import { HAS_ETCD } from '../support/etcd.ts';
import { runTrial } from './trial.ts';

const MINUTES = Number(process.env['GANNET_CLUSTER_MINUTES'] ?? 3);

describe('A cluster whose machines fail', function () {
  this.timeout(0);

  before(function () {
    if (!HAS_ETCD) {
      console.log('    skipped: etcd is not installed (Debian package etcd-server)');
      this.skip();
    }
    if (!addonIsBuilt()) this.skip();
  });

  it('loses and doubles nothing, shows nothing older than before, and all nodes stay equal', async () => {
    const seed = newSeed();
    console.log(`      SEED=${seed}`);
    await runTrial({ seed, minutes: MINUTES, log: (line) => console.log(`      ${line}`) });
  });
});
