/** `gannet --version`, alone and with what the program is made of. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { nativeVersions } from '../../src/tools/native-versions.mjs';
import { runProgram } from '../support/run-program.ts';

const { version, dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));

describe('gannet --version', function () {
  this.timeout(30_000);

  it('is one line', async () => {
    const { status, output } = await runProgram(['--version']);
    assert.equal(status, 0);
    assert.equal(output, `gannet ${version}\n`);
  });

  it('names the version of each native library with --verbose', async () => {
    const { output } = await runProgram(['--version', '--verbose']);
    const lines = output.trimEnd().split('\n');
    assert.equal(lines[0], `gannet ${version}`);
    assert.ok(lines.some((line) => line.startsWith(`Node.js ${process.versions.node} (`)));
    assert.match(output, /^uWebSockets\.js \S+/m);
    for (const [name, its] of Object.entries(nativeVersions())) {
      assert.ok(lines.includes(`${name} ${its}`), `${name} in ${output}`);
    }
    // The version that the package vendors, which is not that of the package.
    assert.match(output, /^simdjson 0\.9\.1$/m);
    assert.match(output, new RegExp(`^usearch ${dependencies.usearch}$`, 'm'));
  });
});
