/** The requests of hydration, and its limits. */
import assert from 'node:assert/strict';
import { elementsAt } from '../../../src/base/json-spans.ts';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.ts';
import { hydrated, type UnhydratedBody, type Hydrator } from '../../../src/search/hydration.ts';

class Documents implements Hydrator {
  readonly asked: [string, string[]][] = [];
  limits = { ...DEFAULT_LIMITS, responseBytes: 1_000_000 };
  document = '{"id":1.50,"big":12345678901234567890}';
  keysOf = () => [
    { foreignIndexUid: 'a', fieldName: 'x' },
    { foreignIndexUid: 'b', fieldName: 'y.z' },
  ];
  documents = (uid: string, ids: string[]): Promise<Map<string, string>> => {
    this.asked.push([uid, ids]);
    return Promise.resolve(new Map(ids.map((id) => [id, this.document])));
  };
}

/** The hits of a response are at the start, and are the only objects in a list there. */
function unhydrated(result: string): UnhydratedBody {
  const hits = elementsAt(result, result.indexOf('['));
  return {
    bytes: Buffer.from(result),
    hits: hits.map(({ begin, end }) => ({ indexUid: 'own', begin, end })),
  };
}

const textOf = async (result: string, documents: Hydrator): Promise<string> =>
  String((await hydrated([unhydrated(result)], documents))[0]);

describe('Hydration', () => {
  it('changes nothing but the ids, and asks each index once', async () => {
    const documents = new Documents();
    const before =
      '{"hits":[{"n":1.0,"x":7,"y":[{"z":"p\\u0071"},{"z":["r",null,2.5]}]},{"x":7,"_formatted":{"x":"7"}}],"query":"x"}';
    const { document } = documents;
    assert.equal(
      await textOf(before, documents),
      `{"hits":[{"n":1.0,"x":${document},"y":[{"z":${document}},{"z":[${document},null,2.5]}]},` +
        `{"x":${document},"_formatted":{"x":${document}}}],"query":"x"}`,
    );
    assert.deepEqual(documents.asked, [
      ['a', ['7']],
      ['b', ['pq', 'r']],
    ]);
  });

  it('asks nothing for no hits, and for indexes that no hit refers to no documents', async () => {
    const documents = new Documents();
    const none = '{"hits":[],"query":""}';
    assert.equal(await textOf(none, documents), none);
    assert.deepEqual(documents.asked, []);
    await textOf('{"hits":[{}]}', documents);
    assert.deepEqual(documents.asked, [
      ['a', []],
      ['b', []],
    ]);
  });

  it('looks at nothing but hits, and counts bytes', async () => {
    const documents = new Documents();
    const { document } = documents;
    const bytes = Buffer.from('{"facets":[{"x":1}],"hits":[{"t":"é世","x":1}, {"x":2}]}');
    const first = bytes.indexOf('{"t"');
    const end = bytes.indexOf('}', first) + 1;
    const hits = [{ indexUid: 'own', begin: first, end }];
    const responses = [{ bytes, hits }, unhydrated('{"hits":[{"x":3}]}')];
    assert.deepEqual(
      String(await hydrated(responses, documents)),
      [
        `{"facets":[{"x":1}],"hits":[{"t":"é世","x":${document}}, {"x":2}]}`,
        `{"hits":[{"x":${document}}]}`,
      ].join(','),
    );
    assert.deepEqual(documents.asked[0], ['a', ['1', '3']], 'several responses ask together');
  });

  it('ends where a response would be too large, or would need too many documents', async () => {
    const documents = new Documents();
    documents.document = JSON.stringify('x'.repeat(1_000));
    const hits = (count: number): string =>
      `{"hits":[${Array.from({ length: count }, (_, n) => `{"x":${n}}`).join(',')}]}`;
    assert.ok((await textOf(hits(900), documents)).length > 900_000);
    await assert.rejects(textOf(hits(1_000), documents), /would be larger than the limit/);
    documents.document = '{}';
    await textOf(hits(10_000), documents);
    await assert.rejects(textOf(hits(10_001), documents), /would be larger than the limit/);
  });
});
