/** The picture of the README shows what the server responds. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { startBuiltServer } from '../support/built-server.ts';
import { FILE, recording } from './recording.ts';

describe('The recording in the README', () => {
  it('has the responses of the server, letter by letter', async function () {
    if (!existsSync('dist/main.cjs')) return this.skip();
    const server = await startBuiltServer();
    try {
      assert.equal(readFileSync(FILE, 'utf8'), await recording(server));
    } finally {
      await server.close();
    }
    assert.ok(readFileSync('README.md', 'utf8').includes(`](${FILE})`));
  });
});
