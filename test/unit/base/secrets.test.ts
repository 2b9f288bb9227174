import assert from 'node:assert/strict';
import {
  masked,
  maskedHeaders,
  maskedMembers,
  maskedUrl,
  SecretFilter,
  unmasked,
  unmaskedHeaders,
  unmaskedMembers,
  unmaskedUrl,
  withoutSecrets,
} from '../../../src/base/secrets.ts';

describe('What is shown of a credential', () => {
  const urls: [given: string, shown: string][] = [
    ['http://127.0.0.1:1', 'http://127.0.0.1:1'],
    ['http://127.0.0.1:2/base/', 'http://127.0.0.1:2/base/'],
    ['https://h/hook?v=2', 'https://h/hook?v=2'],
    ['https://h/hook?new', 'https://h/hook?new'],
    ['https://h/x?api-version=2024-06-01-preview', 'https://h/x?api-version=2024-06-01-preview'],
    ['https://user:pass@h/x', 'https://XXX...:XXX...@h/x'],
    ['https://sk-0123456789abcdef@h', 'https://skXXXX...@h/'],
    ['https://h/x?key=a&v=2', 'https://h/x?key=XXX...&v=2'],
    ['https://h/x?q=0123456789abcdef', 'https://h/x?q=01XXXX...'],
    ['https://h/x?0123456789abcdef', 'https://h/x?01XXXX...'],
    ['https://h/x?a%70ikey=b', 'https://h/x?a%70ikey=XXX...'],
    ['https://h/x#0123456789', 'https://h/x#01XXXX...'],
    ['http:\\\\user:pass@h', 'http://XXX...:XXX...@h/'],
    ['nowhere', 'nowhere'],
    ['user:pass@host', 'XXX...'],
    ['//h/x?key=0123', 'XXX...'],
  ];
  for (const [given, shown] of urls) {
    it(`in the URL ${given}`, () => assert.equal(maskedUrl(given), shown));
  }

  it('in headers', () => {
    assert.deepEqual(
      maskedHeaders({
        ...{ Authorization: 'Bearer 0123456789abcdef0123', authorization: 'short' },
        ...{ 'X-Team': 'search', 'X-Api-Key': 'k', 'X-Other': 'eleven-bytes' },
        ...{ 'Proxy-Authorization': 'Basic dXNlcjpwYXNz', Cookie: 'a=b' },
        ...{ 'Content-Type': 'application/x-ndjson', 'User-Agent': 'something long' },
      }),
      {
        ...{ Authorization: 'Bearer 012XXXXX...', authorization: 'XXX...' },
        ...{ 'X-Team': 'search', 'X-Api-Key': 'XXX...', 'X-Other': 'elXXXX...' },
        ...{ 'Proxy-Authorization': 'Basic dXXXXX...', Cookie: 'XXX...' },
        ...{ 'Content-Type': 'application/x-ndjson', 'User-Agent': 'something long' },
      },
    );
  });

  it('in the template of a request', () => {
    const request = {
      input: ['{{text}}', '{{..}}'],
      options: [{ api_key: 'a', apiKey: '0123456789', max_tokens: 'many', access_token: 't' }],
      ...{ token: '{{text}}', key: 7, model: 'a-long-name-of-a-model', keywords: 'some words' },
    };
    assert.deepEqual(maskedMembers(request), {
      ...request,
      options: [
        { api_key: 'XXX...', apiKey: '01XXXX...', max_tokens: 'many', access_token: 'XXX...' },
      ],
    });
  });

  it('stays as it is when it is shown again', () => {
    for (const secret of [
      'short',
      'ten-bytes!',
      '0123456789abcdef0123',
      'x'.repeat(40),
      'ééééééé',
    ]) {
      assert.equal(masked(masked(secret)), masked(secret));
    }
    assert.equal(masked('a long secret XXX...'), 'a lXXXXX...');
    const url = 'https://user:password@h/x?key=0123456789abcdef0123&v=2';
    assert.equal(maskedUrl(maskedUrl(url)), maskedUrl(url));
  });

  it('in a text of our own', () => {
    assert.equal(
      withoutSecrets('GET https://u:p@h/x?key=1 with Bearer 0123456789, then "http://h/y" failed'),
      'GET https://XXX...:XXX...@h/x?key=XXX... with Bearer 01XXXX..., then "http://h/y" failed',
    );
  });
});

