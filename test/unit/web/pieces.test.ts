import assert from 'node:assert/strict';
import { fileType, piecesOf, type FileType } from '../../../src/web/pieces.ts';
import { mulberry } from '../../support/random.ts';

async function pieces(text: string, type: FileType, bytesMax: number): Promise<string[]> {
  return Promise.all(
    (await piecesOf(new Blob([text]), type, bytesMax)).map((piece) => piece.text()),
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
        return csv && below(3) === 0 ? `"${word}\n""\n${word}"\n` : `${word}\n`;
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

  it('are of the type that the name of the file tells', () => {
    assert.equal(fileType('A.NDJSON'), 'application/x-ndjson');
    assert.equal(fileType('a.b.jsonl'), 'application/x-ndjson');
    assert.equal(fileType('a.csv'), 'text/csv');
    assert.equal(fileType('json'), 'application/json');
    assert.equal(fileType('a.txt'), null);
  });
});
