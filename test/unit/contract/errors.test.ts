import assert from 'node:assert/strict';
import {
  ApiError,
  ERROR_CATALOGUE,
  isErrorCode,
  MESSAGE_UNITS_MAX,
  toApiError,
} from '../../../src/contract/errors.ts';
import { fromEngine } from '../../../src/engine/errors.ts';

describe('The error catalogue', () => {
  it('gives every code a type and a status in use', () => {
    const statuses = new Set([
      400, 401, 403, 404, 409, 412, 413, 415, 422, 429, 451, 500, 501, 502, 503,
    ]);
    assert.ok(ERROR_CATALOGUE.size > 280);
    for (const [code, { status, type }] of ERROR_CATALOGUE) {
      assert.ok(statuses.has(status), code);
      assert.ok(['invalid_request', 'internal', 'auth', 'system'].includes(type), code);
      assert.match(code, /^[a-z][a-z0-9_]+$/);
    }
  });

  it('bounds what a message quotes of a request', () => {
    const long = '\u{1f600}x'.repeat(1_000_000);
    const { message } = new ApiError('bad_request', `Found ${long}; expected is a number.`);
    assert.ok(message.length <= MESSAGE_UNITS_MAX);
    assert.ok(message.startsWith('Found \u{1f600}x'));
    assert.ok(message.endsWith('; expected is a number.'));
    const short = 'é'.repeat(MESSAGE_UNITS_MAX);
    assert.equal(new ApiError('bad_request', short).message, short);
  });

  it('keeps the statuses that clients decide on', () => {
    const cases: [string, number, string][] = [
      ['index_not_found', 404, 'invalid_request'],
      ['invalid_api_key', 403, 'auth'],
      ['missing_authorization_header', 401, 'auth'],
      ['missing_content_type', 415, 'invalid_request'],
      ['payload_too_large', 413, 'invalid_request'],
      ['too_many_search_requests', 503, 'system'],
      ['no_space_left_on_device', 422, 'system'],
      ['proxy_could_not_send_request', 502, 'system'],
      ['not_found_similar_id', 400, 'invalid_request'],
      ['internal', 500, 'internal'],
    ];
    for (const [code, status, type] of cases) {
      assert.ok(isErrorCode(code), code);
      assert.deepEqual(ERROR_CATALOGUE.get(code), { status, type }, code);
    }
  });

  it('knows none of the names that only look like codes', () => {
    for (const name of [
      'invalid_filter',
      'not_found',
      'immutable_index_uid',
      'invalid_settings_embedder',
    ]) {
      assert.ok(!isErrorCode(name), name);
    }
  });
});

describe('An error object', () => {
  it('has four keys in a fixed order, and a link that ends in the code', () => {
    const text = JSON.stringify(new ApiError('index_not_found', 'Index `a` not found.'));
    assert.deepEqual(Object.keys(JSON.parse(text) as object), ['message', 'code', 'type', 'link']);
    assert.match((JSON.parse(text) as { link: string }).link, /#index_not_found$/);
  });

  it('has its location in front of its text, and may be moved', () => {
    const error = new ApiError('index_not_found', 'not found.', 400);
    const inside = error.locatedAt({ index: 'a' }).locatedAt({ query: 0 });
    assert.equal(inside.message, 'Inside `.queries[0]`: Index `a`: not found.');
    assert.deepEqual([inside.text, inside.code, inside.status], [error.text, error.code, 400]);
    assert.equal(
      inside.locatedAt({ query: 7 }).message,
      'Inside `.queries[7]`: Index `a`: not found.',
    );
    assert.equal(inside.ofWhole().message, 'Index `a`: not found.');
    assert.equal(
      error.locatedAt({ path: 'federation' }).message,
      'Inside `.federation`: not found.',
    );
    const quoting = new ApiError('bad_request', 'Inside `.queries[0]`: quoted').locatedAt({
      query: 1,
    });
    assert.equal(quoting.ofWhole().message, 'Inside `.queries[0]`: quoted');
  });

  it('of the engine knows the query that it is about', () => {
    const thrown = Object.assign(new Error('bad'), { code: 'bad_request', at: { query: 3 } });
    const error = fromEngine(thrown);
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.text, error.at], ['bad', { query: 3 }]);
    assert.equal(error.message, 'Inside `.queries[3]`: bad');
  });

  it('shows no folder of the machine', () => {
    for (const [thrown, shown] of [
      [new Error("ENOENT: no such file, open '/srv/my data/store/data.mdb'"), /open 'data\.mdb'/],
      [new ApiError('internal', 'the segment file /srv/data/a/7.seg is damaged'), /file 7\.seg is/],
      [new ApiError('io_error', 'writing `/srv/x y/7.seg`: /srv/8.seg:'), /`7\.seg`: 8\.seg:/],
    ] as const) {
      const { message } = toApiError(thrown).toJSON();
      assert.match(message, shown);
      assert.doesNotMatch(message, /srv/);
    }
    const url = new ApiError('internal', 'http://localhost/a/b is not reached').toJSON();
    assert.match(url.message, /http:\/\/localhost\/a\/b/);
    const own = new ApiError('invalid_search_filter', 'found `/a/b/c`').toJSON();
    assert.equal(own.message, 'found `/a/b/c`');
  });

  it('is made of whatever was thrown', () => {
    const engine = Object.assign(new Error('bad filter'), { code: 'invalid_search_filter' });
    const cases: [unknown, string][] = [
      [engine, 'invalid_search_filter'],
      [Object.assign(new Error('full'), { code: 'ENOSPC' }), 'no_space_left_on_device'],
      [Object.assign(new Error('files'), { code: 'EMFILE' }), 'too_many_open_files'],
      [Object.assign(new Error('disk'), { code: 'EIO' }), 'io_error'],
      [new TypeError('bug'), 'internal'],
      ['text', 'internal'],
    ];
    for (const [thrown, code] of cases) assert.equal(toApiError(thrown).code, code);
  });
});
