import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

describe('The packages that run local models', () => {
  it('have the same versions in the command for archives as in that for clones', () => {
    const script = readFileSync('src/tools/install-models.mjs', 'utf8');
    const packages = [...script.matchAll(/'([@\w/-]+@\d[\d.]*)'/g)].map((match) => match[1]!);
    assert.equal(packages.length, 2);
    const page = readFileSync('docs/embedders.md', 'utf8');
    const command = /^ {4}npm install --prefix .*$/m.exec(page)![0];
    assert.ok(command.endsWith(` --ignore-scripts ${packages.join(' ')}`), command);
  });
});
