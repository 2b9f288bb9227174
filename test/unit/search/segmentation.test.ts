import assert from 'node:assert/strict';
import { segmentation } from '../../../src/search/segmentation.ts';

/** The words between the offsets, up to the next offset or the end of the run. */
function words(q: string): string[] {
  const bytes = Buffer.from(q);
  const offsets = segmentation(q) ?? [];
  return offsets.map((from, n) => bytes.subarray(from, offsets[n + 1] ?? bytes.length).toString());
}

describe('segmentation of a query', () => {
  it('is not made for scripts with spaces', () => {
    for (const q of [
      '',
      'hello world',
      'Ünïcödé naïve',
      'Привет мир',
      'שלום',
      'नमस्ते दुनिया',
      '😀 👍',
    ]) {
      assert.equal(segmentation(q), undefined, q);
    }
  });

  const ROWS: [string, string[]][] = [
    ['東京', ['東京']],
    ['สวัสดีชาวโลก', ['สวัสดี', 'ชาว', 'โลก']],
    ['中华人民共和国', segmented('中华人民共和国')],
    ['こんにちは世界', ['こんにちは', '世界']],
    ['안녕하세요', ['안녕하세요']],
    ['𠀋𠀋', segmented('𠀋𠀋')],
  ];
  for (const [q, expected] of ROWS) {
    it(`cuts ${q}`, () => assert.deepEqual(words(q), expected));
  }

  it('gives byte offsets, also behind text of other scripts', () => {
    // "né " is four bytes, a Chinese character three.
    const q = 'né 世界 x 世界';
    const bytes = Buffer.from(q);
    for (const offset of segmentation(q)!) {
      assert.equal(bytes.subarray(offset, offset + 3).toString(), '世');
    }
    assert.equal(segmentation(q)!.length, 2);
    assert.equal(segmentation(q)![0], 4);
  });

  it('offsets are ascending and fall on characters, on random text', () => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    let state = seed;
    const alphabet = [...'ab é世界中国のカーนาทีကမ្ពុជា한국어𠀋-"'];
    for (let round = 0; round < 300; round++) {
      let q = '';
      for (let n = 0; n < 20; n++) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        q += alphabet[state % alphabet.length];
      }
      const bytes = Buffer.from(q);
      let last = -1;
      for (const offset of segmentation(q) ?? []) {
        assert.ok(offset > last && offset < bytes.length, `seed ${seed}: ${q}`);
        assert.notEqual(bytes[offset]! & 0xc0, 0x80, `seed ${seed}: ${q}`);
        last = offset;
      }
    }
  });
});

function segmented(text: string): string[] {
  const segmenter = new Intl.Segmenter('und', { granularity: 'word' });
  return [...segmenter.segment(text)].map(({ segment }) => segment);
}
