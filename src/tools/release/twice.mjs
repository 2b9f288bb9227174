// Builds the commit twice, in two folders with other names, rights and a time zone of their own,
// and compares every file of the two releases byte by byte.
//   node twice.mjs [PLATFORM...]
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { run } from './run.mjs';

const CACHE = resolve('build/release/cache');
const WAYS = [
  { folder: 'first', umask: '022', TZ: 'UTC', LC_ALL: 'C.UTF-8' },
  { folder: 'second/in/a longer path', umask: '077', TZ: 'Asia/Tokyo', LC_ALL: 'C' },
];

/** Makes a release of the commit. @returns its checksums by file */
function release(base, commit, { folder, umask, ...env }) {
  const root = join(base, folder);
  const options = {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    // A compiler's cache would return the objects of the first folder.
    env: { ...process.env, ...env, CCACHE_DISABLE: '1' },
  };
  run('git', ['clone', '--quiet', '.', root]);
  // Commits may follow while the first is built.
  run('git', ['checkout', '--quiet', '--detach', commit], { cwd: root });
  mkdirSync(join(root, 'build/release'), { recursive: true });
  // What is fetched has checksums.
  symlinkSync(CACHE, join(root, 'build/release/cache'));
  const named = process.argv.slice(2).join(' ');
  run('sh', ['-ec', `umask ${umask}; npm ci; npm run build; npm run release -- ${named}`], options);
  const sums = readFileSync(join(root, 'build/release/SHA256SUMS'), 'utf8').trim().split('\n');
  return Object.fromEntries(sums.map((line) => line.split('  ').toReversed()));
}

/** The files in two archives that differ. */
function differencesOf(base, name) {
  if (!/\.t(?:ar\.)?gz$/.test(name)) return '';
  const folders = WAYS.map(({ folder }, n) => {
    const to = join(base, `${n}-${name}`);
    mkdirSync(to);
    run('tar', ['-C', to, '-xzf', join(base, folder, 'build/release', name)]);
    return to;
  });
  try {
    run('diff', ['-rq', ...folders]);
    return 'The content is the same, the order, times or rights differ.';
  } catch (error) {
    return error.stdout;
  }
}

function main() {
  mkdirSync(CACHE, { recursive: true });
  const base = mkdtempSync(join(tmpdir(), 'gannet-twice-'));
  const commit = run('git', ['rev-parse', 'HEAD']).trim();
  const [first, second] = WAYS.map((way) => release(base, commit, way));
  const names = [...new Set([...Object.keys(first), ...Object.keys(second)])];
  const different = names.filter((name) => first[name] !== second[name]);
  for (const name of different) {
    process.stderr.write(`${name} differs\n${differencesOf(base, name)}\n`);
  }
  if (names.length === 0) throw new Error('The releases have no files.');
  if (different.length > 0) {
    process.stderr.write(
      `The two releases of ${commit} differ in ${different.length} of ${names.length} files; ${base} has both.\n`,
    );
    process.exitCode = 1;
    return;
  }
  rmSync(base, { recursive: true });
  process.stdout.write(`The two releases of ${commit} are equal: ${names.length} files.\n`);
}

main();
