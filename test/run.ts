/**
 * Runs the project's checks and ends with one line of totals.
 *
 *   node --import=tsx test/run.ts              everything, in the order of STEPS
 *   node --import=tsx test/run.ts unit golden  these steps only, or those of ON_REQUEST
 *
 * A step that needs what this machine does not have (GoogleTest, the recorded answers) says so and
 * counts as skipped. A few failing tests get a second attempt alone, since some measure time: the
 * totals count that one, and both are shown. What failed is printed again before the totals, where
 * the end of a long log still shows it. Exit status: 0 when nothing failed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { type Attempt, inParallel, repeatedAlone, type TestTime } from './support/attempts.ts';
import { HAS_ETCD } from './support/etcd.ts';
import { type MochaRun, runMocha } from './support/mocha-pool.ts';

interface Outcome {
  passed: number;
  failed: number;
  skipped: number;
  /** What is known of the failures. */
  report?: string;
  /** What is known of tests that failed next to others and passed alone. */
  unstable?: string;
}

interface Ended {
  ok: boolean;
  /** Standard output and error, interleaved. */
  text: string;
}

/** Where the addon is built; the C++ tests link the same engine. */
const NATIVE_BUILD = 'build';
const COMPILE_COMMANDS = `${NATIVE_BUILD}/compile_commands.json`;
const CORES = String(availableParallelism());
const GOLDEN = 'test/golden/';
const RELEASE = 'test/release/release.test.ts';
const NPM = 'test/release/npm.test.ts';
const CLIENTS = 'test/clients/clients.test.ts';

/**
 * Files and folders that `npm run test:more` runs: servers killed again and again, random
 * histories, browsers, clients.
 */
const LONG: readonly string[] = [
  'test/browser/',
  CLIENTS,
  'test/http/embedding-histories.test.ts',
  'test/http/kill/',
  'test/http/memory-per-byte.test.ts',
  'test/http/network-rebalance-kills.test.ts',
  'test/http/network-rebalance.test.ts',
  'test/oracle/',
  'test/release/node-versions.test.ts',
  NPM,
  RELEASE,
];
/** C++ tests of the same kind. */
const LONG_NATIVE =
  'Adjacency.BlocksBeyondWhatIsHeldInMemory:VerifyTest.FindsInvalidContentWithValidChecksums';
const SHORT_NATIVE = `-${LONG_NATIVE}`;

const begins = (file: string, starts: readonly string[]): boolean =>
  starts.some((start) => file.startsWith(start));

/** Files of tests, but for the recorded answers, which have a step of their own. */
function testFiles(wanted: (file: string) => boolean): string[] {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map((file) => `test/${file}`)
    .filter((file) => file.endsWith('.test.ts') && !begins(file, [GOLDEN]))
    .filter(wanted)
    .toSorted();
}

const goldenFiles = (): string[] =>
  readdirSync(GOLDEN)
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => GOLDEN + file);

const STEPS: Record<string, () => Promise<Outcome>> = {
  build: () => check('npm', ['run', '--silent', 'build']),
  // The build has looked at `src/` and `src/web/`.
  types: () => check('npx', ['tsc', '-p', 'test/tsconfig.json']),
  lint: () => check('npm', ['run', '--silent', 'lint']),
  format: async () =>
    together(
      ...(await Promise.all([check('npm', ['run', '--silent', 'format:check']), cppFormat()])),
    ),
  unit: () => unitTests(),
  golden: () => goldenTests(),
  native: () => nativeTests(SHORT_NATIVE),
};

/** Comparisons of each C++ property test with its plain loops when asked for many. */
const COMPARISONS = '1000000';

/**
 * Levels of `native/base/cpu.h` below the best, and the tests of functions with a variant for each.
 */
const CPU_LEVELS = ['portable', 'avx2'];
const CPU_FILTER =
  'TuningTest.*:DocSetUnion.*:OrdinalSet.*:MatchRoles.*:WordMasks.*:AsciiBlocksTest.*';

