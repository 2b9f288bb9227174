import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { ArchiveError } from '../../../src/archive/archive-error.ts';
import { ArchiveWriter } from '../../../src/archive/archive-writer.ts';
import { linesOf, objectLines } from '../../../src/archive/json-values.ts';
import { readArchive } from '../../../src/archive/read-archive.ts';
import { mulberry } from '../../support/random.ts';

async function contents(file: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const { path, body } of readArchive(file)) {
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk);
    found.set(path, Buffer.concat(chunks).toString());
  }
  return found;
}

async function* cut(bytes: Buffer, random: () => number): AsyncGenerator<Buffer, undefined> {
  for (let at = 0; at < bytes.length;) {
    const end = at + 1 + Math.floor(random() * 20);
    yield bytes.subarray(at, end);
    at = end;
  }
}

async function joined(source: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function isSame(changed: Buffer, bytes: Buffer): boolean {
  try {
    return gunzipSync(changed).equals(gunzipSync(bytes));
  } catch {
    return false;
  }
}

describe('archives', () => {
  let dir: string;
  let file: string;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-archive-'));
    file = join(dir, 'sub', 'a.tar.gz');
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  async function write(): Promise<void> {
    const archive = await ArchiveWriter.create(file, { level: 1 });
    await archive.add('metadata.json', '{}');
    await archive.add('empty', '');
    const long = `${'folder/'.repeat(40)}file`;
    await archive.add(long, 'x'.repeat(200_000));
    writeFileSync(join(dir, 'source'), 'from a file');
    await archive.addFile('copied', join(dir, 'source'));
    await archive.finish();
  }

  it('are read as they were written, long names included', async () => {
    await write();
    const found = await contents(file);
    assert.deepEqual(
      [...found].map(([path, text]) => [path.length, text.length]),
      [
        [13, 2],
        [5, 0],
        [284, 200_000],
        [6, 11],
      ],
    );
    assert.equal(found.get('copied'), 'from a file');
    assert.deepEqual(readdirSync(join(dir, 'sub')), ['a.tar.gz']);
  });

  it('get their name only once they are complete', async () => {
    const archive = await ArchiveWriter.create(file, { level: 1 });
    await archive.add('a', 'b');
    assert.equal(existsSync(file), false);
    await archive.abort();
    assert.deepEqual(readdirSync(join(dir, 'sub')), []);
  });

  it('refuse an entry whose size differs from the declared one', async () => {
    const archive = await ArchiveWriter.create(file, { level: 1 });
    await assert.rejects(archive.addStream('a', 3, [Buffer.from('ab')]), /a has 2 bytes where 3/);
    await archive.abort();
    assert.equal(existsSync(file), false);
  });

  it('are skipped if they are not read', async () => {
    await write();
    const paths: string[] = [];
    for await (const { path } of readArchive(file)) paths.push(path.slice(0, 8));
    assert.deepEqual(paths, ['metadata', 'empty', 'folder/f', 'copied']);
  });

  it('are refused when truncated or damaged at any position, which is reported', async () => {
    await write();
    const bytes = readFileSync(file);
    const broken = join(dir, 'broken');
    for (let length = 0; length < bytes.length; length += 7) {
      writeFileSync(broken, bytes.subarray(0, length));
      await assert.rejects(contents(broken), ArchiveError, `cut off at ${length}`);
    }
    for (let at = 10; at < bytes.length - 8; at += 11) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 0x55;
      writeFileSync(broken, changed);
      // In a run of one letter, a shifted copy is identical.
      if (isSame(changed, bytes)) continue;
      await assert.rejects(contents(broken), ArchiveError, `changed at ${at}`);
    }
    writeFileSync(broken, bytes.subarray(0, bytes.length - 20));
    await assert.rejects(contents(broken), /broken is damaged or cut off .*copied/);
  });

  it('are refused when the tar inside is cut off and packed again', async () => {
    await write();
    const tar = gunzipSync(readFileSync(file));
    const broken = join(dir, 'broken');
    for (const length of [0, 100, 512, 1024, 100_000, tar.length - 1024, tar.length - 512]) {
      writeFileSync(broken, gzipSync(tar.subarray(0, length)));
      await assert.rejects(contents(broken), ArchiveError, `cut off at ${length}`);
    }
  });

  it('are refused when a path leads out of them or comes twice, or an entry is a link', async () => {
    for (const header of [
      { name: '../outside' },
      { name: '/etc/passwd' },
      { name: './once' },
      { name: 'a', type: 'symlink' as const, linkname: '/etc' },
    ]) {
      const tar = pack();
      tar.entry({ name: 'once' }, 'x');
      tar.entry(header, 'type' in header ? undefined! : 'x');
      tar.finalize();
      const chunks: Buffer[] = [];
      for await (const chunk of tar as AsyncIterable<Buffer>) chunks.push(chunk);
      writeFileSync(join(dir, 'foreign'), gzipSync(Buffer.concat(chunks)));
      await assert.rejects(contents(join(dir, 'foreign')), ArchiveError, header.name);
    }
    writeFileSync(join(dir, 'foreign'), 'this is no archive');
    await assert.rejects(
      contents(join(dir, 'foreign')),
      /foreign is damaged or cut off at its beg/,
    );
  });
});

describe('JSON values as lines', () => {
  const seed = Math.floor(Math.random() * 2 ** 32);

  it(`are the same from an array, one after the other, and however cut (seed ${seed})`, async () => {
    const random = mulberry(seed);
    const texts = ['a', '"', '\\', '{', '}]', ',', '\n', 'é€😀', ' '];
    const value = (depth: number): unknown => {
      const kind = Math.floor(random() * (depth > 3 ? 3 : 5));
      if (kind === 0) return Math.round(random() * 1e6) / 7;
      if (kind === 1) return texts[Math.floor(random() * texts.length)]!.repeat(3);
      if (kind === 2) return null;
      if (kind === 3) return Array.from({ length: 3 }, () => value(depth + 1));
      return { [`k"${depth}`]: value(depth + 1), b: value(depth + 1) };
    };
    for (let round = 0; round < 200; round++) {
      const objects = Array.from({ length: Math.floor(random() * 5) }, (_, id) => ({
        id,
        value: value(0),
      }));
      const expected = objects.map((object) => `${JSON.stringify(object)}\n`).join('');
      const forms = [
        JSON.stringify(objects),
        JSON.stringify(objects, null, 2),
        objects.map((object) => JSON.stringify(object)).join(''),
        objects.map((object) => JSON.stringify(object, null, 1)).join('\r\n\n'),
      ];
      for (const form of forms) {
        assert.equal(await joined(objectLines(cut(Buffer.from(form), random))), expected);
      }
      const lines: string[] = [];
      for await (const line of linesOf(cut(Buffer.from(`${expected}\n`), random), 10_000)) {
        lines.push(line.toString());
      }
      assert.deepEqual(
        lines,
        objects.map((object) => JSON.stringify(object)),
      );
    }
  });

  it('that end too early are refused', async () => {
    for (const text of ['[', '[{}', '[{},', '{', '{"a":[1}', '{"a":"']) {
      await assert.rejects(joined(objectLines(cut(Buffer.from(text), mulberry(1)))), /too early/);
    }
  });

  it('are not read into memory without limit', async () => {
    const endless = async function* (): AsyncGenerator<Buffer, undefined> {
      for (;;) yield Buffer.alloc(1000, 'x');
    };
    await assert.rejects(joined(linesOf(endless(), 10_000)), /more than 10000 bytes/);
  });
});
