import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { type Batch, batchesOf } from '../../../src/commands/batches.ts';
import { Downloads } from '../../../src/commands/downloads.ts';
import { type FileRecord, type Format, openSource } from '../../../src/commands/records.ts';
import { mulberry } from '../../support/random.ts';

const downloads = new Downloads({
  authorities: null,
  retrySeconds: 0,
  signal: new AbortController().signal,
});

const ROUNDS = 300;
const seed = Math.floor(Math.random() * 2 ** 32);

/** Yields the bytes in pieces of random lengths. */
function pieces(bytes: Buffer, random: () => number): Readable {
  const list: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 1 + Math.floor(random() * 9);
    list.push(bytes.subarray(at, end));
    at = end;
  }
  return Readable.from(list, { objectMode: false });
}

async function recordsOf(
  input: Readable,
  format: Format | null = null,
  delimiter = ',',
): Promise<{ format: Format; header: string; records: string[] }> {
  const source = await openSource('-', { input, downloads }, { format, delimiter });
  const records: string[] = [];
  for await (const some of source.records)
    records.push(...some.map(({ bytes }) => bytes.toString()));
  return { format: source.format, header: source.header.toString(), records };
}

function singlesOf(batch: Batch): Batch[] {
  return batch.documents === 1 ? [batch] : batch.halves().flatMap(singlesOf);
}

