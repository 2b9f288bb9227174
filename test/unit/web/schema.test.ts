import assert from 'node:assert/strict';
import { SETTINGS_SCHEMA } from '../../../src/contract/settings.ts';
import { CREATE_WEBHOOK } from '../../../src/contract/webhooks.ts';
import { changedMembers, settingChange } from '../../../src/web/schema.ts';

const change = (name: string, before: unknown, after: unknown): unknown =>
  settingChange(SETTINGS_SCHEMA.properties![name], before, after);

describe('The change of a setting', () => {
  it('contains the differences of objects whose members can be null, at any depth', () => {
    const before = {
      a: { source: 'openAi', apiKey: 'sec...', model: 'm' },
      b: { source: 'userProvided', dimensions: 3 },
    };
    const after = { a: { source: 'openAi', apiKey: 'sec...', dimensions: 5 } };
    assert.deepEqual(change('embedders', before, after), {
      a: { model: null, dimensions: 5 },
      b: null,
    });
    assert.deepEqual(
      change(
        'typoTolerance',
        { enabled: true, minWordSizeForTypos: { oneTypo: 5, twoTypos: 9 } },
        { enabled: true, minWordSizeForTypos: { oneTypo: 4, twoTypos: 9 } },
      ),
      { minWordSizeForTypos: { oneTypo: 4 } },
    );
  });

  it('leaves out members that stay, also where others can not be null', () => {
    const before = { url: 'http://a', headers: { One: '1XXX', Two: '2' } };
    assert.deepEqual(changedMembers(CREATE_WEBHOOK, before, { ...before, url: 'http://b' }), {
      url: 'http://b',
    });
    assert.deepEqual(
      changedMembers(CREATE_WEBHOOK, before, { ...before, headers: { One: '1XXX' } }),
      {
        headers: { Two: null },
      },
    );
  });

  it('is the whole value of a replaced object', () => {
    assert.deepEqual(change('synonyms', { a: ['b'], c: ['d'] }, { a: ['b'] }), { a: ['b'] });
    assert.deepEqual(change('stopWords', ['a'], ['b']), ['b']);
    assert.deepEqual(
      change(
        'faceting',
        { maxValuesPerFacet: 100, sortFacetValuesBy: { '*': 'alpha', x: 'count' } },
        { maxValuesPerFacet: 100, sortFacetValuesBy: { '*': 'count' } },
      ),
      { sortFacetValuesBy: { '*': 'count' } },
    );
  });
});
