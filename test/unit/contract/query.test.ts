import assert from 'node:assert/strict';
import { LIST_DOCUMENTS_QUERY } from '../../../src/contract/documents.ts';
import { formPairs, queryParser } from '../../../src/contract/query.ts';
import { SEARCH_QUERY, SIMILAR_QUERY } from '../../../src/contract/search.ts';
import {
  FILTER_TASKS_QUERY,
  LIST_TASKS_QUERY,
  taskFilter,
} from '../../../src/contract/task-filters.ts';

const search = queryParser(SEARCH_QUERY);
const tasks = queryParser(LIST_TASKS_QUERY);

function parsed(raw: string): Record<string, unknown> {
  const outcome = search.parse(raw);
  assert.ok(outcome.ok, outcome.ok ? '' : outcome.error.message);
  return outcome.value;
}

describe('A query string', () => {
  it('is decoded like a form', () => {
    assert.deepEqual(formPairs('q=a+b%2Bc&&x&y=1=2&z=%E9%zz'), [
      ['q', 'a b+c'],
      ['x', ''],
      ['y', '1=2'],
      ['z', '\ufffd%zz'],
    ]);
  });

  it('becomes values of the declared types', () => {
    assert.deepEqual(
      parsed(
        'q=&limit=5&offset=%2B3&showRankingScore=true&attributesToRetrieve=a,,%20b&facets=' +
          '&vector=0.1,-2,1e-3&rankingScoreThreshold=.5&filter=%5B%22a%20%3D%201%22%5D&hybridEmbedder=e',
      ),
      {
        q: '',
        limit: 5,
        offset: 3,
        showRankingScore: true,
        attributesToRetrieve: ['a', ' b'],
        facets: [],
        vector: [0.1, -2, 0.001],
        rankingScoreThreshold: 0.5,
        filter: ['a = 1'],
        hybridEmbedder: 'e',
      },
    );
    assert.deepEqual(parsed('filter=a+%3D+1').filter, 'a = 1');
    assert.deepEqual(parsed('filter=12').filter, 12);
  });

  it('holds no JSON that is nested too deeply: it stays a text', () => {
    for (const deep of [
      `${'['.repeat(200)}${']'.repeat(200)}`,
      `${'{"a":'.repeat(200)}1${'}'.repeat(200)}`,
    ]) {
      assert.equal(parsed(`filter=${encodeURIComponent(deep)}`).filter, deep);
    }
  });

  it('counts with the last of two values, whatever the first one is', () => {
    assert.deepEqual(parsed('limit=1&limit=2'), { limit: 2 });
    assert.deepEqual(parsed('limit=x&q=a&limit=2'), { limit: 2, q: 'a' });
    assert.ok(!search.parse('limit=1&limit=x').ok);
  });

  it('splits sort outside of parentheses', () => {
    const cases: [string, string[]][] = [
      ['_geoPoint(48.8,2.3):asc,price:desc', ['_geoPoint(48.8,2.3):asc', 'price:desc']],
      ['%22a:asc,%20b:desc%22', ['a:asc', 'b:desc']],
      ['', ['']],
      ['a:asc,,b:asc', ['a:asc', '', 'b:asc']],
    ];
    for (const [raw, expected] of cases) assert.deepEqual(parsed(`sort=${raw}`).sort, expected);
  });

  it('is refused at the first parameter that is wrong', () => {
    const cases: [string, string][] = [
      ['limit=', 'invalid_search_limit'],
      ['limit=2.0', 'invalid_search_limit'],
      ['limit=-1', 'invalid_search_limit'],
      ['offset=x&limit=x', 'invalid_search_offset'],
      ['showMatchesPosition=TRUE', 'invalid_search_show_matches_position'],
      ['rankingScoreThreshold=1.5', 'invalid_search_ranking_score_threshold'],
      ['rankingScoreThreshold=NaN', 'invalid_search_ranking_score_threshold'],
      ['vector=1,b', 'invalid_search_vector'],
      ['locales=xyz', 'invalid_search_locales'],
      ['matchingStrategy=none', 'invalid_search_matching_strategy'],
      ['Limit=3', 'bad_request'],
      ['media=%7B%7D', 'bad_request'],
    ];
    for (const [raw, code] of cases) {
      const outcome = search.parse(raw);
      assert.ok(!outcome.ok, raw);
      assert.equal(outcome.error.code, code, raw);
    }
    const missing = queryParser(SIMILAR_QUERY).parse('embedder=a');
    assert.ok(!missing.ok && missing.error.code === 'bad_request');
  });

  it('names the parameter, and the element of a list that has several', () => {
    const several = tasks.parse('uids=1,x');
    assert.ok(!several.ok && several.error.message.includes('`uids[1]`'), JSON.stringify(several));
    const one = tasks.parse('uids=x');
    assert.ok(!one.ok && one.error.message.includes('`uids`'));
    const unknown = queryParser(LIST_DOCUMENTS_QUERY).parse('limits=1');
    assert.ok(!unknown.ok && unknown.error.message.includes('did you mean `limit`'));
  });
});

describe('Task filters', () => {
  function filter(raw: string): object {
    const outcome = tasks.parse(raw);
    assert.ok(outcome.ok, outcome.ok ? '' : outcome.error.message);
    return taskFilter(outcome.value);
  }

  it('ignore letter case in types and statuses, and understand the older upgrade type', () => {
    assert.deepEqual(filter('types=SETTINGSupdate,upgradeDatabase&statuses=FAILED'), {
      types: ['settingsUpdate', 'databaseUpgrade'],
      statuses: ['failed'],
    });
  });

  it('restrict nothing with a star, although its neighbours are checked', () => {
    assert.deepEqual(filter('uids=*&statuses=failed,*&beforeEnqueuedAt=*'), {});
    assert.ok(!tasks.parse('uids=*,abc').ok);
    const given = queryParser(FILTER_TASKS_QUERY).parse('uids=*');
    assert.ok(given.ok && Object.keys(given.value).length === 1, 'but a filter was given');
  });

  it('match nothing with an empty list', () => {
    assert.deepEqual(filter('uids='), { uids: [] });
  });

  it('begin a plain day at its midnight before, and at the next one after', () => {
    assert.deepEqual(filter('beforeEnqueuedAt=2025-03-01&afterEnqueuedAt=2025-03-01'), {
      afterEnqueuedAt: Date.UTC(2025, 2, 2),
      beforeEnqueuedAt: Date.UTC(2025, 2, 1),
    });
    assert.deepEqual(filter('afterStartedAt=2025-03-01T12:00:00%2B02:00'), {
      afterStartedAt: Date.UTC(2025, 2, 1, 10),
    });
    for (const bad of [
      '2025-02-30',
      'yesterday',
      '2025-03-01T12:00:00',
      '2025-03-01T25:00:00Z',
      '2025-03-01T12:00:00+02:00',
    ]) {
      assert.ok(!tasks.parse(`afterStartedAt=${bad}`).ok, bad);
    }
  });
});
