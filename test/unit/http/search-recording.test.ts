import assert from 'node:assert/strict';
import type { RecordedSearch, Recorder } from '../../../src/analytics/recorder.ts';
import { noHeaders, type Exchange, type RequestHeaders } from '../../../src/http/exchange.ts';
import { recordingOf, totalHits } from '../../../src/http/search-recording.ts';

describe('The total of an answer', () => {
  const answer = (tail: object, hits: unknown[] = [{ title: 'x' }]): Buffer =>
    Buffer.from(JSON.stringify({ hits, query: 'q', processingTimeMs: 1, ...tail }));
  const named = [{ estimatedTotalHits: 99, totalHits: 99, title: '"estimatedTotalHits":98' }];

  it('is read behind the hits, whatever their attributes are called', () => {
    const tail = { limit: 20, offset: 0, estimatedTotalHits: 423, requestUid: 'r' };
    assert.equal(totalHits(answer(tail, named), {}), 423);
    assert.equal(totalHits(answer({ ...tail, estimatedTotalHits: 0 }, named), {}), 0);
  });

  it('is read before facets, whatever their values are called', () => {
    const facetDistribution = { kind: { a: 1, estimatedTotalHits: 5 } };
    const tail = { estimatedTotalHits: 7, facetDistribution, facetStats: {}, requestUid: 'r' };
    assert.equal(totalHits(answer(tail, named), { facets: ['kind'] }), 7);
  });

  it('is read before long metadata', () => {
    const metadata = { query: '"estimatedTotalHits":3 '.repeat(100), queryUid: 'u' };
    assert.equal(totalHits(answer({ estimatedTotalHits: 12, metadata }), {}), 12);
  });

  it('has another name where there are pages', () => {
    const tail = { hitsPerPage: 1, page: 1, totalPages: 35, totalHits: 35, requestUid: 'r' };
    assert.equal(totalHits(answer(tail, named), { page: 1 }), 35);
    assert.equal(totalHits(answer(tail, named), { hitsPerPage: 1, page: null }), 35);
  });

  it('is not known where there is none', () => {
    assert.equal(totalHits(Buffer.from('{"hits":[]}'), {}), -1);
    assert.equal(totalHits(Buffer.alloc(0), { facets: ['a'] }), -1);
  });
});

describe('A search', () => {
  const queryUid = '0123abcd-0123-0123-0123-0123456789ab';
  const answer = Buffer.from(`{"hits":[{"queryUid":"${queryUid}"}],"estimatedTotalHits":1}`);

  /** What is recorded of a search with these headers. */
  function recorded(headers: Partial<RequestHeaders>): RecordedSearch | null {
    let taken: RecordedSearch | null = null;
    const recorder = { search: (one: RecordedSearch) => void (taken = one) } as Recorder;
    const exchange = {
      headers: { ...noHeaders(), ...headers },
      aborted: false,
      remoteAddress: () => '127.0.0.1',
    } as Exchange;
    recordingOf(recorder, { exchange, own: false }, 'books', { q: 'dune' })?.(answer, 1);
    return taken;
  }

  it('is recorded unless another server of the network asks it', () => {
    for (const proxySearch of [undefined, 'false', '0', '']) {
      assert.equal(recorded({ proxySearch })?.query, 'dune');
    }
    for (const proxySearch of ['true', '1', ' TRUE ']) {
      assert.equal(recorded({ proxySearch }), null);
    }
  });

  it('has the uid of its metadata, and none when no metadata are asked for', () => {
    assert.equal(recorded({ includeMetadata: 'true' })?.queryUid, queryUid);
    for (const includeMetadata of [undefined, 'false', '0']) {
      assert.equal(recorded({ includeMetadata })?.queryUid, null);
    }
  });
});
