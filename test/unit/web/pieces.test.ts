import assert from 'node:assert/strict';
import { fileType, piecesOf, type FileType } from '../../../src/web/pieces.ts';
import { mulberry } from '../../support/random.ts';

async function pieces(text: string, type: FileType, bytesMax: number): Promise<string[]> {
  return Promise.all(
    (await piecesOf(new Blob([text]), type, bytesMax, ',')).map(({ blob }) => blob.text()),
  );
}

describe('Pieces of a file', () => {
  it('end where a line ends, and begin with the first line of CSV', async () => {
    assert.deepEqual(await pieces('aa\nbb\ncc', 'application/x-ndjson', 6), ['aa\nbb\n', 'cc']);
    assert.deepEqual(await pieces('aaaaaaaaa\nb\n', 'application/x-ndjson', 3), [
      'aaaaaaaaa\n',
      'b\n',
    ]);
    assert.deepEqual(await pieces('h\n1\n2\n3\n', 'text/csv', 4), ['h\n1\n2\n', 'h\n3\n']);
    assert.deepEqual(await pieces('h\n"1\n\n""\n"\n2\n', 'text/csv', 4), [
      'h\n"1\n\n""\n"\n',
      'h\n2\n',
    ]);
    assert.deepEqual(await pieces('[1,\n2]', 'application/json', 2), ['[1,\n2]']);
  });

  it('hold every line once, and no more bytes than they may unless it is one line', async () => {
    const seed = Date.now() % 1_000_000;
    const uniform = mulberry(seed);
    const below = (bound: number): number => Math.floor(uniform() * bound);
    for (let round = 0; round < 300; round++) {
      const csv = below(2) === 1;
      const lines = Array.from({ length: 1 + below(20) }, () => {
        const word = 'é'.repeat(below(12));
        const end = csv && below(3) === 0 ? '\r' : '\n';
        // A file of blank lines contains no documents.
        if (!csv) return `w${word}${end}`;
        return below(3) === 0 ? `"${word}\n""\n${word}"${end}` : `a"${word}${end}`;
      });
      const bytesMax = 1 + below(60);
      const head = csv ? 'head\n' : '';
      const cut = await pieces(
        head + lines.join(''),
        csv ? 'text/csv' : 'application/x-ndjson',
        bytesMax,
      );
      assert.ok(cut.every((piece) => piece.startsWith(head)));
      const bodies = cut.map((piece) => piece.slice(head.length));
      assert.equal(bodies.join(''), lines.join(''));
      for (const body of bodies) {
        const single = lines.includes(body);
        assert.ok(
          single || Buffer.byteLength(body) <= bytesMax || cut.length === 1,
          `seed ${seed}`,
        );
      }
    }
  });

  it('are cut only at ends of records, and know the lines in which they begin', async () => {
    const csv = 'id,t\r1,in 5" and more\r2,"a\rb"\r\r3,c"\r4,"d, ""\r"';
    const cut = await piecesOf(new Blob([csv]), 'text/csv', 8, ',');
    assert.deepEqual(await Promise.all(cut.map(({ blob }) => blob.text())), [
      'id,t\r1,in 5" and more\r',
      'id,t\r2,"a\rb"\r',
      'id,t\r\r3,c"\r',
      'id,t\r4,"d, ""\r"',
    ]);
    assert.deepEqual(
      cut.map(({ line }) => line),
      [2, 3, 5, 7],
    );
  });

  it('are not made of a file whose content does not match its type', async () => {
    const cases: [string | Buffer, RegExp, number | null][] = [
      ['id,t\n1,"x\n2,y\n', /never closed/, 2],
      ['id;t\n1;x\n', /has no `,`, but `;`/, 1],
      [Buffer.from('id,t\n1,x\n', 'utf16le'), /UTF-16/, null],
      [Buffer.from('id,t\n1,\xe9\n', 'latin1'), /Latin-1/, 2],
      ['id,t\n', /holds no documents/, null],
      ['id,t', /holds no documents/, null],
      ['\n\r\n', /holds no documents/, null],
      ['id,t\n\r\n\n', /holds no documents/, null],
    ];
    for (const [text, message, line] of cases) {
      for (const bytesMax of [3, 1000]) {
        const cutting = piecesOf(new Blob([text]), 'text/csv', bytesMax, ',');
        await assert.rejects(cutting, { name: 'FileFault', message, line }, String(text));
      }
    }
    assert.equal((await piecesOf(new Blob(['\ufeffid,t\n1,x']), 'text/csv', 3, ',')).length, 1);
    assert.equal((await piecesOf(new Blob(['']), 'text/csv', 3, ',')).length, 1);
  });

  it('have the type given by the name of the file', () => {
    assert.equal(fileType('A.NDJSON'), 'application/x-ndjson');
    assert.equal(fileType('a.b.jsonl'), 'application/x-ndjson');
    assert.equal(fileType('a.csv'), 'text/csv');
    assert.equal(fileType('a.TSV'), 'text/csv');
    assert.equal(fileType('json'), 'application/json');
    assert.equal(fileType('a.txt'), null);
  });
});
