import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const generator = new URL('../../../native/tools/gen-settings.mjs', import.meta.url);
const committed = new URL('../../../native/index/default_settings.h', import.meta.url);

describe('gen-settings', () => {
  it('writes the committed defaults', async () => {
    const { generate } = (await import(generator.href)) as { generate: () => string };
    const message = 'run: node --import tsx native/tools/gen-settings.mjs';
    assert.equal(readFileSync(committed, 'utf8'), generate(), message);
  });
});
