import assert from 'node:assert/strict';
import type { RecordedSearch, Recorder } from '../../../src/analytics/recorder.ts';
import type { SearchResponse } from '../../../src/search/response.ts';
import { noHeaders, type Connection, type RequestHeaders } from '../../../src/http/connection.ts';
import { headOf } from '../../support/result-head.ts';
import { recordingOf } from '../../../src/http/search-recording.ts';

describe('A search', () => {
  const queryUid = '0123abcd-0123-0123-0123-0123456789ab';

  /** The recorded data of a search with these headers. */
  function recorded(
    headers: Partial<RequestHeaders>,
    response: Omit<SearchResponse, 'bytes'> = { head: headOf(0, 1) },
    position?: number,
  ): RecordedSearch | null {
    let taken: RecordedSearch | null = null;
    const recorder = { search: (one: RecordedSearch) => void (taken = one) } as Recorder;
    const connection = {
      headers: { ...noHeaders(), ...headers },
      aborted: false,
      remoteAddress: () => '127.0.0.1',
    } as Connection;
    recordingOf(recorder, { connection, own: false }, 'books', { q: 'dune' })?.(
      response,
      1,
      position,
    );
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
    const response = { head: headOf(0, 1), queryUids: ['other', queryUid] };
    assert.equal(recorded({}, response)?.queryUid, 'other');
    assert.equal(recorded({}, response, 1)?.queryUid, queryUid, 'each query its own');
    assert.equal(recorded({})?.queryUid, null);
  });

  it('has the total of its response, or says that it has none', () => {
    assert.equal(recorded({}, { head: headOf(0, 423) })?.hits, 423);
    assert.equal(recorded({}, { head: headOf(0, 0) })?.hits, 0);
    assert.equal(recorded({}, { head: headOf(0) })?.hits, -1);
  });
});
