/** Archives, checksums and signatures of a release. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

interface Artefacts {
  packFolder(folder: string, archive: string, moment: number): string;
  chartPackage(out: string, about: { version: string; moment: number }): string;
  writeSums(folder: string, files: readonly string[]): string;
  sign(file: string, key: string): string;
}

describe('The files of a release', () => {
  let made: Artefacts;
  let folder: string;

  beforeEach(async () => {
    made = (await import(resolve('src/tools/release/artefacts.mjs'))) as Artefacts;
    folder = mkdtempSync(join(tmpdir(), 'gannet-artefacts-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('are the same bytes whatever the folder, the order, the times and the rights', () => {
    const files = ['b', 'a', 'sub/c', 'sub/run'];
    const packed = [0, 1].map((turn) => {
      const root = join(folder, turn === 0 ? 'one' : 'another/deeper', 'tree');
      mkdirSync(join(root, 'sub'), { recursive: true, mode: turn === 0 ? 0o755 : 0o700 });
      for (const name of turn === 0 ? files : files.toReversed()) {
        const file = join(root, name);
        writeFileSync(file, `the text of ${name}`);
        chmodSync(file, (turn === 0 ? 0o644 : 0o600) | (name.endsWith('run') ? 0o100 : 0));
        utimesSync(file, 1000 * (turn + 1), 1000 * (turn + 1));
      }
      return readFileSync(made.packFolder(root, join(folder, `${turn}.tar.gz`), 1_000_000_000));
    });
    assert.ok(packed[0]!.equals(packed[1]!));
  });

  it('include the chart as helm packs it', () => {
    const chart = made.chartPackage(folder, { version: '1.0.0', moment: 1_000_000_000 });
    const { stdout } = spawnSync('tar', ['-tzf', chart], { encoding: 'utf8' });
    const names = stdout.trim().split('\n');
    for (const name of ['Chart.yaml', 'values.yaml', 'templates/nodes.yaml']) {
      assert.ok(names.includes(`gannet/${name}`), name);
    }
    assert.ok(names.every((name) => name.startsWith('gannet/')));
  });

  it('have checksums that sha256sum accepts, until a byte changes', () => {
    const files = ['z.tgz', 'a.deb'].map((name) => join(folder, name));
    for (const file of files) writeFileSync(file, file);
    const sums = made.writeSums(folder, files);
    const check = (): number | null =>
      spawnSync('sha256sum', ['--check', '--strict', sums], { cwd: folder }).status;
    assert.equal(check(), 0);
    assert.match(readFileSync(sums, 'utf8'), /^[0-9a-f]{64} {2}a\.deb\n[0-9a-f]{64} {2}z\.tgz\n$/);
    writeFileSync(files[0]!, 'other bytes');
    assert.equal(check(), 1);
  });

  it('are signed by minisign', function () {
    if (spawnSync('minisign', ['-v']).error !== undefined) {
      console.log('      skipped: minisign is not installed');
      return this.skip();
    }
    const [secret, open] = [join(folder, 'secret.key'), join(folder, 'open.pub')];
    const file = join(folder, 'SHA256SUMS');
    writeFileSync(file, 'sums');
    assert.equal(spawnSync('minisign', ['-G', '-W', '-p', open, '-s', secret]).status, 0);
    const signature = made.sign(file, secret);
    const verified = (): number | null =>
      spawnSync('minisign', ['-V', '-p', open, '-m', file, '-x', signature]).status;
    assert.equal(verified(), 0);
    writeFileSync(file, 'other sums');
    assert.equal(verified(), 1);
  });
});
