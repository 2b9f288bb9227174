import assert from 'node:assert/strict';
import {
  differenceOf,
  gradesOf,
  isMeasurable,
  type JudgedQuery,
  measured,
  queryId,
  withGrade,
} from '../../../src/web/judged.ts';

describe('Judgements of the page', () => {
  it('are kept once for each document, and taken back', () => {
    const first = withGrade(undefined, 'red', { document: 'a', grade: 2 });
    const second = withGrade(first, 'red', { document: 'b', grade: 0 });
    const changed = withGrade(second, 'red', { document: 'a', grade: 1 });
    assert.deepEqual([...gradesOf(changed)].toSorted(), [
      ['a', 1],
      ['b', 0],
    ]);
    assert.ok(isMeasurable(changed));
    const fewer = withGrade(changed, 'red', { document: 'a', grade: null });
    assert.deepEqual(fewer.judgements, [{ document: 'b', grade: 0 }]);
    assert.ok(!isMeasurable(fewer));
  });

  it('have the same id for the same query, which documents may have', () => {
    const queries = ['', 'a', 'b', 'ab', 'ba', 'é', '日本', 'x'.repeat(1000)];
    const ids = queries.map(queryId);
    assert.equal(new Set(ids).size, queries.length);
    for (const id of ids) assert.match(id, /^[0-9a-f]{16}$/);
    assert.equal(withGrade(undefined, 'a', { document: 'x', grade: 1 }).id, queryId('a'));
  });

  it('measure an index and a draft', () => {
    const queries: JudgedQuery[] = ['a', 'b'].map((q) =>
      withGrade(undefined, q, { document: '1', grade: 2 }),
    );
    const live = measured(queries, [['1'], ['2', '1']]);
    const draft = measured(queries, [['1'], ['1', '2']]);
    assert.deepEqual(
      live.queries.map(({ ndcg }) => ndcg.toFixed(3)),
      ['1.000', '0.631'],
    );
    assert.equal(draft.ndcg.mean, 1);
    assert.equal(draft.coverage, 0.75);
    assert.equal(differenceOf(live, draft).mean.toFixed(3), '0.185');
  });
});
