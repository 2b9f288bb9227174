/** A library that is linked for a release has the same bytes whatever folder it is built in. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const SOURCE = `
#include <stdexcept>
#include <string>
#include <sys/stat.h>
extern "C" long size_of(const char* path) {
  struct stat about;
  if (stat(path, &about) != 0) throw std::runtime_error(std::string("no file ") + path);
  return about.st_size;
}
`;
/** As in CMakeLists.txt. */
const FLAGS = ['-O3', '-DNDEBUG', '-g1', '-fPIC'];

describe('A library of a release', function () {
  this.timeout(60_000);

  it('is the same from two folders', async function () {
    if (`${process.platform}-${process.arch}` !== 'linux-x64') {
      console.log('      skipped: releases are made on linux-x64');
      return this.skip();
    }
    const { portableLink } = (await import(resolve('src/tools/release/portable.mjs'))) as {
      portableLink(folder: string): string[];
    };
    const base = mkdtempSync(join(tmpdir(), 'gannet-folders-'));
    const run = (cwd: string, command: string, ...argv: string[]): void => {
      const ended = spawnSync(command, argv, { cwd, encoding: 'utf8' });
      assert.equal(ended.status, 0, ended.stderr);
    };
    try {
      const linked = ['one', 'another/with a longer/name'].map((name) => {
        const folder = join(base, name);
        mkdirSync(join(folder, 'src'), { recursive: true });
        const source = join(folder, 'src/part.cc');
        writeFileSync(source, SOURCE);
        run(folder, 'g++', ...FLAGS, '-c', source, '-o', join(folder, 'part.o'));
        const argv = ['-shared', 'part.o', '-o', 'part.node', ...portableLink(folder)];
        run(folder, 'g++', ...argv);
        run(folder, 'strip', '--strip-unneeded', 'part.node');
        return readFileSync(join(folder, 'part.node'));
      });
      assert.ok(linked[0]!.includes('size_of'));
      assert.ok(!linked[0]!.includes(base), 'the folder is in it');
      assert.ok(linked[0]!.equals(linked[1]!), 'the bytes differ');
    } finally {
      rmSync(base, { recursive: true });
    }
  });
});
