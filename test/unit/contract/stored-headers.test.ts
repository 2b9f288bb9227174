/** Headers that are stored to be sent with requests: the same rules wherever they are given. */
import assert from 'node:assert/strict';
import { NO_FEATURES } from '../../../src/contract/features.ts';
import { headersFault } from '../../../src/contract/formats.ts';
import {
  checkPartialSettings,
  parseSettings,
  mergeSettings,
  defaultSettings,
  renderSettings,
} from '../../../src/contract/settings.ts';

const FEATURES = { ...NO_FEATURES, compositeEmbedders: true };
const rest = {
  ...{ source: 'rest', url: 'http://h/' },
  ...{ request: { input: '{{text}}' }, response: { data: '{{embedding}}' } },
};
const reranker = {
  ...{ source: 'rest', url: 'http://h/' },
  request: { query: '{{query}}', documents: ['{{text}}', '{{..}}'] },
  response: { results: ['{{score}}', '{{..}}'] },
};

/** The settings that store headers, and the code that refuses them. */
const CASES: [string, (headers: unknown) => object, string][] = [
  ['an embedder', (headers) => ({ embedders: { e: { ...rest, headers } } }), 'embedders'],
  ['a change of an embedder', (headers) => ({ embedders: { e: { headers } } }), 'embedders'],
  [
    'the search side of a composite embedder',
    (headers) => ({
      embedders: {
        e: {
          source: 'composite',
          searchEmbedder: { ...rest, headers },
          indexingEmbedder: rest,
        },
      },
    }),
    'embedders',
  ],
  [
    'the indexing side of a composite embedder',
    (headers) => ({
      embedders: {
        e: {
          source: 'composite',
          searchEmbedder: rest,
          indexingEmbedder: { ...rest, headers },
        },
      },
    }),
    'embedders',
  ],
  ['a reranker', (headers) => ({ rerankers: { r: { ...reranker, headers } } }), 'rerankers'],
];

const REFUSED: [string, Record<string, string>][] = [
  ...['a\r\nX-Other: b', 'a\n', '\r', 'a\0b', '\u007f', 'kő', '\u{1f600}'].map(
    (value): [string, Record<string, string>] => [JSON.stringify(value), { 'X-Key': value }],
  ),
  ...['', ' ', 'a b', 'a:', 'a\r\n', 'é', 'a(b)', '"a"', 'a\0'].map(
    (name): [string, Record<string, string>] => [
      `the name ${JSON.stringify(name)}`,
      { [name]: 'x' },
    ],
  ),
  ...[
    ...['Host', 'Content-Length', 'content-length', 'Transfer-Encoding', 'UPGRADE', 'Connection'],
    ...['Keep-Alive', 'TE', 'Trailer', 'Expect', 'Proxy-Connection'],
  ].map((name): [string, Record<string, string>] => [name, { [name]: '1' }]),
  ['201 headers', Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`X-${n}`, 'x']))],
];

const TAKEN = {
  Authorization: 'Bearer a-secret-of-tests',
  'Content-Type': 'application/json',
  "!#$%&'*+.^_`|~9": '\ta\x80\xff~ ',
  'X-Empty': '',
};

describe('Stored headers', () => {
  it('are those that can be sent', () => {
    assert.equal(headersFault(TAKEN), null);
    for (const [name, headers] of REFUSED) assert.notEqual(headersFault(headers), null, name);
  });

  it('are not quoted when they are refused', () => {
    assert.doesNotMatch(headersFault({ 'X-Key': 'a-secret\n' })!, /a-secret/);
  });

  for (const [name, body, setting] of CASES) {
    it(`of ${name} are checked`, () => {
      const refusal = (headers: unknown): string | undefined => {
        const parsed = parseSettings(body(headers));
        return parsed.ok ? checkPartialSettings(parsed.value, FEATURES)?.code : parsed.error.code;
      };
      assert.equal(refusal(TAKEN), undefined);
      for (const [name, headers] of REFUSED) {
        assert.equal(refusal(headers), `invalid_settings_${setting}`, name);
      }
    });
  }

  it('of a reranker are shown masked, and mean the stored ones when they come back', () => {
    const stored = (before: ReturnType<typeof defaultSettings>, given: object) => {
      const parsed = parseSettings({ rerankers: given });
      assert.ok(parsed.ok);
      const merged = mergeSettings(before, parsed.value);
      assert.ok(merged.ok);
      return merged.value;
    };
    const first = stored(defaultSettings(), { r: { ...reranker, headers: TAKEN } });
    const shown = renderSettings(first, FEATURES)['rerankers'] as Record<string, any>;
    assert.doesNotMatch(JSON.stringify(shown), /a-secret-of/);
    assert.deepEqual(stored(first, shown), first);
  });
});
