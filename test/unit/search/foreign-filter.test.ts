import assert from 'node:assert/strict';
import { ApiError } from '../../../src/contract/errors.ts';
import { type ForeignResolver, resolvedFilter } from '../../../src/search/foreign-filter.ts';

/** Selects `x1` and `x2` for `x > 0`; counts its calls. */
class Resolver implements ForeignResolver {
  asked = 0;
  readable = true;
  readonly keys = [{ foreignIndexUid: 'authors', fieldName: 'author' }];
  isFilterable = (field: string): boolean => field === 'author';
  mayRead = (): boolean => this.readable;
  checkSyntax = (): void => {};
  select = (_uid: string, _expression: string, max: number): Promise<string[]> => {
    this.asked++;
    assert.equal(max, 1_000);
    return Promise.resolve(['x1', 'x2']);
  };
}

const codeOf = async (work: Promise<unknown>): Promise<string | null> => {
  try {
    await work;
    return null;
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return error.code;
  }
};

describe('Foreign conditions of filters', () => {
  const one = '_foreign(author, x > 0)';

  it('become lists of ids, wherever they stand', async () => {
    const filter = await resolvedFilter(
      [`a = 1 AND NOT ${one}`, [one, 'b = "_foreign(c, d)"']],
      new Resolver(),
    );
    const list = '"author" IN ["x1", "x2"]';
    assert.deepEqual(filter, [`a = 1 AND NOT ${list}`, [list, 'b = "_foreign(c, d)"']]);
  });

  it('are 100 at most; more are refused before any is asked', async () => {
    const resolver = new Resolver();
    await resolvedFilter(
      Array.from({ length: 100 }, () => one),
      resolver,
    );
    assert.equal(resolver.asked, 100);
    for (const many of [
      Array.from({ length: 101 }, () => [one]),
      Array(101).fill(one).join(' OR '),
    ]) {
      assert.equal(await codeOf(resolvedFilter(many, resolver)), 'invalid_search_filter');
    }
    assert.equal(resolver.asked, 100);
  });

  it('select 1,000 different documents of an index together at most', async () => {
    const resolver = new Resolver();
    const ids = (from: number, count: number): string[] =>
      Array.from({ length: count }, (_, n) => `x${from + n}`);
    const lists = [ids(0, 600), ids(500, 500)];
    resolver.select = () => Promise.resolve(lists.shift()!);
    await resolvedFilter([one, one], resolver);
    lists.push(ids(0, 600), ids(500, 501));
    assert.equal(await codeOf(resolvedFilter([one, one], resolver)), 'invalid_search_filter');
  });

  it('need an index that the caller may read', async () => {
    const resolver = new Resolver();
    resolver.readable = false;
    assert.equal(await codeOf(resolvedFilter(one, resolver)), 'index_not_found');
    assert.equal(resolver.asked, 0);
  });

  it('name a foreign key, and do not stand in each other', async () => {
    for (const wrong of [
      '_foreign(title, x > 0)',
      `_foreign(author, ${one})`,
      '_foreign(author)',
      '_foreign(author, x',
    ]) {
      assert.equal(
        await codeOf(resolvedFilter(wrong, new Resolver())),
        'invalid_search_filter',
        wrong,
      );
    }
  });
});
