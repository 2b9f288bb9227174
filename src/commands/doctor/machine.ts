/** Checks of the machine: what it is, read here, and what follows from it. */
import { existsSync, readFileSync } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm, stat, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { memoryBytes, OPEN_FILES_MIN, openFilesMax } from '../../base/machine.ts';
import { shortSize } from '../../base/size.ts';
import { advice, fault, fine, type Finding } from './finding.ts';

export interface MachineFacts {
  node: string;
  openFiles: number;
  /** null: unknown. */
  mappedAreas: number | null;
  memoryBytes: number;
  folders: FolderFacts[];
  /** The error of an attempt to listen; null: none. */
  listenError: string | null;
  hasTimeService: boolean;
}

export interface FolderFacts {
  name: string;
  path: string;
  /** Number that the kernel gives the type of the file system. */
  fileSystem: number;
  sizeBytes: number;
  freeBytes: number;
  /** Median milliseconds of a write that is synced; null: the folder cannot be written. */
  syncMs: number | null;
  /** Others than its owner may read it. */
  isOpen: boolean;
}

const FILES_GOOD = 65_536;
/** The default of Linux; each open index maps some files. */
const AREAS_GOOD = 65_530;
const MEMORY_GOOD = 512 * 2 ** 20;
const NODE_MIN = 20;
/** Share of a disk that should be free: merges write before they delete. */
const FREE_SHARE = 0.1;
const SYNC_MS_GOOD = 20;
/** No disk is that fast: something confirms data that is not stored yet. */
const SYNC_MS_MIN = 0.02;
const SYNCS = 20;
const BLOCK_BYTES = 4096;

/** From linux/magic.h: file systems without locks that hold between machines, and in memory. */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
]);
const IN_MEMORY = new Map([
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
]);
const TIME_SERVICES = [
  '/run/systemd/timesync/synchronized',
  '/run/chrony',
  '/run/ntpd.pid',
  '/run/chronyd.pid',
];

/** @param folders by what they are for */
export async function readMachine(
  folders: Readonly<Record<string, string>>,
  address: { host: string; port: number },
): Promise<MachineFacts> {
  return {
    node: process.versions.node,
    openFiles: openFilesMax(),
    mappedAreas: numberIn('/proc/sys/vm/max_map_count'),
    memoryBytes: memoryBytes(),
    folders: await Promise.all(Object.entries(folders).map(folderFacts)),
    listenError: await listenError(address),
    hasTimeService: TIME_SERVICES.some((path) => existsSync(path)),
  };
}

export function judgeMachine(facts: MachineFacts): Finding[] {
  const { node, openFiles, mappedAreas } = facts;
  const memory = shortSize(facts.memoryBytes);
  return [
    Number.parseInt(node, 10) >= NODE_MIN
      ? fine(`Node ${node}`)
      : fault(`Node ${node} is too old`, `Install Node ${NODE_MIN} or later.`),
    openFiles < OPEN_FILES_MIN
      ? fault(`${openFiles} files may be open`, `Raise ulimit -n to ${FILES_GOOD}.`)
      : openFiles < FILES_GOOD
        ? advice(
            `${openFiles} files may be open`,
            `Raise LimitNOFILE or ulimit -n to ${FILES_GOOD}: indexes and connections need files.`,
          )
        : fine(`${openFiles} files may be open`),
    ...(mappedAreas === null
      ? []
      : mappedAreas < AREAS_GOOD
        ? [
            advice(
              `${mappedAreas} areas of memory may be mapped`,
              `Set sysctl vm.max_map_count=${AREAS_GOOD}: the files of indexes are mapped.`,
            ),
          ]
        : [fine(`${mappedAreas} areas of memory may be mapped`)]),
    facts.memoryBytes < MEMORY_GOOD
      ? advice(
          `${memory} of memory`,
          `Give the server ${shortSize(MEMORY_GOOD)}, or set --max-indexing-memory.`,
        )
      : fine(`${memory} of memory`),
    facts.hasTimeService
      ? fine('A service sets the clock')
      : advice('No service sets the clock', 'Install chrony: keys and tokens expire by the clock.'),
    facts.listenError === null
      ? fine('The address is free, or the server listens at it')
      : fault(
          `The address cannot be used: ${facts.listenError}`,
          'Choose another --http-addr, or stop the program that uses it.',
        ),
    ...facts.folders.flatMap(judgeFolder),
  ];
}

