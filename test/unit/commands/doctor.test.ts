import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Finding } from '../../../src/commands/doctor/finding.ts';
import {
  type FolderFacts,
  judgeMachine,
  type MachineFacts,
  readMachine,
} from '../../../src/commands/doctor/machine.ts';
import { judgeSettings } from '../../../src/commands/doctor/server.ts';
import { defaultSettings } from '../../../src/contract/settings.ts';

const FOLDER: FolderFacts = {
  ...{ name: 'db', path: '/data', fileSystem: 0xef53, sizeBytes: 100e9, freeBytes: 50e9 },
  ...{ syncMs: 1, isOpen: false },
};
const MACHINE: MachineFacts = {
  ...{ node: '22.1.0', openFiles: 1_048_576, mappedAreas: 65_530, memoryBytes: 8 * 2 ** 30 },
  ...{ folders: [FOLDER], listenError: null, hasTimeService: true },
};

const changes = (findings: readonly Finding[]): string[] =>
  findings.filter(({ level }) => level !== 'ok').map(({ level, text }) => `${level} ${text}`);

describe('The doctor', () => {
  it('finds nothing to change on a good machine', () => {
    assert.deepEqual(changes(judgeMachine(MACHINE)), []);
  });

  const folder = (facts: Partial<FolderFacts>): Partial<MachineFacts> => ({
    folders: [{ ...FOLDER, ...facts }],
  });
  const cases: [string, Partial<MachineFacts>, RegExp][] = [
    ['an old Node', { node: '18.2.0' }, /^fault Node 18\.2\.0 is too old$/],
    ['too few open files', { openFiles: 200 }, /^fault 200 files may be open$/],
    ['few open files', { openFiles: 1024 }, /^advice 1024 files may be open$/],
    ['few mapped areas', { mappedAreas: 1000 }, /^advice 1000 areas/],
    ['little memory', { memoryBytes: 256 * 2 ** 20 }, /^advice 256 MiB of memory$/],
    ['a clock that nobody sets', { hasTimeService: false }, /^advice No service sets the clock$/],
    ['a taken port', { listenError: 'EADDRINUSE' }, /^fault The address .*EADDRINUSE$/],
    ['a full disk', folder({ freeBytes: 9e9 }), /^advice db \(\/data\): 8\.38 GiB of/],
    ['NFS', folder({ fileSystem: 0x6969 }), /^fault db \(\/data\) is on NFS$/],
    ['a disk in memory', folder({ fileSystem: 0x01021994 }), /^fault .* in memory \(tmpfs\)$/],
    ['a slow disk', folder({ syncMs: 30 }), /^advice .*a sync takes 30\.0 ms$/],
    ['a disk that does not sync', folder({ syncMs: 0.001 }), /^advice .*a sync takes 0\.001 ms$/],
    ['a folder of somebody else', folder({ syncMs: null }), /^fault .* cannot be written$/],
    ['a folder that all may read', folder({ isOpen: true }), /^advice Other users may read/],
  ];
  for (const [name, facts, expected] of cases) {
    it(`names ${name}, and what to change`, () => {
      const findings = judgeMachine({ ...MACHINE, ...facts });
      const found = changes(findings);
      assert.equal(found.length, 1, found.join());
      assert.match(found[0]!, expected);
      for (const { level, change } of findings) assert.equal(change !== undefined, level !== 'ok');
    });
  }

  it('reads this machine, and leaves nothing behind', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'gannet-doctor-'));
    const taken = createServer();
    try {
      await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
      const { port } = taken.address() as AddressInfo;
      chmodSync(dir, 0o755);
      const facts = await readMachine(
        { db: dir, dumps: join(dir, 'missing', 'dumps') },
        { host: '127.0.0.1', port },
      );
      assert.equal(facts.node, process.versions.node);
      assert.equal(facts.listenError, 'EADDRINUSE');
      const [db, dumps] = facts.folders;
      assert.ok(db!.syncMs! > 0 && db!.freeBytes > 0 && db!.freeBytes <= db!.sizeBytes);
      assert.deepEqual([db!.isOpen, dumps!.isOpen], [true, false]);
      assert.deepEqual(readdirSync(dir), []);
      const free = await readMachine({ db: dir }, { host: '127.0.0.1', port: 0 });
      assert.equal(free.listenError, null);
    } finally {
      taken.close();
      rmSync(dir, { recursive: true });
    }
  });

  it('names settings that cost much', () => {
    const settings = defaultSettings();
    assert.deepEqual(judgeSettings('books', settings, 20), []);
    const costly = {
      ...settings,
      filterableAttributes: ['*'],
      pagination: { ...settings.pagination, maxTotalHits: 1_000_000 },
      faceting: { ...settings.faceting, maxValuesPerFacet: 50_000 },
    };
    assert.deepEqual(
      judgeSettings('books', costly, 500).map(({ text }) => text),
      [
        'books: all 500 fields are searched',
        'books: all 500 fields can be filtered',
        'books: pages reach 1000000 hits',
        'books: a facet has 50000 values',
      ],
    );
  });
});
