import assert from 'node:assert/strict';
import { withoutSecrets } from '../../../src/commands/migration-target.ts';

describe('Settings that a migration copies', () => {
  it('come without the keys that the source hides, and name what is hidden elsewhere', () => {
    const kept = { source: 'rest', url: 'http://user:XXXXXX...@host/', request: { text: 'x' } };
    for (const setting of ['embedders', 'rerankers']) {
      const given = { [setting]: { r: { ...kept, apiKey: 'secXXXXX...' } }, synonyms: {} };
      const { value, secrets } = withoutSecrets(given);
      assert.deepEqual(value, { [setting]: { r: kept }, synonyms: {} });
      assert.deepEqual(secrets, [`${setting}.r.url`, `${setting}.r.apiKey`]);
    }
  });
});