describe('What is shown of a credential, sent back,', () => {
  it('is the stored one', () => {
    const key = '0123456789abcdef';
    assert.equal(unmasked(masked(key), key), key);
    assert.equal(unmasked(masked(key), undefined), masked(key));
    assert.equal(unmasked('other', key), 'other');
    const headers = { Authorization: `Bearer ${key}`, 'X-Key': key, 'X-Team': 'search' };
    assert.deepEqual(unmaskedHeaders(maskedHeaders(headers), headers), headers);
    assert.deepEqual(
      unmaskedHeaders({ authorization: 'Bearer 01XXXX...', 'X-Key': null }, headers),
      {
        authorization: `Bearer ${key}`,
        'X-Key': null,
      },
    );
    const request = { a: [{ api_key: key }], text: '{{text}}' };
    assert.deepEqual(unmaskedMembers(maskedMembers(request), request), request);
    assert.deepEqual(unmaskedMembers({ a: [{ api_key: 'new' }] }, request), {
      a: [{ api_key: 'new' }],
    });
  });

  const stored = 'https://user:p%40ss@h/x?key=0123456789abc&v=2';
  const rows: [given: string, wanted: string][] = [
    [maskedUrl(stored), stored],
    ['https://XXX...:XXX...@h/y?key=01XXXX...', 'https://user:p%40ss@h/y?key=0123456789abc'],
    ['https://XXX...:new@h/x', 'https://user:new@h/x'],
    ['https://XXX...:XXX...@elsewhere/x', 'https://XXX...:XXX...@elsewhere/x'],
    ['http://XXX...:XXX...@h/x', 'http://XXX...:XXX...@h/x'],
    ['https://h/other', 'https://h/other'],
    ['nowhere', 'nowhere'],
  ];
  for (const [given, wanted] of rows) {
    it(`in a URL: ${given}`, () => assert.equal(unmaskedUrl(given, stored), wanted));
  }
});

describe('A text of a server that knows our credentials', () => {
  const key = 'sk-Canary/0123+456=é"<x>';
  const filter = new SecretFilter({
    url: new URL('https://someone:pass%20wörd@h/x?key=queryCanary&v=2'),
    headers: {
      Authorization: `Bearer ${key}`,
      Cookie: 'session=cookieCanary; theme=dark',
      'X-Team': 'search',
      'content-type': 'application/json',
    },
    body: {
      request: { api_key: 'bodyCanary' },
      headers: { 'X-Secret': 'innerCanary' },
      url: 'https://a:urlCanary@h/',
    },
  });
  const bytes = Buffer.from(key);
  const forms: [name: string, text: string][] = [
    ['as it is', key],
    ['in capitals', key.toUpperCase()],
    ['for URLs', encodeURIComponent(key)],
    ['for URLs twice', encodeURIComponent(encodeURIComponent(key))],
    ['in JSON', JSON.stringify({ text: key })],
    ['in JSON in JSON', JSON.stringify(JSON.stringify({ text: key }))],
    ['in JSON of ASCII', JSON.stringify(key).replace('é', '\\u00e9').replaceAll('/', '\\/')],
    ['in HTML', key.replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')],
    ['in base64', bytes.toString('base64')],
    ['in base64 for URLs', bytes.toString('base64url')],
    ['in base64 with its scheme', Buffer.from(`Bearer ${key}`).toString('base64')],
    ['in base64 behind one character', Buffer.from(`:${key}!`).toString('base64')],
    ['in hexadecimal', bytes.toString('hex')],
    ['without its end', key.slice(0, 14)],
    ['without its beginning', key.slice(5)],
    ['a query', 'queryCanary'],
    ['a cookie', 'cookieCanary'],
    ['a password', 'pass wörd'],
    ['a password for URLs', 'pass%20w%C3%B6rd'],
    ['user and password', Buffer.from('someone:pass wörd').toString('base64')],
    ['a member of the body', 'bodyCanary'],
    ['a header in the body', 'innerCanary'],
    ['a URL in the body', 'urlCanary'],
  ];
  for (const [name, text] of forms) {
    it(`is shown without them: ${name}`, () => {
      const shown = filter.hide(`Wrong key: ${text}. Ask again.`);
      assert.match(shown, /^Wrong key: .*\*\*\*.*\. Ask again\.$/s);
      // No piece that would help to guess the rest.
      for (let at = 0; at + 8 <= text.length; at++) {
        const piece = text.slice(at, at + 8);
        if (/[\w]{8}/.test(piece) && !'QmVhcmVyIH'.includes(piece))
          assert.ok(!shown.includes(piece), `${piece} in ${shown}`);
      }
    });
  }

  it('is shown as it is where it has none', () => {
    const text = 'The search of the user failed: content-type application/json, v=2, theme dark';
    assert.equal(filter.hide(text), text);
    assert.equal(filter.hide(''), '');
  });

  it('is cut', () => assert.equal(filter.hide('x'.repeat(100_000)).length, 16 * 1024));
});
