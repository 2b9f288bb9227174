/**
 * Runs the project's checks and ends with one line of totals.
 *
 *   node --import=tsx test/run.ts              everything, in the order of STEPS
 *   node --import=tsx test/run.ts unit golden  these steps only, or those of ON_REQUEST
 *
 * A step that needs what this machine does not have (GoogleTest, the recorded answers) says so and counts as skipped.
 * Exit status: 0 when nothing failed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';

interface Outcome {
  passed: number;
  failed: number;
  skipped: number;
}

interface Ended {
  ok: boolean;
  /** Standard output and error, interleaved. */
  text: string;
}

const NATIVE_BUILD = 'build/tests';
const MOCHA = 'node_modules/mocha/bin/mocha.js';

const STEPS: Record<string, () => Promise<Outcome>> = {
  build: () => check('npm', ['run', '--silent', 'build']),
  types: () => check('npx', ['tsc', '-p', 'test/tsconfig.json']),
  lint: () => check('npm', ['run', '--silent', 'lint']),
  format: () => check('npm', ['run', '--silent', 'format:check']),
  unit: () => mocha(['test/**/*.test.ts', '--exclude', 'test/golden/**']),
  native: () => nativeTests(),
  golden: () => mocha(['test/golden/**/*.test.ts']),
};

/** Comparisons of each C++ property test with its plain loops when asked for many. */
const COMPARISONS = '1000000';

/** Of `native/base/cpu.h`, below the best; and the tests of functions that have a variant for each. */
const CPU_LEVELS = ['portable', 'avx2'];
const CPU_FILTER =
  '--gtest_filter=DocSetUnion.*:OrdinalSet.*:MatchRoles.*:WordMasks.*:AsciiBlocksTest.*';

/** Steps that take long. */
const ON_REQUEST: Record<string, () => Promise<Outcome>> = {
  oracle: () =>
    nativeTests(['--gtest_filter=*Oracle.*'], {
      GANNET_COMPARISONS: COMPARISONS,
      // Thousands of small indexes: that they reach the disk is not what is compared.
      ...(existsSync('/dev/shm') ? { TMPDIR: '/dev/shm' } : {}),
      ...process.env,
    }),
};

/** Runs a program, passes on what it prints, and remembers it. */
function run(command: string, args: readonly string[], env = process.env): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      process.stdout.write(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      process.stderr.write(chunk);
    });
    child.on('error', (error) => resolve({ ok: false, text: `${text}${error.message}\n` }));
    child.on('close', (status) => resolve({ ok: status === 0, text }));
  });
}

/** A check that passes or fails as a whole. */
async function check(command: string, args: readonly string[]): Promise<Outcome> {
  const { ok } = await run(command, args);
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 };
}

/** The greatest number that `pattern` captures in `text`, 0 without a match. */
function count(text: string, pattern: RegExp): number {
  return Math.max(0, ...[...text.matchAll(pattern)].map((match) => Number(match[1])));
}

/** A program that died before its summary has failed even when its summary shows nothing. */
function outcome({ ok }: Ended, counts: Outcome): Outcome {
  return ok ? counts : { ...counts, failed: Math.max(1, counts.failed) };
}

async function mocha(args: readonly string[]): Promise<Outcome> {
  const ended = await run(process.execPath, [MOCHA, ...args]);
  return outcome(ended, {
    passed: count(ended.text, /^ +(\d+) passing/gm),
    failed: count(ended.text, /^ +(\d+) failing/gm),
    skipped: count(ended.text, /^ +(\d+) pending/gm),
  });
}

async function nativeTests(options: readonly string[] = [], env = process.env): Promise<Outcome> {
  const skipped = (why: string): Outcome => {
    console.log(`skipped: the C++ tests, because ${why}`);
    return { passed: 0, failed: 0, skipped: 1 };
  };
  if (spawnSync('cmake', ['--version'], { stdio: 'ignore' }).status !== 0) {
    return skipped('cmake is not installed');
  }
  const ninja = spawnSync('ninja', ['--version'], { stdio: 'ignore' }).status === 0;
  const configured = await run('cmake', [
    ...['-S', '.', '-B', NATIVE_BUILD, '-DCMAKE_BUILD_TYPE=Tests', '-DGANNET_TESTS=ON'],
    ...(ninja && !existsSync(`${NATIVE_BUILD}/CMakeCache.txt`) ? ['-G', 'Ninja'] : []),
  ]);
  if (!configured.ok) return { passed: 0, failed: 1, skipped: 0 };
  if (configured.text.includes('GoogleTest is not installed')) {
    return skipped('GoogleTest is not installed (Debian package libgtest-dev)');
  }
  const jobs = String(availableParallelism());
  const build = ['--build', NATIVE_BUILD, '--target', 'native_tests', '-j', jobs];
  if (!(await run('cmake', build)).ok) return { passed: 0, failed: 1, skipped: 0 };
  const program = `${NATIVE_BUILD}/native_tests`;
  // Functions with variants for younger processors: the older ones are tested as well.
  for (const level of CPU_LEVELS) {
    const variant = await run(program, ['--gtest_brief=1', CPU_FILTER], {
      ...env,
      GANNET_CPU: level,
    });
    if (!variant.ok) return { passed: 0, failed: 1, skipped: 0 };
  }
  const ended = await run(program, ['--gtest_brief=1', ...options], env);
  return outcome(ended, {
    passed: count(ended.text, /^\[ {2}PASSED {2}\] (\d+) test/gm),
    failed: count(ended.text, /^\[ {2}FAILED {2}\] (\d+) test/gm),
    skipped: count(ended.text, /^\[ {2}SKIPPED \] (\d+) test/gm),
  });
}

async function main(names: readonly string[]): Promise<void> {
  const total: Outcome = { passed: 0, failed: 0, skipped: 0 };
  const rows: string[] = [];
  for (const name of names.length > 0 ? names : Object.keys(STEPS)) {
    const step = STEPS[name] ?? ON_REQUEST[name];
    if (step === undefined) {
      const known = Object.keys({ ...STEPS, ...ON_REQUEST }).join(', ');
      throw new Error(`There is no step \`${name}\`; there are ${known}.`);
    }
    console.log(`\n== ${name}`);
    const begin = performance.now();
    const { passed, failed, skipped } = await step();
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    rows.push(
      `${name.padEnd(8)} ${String(passed).padStart(5)} passed ${String(failed).padStart(4)} failed ` +
        `${String(skipped).padStart(4)} skipped ${seconds.padStart(7)} s`,
    );
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
    // Nothing after a failed build says anything about this source.
    if (name === 'build' && failed > 0) break;
  }
  console.log(`\n${rows.join('\n')}`);
  console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  process.exitCode = total.failed > 0 ? 1 : 0;
}

await main(process.argv.slice(2));
