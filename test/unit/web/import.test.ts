/** Files of documents: their records, their columns, and what becomes of them. */
import assert from 'node:assert/strict';
import {
  badRows,
  badRowsFile,
  cellsToMend,
  convert,
  detectColumns,
  detectPrimaryKey,
  mendedText,
  proposedIndex,
  wrongCell,
  type Mapping,
} from '../../../src/web/import/columns.ts';
import { cellsOf, detectDelimiter, numberOf, rowOf } from '../../../src/web/import/csv-cells.ts';
import { fileType, recordsOf, type FileType } from '../../../src/web/import/record-files.ts';
import { mulberry } from '../../support/random.ts';

async function read(text: string, type: FileType): Promise<{ line: number; text: string }[]> {
  const found = [];
  for await (const some of recordsOf(new Blob([text]), type, ',')) found.push(...some);
  return found;
}
const texts = async (text: string, type: FileType): Promise<string[]> =>
  (await read(text, type)).map((one) => one.text.trim());

describe('Records of a file', () => {
  it('are the elements of an array, the values of a stream, lines, or rows', async () => {
    const array = '[{"a": "]},"},\n {"b": [1, {"c": 2}]} ,3]\n';
    assert.deepEqual(await read(array, 'json'), [
      { line: 1, text: '{"a": "]},"}' },
      { line: 2, text: '\n {"b": [1, {"c": 2}]} ' },
      { line: 2, text: '3' },
    ]);
    assert.deepEqual(await texts('{"a":1}\n{"a":\n2} {"a":3}', 'json'), [
      '{"a":1}',
      '{"a":\n2}',
      '{"a":3}',
    ]);
    assert.deepEqual(await texts('[]', 'json'), []);
    assert.deepEqual(await texts('\ufeff[{"a":"\\\\"},{"b":"\\""}]', 'json'), [
      '{"a":"\\\\"}',
      '{"b":"\\""}',
    ]);
    assert.deepEqual(await read('{"a":1}\n\nnonsense\n{"b":2}', 'ndjson'), [
      { line: 1, text: '{"a":1}' },
      { line: 3, text: 'nonsense' },
      { line: 4, text: '{"b":2}' },
    ]);
    assert.deepEqual(await texts('id,t\r1,"a\rb"\r\r2,c', 'csv'), ['id,t', '1,"a\rb"', '2,c']);
  });

  it('are the same however large the file is', async () => {
    const seed = Date.now() % 1_000_000;
    const random = mulberry(seed);
    const below = (bound: number): number => Math.floor(random() * bound);
    // Larger than what is read at once, so that records and characters are cut.
    const documents = Array.from({ length: 3000 }, (_, id) => ({
      id,
      text: 'é"\\]},{[\n'.repeat(below(160)),
    }));
    const forms = [
      JSON.stringify(documents),
      JSON.stringify(documents, null, 2),
      documents.map((one) => JSON.stringify(one)).join('\n'),
    ];
    for (const [form, text] of forms.entries()) {
      const found = (await read(text, form < 2 ? 'json' : 'ndjson')).map((one) =>
        JSON.parse(one.text),
      );
      assert.ok(Buffer.byteLength(text) > 1024 * 1024);
      assert.deepEqual(found, documents, `seed ${seed}`);
    }
    const rows = documents.map(
      ({ id, text }) => `${id},"${text.replaceAll('"', '""')}"${below(2) === 0 ? '\r\n' : '\n'}`,
    );
    const [, ...records] = await read(`id,text\n${rows.join('')}`, 'csv');
    const cells = records.map((one) => cellsOf(one.text, ','));
    assert.deepEqual(
      cells,
      documents.map(({ id, text }) => [String(id), text]),
      `seed ${seed}`,
    );
  });

  it('are not read from a file that ends too early, or has another form', async () => {
    const faults: [string, FileType, RegExp, number | null][] = [
      ['[{"a": 1},', 'json', /never closed/, 1],
      ['[\n{"a": [1}', 'json', /document that is never closed/, 2],
      ['[{"a": "x}]', 'json', /text that is never closed/, 1],
      ['[1]\n[2]', 'json', /follows the array/, 2],
      ['id,t\n1,"x\n2,y\n', 'csv', /never closed/, 2],
      ['a\0b\0', 'csv', /UTF-16/, null],
    ];
    for (const [text, type, message, line] of faults) {
      await assert.rejects(read(text, type), (error: any) => {
        assert.match(error.message, message);
        assert.equal(error.line, line, text);
        return true;
      });
    }
  });

  it('have the type given by the name of the file', () => {
    assert.equal(fileType('A.JSON'), 'json');
    assert.equal(fileType('a.b.jsonl'), 'ndjson');
    assert.equal(fileType('a.tsv'), 'csv');
    assert.equal(fileType('a.txt'), null);
  });
});

