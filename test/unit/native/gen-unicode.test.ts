import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const generator = new URL('../../../native/tools/gen-unicode.mjs', import.meta.url);
const committed = new URL('../../../native/text/unicode_tables.cc', import.meta.url);

describe('gen-unicode', function () {
  it('writes the committed tables', async function () {
    const text = readFileSync(committed, 'utf8');
    // Another Unicode version gives other tables; those of the committed one stay in force.
    if (!text.includes(`"${process.versions['unicode']}"`)) this.skip();
    const { generate } = (await import(generator.href)) as { generate: () => string };
    assert.ok(generate() === text, 'run: node native/tools/gen-unicode.mjs');
  });
});
