/** Documents on the page: exact texts, CSV, vectors that are not shown, hints. */
import assert from 'node:assert/strict';
import { cellType, editedType, jsonFrom, typedFrom } from '../../../src/web/cell-value.ts';
import { Columns } from '../../../src/web/csv.ts';
import { unknownFields } from '../../../src/web/document-hints.ts';
import { member, members, objectOf, withoutMember } from '../../../src/web/raw-json.ts';
import { joinVectors, partVectors } from '../../../src/web/vectors.ts';
import { mulberry } from '../../support/random.ts';

describe('The parts of a JSON text', () => {
  it('are those that JSON.parse finds, whatever they hold', () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const random = mulberry(seed);
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
    const texts = ['', 'a', '"', '\\', ',', ':', '{', '}', '[', ']', ' ', '\n', 'é', '\\"', '"}'];
    const value = (depth: number): unknown => {
      const kind = depth > 3 ? random() * 0.5 : random();
      if (kind < 0.2) return pick(texts) + pick(texts);
      if (kind < 0.5) return pick([0, -1, 1e21, 0.5, true, false, null]);
      const parts = Array.from({ length: Math.floor(random() * 4) }, () => value(depth + 1));
      if (kind < 0.7) return parts;
      return Object.fromEntries(parts.map((part) => [pick(texts) + pick(texts), part]));
    };
    for (let round = 0; round < 2000; round++) {
      const whole = value(0);
      const json = JSON.stringify(whole, null, pick([0, 1]));
      const expected = typeof whole === 'object' && whole !== null ? Object.entries(whole) : [];
      const found = members(json).map(({ name, text }, position) => [
        name ?? String(position),
        JSON.parse(text) as unknown,
      ]);
      assert.deepEqual(found, expected, `seed ${seed}: ${json}`);
    }
  });

  it('keep digits, and the last of two members with one name', () => {
    assert.equal(member('{"a": 1, "n": 12345678901234567890}', 'n'), '12345678901234567890');
    assert.equal(member('{"a": 1, "a": 2.50}', 'a'), '2.50');
    assert.equal(withoutMember('{"a": {"b": [1, 2]}, "c": "}"}', 'a'), '{"c":"}"}');
    assert.equal(objectOf([]), '{}');
  });
});

describe('Documents as CSV', () => {
  it('have the columns of all documents, with types where all values have one', () => {
    const documents = [
      '{"id": 1, "flag": true, "mixed": 1}',
      '{"id": 20000000000000000001, "mixed": "x", "list": ["a", 2]}',
      '{"text": "two\\nlines", "flag": null}',
    ];
    const columns = new Columns();
    for (const one of documents) columns.see(one);
    assert.equal(columns.header(), 'id:number,flag:boolean,mixed,list,text\n');
    assert.deepEqual(
      documents.map((one) => columns.row(one)),
      ['1,true,1,,\n', '20000000000000000001,,x,"[""a"", 2]",\n', ',,,,"two\nlines"\n'],
    );
  });
});

describe('A value that is edited in a cell', () => {
  it('stays what it is, to the digit, if nothing is typed', () => {
    for (const json of ['"7"', '7.50', '12345678901234567890', '-1e-7', 'true', 'null', '""']) {
      assert.equal(jsonFrom(typedFrom(json), cellType(json)), json);
    }
    const list = '[{"a": 1.50}, "\\n"]';
    assert.deepEqual(members(jsonFrom(typedFrom(list), cellType(list))).length, 2);
    assert.match(jsonFrom(typedFrom(list), cellType(list)), /1\.50/);
  });

  it('takes the type of its column where it is empty', () => {
    assert.equal(editedType(undefined, ['null', '5']), 'number');
    assert.equal(editedType('null', ['null']), 'text');
    assert.equal(editedType('"5"', ['5']), 'text');
  });

  it('says what does not fit its type', () => {
    assert.throws(() => jsonFrom('much', 'number'), /"much" is not a number/);
    assert.throws(() => jsonFrom('[', 'other'), /not valid JSON/);
    assert.equal(jsonFrom('+07.0', 'number'), '7.0');
  });
});

describe('The vectors of a document', () => {
  const given = '{"own":{"embeddings":[[1,2]],"regenerate":false}}';

  it('that somebody gave are joined to what was typed, and computed ones are not', () => {
    const json = `{"id":1,"_vectors":{"words":{"embeddings":[[0.1]],"regenerate":true},${given.slice(1)}}`;
    const { document, own } = partVectors(json);
    assert.equal(document, '{"id":1}');
    assert.equal(joinVectors('{"id": 2}', own), `{"id":2,"_vectors":${given}}`);
    // Typed vectors win.
    assert.equal(joinVectors('{"_vectors": {}}', own), '{"_vectors": {}}');
  });

  it('are never added where there were none', () => {
    for (const json of ['{"id":1}', '{"id":1,"_vectors":{}}']) {
      const { document, own } = partVectors(json);
      assert.equal(joinVectors(document, own), '{"id":1}');
    }
  });
});

describe('Hints for a document', () => {
  it('name fields that no other document has, and what they may mean', () => {
    const fields = { title: 3, year: 2, id: 3 };
    assert.deepEqual(unknownFields({ id: 1, titel: 'x', _vectors: {}, colour: 1 }, fields), [
      { name: 'titel', meant: 'title' },
      { name: 'colour', meant: null },
    ]);
    assert.deepEqual(unknownFields({ first: 1 }, {}), []);
    assert.deepEqual(unknownFields([1], fields), []);
  });
});
