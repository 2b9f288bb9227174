/**
 * Builds every fuzz target with clang and runs each for some seconds.
 *
 *   node --import=tsx test/fuzz/run.ts [--seconds 10] [TARGET...]
 *
 * A target is the name of a file of this folder without `_fuzz.cc`.
 *
 * Inputs come from test/fuzz/corpus/TARGET, where inputs to begin with and crashing ones of the
 * past are kept, and from what earlier runs found (build/fuzz/corpus). A crashing input is written
 * to build/fuzz. Exit status: 0 when no target failed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { recordRun } from '../support/record-run.ts';

const BUILD = 'build/fuzz';
const INPUT_BYTES_MAX = 4096;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string', default: '10' } },
});

function run(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'inherit' }).status === 0;
}

/** The first that knows the C++20 of this program: 14 and 15 cannot capture structured bindings. */
const CLANG_MIN = 16;

/** The suffix of the newest clang that is installed, and its version; null when there is none. */
function clang(): { suffix: string; version: number } | null {
  const suffixes = [...Array.from({ length: 10 }, (_, n) => `-${23 - n}`), ''];
  const found = suffixes.flatMap((suffix) => {
    const printed = spawnSync(`clang++${suffix}`, ['--version'], { encoding: 'utf8' }).stdout ?? '';
    const version = Number(/version (\d+)/.exec(printed)?.[1] ?? 0);
    return version > 0 ? [{ suffix, version }] : [];
  });
  return found.toSorted((a, b) => b.version - a.version)[0] ?? null;
}

function main(): number {
  const compiler = clang();
  if (compiler === null) {
    console.log('skipped: the fuzz targets, because clang is not installed');
    return 0;
  }
  const { suffix, version } = compiler;
  if (version < CLANG_MIN) {
    console.log(
      `clang ${version} is installed; the fuzz targets need ${CLANG_MIN} or newer (Debian: apt-get install clang-${CLANG_MIN})`,
    );
    return 1;
  }
  const all = readdirSync('test/fuzz')
    .filter((file) => file.endsWith('_fuzz.cc'))
    .map((file) => file.slice(0, -'_fuzz.cc'.length));
  const targets = positionals.length > 0 ? positionals : all;
  const configured = run('cmake', [
    ...['-S', '.', '-B', BUILD, '-DCMAKE_BUILD_TYPE=Tests', '-DGANNET_FUZZ=ON'],
    ...[`-DCMAKE_C_COMPILER=clang${suffix}`, `-DCMAKE_CXX_COMPILER=clang++${suffix}`],
  ]);
  const names = targets.map((target) => `${target}_fuzz`);
  const jobs = String(availableParallelism());
  if (!configured || !run('cmake', ['--build', BUILD, '-j', jobs, '--target', ...names])) return 1;
  const failed: string[] = [];
  let executed = 0;
  for (const target of targets) {
    const found = `${BUILD}/corpus/${target}`;
    mkdirSync(found, { recursive: true });
    const kept = `test/fuzz/corpus/${target}`;
    console.log(`\n== ${target}, ${values.seconds} s`);
    const argv = [
      found,
      ...(existsSync(kept) ? [kept] : []),
      `-max_total_time=${values.seconds}`,
      `-max_len=${INPUT_BYTES_MAX}`,
      `-artifact_prefix=${BUILD}/${target}-`,
      '-print_final_stats=1',
      '-verbosity=0',
    ];
    const ended = spawnSync(`${BUILD}/${target}_fuzz`, argv, {
      stdio: ['ignore', 'inherit', 'pipe'],
      encoding: 'utf8',
      maxBuffer: 2 ** 30,
    });
    process.stderr.write(ended.stderr);
    executed += Number(/number_of_executed_units: (\d+)/.exec(ended.stderr)?.[1] ?? 0);
    if (ended.status !== 0) failed.push(target);
  }
  const verdict = failed.length === 0 ? 'none failed' : `failed: ${failed.join(', ')}`;
  console.log(`\n${targets.length} fuzz targets, ${verdict}`);
  if (failed.length === 0) recordRun('parsers', executed);
  return failed.length === 0 ? 0 : 1;
}

process.exitCode = main();