function judgeFolder(folder: FolderFacts): Finding[] {
  const { name, path, fileSystem, sizeBytes, freeBytes, syncMs, isOpen } = folder;
  const title = `${name} (${path})`;
  const network = NETWORK_FILE_SYSTEMS.get(fileSystem);
  const memory = IN_MEMORY.get(fileSystem);
  const free = `${title}: ${shortSize(freeBytes)} of ${shortSize(sizeBytes)} are free`;
  const findings: Finding[] = [
    freeBytes < FREE_SHARE * sizeBytes
      ? advice(free, 'Free some space: a full disk fails tasks and refuses writes.')
      : fine(free),
  ];
  if (network !== undefined && name === 'db') {
    const change = 'Use a local disk: several machines could write to the same files.';
    findings.push(fault(`${title} is on ${network}`, change));
  }
  if (memory !== undefined) {
    const change = 'Use a disk: a restart of the machine loses everything.';
    findings.push(fault(`${title} is in memory (${memory})`, change));
  }
  if (syncMs === null) {
    findings.push(fault(`${title} cannot be written`, 'Give it to the user of the server.'));
  } else if (syncMs > SYNC_MS_GOOD) {
    const change = 'Use a faster disk: each accepted write waits for a sync.';
    findings.push(advice(`${title}: a sync takes ${syncMs.toFixed(1)} ms`, change));
  } else if (syncMs < SYNC_MS_MIN && memory === undefined) {
    const change = 'Make sure that the disk does not confirm what it has not stored.';
    findings.push(advice(`${title}: a sync takes ${syncMs.toFixed(3)} ms`, change));
  } else findings.push(fine(`${title}: a sync takes ${syncMs.toFixed(2)} ms`));
  if (isOpen) {
    const change = `chmod -R go= ${path}: it has documents and keys.`;
    findings.push(advice(`Other users may read ${title}`, change));
  }
  return findings;
}

async function folderFacts([name, given]: [string, string]): Promise<FolderFacts> {
  const path = resolve(given);
  // A server makes a folder that does not exist.
  let existing = path;
  while (!existsSync(existing)) existing = dirname(existing);
  const found = await statfs(existing);
  return {
    name,
    path,
    fileSystem: found.type >>> 0,
    sizeBytes: found.bsize * found.blocks,
    freeBytes: found.bsize * found.bavail,
    syncMs: await syncMs(existing).catch(() => null),
    isOpen: existing === path && ((await stat(path)).mode & 0o077) !== 0,
  };
}

/** Writes to a folder of its own, which is removed before anything is written. */
async function syncMs(parent: string): Promise<number> {
  const dir = await mkdtemp(join(parent, '.gannet-doctor-'));
  let file: FileHandle;
  try {
    file = await open(join(dir, 'sync'), 'w');
  } finally {
    await rm(dir, { recursive: true });
  }
  try {
    const times: number[] = [];
    const block = Buffer.alloc(BLOCK_BYTES, 1);
    for (let n = 0; n < SYNCS; n++) {
      const from = performance.now();
      await file.write(block);
      await file.datasync();
      times.push(performance.now() - from);
    }
    return times.sort((a, b) => a - b)[SYNCS / 2]!;
  } finally {
    await file.close();
  }
}

function listenError({ host, port }: { host: string; port: number }): Promise<string | null> {
  return new Promise((done) => {
    const server = createServer();
    server.on('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
    server.listen(port, host, () => server.close(() => done(null)));
  });
}

function numberIn(path: string): number | null {
  try {
    return Number(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
