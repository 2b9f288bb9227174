import assert from 'node:assert/strict';
import { ERROR_CATALOGUE } from '../../../src/contract/errors.ts';
import { offersFor, REMEDIES, type Deed, type Offer } from '../../../src/web/remedies.ts';

const of = (code: string, message: string, uid: string | null = 'shop'): readonly Offer[] =>
  offersFor({ code, message }, uid);
type Said = Parameters<typeof of>;
const labels = (...error: Said): string[] => of(...error).map(({ label }) => label);
const deeds = (...error: Said): Deed[] => of(...error).map(({ deed }) => deed);

describe('Remedies of the page', () => {
  it('are known for codes that exist', () => {
    for (const code of REMEDIES.flatMap(({ codes = [] }) => codes)) {
      assert.ok((ERROR_CATALOGUE as ReadonlyMap<string, unknown>).has(code), code);
    }
    assert.deepEqual(labels('invalid_search_filter', '1:3 The filter ends early.'), []);
  });

  it('give an attribute what a search needs, in the index that lacks it', () => {
    const filter = '1:4 The attribute `a.b` is not filterable. No attribute is.';
    const [offer] = of('invalid_search_filter', filter);
    assert.deepEqual([offer!.label, offer!.needs], ['Make a.b filterable', 'settings']);
    assert.deepEqual(offer!.deed, {
      ...{ kind: 'append', uid: 'shop', setting: 'filterable-attributes', value: 'a.b' },
    });
    const fields = 'The attribute `x` of `attributesToSearchOn` is not searchable.';
    assert.deepEqual(labels('invalid_search_attributes_to_search_on', fields), [
      'Make x searchable',
    ]);
    const distinct = 'The attribute `x` is not filterable in the index `far`. No attribute is.';
    const [far] = deeds('invalid_search_distinct', distinct);
    assert.ok(far?.kind === 'append' && far.uid === 'far');
    const facet = 'Invalid facet `x`: it is not filterable. No attribute is.';
    assert.deepEqual(labels('invalid_search_facets', facet), ['Make x filterable']);
    const value = 'The attribute `x` is not facet-searchable: no rule of `filterableAttributes` …';
    assert.deepEqual(labels('invalid_facet_search_facet_name', value), ['Make x filterable']);
    assert.deepEqual(labels('invalid_search_filter', filter, null), []);
    assert.deepEqual(deeds('facet_search_disabled', 'The facet search is disabled.'), [
      { kind: 'replace', uid: 'shop', setting: 'facet-search', value: true },
    ]);
  });

  it('name what probably identifies a document', () => {
    const several =
      'The primary key could not be guessed: 3 attributes of the first document end in `id`, such as `aid` and `bid`. Give the parameter `primaryKey`.';
    assert.deepEqual(labels('index_primary_key_multiple_candidates_found', several), [
      'Make aid the primary key',
      'Make bid the primary key',
    ]);
    const lacking =
      'The document lacks a value for the primary key `id`: {"sku": "s1", "name": "shoe\\nlace", "price": 4…';
    const [offer, ...others] = of('missing_document_id', lacking);
    assert.deepEqual([offer!.label, others], ['Make sku the primary key', []]);
    assert.deepEqual(offer!.deed, { kind: 'primaryKey', uid: 'shop', name: 'sku' });
  });

  it('lead to what can be done elsewhere', () => {
    const off = 'Chats need the experimental feature `chatCompletions`, which is off.';
    assert.deepEqual(deeds('feature_not_enabled', off), [
      { kind: 'feature', feature: 'chatCompletions' },
    ]);
    assert.deepEqual(labels('feature_not_enabled', 'Analytics are off.'), []);
    assert.deepEqual(deeds('index_not_found', 'Index `new` not found.'), [
      { kind: 'index', uid: 'new' },
    ]);
    const hrefs = (...error: Said): string[] =>
      deeds(...error).map((deed) => (deed.kind === 'view' ? `${deed.view} ${deed.argument}` : ''));
    assert.deepEqual(hrefs('index_already_exists', 'Index `b` already exists.'), ['documents b']);
    const renamed = 'Index `a` cannot be renamed to `b`, which already exists. Delete `b` first.';
    assert.deepEqual(hrefs('index_already_exists', renamed), ['documents b']);
    assert.deepEqual(hrefs('bad_request', '`a` has 16 branches; delete one first.'), [
      'settings a',
    ]);
    assert.deepEqual(hrefs('bad_request', 'The body is no object.'), []);
    assert.deepEqual(hrefs('invalid_search_embedder', 'The index has no embedder `e`.'), [
      'settings shop',
    ]);
    assert.deepEqual(hrefs('no_space_left_on_device', 'No space.'), [
      'statistics null',
      'tasks null',
    ]);
    assert.deepEqual(labels('invalid_api_key', 'This key may not do that.'), ['Use another key']);
  });
});
