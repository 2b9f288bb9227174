import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newSeed, Random } from '../../http/kill/support/random.ts';
import { writeDurably } from '../../../src/replica/local-files.ts';

const PIECE_BYTES_MAX = 700_000;

async function* piecesOf(bytes: Buffer, random: Random): AsyncGenerator<Buffer, undefined> {
  for (let at = 0; at < bytes.length;) {
    const size = random.int(0, random.chance(0.5) ? 100 : PIECE_BYTES_MAX);
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

describe('A file that is fetched', () => {
  let dir = '';
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-local-files-'));
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  it('holds all pieces in order, whatever their sizes', async () => {
    const seed = newSeed();
    const random = new Random(seed);
    for (const size of [0, 1, 1_048_575, 1_048_576, 1_048_577, random.int(0, 6_000_000)]) {
      const bytes = Buffer.from(Array.from({ length: size }, (_, n) => (n * 31 + (n >> 8)) & 255));
      const path = join(dir, 'folder', `of-${size}`);
      await writeDurably(path, piecesOf(bytes, random));
      assert.ok(readFileSync(path).equals(bytes), `seed ${seed}, ${size} bytes`);
    }
  });

  it('does not appear under its name when its content breaks off', async () => {
    const path = join(dir, 'broken');
    const broken = async function* (): AsyncGenerator<Buffer, undefined> {
      yield Buffer.alloc(3_000_000);
      throw new Error('The connection is lost');
    };
    await assert.rejects(writeDurably(path, broken()), /The connection is lost/);
    assert.equal(existsSync(path), false);
  });

  it('asks for no more content when it cannot be written', async () => {
    const path = join(dir, 'a-folder');
    await writeDurably(join(`${path}.part`, 'file'), piecesOf(Buffer.from('x'), new Random(1)));
    let isEnded = false;
    const content = async function* (): AsyncGenerator<Buffer, undefined> {
      try {
        for (;;) yield Buffer.alloc(100_000);
      } finally {
        isEnded = true;
      }
    };
    await assert.rejects(writeDurably(path, content()), /EISDIR/);
    assert.equal(isEnded, false, 'nothing was asked for');
  });
});
