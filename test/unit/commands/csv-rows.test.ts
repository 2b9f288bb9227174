import assert from 'node:assert/strict';
import { CommandFailure } from '../../../src/commands/command.ts';
import { CsvRows } from '../../../src/commands/csv-rows.ts';
import { mulberry } from '../../support/random.ts';

/** A reader of CSV that is slow and simple: null is a value that is missing. */
function parsed(text: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  let row: (string | null)[] = [];
  let at = 0;
  while (at < text.length) {
    let value: string | null = null;
    if (text[at] === '"') {
      value = '';
      for (at++; text[at] !== '"' || text[at + 1] === '"'; at++) {
        if (text[at] === '"') at++;
        value += text[at];
      }
      at++;
    } else {
      const begin = at;
      while (!',\r\n'.includes(text[at]!)) at++;
      if (at > begin) value = text.slice(begin, at);
    }
    row.push(value);
    if (text[at] === ',') {
      at++;
      if (text[at] !== '\r') continue;
      row.push(null);
    }
    assert.equal(text.slice(at, at + 2), '\r\n');
    at += 2;
    rows.push(row);
    row = [];
  }
  return rows;
}

const lines = (documents: readonly string[]): { lines: Buffer } => ({
  lines: Buffer.from(documents.map((document) => `${document}\n`).join('')),
});

describe('Rows of CSV', () => {
  it('keep numbers as they are written, and have objects and lists as JSON', () => {
    const rows = new CsvRows(['id', 'a', 'b c']);
    assert.equal(rows.header().toString(), 'id,a,b c\r\n');
    const written = rows.rows(
      lines([
        '{"id":12345678901234567890,"a":1.0,"b c":{"x":[1,"y"]}}',
        '{"id":"é","b c":null,"a":true}',
        '{"a":"","id":"x,y"}',
      ]),
    );
    assert.equal(
      written.toString(),
      '12345678901234567890,1.0,"{""x"":[1,""y""]}"\r\né,true,\r\n"x,y","",\r\n',
    );
  });

  it('are refused for a field that appeared during the export', () => {
    assert.throws(
      () => new CsvRows(['id']).rows(lines(['{"id":1,"late":2}'])),
      (error: Error) => error instanceof CommandFailure && error.message.includes('`late`'),
    );
  });

  const seed = Math.floor(Math.random() * 2 ** 32);
  it(`have every text as it was, whatever is in it (seed ${seed})`, () => {
    const random = mulberry(seed);
    const pick = (count: number): number => Math.floor(random() * count);
    const text = (): string =>
      Array.from(
        { length: pick(5) },
        () => ['a', '"', ',', '\r', '\n', ' ', 'ß', '😀', '='][pick(9)],
      ).join('');
    for (let round = 0; round < 300; round++) {
      const names = [...new Set(Array.from({ length: 1 + pick(4) }, text))];
      const documents = Array.from({ length: pick(5) }, () =>
        Object.fromEntries(names.flatMap((name) => (pick(4) === 0 ? [] : [[name, text()]]))),
      );
      const rows = new CsvRows(names);
      const written =
        rows.header().toString() +
        rows.rows(lines(documents.map((one) => JSON.stringify(one)))).toString();
      const [header, ...read] = parsed(written);
      assert.deepEqual(header, names);
      const isSingle = names.length === 1;
      assert.deepEqual(
        read,
        // A row of one missing value is written as an empty text, because an empty line is no row.
        documents.map((one) => names.map((name) => one[name] ?? (isSingle ? '' : null))),
      );
    }
  });
});
