import assert from 'node:assert/strict';
import { MalformedJson } from '../../../src/base/json-scanner.ts';
import { ApiError } from '../../../src/contract/errors.ts';
import type { TaskSummary } from '../../../src/contract/responses.ts';
import { ListingOrder, readListing, withoutPaths } from '../../../src/network/listing.ts';
import { KnownWrites, originOf } from '../../../src/network/origin.ts';
import { mulberry } from '../../support/random.ts';

const SEED = 77;

/** With values made of the text. */
function naiveWithoutPaths(document: unknown, paths: ReadonlySet<string>, prefix = ''): unknown {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return document;
  const kept = Object.entries(document).flatMap(([name, value]) => {
    const path = prefix + name;
    return paths.has(path) ? [] : [[name, naiveWithoutPaths(value, paths, `${path}.`)] as const];
  });
  return Object.fromEntries(kept);
}

describe('A document without some paths', () => {
  it(`is what its values without them are (seed ${SEED})`, () => {
    const random = mulberry(SEED);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
    const make = (depth: number): Record<string, unknown> =>
      Object.fromEntries(
        ['a', 'b', 'c', 'd']
          .filter(() => random() < 0.6)
          .map((name) => [
            name,
            depth < 2 && random() < 0.5 ? make(depth + 1) : pick([1, 'x,}', [{}]]),
          ]),
      );
    const paths = ['a', 'b', 'c', 'd', 'a.a', 'a.b', 'b.c', 'd.d.a', 'c.a.b'];
    for (let round = 0; round < 2000; round++) {
      const document = make(0);
      const cut = new Set(paths.filter(() => random() < 0.3));
      const text = JSON.stringify(document, null, pick([0, 1]));
      const left = withoutPaths(Buffer.from(text), cut).toString();
      assert.deepEqual(JSON.parse(left), naiveWithoutPaths(document, cut), `${text} ${[...cut]}`);
    }
  });
});

describe('The order of a listing', () => {
  const keyOf = (sort: string, document: unknown) =>
    new ListingOrder([sort]).keyOf(Buffer.from(JSON.stringify(document)))[0];

  it('goes by the first value in its direction, numbers before texts', () => {
    assert.equal(keyOf('a:asc', { a: [5, 1] }), 1);
    assert.equal(keyOf('a:desc', { a: [5, 1] }), 5);
    assert.equal(keyOf('a:desc', { a: ['z', 2] }), 2);
    assert.equal(keyOf('a:asc', { a: [' Été', 'zoo'] }), 'e\u0301te\u0301');
    assert.equal(keyOf('a:asc', { a: null }), null);
    assert.equal(keyOf('a:asc', { a: '' }), null);
    assert.equal(keyOf('a.b:asc', { a: [{ b: 3 }, { b: 2 }] }), 2);
    assert.equal(keyOf('a.b:asc', { 'a.b': 7 }), 7);
    assert.equal(keyOf('_geoPoint(0, 0):asc', { _geo: { lat: 0, lng: 0 } }), 0);
    assert.equal(keyOf('_geoPoint(0, 0):asc', { a: 1 }), null);
  });

  it('asks for the fields that it needs', () => {
    assert.deepEqual(new ListingOrder(['a.b:asc', '_geoPoint(1,2):desc']).fields, ['a.b', '_geo']);
  });

  it('needs a response that is a listing', async () => {
    for (const bad of [
      '{}',
      '{"results":[1],"total":1}',
      '{"results":[]}',
      '[]',
      '{"total":',
      '{"results":[],"total":0.5}',
    ]) {
      await assert.rejects(readListing(Buffer.from(bad)), MalformedJson, bad);
    }
    const { documents, total } = await readListing(Buffer.from('{"results":[{"a":1}],"total":9}'));
    assert.deepEqual([documents.map(String), total], [['{"a":1}'], 9]);
  });
});

describe('A write of another server', () => {
  it('is recognized by both headers', () => {
    const both = originOf({ originRemote: 'a%20b', originTaskUid: '7' });
    assert.deepEqual(both, { origin: { remoteName: 'a b', taskUid: 7 } });
    assert.equal(originOf({ originRemote: undefined, originTaskUid: undefined }), null);
    const codes = [
      ['a', undefined, 'inconsistent_document_change_headers'],
      [undefined, '1', 'inconsistent_document_change_headers'],
      ['%', '1', 'invalid_header_value'],
      ['a', '-1', 'invalid_header_value'],
      ['a', '4294967296', 'invalid_header_value'],
    ] as const;
    for (const [originRemote, originTaskUid, code] of codes) {
      assert.throws(
        () => originOf({ originRemote, originTaskUid }),
        (error: ApiError) => error.code === code,
      );
    }
  });

  it('is known by its id, unless it was refused, and not for ever', async () => {
    const writes = new KnownWrites();
    const taken = Promise.resolve({} as TaskSummary);
    writes.add('a', taken);
    assert.equal(writes.get('a'), taken);
    writes.add('b', Promise.reject(new Error('refused')));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(writes.get('b'), undefined);
    for (let n = 0; n < 10_000; n++) writes.add(String(n), taken);
    assert.equal(writes.get('a'), undefined);
    assert.equal(writes.get('9999'), taken);
  });
});