/** Steps that take long. */
const ON_REQUEST: Record<string, () => Promise<Outcome>> = {
  // Makes the archive and the package and runs them in empty roots: before a release.
  release: () => mocha([RELEASE, NPM]),
  long: () => {
    // Browsers, servers that are killed and clusters mostly wait; what compiles meanwhile yields.
    if (stepsOfRun.includes('alone')) compiledAlone().catch(() => {});
    const files = testFiles((file) => begins(file, LONG));
    return mocha(files, process.env, nativeAfter('long-native', LONG_NATIVE));
  },
  alone: () => compiledAlone(),
  cluster: () => cluster(),
  'long-native': () => nativeTests(LONG_NATIVE),
  // Before a release as well: what the tests of the engine do under the sanitizers of g++, and
  // random requests.
  sanitizers: async () => together(await sanitized('ASAN'), await sanitized('TSAN')),
  // With those that take long.
  clients: () => mocha([CLIENTS], { ...process.env, GANNET_CLIENTS: 'all' }),
  oracle: () =>
    nativeTests('*Oracle.*', {
      GANNET_COMPARISONS: COMPARISONS,
      // Thousands of small indexes: that they reach the disk is not what is compared.
      ...(existsSync('/dev/shm') ? { TMPDIR: '/dev/shm' } : {}),
      ...process.env,
    }),
};

/** Runs a program and remembers what it prints; `shows`: passes it on as it comes. */
function run(
  command: string,
  args: readonly string[],
  env = process.env,
  shows = true,
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (shows) process.stdout.write(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (shows) process.stderr.write(chunk);
    });
    child.on('error', (error) => resolve({ ok: false, text: `${text}${error.message}\n` }));
    child.on('close', (status) => resolve({ ok: status === 0, text }));
  });
}

/** The lines at the end of what a program printed that are repeated when it failed. */
const REPORT_LINES = 60;

/**
 * What a failed program said of its failures: from where `begin` matches for the last time, or its
 * last lines.
 */
function reportOf({ text }: Ended, begin?: RegExp): string {
  const found = begin === undefined ? undefined : [...text.matchAll(begin)].at(-1);
  return found === undefined
    ? text.trimEnd().split('\n').slice(-REPORT_LINES).join('\n')
    : text.slice(found.index).trimEnd();
}

/** One thing that failed as a whole. */
function failure(ended: Ended): Outcome {
  return { passed: 0, failed: 1, skipped: 0, report: reportOf(ended) };
}

/** A check that passes or fails as a whole. */
async function check(command: string, args: readonly string[]): Promise<Outcome> {
  const ended = await run(command, args);
  return ended.ok ? { passed: 1, failed: 0, skipped: 0 } : failure(ended);
}

function skipped(what: string, why: string): Outcome {
  console.log(`skipped: ${what}, because ${why}`);
  return { passed: 0, failed: 0, skipped: 1 };
}

/** Other versions lay out details in other ways. */
const CLANG_FORMAT = 'clang-format-14';
const CPP_FOLDERS = ['native', 'test/native', 'test/fuzz'];

/** Whether the C++ sources are laid out as `.clang-format` says. */
async function cppFormat(): Promise<Outcome> {
  if (spawnSync(CLANG_FORMAT, ['--version'], { stdio: 'ignore' }).status !== 0) {
    return skipped('the layout of C++', `${CLANG_FORMAT} is not installed`);
  }
  const files = CPP_FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(cc|h)$/.test(name))
      .map((name) => `${folder}/${name}`),
  );
  return check(CLANG_FORMAT, ['--dry-run', '--Werror', ...files]);
}

/** The greatest number that `pattern` captures in `text`, 0 without a match. */
function count(text: string, pattern: RegExp): number {
  return Math.max(0, ...[...text.matchAll(pattern)].map((match) => Number(match[1])));
}

async function mocha(
  files: readonly string[],
  env = process.env,
  last: readonly (() => Promise<unknown>)[] = [],
): Promise<Outcome> {
  return outcomeOf(await concluded(await runMocha(files, [], env, last)));
}

/** With a second attempt for what failed, when nothing runs in the background any more. */
function concluded<T extends Attempt>(runs: readonly T[]): Promise<T[]> {
  return repeatedAlone(runs, () => Promise.all([...natives.values(), compiled]));
}

/** Where mocha begins its list of failures. */
const FAILING = /^ +\d+ failing/gm;

function outcomeOf(runs: readonly Attempt[]): Outcome {
  times.push(...runs.flatMap((one) => one.tests));
  return runs
    .map(({ ok, passed, failed, skipped: pending, text, unstable }) => ({
      ...{ passed, failed, skipped: pending },
      ...(ok ? {} : { report: reportOf({ ok, text }, FAILING) }),
      ...(unstable === undefined ? {} : { unstable: reportOf({ ok, text: unstable }, FAILING) }),
    }))
    .reduce(together, NOTHING);
}

