import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.ts';
import { GivenOptions } from '../../../src/base/options.ts';
import { dbPathOf, masterKeyNotice, readConfig, type Config } from '../../../src/config.ts';

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
    for (const [name, least, most] of ranges) {
      config([`--${name}=${least}`]);
      config([`--${name}=${most}`]);
      const message = new RegExp(`${name}: expected a whole number of ${least} to ${most}\\.`);
      assert.match(refusal([`--${name}=${most + 1}`]), message);
      assert.match(refusal([`--${name}=-1`]), message);
    }
    const { rateLimit } = config(['--rate-limit', '5']);
    assert.deepEqual(rateLimit, { requestsPerSecond: 5, concurrentSearches: null });
    assert.equal(config([]).rateLimit, null);
  });

  it('of TLS need a certificate, and are all taken up', () => {
    for (const flag of ['--ssl-resumption', '--ssl-tickets', '--ssl-ocsp-path=x']) {
      assert.match(refusal([flag]), /needs ssl-cert-path and ssl-key-path/);
    }
    const certificate = ['--ssl-cert-path', 'c', '--ssl-key-path', 'k'];
    const { tls } = config([...certificate, '--ssl-tickets', '--ssl-ocsp-path', 'o']);
    const rest = { authority: null, ocsp: 'o', resumption: false, tickets: true };
    assert.deepEqual(tls, { certificate: 'c', key: 'k', ...rest });
  });

  it('of other servers that change nothing here are told', () => {
    assert.deepEqual(config([]).notices, []);
    const { notices } = config(['--experimental-legacy-search-default']);
    assert.match(notices.join(), /--experimental-legacy-search-default: Changes nothing/);
  });

  it('halve the memory of the indexer when it is to use less', () => {
    const aims = ['--max-indexing-memory', '100 MiB'];
    assert.equal(config(aims).indexingMemoryBytes, 100 * 2 ** 20);
    const less = config([...aims, '--experimental-reduce-indexing-memory-usage']);
    assert.equal(less.indexingMemoryBytes, 50 * 2 ** 20);
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

  it('of the command verify are the folder alone, from wherever it is given', () => {
    const path = file('db_path = "from-file"\nlog_level = "warn"\n');
    const dbPath = (values: Record<string, string>): string => dbPathOf(new GivenOptions(values));
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
  });
});
