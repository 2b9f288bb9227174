import assert from 'node:assert/strict';
import { excerpt, type TextPart } from '../../../src/web/marks.ts';

const plain = (text: string): TextPart => ({ text, marked: false });
const marked = (text: string): TextPart => ({ text, marked: true });

describe('An excerpt of a long text', () => {
  it('is the whole text if it is short', () => {
    const parts = [plain('a '), marked('b'), plain(' c')];
    assert.deepEqual(excerpt(parts, 5), parts);
    assert.deepEqual(excerpt([], 5), []);
  });

  it('begins with the text, or shortly before what matches first', () => {
    assert.deepEqual(excerpt([plain('x'.repeat(30))], 10), [plain('x'.repeat(10))]);
    const late = [plain('x'.repeat(5000)), marked('here'), plain('y'.repeat(5000))];
    assert.deepEqual(excerpt(late, 1000), [
      plain('x'.repeat(100)),
      marked('here'),
      plain('y'.repeat(896)),
    ]);
    const early = [plain('x'.repeat(400)), marked('here'), plain('y'.repeat(5000))];
    assert.equal(excerpt(early, 1000)[0]!.text.length, 400);
  });

  it('contains no half of a character', () => {
    const [part] = excerpt([plain(`a${'😀'.repeat(10)}`)], 4);
    assert.equal(part!.text, 'a😀');
  });
});
