import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { payloadsOf } from '../../../src/export/payloads.ts';
import { optionsOf, payloadBytesOf } from '../../../src/export/run-export.ts';
import { mulberry } from '../../support/random.ts';

/** The reference model of `payloadsOf`, line by line. */
function simplePayloads(lines: readonly string[], bytesMax: number): string[] {
  const payloads: string[] = [];
  let current = '';
  for (const line of lines) {
    if (current !== '' && Buffer.byteLength(current + line) > bytesMax) {
      payloads.push(current);
      current = '';
    }
    current += line;
  }
  return current === '' ? payloads : [...payloads, current];
}

describe('payloads of an export', () => {
  it('have the requested size, within the limit', () => {
    assert.equal(payloadBytesOf(null), 50 * 2 ** 20);
    assert.equal(payloadBytesOf(4096), 4096);
    assert.equal(payloadBytesOf(2 ** 40), 256 * 2 ** 20);
  });

  const seed = Math.floor(Math.random() * 2 ** 32);

  it(`contain as many documents as fit, and each one once (seed ${seed})`, async () => {
    const random = mulberry(seed);
    for (let round = 0; round < 300; round++) {
      const lines = Array.from(
        { length: Math.floor(random() * 40) },
        (_, n) => `${n}${'é'.repeat(Math.floor(random() * 30))}\n`,
      );
      const bytesMax = Math.floor(random() * 200);
      const source = async function* (): AsyncGenerator<Buffer, undefined> {
        for (let at = 0; at < lines.length;) {
          const count = 1 + Math.floor(random() * 5);
          yield Buffer.from(lines.slice(at, at + count).join(''));
          at += count;
        }
      };
      const payloads: string[] = [];
      for await (const { bytes, documents } of payloadsOf(source(), bytesMax)) {
        const text = gunzipSync(bytes).toString();
        assert.equal(documents, text.split('\n').length - 1);
        payloads.push(text);
      }
      assert.deepEqual(payloads, simplePayloads(lines, bytesMax));
    }
  });
});

describe('patterns of an export', () => {
  it('are chosen by how specific they are', () => {
    const options = (name: string): any => ({ filter: name, overrideSettings: false });
    const patterns = Object.fromEntries(
      ['*', 'mov*', 'movies', 'movie*'].map((pattern) => [pattern, options(pattern)]),
    );
    for (const [uid, pattern] of [
      ['movies', 'movies'],
      ['movies2', 'movie*'],
      ['move', 'mov*'],
      ['books', '*'],
    ]) {
      assert.deepEqual(optionsOf(uid!, patterns), options(pattern!));
    }
    assert.equal(optionsOf('books', { 'mov*': options('x') }), null);
    assert.equal(optionsOf('constructor', {}), null);
  });
});
