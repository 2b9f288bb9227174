/** The licences in a release name everything that the binary of the socket library contains. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { IN_SOCKET_LIBRARY, NOT_IN_SOCKET_LIBRARY } from '../release/socket-library.ts';

const FOLDER = 'node_modules/@uwsjs';

interface Notices {
  notices(folders: readonly string[], others: Record<string, string>): string;
  socketNotices(): Record<string, string>;
}

describe('The licences of the socket library', () => {
  it('are those of what its binary contains', function () {
    const files = (existsSync(FOLDER) ? readdirSync(FOLDER) : []).map((name) =>
      join(FOLDER, name, 'uws.node'),
    );
    if (files.length === 0) {
      console.log('      skipped: there is no binary of uWebSockets.js for this machine');
      return this.skip();
    }
    for (const file of files) {
      const text = readFileSync(file, 'latin1');
      for (const [name, mark] of Object.entries(IN_SOCKET_LIBRARY)) {
        assert.ok(text.includes(mark), `${file}: ${name}`);
      }
      for (const [name, mark] of Object.entries(NOT_IN_SOCKET_LIBRARY)) {
        assert.ok(!text.includes(mark), `${file}: ${name}`);
      }
    }
  });

  it('are whole texts, each under its name', async () => {
    const made = (await import(resolve('src/tools/release/notices.mjs'))) as Notices;
    const texts = made.socketNotices();
    const notices = made.notices([], texts);
    for (const name of Object.keys(IN_SOCKET_LIBRARY)) {
      assert.match(notices, new RegExp(`^${name} `, 'm'));
    }
    for (const [name, text] of Object.entries(texts)) {
      // Each ends as such licences do.
      assert.match(text, /AS IS/, name);
      assert.match(text, /Copyright|copyright/, name);
      assert.ok(notices.includes(text.trim()), name);
    }
    for (const words of [
      'OpenSSL License',
      'SSLeay',
      'the fiat-crypto authors',
      'Apache License',
    ]) {
      assert.ok(Object.values(texts).join('').includes(words), words);
    }
  });
});
