/** docs/works-with.md has the versions that tests declare, and names tests that use them. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { testedVersions } from '../clients/versions.ts';

const PAGE = readFileSync('docs/works-with.md', 'utf8');

describe('The page of programs that work with the server', () => {
  it('has a row for each that a test runs, with its version', () => {
    const rows = PAGE.split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) =>
        line
          .split('|')
          .map((cell) => cell.trim())
          .slice(1, 5),
      );
    const expected = testedVersions().map(({ kind, name, registry, version }) => [
      ...[`\`${name}\``, registry, version, kind],
    ]);
    assert.deepEqual(rows, expected);
  });

  it('names the tests, and these run the programs', () => {
    for (const { name, test, registry } of testedVersions()) {
      assert.ok(existsSync(test), test);
      assert.ok(PAGE.includes(`\`${test}\``), test);
      if (registry !== 'npm')
        assert.ok(readFileSync(test, 'utf8').includes(`${registry} ${name}`), name);
    }
  });

  it('reads no other declaration of a version', () => {
    assert.doesNotMatch(readFileSync('test/clients/clients.test.ts', 'utf8'), /==\d|@\d/);
  });
});
