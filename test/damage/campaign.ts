/**
 * Random damage to the files of a data folder, one change at a time: whatever is changed, the
 * server exits with a message, responds as before, or responds with an error. It never crashes,
 * never sends a wrong result with status 200, and `gannet verify` finds every change that affects a
 * response.
 */
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { ask, type Recording, type Expected, FORMATS, RUN_NOTHING } from '../formats/support.ts';
import { Random } from '../http/kill/support/random.ts';
import { ServerProcess, verify } from '../http/kill/support/server-process.ts';

export interface CampaignOptions {
  changes: number;
  seed: number;
  port: number;
  log: (line: string) => void;
}

export interface CampaignResult {
  /** Number of changes after which the server exited at start with a message. */
  refused: number;
  /** Number of changes after which some responses were errors. */
  errors: number;
  /** Number of changes after which all responses were as before. */
  harmless: number;
  /** Faults, one line each. */
  faults: string[];
}

/** Files without content while the server is stopped. */
const PASSING = /(^|\/)(lock|lock\.mdb|index\.mdb-lock)$/;

const VERIFIED_SOUND = 0;

/** Number of changes between two progress messages. */
const PROGRESS_CHANGES = 25;

export async function runCampaign({
  changes,
  seed,
  port,
  log,
}: CampaignOptions): Promise<CampaignResult> {
  const random = new Random(seed);
  const folder = mkdtempSync(join(tmpdir(), 'gannet-damage-'));
  const dir = join(folder, 'damaged');
  const result: CampaignResult = { refused: 0, errors: 0, harmless: 0, faults: [] };
  try {
    const folders: Intact[] = [];
    for (const format of readdirSync(FORMATS)
      .filter((name) => /^\d/.test(name))
      .toSorted()) {
      folders.push(await prepare(join(FORMATS, format), join(folder, format), port));
    }
    for (let n = 0; n < changes; n++) {
      const intact = folders[n % folders.length]!;
      rmSync(dir, { recursive: true, force: true });
      cpSync(intact.dir, dir, { recursive: true });
      const change = damage(dir, random);
      const outcome = await tryServer(dir, port, intact.exchanges);
      const report = await verify('--db-path', dir);
      const tell = (what: string): void => {
        result.faults.push(`change ${n}: ${change}: ${what}`);
        log(result.faults.at(-1)!);
      };
      if (outcome.kind === 'fault') tell(outcome.what);
      else result[outcome.kind]++;
      if (report.status === null) tell('verify has died');
      else if (outcome.kind !== 'harmless' && report.status === VERIFIED_SOUND) {
        tell(`verify finds nothing; ${outcome.kind === 'fault' ? 'see before' : outcome.what}`);
      }
      if ((n + 1) % PROGRESS_CHANGES === 0) log(`${n + 1} changes, ${result.faults.length} faults`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return result;
}

/** A data folder with its expected responses. */
interface Intact {
  dir: string;
  exchanges: readonly Recording[];
}

/**
 * Copies the data folder of a format to `dir`, upgrades it and records the responses to its
 * requests.
 */
async function prepare(format: string, dir: string, port: number): Promise<Intact> {
  cpSync(join(format, 'data'), dir, { recursive: true });
  const { exchanges } = JSON.parse(readFileSync(join(format, 'expected.json'), 'utf8')) as Expected;
  const server = await ServerProcess.start({ dir, port, args: ['--upgrade-db', ...RUN_NOTHING] });
  try {
    const recorded: Recording[] = [];
    for (const request of exchanges) {
      recorded.push({ ...request, answer: await ask(server.client, request) });
    }
    return { dir, exchanges: recorded };
  } finally {
    await server.stop();
  }
}

/** Changes one file. @returns what was changed */
function damage(dir: string, random: Random): string {
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => !PASSING.test(name) && statSync(join(dir, name)).isFile())
    .toSorted();
  const name = random.pick(files);
  const path = join(dir, name);
  const bytes = readFileSync(path);
  const at = bytes.length === 0 ? 0 : random.int(0, bytes.length - 1);
  const kind = random.int(0, 9);
  if (kind === 0) {
    rmSync(path);
    return `${name} removed`;
  }
  if (kind === 1) {
    writeFileSync(path, bytes.subarray(0, at));
    return `${name} cut to ${at} of ${bytes.length} bytes`;
  }
  if (kind === 2) {
    const other = random.pick(files);
    writeFileSync(path, readFileSync(join(dir, other)));
    return `${name} replaced by ${relative('.', other)}`;
  }
  if (kind === 3) {
    const size = Math.min(random.int(1, 5000), bytes.length - at);
    bytes.fill(0, at, at + size);
    writeFileSync(path, bytes);
    return `${name}: ${size} zeros at ${at}`;
  }
  if (bytes.length > 0) bytes[at]! ^= 1 << random.int(0, 7);
  writeFileSync(path, bytes);
  return `${name}: a bit at ${at}`;
}

type Outcome =
  { kind: 'refused' | 'errors' | 'fault'; what: string } | { kind: 'harmless'; what?: never };

async function tryServer(
  dir: string,
  port: number,
  exchanges: readonly Recording[],
): Promise<Outcome> {
  const server = new ServerProcess({ dir, port, args: RUN_NOTHING });
  try {
    await server.ready();
  } catch (error) {
    const status = await server.exited;
    if (status === 1 && server.stderr.trim() !== '')
      return { kind: 'refused', what: server.stderr };
    return { kind: 'fault', what: `the start ended with ${status}: ${(error as Error).message}` };
  }
  let errors = '';
  try {
    for (const { answer: recorded, ...request } of exchanges) {
      const found = (await ask(server.client, request)) as { status: number };
      const same = JSON.stringify(found) === JSON.stringify(recorded);
      if (same) continue;
      const what = `${request.method} ${request.path} ${JSON.stringify(request.body ?? null)}`;
      if (found.status < 500) {
        return {
          kind: 'fault',
          what: `another response: ${what}: ${JSON.stringify(found).slice(0, 500)}`,
        };
      }
      errors = what;
    }
  } catch (error) {
    const status = server.hasExited ? await server.exited : 'still there';
    return {
      kind: 'fault',
      what: `no response, ${String(error)}; the process: ${status} ${server.stderr.slice(-300)}`,
    };
  } finally {
    await server.kill();
  }
  return errors === '' ? { kind: 'harmless' } : { kind: 'errors', what: errors };
}
