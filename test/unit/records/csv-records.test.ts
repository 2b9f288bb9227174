import assert from 'node:assert/strict';
import { loadAddon } from '../../../src/engine/addon.ts';
import {
  CsvSplitter,
  isBlank,
  parseDelimiter,
  refuseOtherDelimiter,
} from '../../../src/records/csv-records.ts';
import { FileFault } from '../../../src/records/file-fault.ts';
import { refuseWide, Utf8Check } from '../../../src/records/utf8-check.ts';
import { mulberry } from '../../support/random.ts';

const seed = Number(process.env['GANNET_SEED'] ?? Math.floor(Math.random() * 2 ** 32));
const ROUNDS = 1500;

interface Rec {
  text: string;
  line: number;
}

/** The records of a text split into random pieces, without blank ones. */
function recordsOf(bytes: Buffer, delimiter: string, pieceMax: () => number): Rec[] {
  const splitter = new CsvSplitter(delimiter);
  const ends: { end: number; line: number }[] = [];
  for (let at = 0; at < bytes.length;) {
    const chunk = bytes.subarray(at, at + pieceMax());
    for (const { end, line } of splitter.push(chunk)) ends.push({ end: at + end, line });
    at += chunk.length;
  }
  splitter.end();
  ends.push({ end: bytes.length, line: splitter.recordLine });
  let begin = 0;
  return ends
    .map(({ end, line }) => {
      const part = bytes.subarray(begin, end);
      begin = end;
      return { part, line };
    })
    .filter(({ part }) => !isBlank(part))
    .map(({ part, line }) => ({ text: part.toString(), line }));
}

function fault(run: () => void): FileFault {
  try {
    run();
  } catch (error) {
    if (error instanceof FileFault) return error;
    throw error;
  }
  return assert.fail('nothing is at fault');
}

