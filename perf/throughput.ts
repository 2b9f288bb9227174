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
}

export interface Throughput {
  tool: 'wrk' | 'autocannon';
  requests: number;
  /** Answers that were not 200, and connections that broke. */
  failures: number;
}

/** As many requests as the server can take. With wrk where it is installed: it leaves more of the machine. */
export function requestsPerSecond(load: Load): Throughput {
  const hasWrk = spawnSync('wrk', ['--version'], { stdio: 'ignore' }).error === undefined;
  const dir = mkdtempSync(join(tmpdir(), 'gannet-load-'));
  try {
    return hasWrk ? withWrk(load, dir) : withAutocannon(load, dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function withWrk({ port, path, bodies, connections, seconds }: Load, dir: string): Throughput {
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
  return wrk.format("POST", ${JSON.stringify(path)}, {["content-type"] = "application/json"}, bodies[next])
end
`,
  );
  const { stdout, stderr } = spawnSync(
    'wrk',
    ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', script, `http://127.0.0.1:${port}`],
    { encoding: 'utf8' },
  );
  const requests = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]);
  if (Number.isNaN(requests)) throw new Error(stdout + stderr);
  const bad = Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0);
  const broken = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(
    stdout,
  );
  const failures = bad + (broken?.slice(1).reduce((sum, text) => sum + Number(text), 0) ?? 0);
  return { tool: 'wrk', requests, failures };
}

/** In a process of its own: it needs a core. */
function withAutocannon(load: Load, dir: string): Throughput {
  const file = join(dir, 'load.json');
  writeFileSync(file, JSON.stringify(load));
  const script = fileURLToPath(new URL('./autocannon.mjs', import.meta.url));
  const { stdout, stderr, status } = spawnSync(process.execPath, [script, file], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return { tool: 'autocannon', ...(JSON.parse(stdout) as Omit<Throughput, 'tool'>) };
}
