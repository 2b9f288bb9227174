/**
 * A cluster of real processes whose machines fail: kills, pauses, full disks, clock jumps, cut
 * networks.
 *
 *   npm run test:cluster -- --minutes 60 [--seed N]
 *
 * The seed determines the schedule of the faults. With `GANNET_VERSITYGW` (or versitygw on the
 * path) the object store is S3, otherwise a folder.
 */
import { parseArgs } from 'node:util';
import { newSeed } from '../http/kill/support/random.ts';
import { HAS_ETCD } from '../support/etcd.ts';
import { recordRun } from '../support/record-run.ts';
import { runTrial } from './trial.ts';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '5' }, seed: { type: 'string' } },
});

if (!HAS_ETCD) throw new Error('etcd is not installed (Debian package etcd-server)');
const seed = values.seed === undefined ? newSeed() : Number(values.seed);
console.log(`seed ${seed}`);
const minutes = Number(values.minutes);
await runTrial({ seed, minutes, log: console.log });
recordRun('cluster', minutes, seed);
