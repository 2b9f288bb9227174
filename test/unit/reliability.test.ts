/** `docs/reliability.md` is what the record of long runs says. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { CAMPAIGNS, recordedRuns, type Recorded } from '../support/record-run.ts';
import { PAGE, reliabilityPage } from '../support/reliability-page.ts';

const run = (campaign: Recorded['campaign'], count: number, seeds?: string): Recorded => ({
  ...{ date: '2026-11-28', commit: '0123456789ab', campaign, count },
  ...(seeds !== undefined && { seeds }),
});

describe('The page about reliability', () => {
  it('is the one that the record gives: npm run reliability', () => {
    assert.equal(readFileSync(PAGE, 'utf8'), reliabilityPage(recordedRuns()));
  });

  it('adds up the runs of each campaign and shows the last', () => {
    const runs = [
      run('simulation', 1000, '1 to 1000'),
      run('kill', 3, '7'),
      { ...run('simulation', 2500, '1001 to 3500'), date: '2026-12-01' },
    ];
    const page = reliabilityPage(runs);
    assert.match(page, /^\| simulated clusters \| 3,500 in 2 \| 2026-12-01, 0123456789ab \|/m);
    assert.match(page, /^\| kills of a server \| 3 in 1 \|/m);
    assert.match(page, /^\| hits compared \| none yet \|/m);
    assert.match(page, /^- simulated clusters: 1 to 1000, 1001 to 3500$/m);
    assert.notEqual(page, reliabilityPage(runs.slice(1)));
  });

  it('names commands that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    for (const { command } of Object.values(CAMPAIGNS)) {
      const name = /^npm run ([\w:]+)/.exec(command)![1]!;
      assert.ok(name in scripts, command);
      const file = /(test\/\S+\.ts)/.exec(scripts[name]!)![1]!;
      assert.match(readFileSync(file, 'utf8'), /recordRun\(/, file);
    }
  });

  it('has lines that are complete, of campaigns that exist', () => {
    for (const { date, commit, campaign, count } of recordedRuns()) {
      assert.match(date, /^\d{4}-\d\d-\d\d$/);
      assert.match(commit, /^[0-9a-f]{12}\+?$/);
      assert.ok(campaign in CAMPAIGNS && count > 0, campaign);
    }
  });

  it('counts a run only where it is asked to, and says whether files were changed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gannet-record-'));
    try {
      mkdirSync(join(folder, 'test/support'), { recursive: true });
      writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
      cpSync('test/support/record-run.ts', join(folder, 'test/support/record-run.ts'));
      const git = (...argv: string[]): string =>
        execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...argv], {
          cwd: folder,
          encoding: 'utf8',
        });
      git('init', '--quiet');
      git('add', '.');
      git('commit', '--quiet', '-m', 'all');
      const record = (env: Record<string, string>): void => {
        const code = `import { recordRun } from './test/support/record-run.ts'; recordRun('kill', 5, 9);`;
        const argv = ['--import', resolve('node_modules/tsx/dist/esm/index.mjs')];
        const ended = spawnSync(process.execPath, [...argv, '--input-type=module', '-e', code], {
          ...{ cwd: folder, encoding: 'utf8' },
          env: { ...process.env, GANNET_RECORD: '', ...env },
        });
        assert.equal(ended.status, 0, ended.stderr);
      };
      const file = join(folder, 'test/reliability.ndjson');
      record({});
      assert.throws(() => readFileSync(file));
      record({ GANNET_RECORD: '1' });
      writeFileSync(join(folder, 'other.txt'), 'a file that is not in the commit');
      record({ GANNET_RECORD: '1' });
      const lines = readFileSync(file, 'utf8').trim().split('\n');
      const [clean, changed] = lines.map((line) => JSON.parse(line) as Recorded);
      const commit = git('rev-parse', '--short=12', 'HEAD').trim();
      assert.deepEqual([clean!.commit, changed!.commit], [commit, `${commit}+`]);
      assert.deepEqual([clean!.campaign, clean!.count, clean!.seeds], ['kill', 5, '9']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