describe('Documents of files', () => {
  const random = mulberry(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  let dir: string;
  before(() => (dir = mkdtempSync(join(tmpdir(), 'gannet-records-'))));
  after(() => rmSync(dir, { recursive: true }));

  it(`are the records of CSV that were written, however they are split (seed ${seed})`, async () => {
    const texts = ['a', '', '1.5', 'é', 'x y', 'a"b', '"', '""', ',', '\n', '\r\n', ';'];
    for (let round = 0; round < ROUNDS; round++) {
      const delimiter = pick([',', ';', '\t']);
      const newline = pick(['\n', '\r\n', '\r']);
      // The reference model: records are known before they are joined.
      const written = Array.from({ length: Math.floor(random() * 6) }, () => {
        const values = Array.from({ length: 3 }, () => {
          const text = pick(texts) + pick(texts);
          const isPlain =
            !text.includes(delimiter) && !/[\r\n]/.test(text) && text[0] !== '"' && text !== '';
          return isPlain && random() < 0.5 ? text : `"${text.replaceAll('"', '""')}"`;
        });
        return values.join(delimiter) + newline;
      });
      const header = ['id', 'b', 'c'].join(delimiter) + newline;
      const isEnded = random() < 0.5;
      const whole = header + written.join('');
      const bytes = Buffer.from(isEnded ? whole : whole.slice(0, -newline.length));
      const input = pieces(random() < 0.3 ? gzipSync(bytes) : bytes, random);
      const found = await recordsOf(input, 'csv', delimiter);
      const expected = [header, ...written].map((record, at, { length }) =>
        !isEnded && at === length - 1 ? `${record.slice(0, -newline.length)}\n` : record,
      );
      assert.deepEqual([found.header, ...found.records], expected, JSON.stringify(whole));
    }
  });

  it('have the format given by the name or the first byte', async () => {
    const from = async (text: string): Promise<Format> =>
      (await recordsOf(Readable.from([Buffer.from(text)], { objectMode: false }))).format;
    assert.equal(await from(' \n[{"id":1}]'), 'json');
    assert.equal(await from('\ufeff{"id":1}'), 'json');
    assert.equal(await from('id,a\n1,2\n'), 'csv');
    const file = join(dir, 'a.csv.gz');
    writeFileSync(file, gzipSync('{id,a\n1,2\n'));
    const source = await openSource(
      file,
      { input: process.stdin, downloads },
      { format: null, delimiter: ',' },
    );
    assert.equal(source.header.toString(), '{id,a\n');
    for await (const records of source.records) {
      assert.equal(records[0]!.bytes.toString(), '1,2\n');
    }
    assert.ok(source.bytesRead() > 20);
  });

  it('of JSON have the lines in which they begin', async () => {
    const text = '\n[\n {"id":\n1},{"id":2},\n\n {"id":3}]';
    for (const size of [1, 4, 100]) {
      const bytes = Buffer.from(text);
      const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
        bytes.subarray(n * size, (n + 1) * size),
      );
      const input = Readable.from(parts, { objectMode: false });
      const source = await openSource('-', { input, downloads }, { format: null, delimiter: ',' });
      const lines: number[] = [];
      for await (const some of source.records) lines.push(...some.map(({ line }) => line));
      assert.deepEqual(lines, [3, 4, 6]);
    }
  });

  it('come without a byte order mark and without empty lines', async () => {
    const input = Readable.from([Buffer.from('\ufeff\n{"id":1}\n\n\n{"id":2}')], {
      objectMode: false,
    });
    assert.deepEqual((await recordsOf(input)).records, ['{"id":1}\n', '{"id":2}\n']);
  });

  it('are refused when the file is truncated', async () => {
    const whole = gzipSync('{"id":1}\n'.repeat(1000));
    const reads = (bytes: Buffer): Promise<unknown> =>
      recordsOf(Readable.from([bytes], { objectMode: false }));
    await assert.rejects(reads(whole.subarray(0, whole.length - 9)), {
      name: 'FileError',
      message: /standard input cannot be read/,
    });
    await assert.rejects(reads(Buffer.from('id,a\n1,2\n3,"x\n4,y\n')), {
      name: 'FileError',
      message: /^standard input:3: the quote .* never closed\.$/,
    });
    await assert.rejects(reads(Buffer.from('id,a\n1,caf\xe9\n', 'latin1')), {
      name: 'FileError',
      message: /^standard input:2: this is not UTF-8/,
    });
    await assert.rejects(reads(Buffer.from('[{"id":1}]', 'utf16le')), { message: /is UTF-16/ });
    for (const text of ['[{"id":1},', '[{"id":1}', '{"id":', '{"id":"a']) {
      await assert.rejects(reads(Buffer.from(text)), { name: 'FileError' }, text);
    }
  });

  it(`are grouped into the same batches however they are split, none too large (seed ${seed})`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const records = Array.from({ length: Math.floor(random() * 30) }, (_, id) => ({
        bytes: Buffer.from(`${id}${'x'.repeat(Math.floor(random() * 20))}\n`),
        line: id + 2,
      }));
      const header = Buffer.from(pick(['', 'id\n']));
      const bytesMax = 10 + Math.floor(random() * 40);
      const grouped = async (): Promise<string[]> => {
        async function* groups(): AsyncGenerator<FileRecord[], undefined> {
          for (let at = 0; at < records.length;) {
            const end = at + 1 + Math.floor(random() * 5);
            yield records.slice(at, end);
            at = end;
          }
        }
        const batches: string[] = [];
        for await (const batch of batchesOf(groups(), header, bytesMax)) {
          const text = batch.bytes.toString();
          assert.ok(text.startsWith(header.toString()));
          assert.ok(batch.bytes.length <= bytesMax || batch.documents === 1);
          batches.push(text.slice(header.length));
          // Halves contain the same records, down to single records with their lines.
          const singles = singlesOf(batch);
          assert.equal(
            singles.map((one) => one.records.toString()).join(''),
            text.slice(header.length),
          );
          for (const one of singles) {
            assert.ok(one.bytes.toString().startsWith(header.toString()));
            const at = one.lines.first - 2;
            assert.deepEqual(one.records, records[at]!.bytes);
          }
        }
        return batches;
      };
      const first = await grouped();
      assert.deepEqual(await grouped(), first);
      assert.equal(first.join(''), records.map(({ bytes }) => bytes).join(''));
    }
  });
});
