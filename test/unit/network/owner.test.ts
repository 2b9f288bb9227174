import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { documentIdOf, inferredKey } from '../../../src/network/document-id.ts';
import { type Addition, ownShares } from '../../../src/network/own-share.ts';
import { Owners, shardOf } from '../../../src/network/owner.ts';
import { mulberry } from '../../support/random.ts';

const SEED = 44;

/** As written in the specification, without optimization. */
function naiveOwner(names: readonly string[], id: string): string {
  const weight = (name: string): bigint => {
    const bytes = Buffer.concat([Buffer.from(name), Buffer.from([0]), Buffer.from(id)]);
    return createHash('sha256').update(bytes).digest().readBigUInt64BE(0);
  };
  return [...names].sort((a, b) => {
    const [x, y] = [weight(a), weight(b)];
    return x === y ? Buffer.compare(Buffer.from(a), Buffer.from(b)) : x > y ? -1 : 1;
  })[0]!;
}

describe('The owner of a document', () => {
  const random = mulberry(SEED);
  const name = (): string => `${Math.floor(random() * 1e9).toString(36)}é`;
  const id = (): string => Math.floor(random() * 1e12).toString(36);

  it(`is the name with the greatest weight (seed ${SEED})`, () => {
    for (let round = 0; round < 300; round++) {
      const names = Array.from({ length: 1 + Math.floor(random() * 6) }, name);
      const one = id();
      assert.equal(new Owners(names).ownerOf(one), naiveOwner(names, one));
      assert.equal(new Owners(names.toReversed()).ownerOf(one), naiveOwner(names, one));
    }
  });

  it('changes for the share of a server that comes or goes, and for nothing else', () => {
    const names = Array.from({ length: 4 }, name);
    const added = name();
    const [before, after] = [new Owners(names), new Owners([...names, added])];
    const counts = new Map<string, number>();
    const documents = 20_000;
    for (let n = 0; n < documents; n++) {
      const one = id();
      const [old, next] = [before.ownerOf(one), after.ownerOf(one)];
      if (old !== next) assert.equal(next, added);
      counts.set(next, (counts.get(next) ?? 0) + 1);
    }
    for (const count of counts.values()) {
      assert.ok(Math.abs(count / documents - 1 / 5) < 0.02, `${count} of ${documents}`);
    }
  });

  it('is this server for everything, unless it is a member of a network that shares out', () => {
    const remote = { url: 'http://a', searchApiKey: null, writeApiKey: null };
    const network = { self: 'a', remotes: { a: remote, b: remote }, sharding: true };
    assert.deepEqual(shardOf(network), { self: 'a', names: ['a', 'b'] });
    assert.equal(shardOf({ ...network, sharding: false }), null);
    assert.equal(shardOf({ ...network, self: null }), null);
    assert.equal(shardOf({ ...network, self: 'c' }), null);
  });
});

describe('The id of a document', () => {
  const idOf = (text: string, key: string) => documentIdOf(Buffer.from(text), key);

  it('is a text or an integer, also at a path', () => {
    assert.equal(idOf('{"a":1,"id":"x-1"}', 'id'), 'x-1');
    assert.equal(idOf('{"id":18446744073709551615}', 'id'), '18446744073709551615');
    assert.equal(idOf('{"id":-7}', 'id'), '-7');
    assert.equal(idOf('{"a":{"b":[1],"id":"y"}}', 'a.id'), 'y');
    assert.equal(idOf('{"a.id":"z"}', 'a.id'), 'z');
  });

  it('is none when the engine would refuse it', () => {
    const texts = ['1.0', '1e3', 'null', '"a b"', '""', '[1]', '{}', '18446744073709551616'];
    for (const text of texts) assert.equal(idOf(`{"id":${text}}`, 'id'), null, text);
    assert.equal(idOf('{"a":1}', 'id'), null);
    assert.equal(idOf('{"a.id":1,"a":{"id":2}}', 'a.id'), null);
  });

  it('is guessed like in the engine', () => {
    assert.equal(inferredKey(Buffer.from('{"title":1,"movieID":2}')), 'movieID');
    assert.equal(inferredKey(Buffer.from('{"title":1}')), null);
    assert.equal(inferredKey(Buffer.from('{"id":1,"kid":1}')), null);
  });
});

describe('The shares of the servers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gannet-shares-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const names = ['a', 'b', 'c'];

  async function sharesOf(additions: (n: number) => Addition[], indexKey: string | null) {
    return Promise.all(
      names.map(async (self, n) => {
        const done = await ownShares({ self, names }, additions(n), indexKey);
        assert.equal(done.indexKey, 'id');
        return done.shares;
      }),
    );
  }
  const idsIn = (bytes: Uint8Array): unknown[] =>
    Buffer.from(bytes)
      .toString()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { id: unknown }).id);

  it('are disjoint, and all documents together, from memory and from files alike', async () => {
    const documents = Array.from({ length: 500 }, (_, id) => ({
      id: id % 3 ? id : `t${id}`,
      x: [{}],
    }));
    const text = JSON.stringify(documents, null, 1);
    const file = join(folder, 'payload');
    writeFileSync(file, text);
    const memory = await sharesOf(
      () => [{ source: { bytes: Buffer.from(text) }, primaryKey: null, output: '' }],
      null,
    );
    const output = (n: number): string => join(folder, `share-${n}`);
    await sharesOf((n) => [{ source: { file }, primaryKey: null, output: output(n) }], null);
    const all: unknown[] = [];
    for (const [n, [share]] of memory.entries()) {
      assert.equal(share!.primaryKey, 'id');
      assert.ok(idsIn(share!.bytes!).length > 100);
      assert.deepEqual(Buffer.from(share!.bytes!), readFileSync(output(n)));
      all.push(...idsIn(share!.bytes!));
    }
    assert.deepEqual(new Set(all), new Set(documents.map(({ id }) => id)));
    assert.equal(all.length, documents.length);
  });

  it('all have the documents without usable id', async () => {
    const bytes = Buffer.from('{"id":"a b"}\n{"id":1}{"id":2}');
    const shares = await sharesOf(
      () => [{ source: { bytes }, primaryKey: null, output: '' }],
      'id',
    );
    for (const [share] of shares) assert.ok(idsIn(share!.bytes!).includes('a b'));
  });

  it('of later additions follow the primary key of the first one', async () => {
    const addition = (text: string): Addition => ({
      source: { bytes: Buffer.from(text) },
      primaryKey: null,
      output: '',
    });
    const shares = await sharesOf(
      () => [addition('[{"id":1}]'), addition('[{"kid":5,"id":1}]')],
      null,
    );
    const holders = shares.map(([first, second]) =>
      [first, second].map((s) => s!.bytes!.length > 0),
    );
    for (const [first, second] of holders) assert.equal(first, second);
    for (const [first, second] of shares) {
      assert.equal(first!.primaryKey, 'id');
      assert.equal(second!.primaryKey, null);
    }
  });
});
