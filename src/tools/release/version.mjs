// Writes the version of package.json where else it is said. `npm version` runs this before it
// commits: `npm version patch` turns 1.0.0-dev into 1.0.0, and `npm version preminor --preid dev`
// begins what follows.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const CHART = 'docs/deploy/helm/gannet/Chart.yaml';
const CHANGES = 'docs/CHANGELOG.md';
const OPEN = 'not released yet';

/** The chart with another version. */
export function chartOf(text, version) {
  return text.replace(/^(version|appVersion): .*$/gm, `$1: ${version}`);
}

/**
 * The changelog with its newest heading for `version`. A version before its release, such as
 * 1.0.0-dev, has the heading of 1.0.0 without a date.
 * @param day such as `2026-11-28`
 */
export function changesOf(text, version, day) {
  const [number] = version.split('-');
  const heading = `## ${number}, ${version === number ? day : OPEN}`;
  const newest = /^## .*$/m.exec(text);
  if (newest[0].endsWith(OPEN)) return text.replace(newest[0], heading);
  return `${text.slice(0, newest.index)}${heading}\n\n${text.slice(newest.index)}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  const day = new Date().toISOString().slice(0, 10);
  writeFileSync(CHART, chartOf(readFileSync(CHART, 'utf8'), version));
  writeFileSync(CHANGES, changesOf(readFileSync(CHANGES, 'utf8'), version, day));
  execFileSync('git', ['add', CHART, CHANGES]);
}
