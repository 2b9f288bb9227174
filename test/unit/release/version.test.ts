/** The version has one number wherever it is written, and nothing claims a release early. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

interface Versions {
  chartOf(text: string, version: string): string;
  changesOf(text: string, version: string, day: string): string;
}

const read = (file: string): string => readFileSync(file, 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };
const newest = (changes: string): string => /^## (.*)$/m.exec(changes)![1]!;

describe('The version', () => {
  let made: Versions;
  before(async () => {
    made = (await import(resolve('src/tools/release/version.mjs'))) as Versions;
  });

  it('is the same in the lock file, the chart and the changelog', () => {
    const lock = JSON.parse(read('package-lock.json')) as {
      version: string;
      packages: Record<string, { version: string }>;
    };
    assert.deepEqual([lock.version, lock.packages['']!.version], [version, version]);
    const chart = read('docs/deploy/helm/gannet/Chart.yaml');
    assert.equal(chart, made.chartOf(chart, version));
    assert.equal(chart.split(version).length, 3);
    const [number] = version.split('-');
    const expected =
      version === number ? /^\d+\.\d+\.\d+, \d{4}-\d\d-\d\d$/ : /, not released yet$/;
    assert.match(newest(read('docs/CHANGELOG.md')), expected);
    assert.ok(newest(read('docs/CHANGELOG.md')).startsWith(`${number}, `));
  });

  it('is no number that a page repeats: commands would name a file that does not exist', () => {
    for (const page of ['README.md', 'docs/deploy/README.md', 'docs/embedders.md']) {
      assert.doesNotMatch(read(page), /gannet[-_:]\d/, page);
    }
  });

  it('gets a date in the changelog when it is released, and a heading when the next begins', () => {
    const before = '# Changelog\n\n## 1.0.0, not released yet\n\nThe first version.\n';
    const released = made.changesOf(before, '1.0.0', '2027-01-02');
    assert.equal(released, '# Changelog\n\n## 1.0.0, 2027-01-02\n\nThe first version.\n');
    const next = made.changesOf(released, '1.1.0-dev.0', '2027-01-03');
    assert.equal(
      next,
      '# Changelog\n\n## 1.1.0, not released yet\n\n## 1.0.0, 2027-01-02\n\nThe first version.\n',
    );
    // A version that was to be 1.1.0 may become 2.0.0.
    assert.equal(newest(made.changesOf(next, '2.0.0', '2027-02-01')), '2.0.0, 2027-02-01');
    assert.equal(newest(made.changesOf(next, '1.1.0-dev.1', '')), '1.1.0, not released yet');
  });
});