describe(`Records of CSV (GANNET_SEED=${seed})`, () => {
  const random = mulberry(seed);
  const below = (bound: number): number => Math.floor(random() * bound);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const text = (alphabet: readonly string[], lengthMax: number): string =>
    Array.from({ length: below(lengthMax) }, () => pick(alphabet)).join('');
  const native = loadAddon();
  native.configure({
    ...{ searchThreads: 1, indexingThreads: 1, indexingMemoryBytes: 64 << 20 },
    tuning: {},
  });

  /** The records as the server reads them, one per line. */
  async function read(csv: string, delimiter: string): Promise<string[]> {
    const { documents, ndjson } = await native.checkPayload(Buffer.from(csv), 'csv', delimiter, '');
    const lines = (ndjson ?? Buffer.alloc(0)).toString().split('\n').slice(0, -1);
    assert.equal(lines.length, documents);
    return lines;
  }

  /**
   * A random value as people and programs write them, including odd ones; all quotes are closed.
   */
  function value(delimiter: string): string {
    const others = [',', ';', '\t', '|'].filter((one) => one !== delimiter);
    const plain = ['a', 'é', ' ', '1', ...others];
    const tail = text([...plain, '"'], 4);
    switch (below(4)) {
      case 0:
        return text(plain, 5);
      case 1:
        return `x${tail}`;
      default:
        return `"${text([...plain, delimiter, '\n', '\r', '\r\n', '""', '😀'], 6)}"${below(5) === 0 ? `y${tail}` : ''}`;
    }
  }

  it('end where the server ends them, however they are split', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const delimiter = pick([',', ';', '\t', '|', ':']);
      const columns = 1 + below(3);
      const newline = pick(['\n', '\r', '\r\n', null]);
      const lineEnd = (): string => newline ?? pick(['\n', '\r', '\r\n']);
      const header = Array.from({ length: columns }, (_, n) => `c${n}`).join(delimiter) + lineEnd();
      let csv = below(5) === 0 ? lineEnd() + header : header;
      for (let n = below(8); n > 0; n--) {
        if (below(6) === 0) csv += lineEnd();
        csv += Array.from({ length: columns }, () => value(delimiter)).join(delimiter) + lineEnd();
      }
      if (below(3) === 0) csv = csv.replace(/[\r\n]+$/, '');
      const [head, ...records] = recordsOf(Buffer.from(csv), delimiter, () => 1 + below(9));
      const whole = await read(csv, delimiter);
      const shown = JSON.stringify(csv);
      assert.equal(records.length, whole.length, shown);
      for (const [n, record] of records.entries()) {
        assert.deepEqual(await read(head!.text + record.text, delimiter), [whole[n]], shown);
      }
      // The reference model for line numbers.
      let at = 0;
      for (const { text: record, line } of [head!, ...records]) {
        at = csv.indexOf(record, at);
        assert.equal(line, csv.slice(0, at).split(/\r\n|\r|\n/).length, shown);
        at += record.length;
      }
    }
  });

  it('end where the server ends them in any text that it accepts', async () => {
    let taken = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const csv = `h\n${text(['"', '"', '\n', '\r', 'a', ' ', 'é'], 14)}`;
      let records: Rec[];
      try {
        records = recordsOf(Buffer.from(csv), ',', () => 1 + below(4));
      } catch (error) {
        assert.ok(error instanceof FileFault);
        // The server reads an unclosed quote up to the end of the text.
        assert.equal((await read(csv, ',')).at(-1), (await read(`${csv}"`, ',')).at(-1));
        continue;
      }
      taken++;
      const parts = records.slice(1).map((record) => read(`h\n${record.text}`, ','));
      assert.deepEqual(
        (await Promise.all(parts)).flat(),
        await read(csv, ','),
        JSON.stringify(csv),
      );
    }
    assert.ok(taken > ROUNDS / 4);
  });

  it('name the line of a quote that is never closed', () => {
    const cases: [string, number][] = [
      ['a,b\n1,"x\n2,y\n', 2],
      ['a,b\r1,2\r\r3,"x\r', 4],
      ['a,b\r\n"1\r\n2",3\r\n4,"', 4],
      ['"', 1],
    ];
    for (const [csv, line] of cases) {
      for (const size of [1, 3, 100]) {
        const { message, line: reported } = fault(() =>
          recordsOf(Buffer.from(csv), ',', () => size),
        );
        assert.match(message, /never closed/);
        assert.equal(reported, line, csv);
      }
    }
    assert.equal(recordsOf(Buffer.from('a"b\n1"\n'), ',', () => 9).length, 2);
  });

  it('know a delimiter, and suggest another one', () => {
    assert.deepEqual(['tab', '\\t', '\t', ';'].map(parseDelimiter), ['\t', '\t', '\t', ';']);
    assert.deepEqual(['', 'ab', '"', '\n', 'é'].map(parseDelimiter), Array(5).fill(null));
    const header = Buffer.from('id;"a,b";c\n');
    assert.match(fault(() => refuseOtherDelimiter(header, ',')).message, /has no `,`, but `;`/);
    refuseOtherDelimiter(header, ';');
    refuseOtherDelimiter(Buffer.from('id\n'), ',');
  });
});

describe('The encoding of a file', () => {
  const check = (bytes: Buffer, size: number): void => {
    const utf8 = new Utf8Check();
    for (let at = 0; at < bytes.length; at += size) utf8.push(bytes.subarray(at, at + size));
    utf8.end();
  };

  it('is UTF-8, otherwise the encoding or the line is reported', () => {
    for (const encoded of [
      Buffer.from('\ufeffid,a\n', 'utf16le'),
      Buffer.from('id,a\n', 'utf16le'),
      Buffer.from('\ufeffid,a\n', 'utf16le').swap16(),
      Buffer.from('id,a\n', 'utf16le').swap16(),
    ]) {
      assert.match(fault(() => refuseWide(encoded)).message, /is UTF-16.*iconv/);
    }
    refuseWide(Buffer.from('\ufeffid,é\n'));
    for (const size of [1, 2, 5, 100]) {
      check(Buffer.from('id,é😀\n1,é'), size);
      for (const [end, line] of [
        ['\n', 3],
        ['\r', 3],
        ['\r\n', 3],
      ] as const) {
        const bytes = Buffer.from(['id,a', '1,b', '2,\xe9t\xe9', '3,c'].join(end), 'latin1');
        const { message, line: reported } = fault(() => check(bytes, size));
        assert.match(message, /Latin-1/);
        assert.equal(reported, line, `${JSON.stringify(end)} ${size}`);
      }
      assert.equal(fault(() => check(Buffer.from('a\né').subarray(0, 3), size)).line, 2);
    }
  });
});
