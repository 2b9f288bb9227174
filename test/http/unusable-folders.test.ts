/** Folders named by options that can neither be made nor used: the server says so and ends. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../support/run-program.ts';

describe('A folder that cannot be used', function () {
  let folder: string;
  let targets: [string, RegExp][];
  let mounted = false;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'gannet-unusable-'));
    writeFileSync(join(folder, 'file'), 'x');
    symlinkSync(join(folder, 'nothing'), join(folder, 'dangling'));
    symlinkSync('loop', join(folder, 'loop'));
    targets = [
      ['/proc/x', /\/proc\/x: its file system takes no new files/],
      ['/proc/x/y/z', /\/proc\/x: its file system takes no new files/],
      ['/dev/null/x', /\/dev\/null: not a folder/],
      [join(folder, 'file'), /file: not a folder/],
      [join(folder, 'file', 'a', 'b'), /file: not a folder/],
      [join(folder, 'dangling'), /dangling: a symbolic link to nothing/],
      [join(folder, 'dangling', 'a'), /dangling: a symbolic link to nothing/],
      [join(folder, 'loop', 'a'), /loop(?:\/a)?: too many symbolic links/],
      [join(folder, 'x'.repeat(300)), /the name is too long/],
    ];
    const dir = join(folder, 'read-only');
    mkdirSync(dir);
    mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'none', dir]).status === 0;
    if (mounted) {
      targets.push([join(dir, 'x'), /the file system is read-only/]);
      targets.push([dir, /read-only/i]);
    }
  });
  after(() => {
    if (mounted) spawnSync('umount', [join(folder, 'read-only')]);
    rmSync(folder, { recursive: true });
  });

  const run = (...argv: string[]): ReturnType<typeof runProgram> =>
    runProgram(['--no-analytics', '--http-addr', '127.0.0.1:0', ...argv]);
  const elsewhere = (): string => join(folder, 'db');

  for (const option of ['--db-path', '--dump-dir', '--snapshot-dir']) {
    it(`is refused as ${option}`, async () => {
      const before = readdirSync(folder);
      for (const [target, reason] of targets) {
        const db = option === '--db-path' ? [] : ['--db-path', elsewhere()];
        const { status, complaints } = await run(option, target, ...db);
        assert.equal(status, 1, target);
        assert.match(complaints, reason, target);
        assert.doesNotMatch(complaints, /\n.*\n|E[A-Z]{4}/, target);
        assert.equal(existsSync(elsewhere()), false);
        assert.deepEqual(readdirSync(folder), before, target);
      }
    });
  }

  for (const option of ['--import-dump', '--import-snapshot']) {
    it(`has no archive for ${option}`, async () => {
      for (const [target] of targets) {
        const { status, complaints } = await run(option, target, '--db-path', elsewhere());
        assert.equal(status, 1, target);
        assert.match(complaints, /^[^\n]+\n$/, target);
        assert.equal(existsSync(elsewhere()), false, target);
      }
    });
  }
});
