import { type ChildProcess, spawn } from 'node:child_process';

export interface Ended {
  status: number | null;
  /** Standard output. */
  output: string;
  /** Standard error. */
  complaints: string;
}

export interface RunningProgram {
  child: ChildProcess;
  ended: Promise<Ended>;
}

export interface RunOptions {
  /** Standard input; nothing else. */
  input?: Buffer | string;
  env?: Readonly<Record<string, string>>;
  cwd?: string;
}

/** Starts the built program with arguments. */
export function startProgram(
  argv: readonly string[],
  { input = '', env = {}, cwd }: RunOptions = {},
): RunningProgram {
  const program = new URL('../../dist/main.cjs', import.meta.url).pathname;
  // The program warns of a variable that only the reporter of the tests reads.
  const { GANNET_TEST_TIMES: _, ...inherited } = process.env;
  const child = spawn(process.execPath, [program, ...argv], {
    env: { ...inherited, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  let output = '';
  let complaints = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  // It may end before it has read everything.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const ended = new Promise<Ended>((done, failed) => {
    child.once('error', failed);
    child.once('close', (status) => done({ status, output, complaints }));
  });
  return { child, ended };
}

export function runProgram(argv: readonly string[], options?: RunOptions): Promise<Ended> {
  return startProgram(argv, options).ended;
}
