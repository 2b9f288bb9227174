import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Load {
  port: number;
  path: string;
  bodies: readonly string[];
  connections: number;
  seconds: number;
  /** API key; absent: the server requires none. */
  key?: string;
}

export interface Throughput {
  tool: 'wrk' | 'autocannon';
  requests: number;
  /** Responses other than 200, and broken connections. */
  failures: number;
  /** Latency of the responses, ms. */
  latency: { p50: number; p99: number };
}

/**
 * Measures as many requests as the server can handle. Uses wrk where it is installed, because it
 * leaves more of the machine to the server.
 */
export function requestsPerSecond(load: Load): Throughput {
  const hasWrk = spawnSync('wrk', ['--version'], { stdio: 'ignore' }).error === undefined;
  const dir = mkdtempSync(join(tmpdir(), 'gannet-load-'));
  try {
    return hasWrk ? withWrk(load, dir) : withAutocannon(load, dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** The headers of each request. */
function headersOf({ key }: Load): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  };
}

function withWrk(load: Load, dir: string): Throughput {
  const { port, path, bodies, connections, seconds } = load;
  const headers = Object.entries(headersOf(load)).map(
    ([name, value]) => `[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  );
  const list = join(dir, 'bodies');
  writeFileSync(list, `${bodies.join('\n')}\n`);
  const script = join(dir, 'load.lua');
  writeFileSync(
    script,
    `
local bodies = {}
for line in io.lines(${JSON.stringify(list)}) do bodies[#bodies + 1] = line end
local next = 0
request = function()
  next = next % #bodies + 1
  return wrk.format("POST", ${JSON.stringify(path)}, {${headers.join(', ')}}, bodies[next])
end
`,
  );
  const { stdout, stderr } = spawnSync(
    'wrk',
    [
      '-t1',
      '--latency',
      `-c${connections}`,
      `-d${seconds}s`,
      '-s',
      script,
      `http://127.0.0.1:${port}`,
    ],
    { encoding: 'utf8' },
  );
  const requests = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]);
  if (Number.isNaN(requests)) throw new Error(stdout + stderr);
  const bad = Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0);
  const broken = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(
    stdout,
  );
  const failures = bad + (broken?.slice(1).reduce((sum, text) => sum + Number(text), 0) ?? 0);
  const latency = { p50: percentileMs(stdout, 50), p99: percentileMs(stdout, 99) };
  return { tool: 'wrk', requests, failures, latency };
}

const UNIT_MS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000 };

function percentileMs(printed: string, percent: number): number {
  const line = new RegExp(`^\\s+${percent}%\\s+([\\d.]+)(us|ms|s) *$`, 'm').exec(printed);
  if (line === null) throw new Error(printed);
  return Number(line[1]) * UNIT_MS[line[2]!]!;
}

/** Runs in a separate process, because it needs its own core. */
function withAutocannon(load: Load, dir: string): Throughput {
  const file = join(dir, 'load.json');
  writeFileSync(file, JSON.stringify({ ...load, headers: headersOf(load) }));
  const script = fileURLToPath(new URL('./autocannon.mjs', import.meta.url));
  const { stdout, stderr, status } = spawnSync(process.execPath, [script, file], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return { tool: 'autocannon', ...(JSON.parse(stdout) as Omit<Throughput, 'tool'>) };
}