/** Why the C++ tests cannot run here, or how their build failed; null when they are built. */
async function buildNativeTests(): Promise<Outcome | null> {
  if (spawnSync('cmake', ['--version'], { stdio: 'ignore' }).status !== 0) {
    return skipped('the C++ tests', 'cmake is not installed');
  }
  if (!existsSync(`${NATIVE_BUILD}/CMakeCache.txt`)) {
    const addon = await run('npm', ['run', '--silent', 'build:native']);
    if (!addon.ok) return failure(addon);
  }
  const configured = await run('cmake', ['-S', '.', '-B', NATIVE_BUILD, '-DGANNET_TESTS=ON']);
  if (!configured.ok) return failure(configured);
  if (configured.text.includes('GoogleTest is not installed')) {
    return skipped('the C++ tests', 'GoogleTest is not installed (Debian package libgtest-dev)');
  }
  const build = ['--build', NATIVE_BUILD, '--target', 'native_tests', '-j', CORES];
  const built = await run('nice', ['-n', '19', 'cmake', ...build]);
  return built.ok ? null : failure(built);
}

/**
 * With the recorded answers, when these are asked for as well: they take longest, so they begin
 * first.
 */
async function unitTests(): Promise<Outcome> {
  const golden = stepsOfRun.includes('golden') ? goldenFiles() : [];
  const files = testFiles((file) => !begins(file, LONG));
  const last = nativeAfter('native', SHORT_NATIVE);
  const runs = await concluded(await runMocha(files, golden, process.env, last));
  const isGolden = ({ given }: MochaRun): boolean => begins(given[0]!, [GOLDEN]);
  if (golden.length > 0) goldenRuns = runs.filter(isGolden);
  return outcomeOf(runs.filter((one) => !isGolden(one)));
}

/** Those of the step `unit`. */
let goldenRuns: MochaRun[] | undefined;

async function goldenTests(): Promise<Outcome> {
  return outcomeOf((goldenRuns ??= await concluded(await runMocha([], goldenFiles()))));
}

/** Under way while other steps wait for servers. */
let nativeBuild: Promise<Outcome | null> | undefined;

/** The first attempts, by the filter of the tests. */
const natives = new Map<string, Promise<Attempt[] | Outcome>>();

/**
 * The first attempts of a later step, next to the last processes of mocha. A lower priority is no
 * way to begin sooner: a search that waits for a processor passes its time limit.
 */
function nativeAfter(step: string, filter: string): (() => Promise<unknown>)[] {
  // The step reports what goes wrong.
  return stepsOfRun.includes(step) ? [() => nativeRuns(filter).catch(() => {})] : [];
}

/** Begins the C++ tests, once. */
function nativeRuns(filter: string, env = process.env): Promise<Attempt[] | Outcome> {
  const begun = natives.get(filter) ?? beginNative(filter, env);
  natives.set(filter, begun);
  return begun;
}

async function beginNative(filter: string, env: NodeJS.ProcessEnv): Promise<Attempt[] | Outcome> {
  const missing = await (nativeBuild ??= buildNativeTests());
  if (missing !== null) return missing;
  const program = `${NATIVE_BUILD}/native_tests`;
  const shards = Array.from({ length: availableParallelism() }, (_, shard) => {
    const part = { GTEST_TOTAL_SHARDS: CORES, GTEST_SHARD_INDEX: String(shard) };
    return () => nativeRun(program, filter, { ...env, ...part });
  });
  // Functions with variants for younger processors: the older ones are tested as well.
  const levels = filter === SHORT_NATIVE ? CPU_LEVELS : [];
  const variants = levels.map((level) => () => {
    return nativeRun(program, CPU_FILTER, { ...env, GANNET_TEST_CPU: level });
  });
  return inParallel([...shards, ...variants]);
}

async function nativeTests(filter: string, env = process.env): Promise<Outcome> {
  const runs = await nativeRuns(filter, env);
  return Array.isArray(runs) ? outcomeOf(await concluded(runs)) : runs;
}

/** The number of runs of C++ tests so far. */
let nativeCount = 0;

async function nativeRun(
  program: string,
  filter: string,
  env: NodeJS.ProcessEnv,
): Promise<Attempt> {
  const file = `${NATIVE_BUILD}/native-times-${nativeCount++}.json`;
  const options = ['--gtest_brief=1', `--gtest_output=json:${file}`, `--gtest_filter=${filter}`];
  const { ok, text } = await run(program, options, env, false);
  process.stdout.write(text);
  const failed = [...text.matchAll(/^\[ {2}FAILED {2}\] ([^ ,]+).*\(\d+ ms\)$/gm)].map(
    (match) => match[1]!,
  );
  // A program that has died before its end has failed in whatever it had not begun.
  const isWhole = /^\[={10}\] \d+ tests? .* ran\./m.test(text);
  return {
    ok,
    passed: count(text, /^\[ {2}PASSED {2}\] (\d+) test/gm),
    failed: ok ? 0 : Math.max(1, failed.length),
    skipped: count(text, /^\[ {2}SKIPPED \] (\d+) test/gm),
    text,
    tests: nativeTimes(file),
    failing: isWhole ? failed : [],
    again: () => {
      const { GTEST_TOTAL_SHARDS: _, GTEST_SHARD_INDEX: __, ...whole } = env;
      return nativeRun(program, failed.join(':'), whole);
    },
  };
}

