/** The addon, linked as for a release, runs with the promised glibc: no symbol is younger. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const TOOLS = resolve('src/tools/release');
const BUILD = process.env.GANNET_BUILD_DIR ?? 'build';
/** What `docs/deploy/README.md` asks of a machine that runs the packages of npm. */
const NPM = { GLIBC: '2.34', GLIBCXX: '3.4.29', CXXABI: '1.3.13', GCC: '4.8.0' };
const PREBUILT = 'node_modules/@lmdb/lmdb-linux-x64';

interface Addons {
  portableAddon(buildDir: string, out: string): string;
}
interface Portable {
  tooYoung(file: string, promised?: Readonly<Record<string, string>>): string[];
}

function shared(folder: string, source: string): string {
  const file = join(folder, 'shared.so');
  const argv = ['-shared', '-fPIC', '-w', '-x', 'c', '-', '-o', file];
  const made = spawnSync('gcc', argv, { input: source, encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  return file;
}

describe('Symbols of glibc and of the C++ library', function () {
  this.timeout(60_000);

  let folder: string;
  let addons: Addons;
  let portable: Portable;

  before(async function () {
    if (`${process.platform}-${process.arch}` !== 'linux-x64') {
      console.log('      skipped: releases are made on linux-x64');
      return this.skip();
    }
    addons = (await import(join(TOOLS, 'addon.mjs'))) as Addons;
    portable = (await import(join(TOOLS, 'portable.mjs'))) as Portable;
    folder = mkdtempSync(join(tmpdir(), "gannet's symbols "));
  });
  after(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  it('are named when they are younger than promised', () => {
    const file = shared(folder, 'int f() { return dup(0) + getentropy(0, 0); }');
    assert.deepEqual(portable.tooYoung(file), []);
    assert.deepEqual(portable.tooYoung(file, { GLIBC: '2.24' }), ['GLIBC_2.25 for getentropy']);
    assert.equal(
      portable.tooYoung(file, {}).filter((one) => / for (?:dup|getent)/.test(one)).length,
      2,
    );
  });

  it('are none too young for the addon of a release', function () {
    if (
      !['build.ninja', 'CMakeFiles/gannet.dir/link.txt'].some((name) =>
        existsSync(join(BUILD, name)),
      )
    ) {
      console.log('      skipped: there is no build of the addon by cmake');
      return this.skip();
    }
    const out = join(folder, 'gannet.node');
    assert.equal(addons.portableAddon(BUILD, out), out);
    assert.deepEqual(portable.tooYoung(out), []);
    // It has the C++ library in it, and it is an addon.
    assert.ok(portable.tooYoung(out, {}).every((one) => /^(?:GLIBC|GCC)_/.test(one)));
    assert.match(readFileSync(out, 'latin1'), /napi_register_module_v1/);
  });

  it('are none too young for what npm installs', () => {
    const guide = readFileSync('docs/deploy/README.md', 'utf8');
    assert.match(guide, new RegExp(`npm[^]*?on Linux, glibc ${NPM.GLIBC.replace('.', '\\.')} \\(`));
    const files = [
      ...readdirSync(PREBUILT)
        .filter((name) => name.endsWith('.glibc.node'))
        .map((name) => join(PREBUILT, name)),
      ...readdirSync('node_modules/@uwsjs').map((name) => `node_modules/@uwsjs/${name}/uws.node`),
    ];
    assert.ok(files.length >= 2);
    for (const file of files) assert.deepEqual(portable.tooYoung(file, NPM), [], file);
  });
});