describe('Columns of a file', () => {
  const mappingOf = (type: FileType, lines: string[], part: Partial<Mapping> = {}): Mapping => {
    const records = lines.map((text, at) => ({ line: at + 1, text }));
    const columns = detectColumns(type, ',', records);
    return { type, delimiter: ',', columns, primaryKey: detectPrimaryKey(columns), ...part };
  };

  it('have the type of all their values; zeros before a number make a text', () => {
    const csv = ['id,n,zip,ok,t,price:number,m', '1,1.5,0123,true,x,,', '2,-3,4567,false,7,9,'];
    const { columns, primaryKey } = mappingOf('csv', csv);
    assert.deepEqual(
      columns.map(({ name, type }) => `${name} ${type}`),
      ['id number', 'n number', 'zip text', 'ok boolean', 't text', 'price number', 'm text'],
    );
    assert.equal(primaryKey, 'id');
    assert.deepEqual(columns[1]!.samples, ['1.5', '-3']);
    const json = mappingOf('ndjson', ['{"a":1,"b":[1],"c":null}', '{"a":"x","d":{}}', 'broken']);
    assert.deepEqual(
      json.columns.map(({ name, seen }) => `${name}: ${seen}`),
      ['a: number or text', 'b: list', 'c: null', 'd: object'],
    );
    // All its values differ.
    assert.equal(json.primaryKey, 'a');
  });

  it('have the type of most of their values, unless their names or zeros say that they are codes', () => {
    const rows = [
      'sku,price,stock,zip,note',
      's1,89.90,12,01234,7',
      's2,"89,90",ten,45678,x',
      's3,9,3,99999,y',
      's4,ten,4,10000,',
    ];
    const { columns } = mappingOf('csv', rows);
    assert.deepEqual(
      columns.map(({ name, type }) => `${name} ${type}`),
      ['sku text', 'price text', 'stock number', 'zip text', 'note text'],
    );
    const more = mappingOf('csv', [...rows, 's5,10,5,10001,']);
    assert.equal(more.columns[1]!.type, 'number');
    assert.match((convert({ line: 3, text: rows[2]! }, more) as any).reason, /89,90 of price/);
  });

  it('propose the field that identifies a document', () => {
    const key = (...lines: string[]): string => mappingOf('csv', lines).primaryKey;
    assert.equal(key('name,sku', 'a,1', 'b,2'), 'sku');
    assert.equal(key('name,sku', 'a,1', 'b,1'), 'name');
    assert.equal(key('name,sku', 'a b,1', 'a b,1'), '');
    assert.equal(key('name,sku', 'a,', 'b,2'), 'name');
    assert.equal(key('id,sku', '1,1', '1,2'), 'id');
    assert.equal(key('aid,bid,title', 'x y,2,3'), 'bid');
  });

  it('propose an index that has them, or a new one', () => {
    const { columns } = mappingOf('csv', ['sku,name,price', 's1,a,1']);
    const books = { uid: 'books', primaryKey: 'id', fields: ['id', 'title', 'name'] };
    const shop = { uid: 'shop', primaryKey: 'sku', fields: ['sku', 'name', 'price', 'stock'] };
    const empty = { uid: 'empty', primaryKey: null, fields: [] };
    const propose = (targets: (typeof books | typeof empty)[], selected: string | null) =>
      proposedIndex('Summer shoes (2).csv', columns, targets, selected);
    assert.equal(propose([books, shop], 'books'), 'shop');
    assert.equal(propose([books, shop], 'shop'), 'shop');
    assert.equal(propose([books, empty], 'empty'), 'empty');
    assert.equal(propose([books], 'books'), 'Summer-shoes-2');
    // A file with a few of the fields goes to an index that has many only if it is selected.
    const large = { ...shop, fields: [...shop.fields, 'a', 'b', 'c'] };
    assert.equal(propose([books, large], 'large'), 'Summer-shoes-2');
    assert.equal(propose([books, large], 'shop'), 'shop');
    assert.equal(propose([], null), 'Summer-shoes-2');
    assert.equal(proposedIndex('€.csv', columns, [], null), 'documents');
  });

  it('become fields of documents, with other names or not at all, and keep every digit', () => {
    const mapping = mappingOf('csv', ['id,n,t', '1,1,x']);
    const [id, n, t] = mapping.columns as any;
    const columns = [id, { ...n, name: 'number' }, { ...t, kept: false }];
    const row = { line: 2, text: '7,12345678901234567890,"a ""b"""\r\n' };
    assert.deepEqual(convert(row, { ...mapping, columns }), {
      document: '{"id":7,"number":12345678901234567890}',
    });
    assert.deepEqual(convert(row, mapping), {
      document: '{"id":7,"n":12345678901234567890,"t":"a \\"b\\""}',
    });
    const json = mappingOf('json', ['{"id":1,"a":2}']);
    const renamed = json.columns.map((one) => (one.source === 'a' ? { ...one, name: 'b' } : one));
    const text = '{"id": 1,\n "a": 12345678901234567890, "other": [1,\n2.50]}';
    assert.deepEqual(convert({ line: 1, text }, { ...json, columns: renamed }), {
      document: '{"id":1,"b":12345678901234567890,"other":[1, 2.50]}',
    });
  });

  it('say why a row is bad', () => {
    const mapping = mappingOf('csv', ['id,n,ok', '1,1,true']);
    const reasons: [string, RegExp][] = [
      ['1,2', /has 2 values, and the header has 3/],
      ['1,two,true', /two of n is not a number/],
      ['1,1,yes', /yes of ok is not a boolean/],
      [',1,true', /primary key id is missing/],
      ['1.5,1,true', /must be a whole number/],
    ];
    for (const [text, reason] of reasons) {
      assert.match((convert({ line: 2, text }, mapping) as any).reason, reason, text);
    }
    const json = mappingOf('json', ['{"id":1}']);
    for (const [text, reason] of [
      ['{"id":1,}', /not valid JSON/],
      ['[1]', /A document is an object/],
      ['{"id":"a b"}', /must be a whole number, or up to 511/],
      ['{"id":[1]}', /must be a whole number/],
      ['{}', /is missing/],
    ] as const) {
      assert.match((convert({ line: 1, text }, json) as any).reason, reason, text);
    }
    const file = badRowsFile(mapping, [{ line: 2, text: '1,two,true\r\n' }]);
    assert.deepEqual(file, { name: 'bad-rows.csv', text: 'id,n,ok\n1,two,true\n' });
    const rows = badRowsFile(json, [{ line: 2, text: '\n{"a":\n1}' }]);
    assert.deepEqual(rows, { name: 'bad-rows.ndjson', text: '{"a": 1}\n' });
  });

  it('are mended by their cells: missing ones are empty, empty ones too many go', () => {
    const mapping = mappingOf('csv', ['id,n,t', '1,1,x', '2,2,y']);
    const mend = (text: string, ...changes: [number, string][]): string => {
      const cells = cellsToMend(text, mapping);
      for (const [at, cell] of changes) cells[at] = cell;
      return mendedText(cells, mapping);
    };
    assert.equal(mend('3,two,"a, b"\r\n', [1, '2']), '3,2,"a, b"');
    assert.equal(mend('3'), '3,,');
    assert.equal(mend('3,2,a, b', [2, 'a, b'], [3, '']), '3,2,"a, b"');
    assert.equal(mend('3,2,a,b'), '3,2,a,b');
    const first = (text: string): number => wrongCell(cellsOf(text, ','), mapping);
    assert.deepEqual(['1,two,x', ',1,x', '1,2', '1,2,x,y', '1,x'].map(first), [1, 0, 2, 3, 1]);
    const records = ['1,1,x', '2,two,y', '3,three,z'].map((text) => ({ line: 5, text }));
    // Records of one line differ by position, and a row that was mended stays in the list.
    const mended = new Map([
      [1, '2,2,y'],
      [2, '3,four,z'],
    ]);
    assert.deepEqual(badRows(mapping, records, mended), [
      { line: 5, position: 1, text: '2,2,y', reason: null },
      { line: 5, position: 2, text: '3,four,z', reason: 'The value four of n is not a number.' },
    ]);
  });

  it('have the same cells after they are written', () => {
    const seed = Date.now() % 1_000_000;
    const random = mulberry(seed);
    const below = (bound: number): number => Math.floor(random() * bound);
    for (let round = 0; round < 500; round++) {
      const delimiter = [',', ';', '\t', '|'][below(4)]!;
      const cell = (): string =>
        Array.from({ length: below(5) }, () => [...'a" \n\r\t,;|'][below(9)]).join('');
      const cells = Array.from({ length: 1 + below(4) }, cell);
      assert.deepEqual(cellsOf(rowOf(cells, delimiter), delimiter), cells, `seed ${seed}`);
    }
  });

  it('are separated by the separator that the header has most often', () => {
    assert.equal(detectDelimiter('id;title;"a,b,c,d,e"', ','), ';');
    assert.equal(detectDelimiter('id', ','), ',');
    assert.equal(detectDelimiter('id,title', '\t'), ',');
  });

  it('have numbers as people write them', () => {
    for (const [cell, number] of [
      ['007', '7'],
      ['+1.50', '1.50'],
      ['.5', '0.5'],
      ['5.', '5'],
      ['-0', '-0'],
      [' 1e3 ', '1e3'],
      ['1,5', null],
      ['--1', null],
      ['+-1', null],
      ['.', null],
      ['1e999', null],
      ['Infinity', null],
    ] as const) {
      assert.equal(numberOf(cell), number, cell);
      if (number !== null) JSON.parse(number);
    }
  });
});