/** Minutes of faults; everything is compared after each. */
const CLUSTER_MINUTES = '2';

/** A cluster of real processes whose machines fail. */
async function cluster(): Promise<Outcome> {
  if (!HAS_ETCD) {
    return skipped('a cluster whose machines fail', 'etcd is not installed (package etcd-server)');
  }
  const args = ['--import=tsx', 'test/cluster/run.ts', '--minutes', CLUSTER_MINUTES];
  return check(process.execPath, args);
}

interface CompileCommand {
  directory: string;
  command: string;
}

/** The end of a command that compiles files of a target together. */
const TOGETHER = /-o CMakeFiles\/(engine|gannet)\.dir\/Unity\/\S+ -c \S+/;

/** The outcome of the step `alone`, once it has begun. */
let compiled: Promise<Outcome> | undefined;

/**
 * Compiles a file of the engine without its neighbours. ccache, where it is installed, remembers
 * those that have not changed, but only if there is an object.
 */
function compileAlone(file: string, { directory, command }: CompileCommand): Promise<Ended> {
  const object = resolve(ALONE, `${file.replaceAll('/', '-')}.o`);
  const how = HAS_CCACHE ? `-c -g0 -o '${object}'` : '-fsyntax-only';
  const compile = command.replace(TOGETHER, `${how} -O0 -w '${resolve(file)}'`);
  const launched = `cd '${directory}' && ${HAS_CCACHE ? 'ccache ' : ''}${compile}`;
  return run('nice', ['-n', '19', 'sh', '-c', launched], process.env, false);
}

const ALONE = `${NATIVE_BUILD}/alone`;
const HAS_CCACHE = spawnSync('ccache', ['--version'], { stdio: 'ignore' }).status === 0;

/**
 * Whether each file of the engine includes what it uses: the build compiles several as one,
 * node-gyp each by itself.
 */
function compiledAlone(): Promise<Outcome> {
  return (compiled ??= compileAllAlone());
}

async function compileAllAlone(): Promise<Outcome> {
  const what = 'the files of the engine, each by itself';
  if (!existsSync(COMPILE_COMMANDS)) return skipped(what, 'there is no build by cmake');
  const commands = JSON.parse(readFileSync(COMPILE_COMMANDS, 'utf8')) as CompileCommand[];
  /** By the target. */
  const together = new Map(
    commands.flatMap((entry) => {
      const target = TOGETHER.exec(entry.command)?.[1];
      return target === undefined ? [] : [[target, entry] as const];
    }),
  );
  if (together.size < 2) return skipped(what, 'the build has compiled them so');
  mkdirSync(ALONE, { recursive: true });
  const files = readFileSync('native/sources.txt', 'utf8').match(/^native\/\S+\.cc$/gm) ?? [];
  const compiles = await inParallel(
    files.map((file) => () => {
      const target = file.startsWith('native/addon/') ? 'gannet' : 'engine';
      return compileAlone(file, together.get(target)!);
    }),
  );
  const faults = compiles.filter(({ ok }) => !ok).map(({ text }) => text);
  console.log(`${faults.length} files that do not compile by themselves`);
  return faults.length === 0
    ? { passed: 1, failed: 0, skipped: 0 }
    : { passed: 0, failed: 1, skipped: 0, report: faults.join('\n') };
}

/** What a C++ test took, as GoogleTest writes it down. */
interface NativeTest {
  name: string;
  classname: string;
  file: string;
  /** Seconds, with an `s`. */
  time: string;
}

/** Nothing when the program ended before it wrote its file. */
function nativeTimes(file: string): TestTime[] {
  if (!existsSync(file)) return [];
  const { testsuites } = JSON.parse(readFileSync(file, 'utf8')) as {
    testsuites: { testsuite: NativeTest[] }[];
  };
  rmSync(file);
  return testsuites.flatMap(({ testsuite }) =>
    testsuite.map(({ classname, name, file: source, time }) => ({
      title: `${classname}.${name}`,
      file: source,
      ms: Number.parseFloat(time) * 1000,
    })),
  );
}

