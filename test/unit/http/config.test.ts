import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os, { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.ts';
import { GivenOptions, type Option, type Options } from '../../../src/base/options.ts';
import {
  type Config,
  DB_PATH_OPTIONS,
  dbPathOf,
  OPTIONS,
  readConfig,
} from '../../../src/config.ts';
import { masterKeyNotice } from '../../../src/parts/access.ts';
import { httpThreadsOf } from '../../../src/parts/http.ts';

function config(argv: string[], env: Record<string, string> = {}): Config {
  const launch = readConfig(argv, env);
  assert.ok(launch.ok, launch.ok ? '' : launch.error);
  assert.equal(launch.value.kind, 'run');
  return (launch.value as { config: Config }).config;
}

function refusal(argv: string[], env: Record<string, string> = {}): string {
  const launch = readConfig(argv, env);
  assert.ok(!launch.ok, argv.join(' '));
  return launch.error;
}

describe('Launch options', () => {
  let dir: string;
  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'gannet-config-'))));
  afterEach(() => rmSync(dir, { recursive: true }));

  function file(text: string): string {
    const path = join(dir, 'config.toml');
    writeFileSync(path, text);
    return path;
  }

  it('have defaults', () => {
    const { host, port, dbPath, limits, masterKey, production, logLevel } = config([]);
    assert.deepEqual(
      { host, port, dbPath, limits, masterKey, production, logLevel },
      {
        host: '127.0.0.1',
        port: 7700,
        dbPath: './data.gannet',
        limits: DEFAULT_LIMITS,
        masterKey: null,
        production: false,
        logLevel: 'info',
      },
    );
  });

  it('are taken from the flag, then the environment, then the file', () => {
    const path = file('db_path = "from-file"\nhttp_addr = "localhost:1"\nlog_level = "warn"\n');
    const read = config(['--config-file-path', path, '--db-path=from-flag'], {
      GANNET_DB_PATH: 'from-environment',
      GANNET_HTTP_ADDR: 'localhost:2',
    });
    assert.equal(read.dbPath, 'from-flag');
    assert.equal(read.port, 2);
    assert.equal(read.logLevel, 'warn');
    assert.equal(read.configFile, path);
  });

  it('understand sizes, numbers, flags and addresses', () => {
    const read = config([
      '--http-payload-size-limit',
      '20 MiB',
      '--experimental-search-queue-size',
      '0',
      '--experimental-contains-filter',
      '--http-addr',
      '[::1]:80',
      '--schedule-snapshot',
    ]);
    assert.equal(read.limits.payloadBytes, 20 * 2 ** 20);
    assert.equal(read.searchQueueSize, 0);
    assert.equal(read.launchFeatures.containsFilter, true);
    assert.deepEqual([read.host, read.port], ['::1', 80]);
    assert.equal(read.scheduleSnapshotSeconds, 86_400);
    assert.equal(config(['--schedule-snapshot', '60']).scheduleSnapshotSeconds, 60);
  });

  it('read flags of the environment', () => {
    for (const word of ['n', 'No', 'f', 'false', 'OFF', '0']) {
      assert.equal(config([], { GANNET_UPGRADE_DB: word }).upgradeDb, false, word);
    }
    for (const word of ['1', 'yes', 'true', '']) {
      assert.equal(config([], { GANNET_UPGRADE_DB: word }).upgradeDb, true, word);
    }
  });

  it('stop the start when they are unknown or bad', () => {
    assert.match(refusal(['--db-pth', 'x']), /--db-pth.*did you mean --db-path/);
    assert.match(refusal(['x']), /Unexpected argument/);
    assert.match(refusal(['--db-path']), /needs a value/);
    assert.match(refusal(['--http-addr', 'nowhere']), /http-addr/);
    assert.match(refusal(['--http-payload-size-limit', 'much']), /size/);
    assert.match(refusal(['--experimental-drop-search-after', '0']), /at least 1/);
    assert.match(refusal(['--ssl-require-auth']), /ssl-auth-path/);
    assert.match(refusal(['--config-file-path', join(dir, 'missing.toml')]), /cannot be read/);
    assert.match(
      refusal(['--config-file-path', file('db_pth = "x"')]),
      /db_pth.*did you mean db_path/,
    );
    assert.match(refusal(['--config-file-path', file('upgrade_db = "yes"')]), /true or false/);
    assert.match(
      refusal(['--config-file-path', file('config_file_path = "x"')]),
      /config_file_path/,
    );
  });

  it('are refused beyond their range', () => {
    const ranges = [
      ['rate-limit', 1, 1_000_000],
      ['rate-limit-searches', 1, 1_000_000],
      ['analytics-retention-days', 0, 36_500],
      ['schedule-snapshot', 1, 2_147_483],
      ['shutdown-seconds', 0, 2_147_483],
    ] as const;
    for (const [name, min, max] of ranges) {
      config([`--${name}=${min}`]);
      config([`--${name}=${max}`]);
      const message = new RegExp(`${name}: expected a whole number of ${min} to ${max}\\.`);
      assert.match(refusal([`--${name}=${max + 1}`]), message);
      assert.match(refusal([`--${name}=-1`]), message);
    }
    const { rateLimit } = config(['--rate-limit', '5']);
    assert.deepEqual(rateLimit, { requestsPerSecond: 5, concurrentSearches: null });
    assert.equal(config([]).rateLimit, null);
  });

  it('of TLS need a certificate, and are all taken up', () => {
    for (const flag of [
      '--ssl-resumption',
      '--ssl-tickets',
      '--ssl-ocsp-path=x',
      '--ssl-auth-path=x',
    ]) {
      assert.match(refusal([flag]), /needs ssl-cert-path and ssl-key-path/);
    }
    const certificate = ['--ssl-cert-path', 'c', '--ssl-key-path', 'k'];
    const { tls } = config([...certificate, '--ssl-tickets', '--ssl-ocsp-path', 'o']);
    const rest = { authority: null, ocsp: 'o', resumption: false, tickets: true };
    assert.deepEqual(tls, { certificate: 'c', key: 'k', ...rest });
  });

  /** A value that an option takes. */
  function valueOf(name: string, kind: string): string {
    const special: Record<string, string> = {
      env: 'development',
      'http-addr': 'localhost:1',
      'log-level': 'debug',
      'experimental-logs-mode': 'json',
      'max-indexing-threads': '77',
      'task-webhook-url': 'http://h/',
      'experimental-allowed-ip-networks': '10.0.0.0/8',
    };
    return (
      special[name] ??
      { flag: 'true', size: '1 MB', count: '3', optionalCount: '60', text: 'x' }[kind]!
    );
  }

  const PAIRS: Record<string, string[]> = {
    'ssl-cert-path': ['ssl-key-path'],
    'ssl-key-path': ['ssl-cert-path'],
    'task-webhook-authorization-header': ['task-webhook-url'],
  };
  const variableOf = (prefix: string, name: string): string =>
    prefix + name.toUpperCase().replaceAll('-', '_');

  it('have the variables of the reference too, every one of them, and ours win', () => {
    const none = config([]);
    for (const [name, option] of Object.entries<Option>(OPTIONS)) {
      if (option.ignored === true || name === 'config-file-path' || name === 'no-analytics')
        continue;
      const all = [name, ...(option.needs ?? []), ...(PAIRS[name] ?? [])];
      assert.ok(
        all.every((one) => Object.hasOwn(OPTIONS, one)),
        name,
      );
      for (const needed of option.needs ?? []) {
        assert.match(
          refusal([option.kind === 'flag' ? `--${name}` : `--${name}=x`]),
          new RegExp(`^${name} needs .*${needed}`),
        );
      }
      const env = (prefix: string): Record<string, string> =>
        Object.fromEntries(
          all.map((one) => [
            variableOf(prefix, one),
            valueOf(one, (OPTIONS as Options)[one]!.kind),
          ]),
        );
      if (option.ours === true) {
        const { notices, takenVariables: _, ...values } = config([], env('MEILI_'));
        assert.deepEqual({ ...values, notices: [], takenVariables: [] }, none, name);
        assert.match(
          notices.join(),
          new RegExp(`${variableOf('MEILI_', name)}: did you mean GANNET_`),
        );
        continue;
      }
      const { takenVariables, ...read } = config([], env('MEILI_'));
      const { takenVariables: untaken, ...own } = config([], env('GANNET_'));
      assert.deepEqual(read, own, name);
      if (name !== 'env') assert.notDeepEqual({ ...read, takenVariables: [] }, none, name);
      assert.deepEqual(takenVariables, Object.keys(env('MEILI_')).toSorted());
      assert.deepEqual(untaken, []);
    }
    const both = config([], { MEILI_MASTER_KEY: 'theirs', GANNET_MASTER_KEY: 'ours' });
    assert.equal(both.masterKey, 'ours');
    assert.match(both.notices.join(), /MEILI_MASTER_KEY is not read: GANNET_MASTER_KEY is set/);
    assert.doesNotMatch(both.notices.join(), /theirs|ours/);
    const path = file('db_path = "from-file"');
    assert.equal(config([], { MEILI_CONFIG_FILE_PATH: path }).dbPath, 'from-file');
    assert.equal(config(['--db-path', 'f'], { MEILI_DB_PATH: 'v' }).dbPath, 'f');
    const given = new GivenOptions(DB_PATH_OPTIONS, {});
    assert.equal(dbPathOf(given, { MEILI_DB_PATH: 'v' }), 'v');
    assert.equal(dbPathOf(given, { MEILI_CONFIG_FILE_PATH: path }), 'from-file');
  });

  it('of other servers that change nothing here are reported, as flags, variables and keys of the file', () => {
    assert.deepEqual(config([]).notices, []);
    for (const [name, { ignored, kind }] of Object.entries<Option>(OPTIONS)) {
      if (ignored !== true) continue;
      const key = name.replaceAll('-', '_');
      const ways = [
        config(kind === 'flag' ? [`--${name}`] : [`--${name}`, 'x']),
        config([], { [variableOf('MEILI_', name)]: kind === 'flag' ? 'true' : 'x' }),
        config(['--config-file-path', file(`${key} = ${kind === 'flag' ? 'true' : '"x"'}`)]),
      ];
      for (const { notices } of ways) {
        assert.match(notices.join(), new RegExp(`^The option ${name} has no effect\\. \\w`));
      }
    }
    for (const name of ['experimental-replication-parameters', 's3-bucket-name']) {
      assert.ok(Object.hasOwn(OPTIONS, name), name);
    }
  });

  it('of earlier versions of the reference have their new name', () => {
    const { dumpDir, notices } = config(['--dumps-dir', 'd']);
    assert.equal(dumpDir, 'd');
    assert.match(notices.join(), /dumps-dir is now called dump-dir/);
    assert.equal(config(['--dumps-dir', 'old', '--dump-dir', 'new']).dumpDir, 'new');
    // A flag of the old name overrides a variable of the new one.
    assert.equal(config(['--dumps-dir', 'old'], { MEILI_DUMP_DIR: 'new' }).dumpDir, 'old');
    const read = config([], {
      MEILI_EXPERIMENTAL_DUMPLESS_UPGRADE: 'true',
      MEILI_SNAPSHOT_INTERVAL_SEC: '60',
    });
    assert.deepEqual([read.upgradeDb, read.scheduleSnapshotSeconds], [true, 60]);
  });

  it('that are misspelt as variables get a suggestion', () => {
    const cases: [string, string | null][] = [
      ['MEILI_MASTERKEY', 'GANNET_MASTER_KEY'],
      ['GANNET_MASTER_KEI', 'GANNET_MASTER_KEY'],
      ['GANNET_DBPATH', 'GANNET_DB_PATH'],
      ['gannet_db_path', 'GANNET_DB_PATH'],
      ['MEILISEARCH_MASTER_KEY', 'GANNET_MASTER_KEY'],
      ['GANET_MASTER_KEY', 'GANNET_MASTER_KEY'],
      [
        'MEILI_EXPERIMENTAL_REST_EMBEDDER_TIMEOUT_SECOND',
        'GANNET_EXPERIMENTAL_REST_EMBEDDER_TIMEOUT_SECONDS',
      ],
      ['GANNET_SOMETHING_ELSE_ALTOGETHER', ''],
      // Variables of commands, of clients, of Kubernetes, of others.
      ['GANNET_KEY', null],
      ['MEILISEARCH_API_KEY', null],
      ['GANNET_PORT_7700_TCP_ADDR', null],
      ['MEILI_SERVICE_HOST', null],
      ['GANNET_TUNING', null],
      ['PATH_TO_MEILI', null],
    ];
    const commands = [
      { name: 'import', summary: '', options: { key: { kind: 'text', help: '' } } },
    ] as const;
    for (const [name, near] of cases) {
      const env = { [name]: name === 'GANNET_TUNING' ? '{}' : 'secret value' };
      const launch = readConfig(['--master-key', 'a key'], env, commands);
      assert.ok(launch.ok && launch.value.kind === 'run', name);
      const { notices } = launch.value.config;
      const hint = near === '' ? '.' : `: did you mean ${near}?`;
      assert.deepEqual(notices, near === null ? [] : [`Nobody reads the variable ${name}${hint}`]);
    }
  });

  it('do not start a server that would be open because of a misspelt variable', () => {
    for (const name of ['MEILI_MASTERKEY', 'GANNET_MASTER_KEI', 'MEILISEARCH_MASTER_KEY']) {
      for (const value of ['a key of sixteen bytes', '']) {
        const message = refusal([], { [name]: value });
        assert.match(message, new RegExp(`^Nobody reads the variable ${name}: did you mean`));
        assert.match(message, /open to everyone/);
      }
      const file = { GANNET_MASTER_KEY: 'a key of sixteen bytes', [name]: 'another' };
      assert.equal(config([], file).masterKey, 'a key of sixteen bytes');
    }
  });

  it('halve the memory of the indexer when it is to use less', () => {
    const aims = ['--max-indexing-memory', '100 MiB'];
    assert.equal(config(aims).indexingMemoryBytes, 100 * 2 ** 20);
    const less = config([...aims, '--experimental-reduce-indexing-memory-usage']);
    assert.equal(less.indexingMemoryBytes, 50 * 2 ** 20);
  });

  it('give an HTTP thread to every four cores, as far as the memory goes', () => {
    const gib = 2 ** 30;
    const cases = [
      ...[
        [1, 24, 1],
        [2, 24, 1],
        [7, 24, 1],
        [8, 24, 2],
        [64, 256, 16],
        [64, 2, 2],
      ],
      ...[
        [64, 0.5, 1],
        [1024, 1024, 64],
      ],
    ] as const;
    for (const [cores, memory, threads] of cases)
      assert.equal(httpThreadsOf(cores, memory * gib), threads, `${cores} cores, ${memory} GiB`);
  });

  it('give one HTTP thread to a server that records searches, or as many as it asks for', () => {
    const cores = os.availableParallelism;
    os.availableParallelism = () => 64;
    syncBuiltinESMExports();
    try {
      assert.ok(config(['--analytics-retention-days', '0']).httpThreads > 1);
      const recording = ['--analytics-retention-days', '1'];
      assert.equal(config(recording).httpThreads, 1);
      assert.equal(config([...recording, '--http-threads', '3']).httpThreads, 3);
    } finally {
      os.availableParallelism = cores;
      syncBuiltinESMExports();
    }
  });

  it('of slow searches and of the stop have defaults', () => {
    const { slowSearchMs, shutdownSeconds } = config([]);
    assert.deepEqual([slowSearchMs, shutdownSeconds], [null, 10]);
    const given = config(['--slow-search-ms', '0', '--shutdown-seconds', '3']);
    assert.deepEqual([given.slowSearchMs, given.shutdownSeconds], [0, 3]);
  });

  it('in production need a master key of 16 bytes', () => {
    assert.match(refusal(['--env', 'production']), /master key/);
    assert.match(refusal(['--env', 'production', '--master-key', 'short']), /has 5/);
    const good = config(['--env', 'production', '--master-key', 'é'.repeat(8)]);
    assert.equal(masterKeyNotice(good), null);
    assert.match(masterKeyNotice(config([]))!, /--master-key [A-Za-z0-9_-]{43}/);
  });

  it('never include an empty master key, from wherever it is given', () => {
    const ways: [string[], Record<string, string>][] = [
      [['--master-key', ''], {}],
      [[], { GANNET_MASTER_KEY: '' }],
      [[], { MEILI_MASTER_KEY: '' }],
      [[], { MEILI_MASTER_KEY: 'a key of the other', GANNET_MASTER_KEY: '' }],
      [['--config-file-path', file('master_key = ""')], {}],
    ];
    for (const [argv, env] of ways) {
      assert.match(refusal(argv, env), /The master key is empty\. Set one, or remove the option/);
    }
  });

  it('of the command verify are the folder alone, from wherever it is given', () => {
    const path = file('db_path = "from-file"\nlog_level = "warn"\n');
    const dbPath = (values: Record<string, string>): string =>
      dbPathOf(new GivenOptions(DB_PATH_OPTIONS, values), {});
    assert.equal(dbPath({}), './data.gannet');
    assert.equal(dbPath({ 'db-path': 'd' }), 'd');
    assert.equal(dbPath({ 'config-file-path': path }), 'from-file');
    assert.equal(dbPath({ 'config-file-path': path, 'db-path': 'd' }), 'd');
    assert.throws(
      () => dbPath({ 'config-file-path': join(dir, 'missing.toml') }),
      /cannot be read/,
    );
  });

  it('are all named by --help', () => {
    const launch = readConfig(['--help'], {});
    assert.ok(launch.ok && launch.value.kind === 'help');
    assert.match(launch.value.text, /--master-key TEXT[\s\S]*GANNET_MASTER_KEY/);
    const listed = [...launch.value.text.matchAll(/^  --([a-z\d-]+)/gm)].map(([, name]) => name!);
    const shown = Object.entries<Option>(OPTIONS).filter(
      ([, { means, ignored }]) => means === undefined && ignored !== true,
    );
    const names = [...shown.map(([name]) => name), 'help', 'version'];
    assert.deepEqual(listed.toSorted(), names.toSorted());
  });

  it('that people need come first in --help, before the commands', () => {
    const launch = readConfig(['--help'], {}, [{ name: 'import', summary: 'Sends documents.' }]);
    assert.ok(launch.ok && launch.value.kind === 'help');
    const [needed] = launch.value.text.split('Commands:');
    assert.deepEqual(
      [...needed!.matchAll(/^  --([a-z-]+)/gm)].map(([, name]) => name),
      ['db-path', 'http-addr', 'master-key', 'env', 'config-file-path'],
    );
  });
});
