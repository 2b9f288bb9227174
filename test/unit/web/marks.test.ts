import assert from 'node:assert/strict';
import { newMarks, splitMarks } from '../../../src/web/marks.ts';

const MARKS = { begin: '<', end: '>' };

describe('Marks of highlights', () => {
  it('split a text into parts, in order, none empty', () => {
    const cases: [string, [string, boolean][]][] = [
      ['', []],
      ['a', [['a', false]]],
      ['<a>', [['a', true]]],
      [
        'a <b> c <d>',
        [
          ['a ', false],
          ['b', true],
          [' c ', false],
          ['d', true],
        ],
      ],
      [
        '<a><b>',
        [
          ['a', true],
          ['b', true],
        ],
      ],
      [
        'a <b',
        [
          ['a ', false],
          ['b', true],
        ],
      ],
      ['a> b', [['a b', false]]],
      ['<>a', [['a', false]]],
    ];
    for (const [text, expected] of cases) {
      assert.deepEqual(
        splitMarks(text, MARKS).map(({ text: part, marked }) => [part, marked]),
        expected,
        text,
      );
    }
  });

  it('differ each time, so that no document can hold them', () => {
    const made = new Set(Array.from({ length: 20 }, () => newMarks().begin));
    assert.ok(made.size > 15);
  });
});