/** Minutes of random requests to a server with the addon under AddressSanitizer. */
const FUZZ_MINUTES = '1';

/**
 * The C++ tests in a build with sanitizers (`type`: one of CMakeLists.txt), in a folder of its own,
 * and random requests. A finding ends the program, and so the test.
 */
async function sanitized(type: 'ASAN' | 'TSAN'): Promise<Outcome> {
  const folder = `${NATIVE_BUILD}/${type.toLowerCase()}`;
  const cmake = ['node_modules/cmake-js/bin/cmake-js', 'configure', '-O', folder, '-B', type];
  const options = [`--CDNODE_EXE=${process.execPath}`, '--CDGANNET_TESTS=ON'];
  const configured = await run(process.execPath, [...cmake, ...options]);
  if (!configured.ok) return failure(configured);
  const targets = ['--target', 'native_tests', 'gannet', '-j', CORES];
  const built = await run('cmake', ['--build', folder, ...targets]);
  if (!built.ok) return failure(built);
  const env = {
    ...process.env,
    ASAN_OPTIONS: 'detect_leaks=0',
    UBSAN_OPTIONS: 'halt_on_error=1:print_stacktrace=1',
    TSAN_OPTIONS: 'halt_on_error=1',
  };
  const tests = outcomeOf([await nativeRun(`${folder}/native_tests`, '*', env)]);
  if (type === 'TSAN') return tests;
  // Node itself is built without sanitizers.
  const library = spawnSync('g++', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).stdout;
  const fuzz = ['--import=tsx', 'test/fuzz/http/run.ts', '--minutes', FUZZ_MINUTES];
  const requests = await run(process.execPath, [...fuzz, '--hold-ms', '1000'], {
    ...env,
    GANNET_ADDON: `${process.cwd()}/${folder}/${type}/gannet.node`,
    LD_PRELOAD: library.trim(),
  });
  return together(tests, requests.ok ? { passed: 1, failed: 0, skipped: 0 } : failure(requests));
}

function together(a: Outcome, b: Outcome): Outcome {
  const reports = [a.report, b.report].filter((report) => report !== undefined);
  const unstable = [a.unstable, b.unstable].filter((report) => report !== undefined);
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    ...(reports.length > 0 ? { report: reports.join('\n') } : {}),
    ...(unstable.length > 0 ? { unstable: unstable.join('\n') } : {}),
  };
}

const NOTHING: Outcome = { passed: 0, failed: 0, skipped: 0 };

/** The duration of every test that ran. */
const times: TestTime[] = [];
const SLOWEST = 10;

function slowest(): string {
  const rows = times
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST)
    .map(({ title, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${title}`);
  return `The slowest tests:\n${rows.join('\n')}`;
}

/** The names of the steps of this run. */
const stepsOfRun: readonly string[] =
  process.argv.length > 2 ? process.argv.slice(2) : Object.keys(STEPS);

async function main(): Promise<void> {
  const total: Outcome = { passed: 0, failed: 0, skipped: 0 };
  const rows: string[] = [];
  const reports: string[] = [];
  for (const name of stepsOfRun) {
    const step = STEPS[name] ?? ON_REQUEST[name];
    if (step === undefined) {
      const known = Object.keys({ ...STEPS, ...ON_REQUEST }).join(', ');
      throw new Error(`There is no step \`${name}\`; there are ${known}.`);
    }
    console.log(`\n== ${name}`);
    const begin = performance.now();
    const { passed, failed, skipped, report, unstable } = await step();
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    rows.push(
      `${name.padEnd(11)} ${String(passed).padStart(5)} passed ${String(failed).padStart(4)} failed ` +
        `${String(skipped).padStart(4)} skipped ${seconds.padStart(7)} s`,
    );
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
    if (report !== undefined) reports.push(`== ${name} failed\n${report}\n`);
    if (unstable !== undefined) reports.push(`== ${name} failed, and passed alone\n${unstable}\n`);
    // Nothing after a failed build says anything about this source.
    if (name === 'build' && failed > 0) break;
    if (name === 'build' && stepsOfRun.includes('native')) nativeBuild = buildNativeTests();
  }
  if (reports.length > 0) console.log(`\n${reports.join('\n')}`);
  if (times.length > 0) console.log(`\n${slowest()}`);
  console.log(`\n${rows.join('\n')}`);
  console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  process.exitCode = total.failed > 0 ? 1 : 0;
}

await main();
