import assert from 'node:assert/strict';
import { masked } from '../../../src/base/secrets.ts';
import { NO_FEATURES } from '../../../src/contract/features.ts';
import { validator } from '../../../src/contract/validator.ts';
import {
  checkPartialSettings,
  childSchema,
  childSetting,
  defaultSettings,
  mergeSettings,
  parseSettings,
  renderPartialSettings,
  renderSettings,
  resetAllSettings,
  resetSetting,
  SETTING_ENTRIES,
  type PartialSettings,
  type SettingsObject,
} from '../../../src/contract/settings.ts';

const ALL_FEATURES = Object.fromEntries(
  Object.keys(NO_FEATURES).map((name) => [name, true]),
) as typeof NO_FEATURES;

function canonical(body: unknown): PartialSettings {
  const parsed = parseSettings(body);
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.error.message);
  return parsed.value;
}

function refusal(body: unknown, features = NO_FEATURES): string | undefined {
  const parsed = parseSettings(body);
  return parsed.ok ? checkPartialSettings(parsed.value, features)?.code : parsed.error.code;
}

function merged(stored: SettingsObject | null, ...bodies: unknown[]): SettingsObject {
  return bodies.reduce<SettingsObject>((settings, body) => {
    const outcome = mergeSettings(settings, canonical(body));
    assert.ok(outcome.ok, outcome.ok ? '' : outcome.error.message);
    return outcome.value;
  }, stored ?? defaultSettings());
}

/** All fields of an embedder, whatever its source. */
function embedderIn({ embedders }: SettingsObject, name: string): Record<string, any> {
  return embedders[name]!;
}

function taskFailure(stored: SettingsObject | null, body: unknown): string | undefined {
  const outcome = mergeSettings(stored, canonical(body));
  return outcome.ok ? undefined : outcome.error.code;
}

describe('Settings in a request', () => {
  it('become canonical: keys in order, sets sorted, rules completed', () => {
    const body = {
      stopWords: ['to', 'The', 'to'],
      sortableAttributes: ['b', 'é', 'a', 'b'],
      displayedAttributes: ['b', 'a', 'b'],
      filterableAttributes: [
        'a',
        { attributePatterns: ['b*'], features: { filter: { comparison: true } } },
      ],
      synonyms: { z: ['b', 'a'], a: [] },
      faceting: { sortFacetValuesBy: { year: 'count', a: 'alpha' } },
      chat: { searchParameters: { hybrid: { embedder: 'e' } } },
    };
    assert.equal(
      JSON.stringify(canonical(body)),
      JSON.stringify({
        displayedAttributes: ['b', 'a', 'b'],
        filterableAttributes: [
          'a',
          {
            attributePatterns: ['b*'],
            features: { facetSearch: false, filter: { equality: true, comparison: true } },
          },
        ],
        sortableAttributes: ['a', 'b', 'é'],
        stopWords: ['The', 'to'],
        synonyms: { a: [], z: ['b', 'a'] },
        faceting: { sortFacetValuesBy: { a: 'alpha', year: 'count' } },
        chat: { searchParameters: { hybrid: { semanticRatio: 0.5, embedder: 'e' } } },
      }),
    );
  });

  it('show a reset as null, and as a star for the two lists that then hold everything', () => {
    const reset = resetAllSettings(NO_FEATURES);
    assert.deepEqual(reset.displayedAttributes, ['*']);
    assert.deepEqual(reset.searchableAttributes, ['*']);
    assert.equal(reset.rankingRules, null);
    assert.equal(Object.keys(reset).length, SETTING_ENTRIES.length - 1);
    assert.deepEqual(resetSetting('pagination'), { pagination: null });
  });

  it('name a hundred foreign keys at most', () => {
    const keys = (count: number): object => ({
      foreignKeys: Array.from({ length: count }, (_, n) => ({
        foreignIndexUid: 'authors',
        fieldName: `field${n}`,
      })),
    });
    const features = { ...NO_FEATURES, foreignKeys: true };
    assert.equal(refusal(keys(100), features), undefined);
    assert.equal(refusal(keys(101), features), 'invalid_settings_foreign_keys');
  });

  it('are refused with the code of the setting', () => {
    const cases: [unknown, string][] = [
      [{ unknown: 1 }, 'bad_request'],
      [[], 'bad_request'],
      [null, 'bad_request'],
      [{ stopWords: 'a', unknown: 1 }, 'invalid_settings_stop_words'],
      [{ typoTolerance: { disabled: true } }, 'invalid_settings_typo_tolerance'],
      [
        { typoTolerance: { minWordSizeForTypos: { oneTypo: 256 } } },
        'invalid_settings_typo_tolerance',
      ],
      [
        { typoTolerance: { minWordSizeForTypos: { oneTypo: 5, twoTypos: 3 } } },
        'invalid_settings_typo_tolerance',
      ],
      [{ pagination: { maxTotalHits: 0 } }, 'invalid_settings_pagination'],
      [{ faceting: { sortFacetValuesBy: { a: null } } }, 'invalid_settings_faceting'],
      [
        { filterableAttributes: [{ attributePatterns: ['a'], features: { filters: {} } }] },
        'invalid_settings_filterable_attributes',
      ],
      [
        { localizedAttributes: [{ attributePatterns: ['a'], locales: ['FR'] }] },
        'invalid_settings_localized_attributes',
      ],
      [{ rankingRules: ['words', 'Typo'] }, 'invalid_settings_ranking_rules'],
      [{ rankingRules: ['_geoPoint(1, 2):asc'] }, 'invalid_settings_ranking_rules'],
      [{ rankingRules: ['attribute', 'wordPosition'] }, 'invalid_settings_ranking_rules'],
      [{ chat: { description_: 1 } }, 'invalid_settings_index_chat'],
      [{ chat: {} }, 'feature_not_enabled'],
      [{ vectorStore: 'stable' }, 'feature_not_enabled'],
      [{ foreignKeys: [] }, 'feature_not_enabled'],
      [{ vectorStore: 'other' }, 'invalid_settings_vector_store'],
      [{ embedders: { a: { source: 'magic' } } }, 'invalid_settings_embedders'],
    ];
    for (const [body, code] of cases) assert.equal(refusal(body), code, JSON.stringify(body));
    assert.equal(refusal({ chat: {}, vectorStore: 'experimental' }, ALL_FEATURES), undefined);
    assert.equal(refusal({ chat: null, vectorStore: null, foreignKeys: null }), undefined);
  });

  it('have both forms of the localized attributes on the child route', () => {
    const rules = [{ attributePatterns: ['*_ja'], locales: ['ja'] }];
    const entry = SETTING_ENTRIES.find(({ name }) => name === 'localizedAttributes')!;
    const child = validator(childSchema(entry));
    for (const body of [rules, { localizedAttributes: rules }]) {
      const checked = child.validate(body);
      assert.ok(checked.ok);
      const partial = childSetting('localizedAttributes', checked.value);
      assert.deepEqual(partial, { localizedAttributes: rules });
    }
    const wrong = child.validate({ locales: [] });
    assert.ok(!wrong.ok && wrong.error.code === 'invalid_settings_localized_attributes');
  });
});

describe('Merging settings', () => {
  it('keeps what is absent, resets what is null, at every depth that merges', () => {
    const settings = merged(
      null,
      { typoTolerance: { enabled: false, minWordSizeForTypos: { oneTypo: 3, twoTypos: 4 } } },
      { typoTolerance: { minWordSizeForTypos: { twoTypos: null } } },
    );
    assert.deepEqual(settings.typoTolerance.minWordSizeForTypos, { oneTypo: 3, twoTypos: 9 });
    assert.equal(settings.typoTolerance.enabled, false);
    const later = merged(settings, { typoTolerance: { minWordSizeForTypos: null } });
    assert.deepEqual(later.typoTolerance.minWordSizeForTypos, { oneTypo: 5, twoTypos: 9 });
    assert.equal(later.typoTolerance.enabled, false);
    assert.deepEqual(merged(later, { typoTolerance: null }), defaultSettings());
  });

  it('stores each setting in the form that is shown', () => {
    const settings = merged(null, {
      displayedAttributes: ['b', 'a', 'b'],
      searchableAttributes: ['title', '*'],
      stopWords: ['été'],
      faceting: { sortFacetValuesBy: { year: 'count' } },
      localizedAttributes: [{ attributePatterns: ['*'], locales: ['ja', 'fa', 'deu'] }],
      typoTolerance: { disableOnWords: ['Zoé', 'alpha Beta'] },
    });
    assert.deepEqual(settings.displayedAttributes, ['b', 'a']);
    assert.deepEqual(settings.searchableAttributes, ['*']);
    assert.deepEqual(settings.stopWords, ['e\u0301te\u0301']);
    assert.deepEqual(settings.faceting, {
      maxValuesPerFacet: 100,
      sortFacetValuesBy: { '*': 'alpha', year: 'count' },
    });
    assert.deepEqual(settings.localizedAttributes[0]!.locales, ['jpn', 'pes', 'deu']);
    assert.deepEqual(settings.typoTolerance.disableOnWords, ['alpha beta', 'zoe']);
  });

  it('fails when the outcome cannot be, and then changes nothing', () => {
    const stored = Object.freeze(merged(null, { rankingRules: ['attribute'] }));
    const cases: [unknown, string][] = [
      [
        { typoTolerance: { minWordSizeForTypos: { oneTypo: 10 } } },
        'invalid_settings_typo_tolerance',
      ],
      [{ chat: { documentTemplate: '{% if %}' } }, 'invalid_chat_setting_document_template'],
      [{ chat: { documentTemplateMaxBytes: 0 } }, 'invalid_settings_index_chat'],
      [
        { embedders: { a: { source: 'openAi', documentTemplateMaxBytes: 0 } } },
        'invalid_settings_embedders',
      ],
      [{ embedders: { a: { dimensions: 3, revision: 'x' } } }, 'invalid_settings_embedders'],
    ];
    const before = JSON.stringify(stored);
    for (const [body, code] of cases) {
      assert.equal(taskFailure(stored, body), code, JSON.stringify(body));
    }
    assert.equal(JSON.stringify(stored), before);
  });

  it('makes a body of GET change nothing when it is sent back', () => {
    const settings = merged(null, {
      stopWords: ['b', 'a'],
      filterableAttributes: ['x', { attributePatterns: ['y'] }],
      embedders: { e: { source: 'userProvided', dimensions: 3 }, o: { source: 'openAi' } },
      synonyms: { a: ['b'] },
    });
    const again = merged(settings, renderSettings(settings, NO_FEATURES));
    assert.deepEqual(again, settings);
  });

  it('merges a request after another like both of them at once', () => {
    const requests = [
      { stopWords: ['a'], pagination: { maxTotalHits: 5 } },
      { faceting: { maxValuesPerFacet: 3 }, stopWords: null },
      { embedders: { a: { source: 'userProvided', dimensions: 2 } } },
      {
        embedders: { b: { source: 'userProvided', dimensions: 2 } },
        faceting: { sortFacetValuesBy: { x: 'count' } },
      },
    ];
    const oneByOne = merged(null, ...requests);
    assert.deepEqual(Object.keys(oneByOne.embedders), ['a', 'b']);
    assert.deepEqual(oneByOne.faceting, {
      maxValuesPerFacet: 3,
      sortFacetValuesBy: { '*': 'alpha', x: 'count' },
    });
    assert.deepEqual(oneByOne.stopWords, []);
  });

  it('never mistakes a name for a part of the language', () => {
    const body = JSON.parse('{"synonyms":{"__proto__":["x"],"constructor":["y"]}}') as unknown;
    const settings = merged(null, body);
    assert.equal(JSON.stringify(settings.synonyms), '{"__proto__":["x"],"constructor":["y"]}');
  });
});

describe('Embedders', () => {
  it('take only the fields of their source, and need its mandatory ones', () => {
    const cases: [unknown, string | undefined][] = [
      [{ source: 'userProvided' }, 'invalid_settings_embedders'],
      [
        { source: 'userProvided', dimensions: 3, documentTemplate: null },
        'invalid_settings_embedders',
      ],
      [{ source: 'ollama' }, 'invalid_settings_embedders'],
      [{ source: 'openAi', model: 'gpt-4' }, 'invalid_settings_embedders'],
      [{ source: 'openAi', model: 'constructor' }, 'invalid_settings_embedders'],
      [
        { source: 'openAi', model: 'text-embedding-ada-002', dimensions: 12 },
        'invalid_settings_embedders',
      ],
      [
        { source: 'openAi', model: 'text-embedding-3-small', dimensions: 1537 },
        'invalid_settings_embedders',
      ],
      [{ source: 'openAi', request: {} }, 'vector_embedding_error'],
      [{ source: 'openAi', documentTemplate: '{% for %}' }, 'invalid_settings_embedders'],
      [
        { source: 'rest', url: 'not a url', request: '{{text}}', response: '{{embedding}}' },
        'invalid_settings_embedders',
      ],
      [
        { source: 'rest', url: 'http://127.0.0.1:9/', request: 'none', response: '{{embedding}}' },
        'vector_embedding_error',
      ],
      [
        {
          source: 'rest',
          url: 'http://127.0.0.1:9/',
          request: ['{{text}}', '{{..}}'],
          response: '{{embedding}}',
        },
        'vector_embedding_error',
      ],
      [
        {
          source: 'rest',
          url: 'http://127.0.0.1:9/',
          request: ['{{text}}', '{{..}}'],
          response: { data: ['{{embedding}}', '{{..}}'] },
        },
        undefined,
      ],
      [
        { source: 'rest', request: '{{text}}', response: '{{embedding}}' },
        'invalid_settings_embedders',
      ],
      [{ source: 'rest', request: 'none', response: '{{embedding}}' }, 'vector_embedding_error'],
      [{ source: 'rest', request: '{{text}}', response: 'none' }, 'vector_embedding_error'],
      [{ source: 'rest', response: 'none' }, 'invalid_settings_embedders'],
      [
        { source: 'rest', request: ['{{text}}', '{{..}}'], response: '{{embedding}}' },
        'vector_embedding_error',
      ],
      [{ source: 'rest', request: 'none', url: 'not a url' }, 'invalid_settings_embedders'],
      [{ source: 'composite' }, 'feature_not_enabled'],
      [{ dimensions: 4 }, undefined],
    ];
    for (const [embedder, code] of cases) {
      assert.equal(refusal({ embedders: { a: embedder } }), code, JSON.stringify(embedder));
    }
  });

  it('are stored with the defaults of their source written out, in the order shown', () => {
    const { embedders } = merged(null, {
      embedders: { b: {}, a: { source: 'huggingFace', model: 'x/y' } },
    });
    assert.deepEqual(Object.keys(embedders), ['a', 'b']);
    assert.deepEqual(Object.keys(embedders.b!), [
      'source',
      'model',
      'documentTemplate',
      'documentTemplateMaxBytes',
    ]);
    assert.ok(embedders.b?.source === 'openAi');
    assert.equal(embedders.b.model, 'text-embedding-3-small');
    assert.deepEqual(Object.keys(embedders.a!), [
      'source',
      'model',
      'pooling',
      'documentTemplate',
      'documentTemplateMaxBytes',
    ]);
  });

  it('merge field by field, and forget everything when the source changes', () => {
    const stored = merged(null, {
      embedders: {
        a: { source: 'userProvided', dimensions: 3, distribution: { mean: 0.5, sigma: 0.1 } },
      },
    });
    const without = merged(stored, { embedders: { a: { distribution: null } } });
    assert.deepEqual(without.embedders.a, { source: 'userProvided', dimensions: 3 });
    const other = merged(stored, { embedders: { a: { source: 'openAi' } } });
    assert.ok(!('dimensions' in other.embedders.a!) && !('distribution' in other.embedders.a!));
    assert.equal(
      taskFailure(stored, { embedders: { a: { dimensions: null } } }),
      'invalid_settings_embedders',
    );
    assert.deepEqual(merged(stored, { embedders: { a: null, unknown: null } }).embedders, {});
  });

  it('cannot lose their quantization', () => {
    const stored = merged(null, {
      embedders: { a: { source: 'userProvided', dimensions: 3, binaryQuantized: true } },
    });
    for (const value of [false, null]) {
      assert.equal(
        taskFailure(stored, { embedders: { a: { binaryQuantized: value } } }),
        'invalid_settings_embedders',
      );
    }
    assert.equal(taskFailure(stored, { embedders: { a: { binaryQuantized: true } } }), undefined);
  });

  it('never show their keys, not even nested ones', () => {
    const secret = 'sk-abcdefghijklmnopqrstuvwxyz0123456789';
    const body = {
      embedders: {
        a: { source: 'openAi', apiKey: secret },
        c: {
          source: 'composite',
          searchEmbedder: { source: 'openAi', apiKey: secret },
          indexingEmbedder: { source: 'openAi', apiKey: secret },
        },
      },
    };
    const settings = merged(null, body);
    for (const shown of [
      renderSettings(settings, ALL_FEATURES),
      renderPartialSettings(canonical(body)),
    ]) {
      assert.ok(!JSON.stringify(shown).includes(secret));
      assert.ok(JSON.stringify(shown).includes('sk-abXXXXXX...'));
    }
    assert.ok(JSON.stringify(settings).includes(secret), 'the stored form keeps them');
  });

  it('show of a secret as much as its length allows', () => {
    const cases: [string, string][] = [
      ['short', 'XXX...'],
      ['0123456789', '01XXXX...'],
      ['01234567890123456789', '012XXXXX...'],
      ['012345678901234567890123456789', '01234XXXXXX...'],
      ['aé23456789', 'aéXXXX...'],
    ];
    for (const [secret, shown] of cases) assert.equal(masked(secret), shown, secret);
  });
});

describe('The settings that are shown', () => {
  it('have the keys in their order, those of features that are off left out', () => {
    const names = SETTING_ENTRIES.map(({ name }) => name);
    assert.deepEqual(Object.keys(defaultSettings()), names);
    const shown = Object.keys(renderSettings(defaultSettings(), NO_FEATURES));
    assert.deepEqual(
      shown,
      names.filter(
        (name) =>
          ![
            'foreignKeys',
            'defaultMatchingStrategy',
            'rerankers',
            'semanticCutoff',
            'expiresAtAttribute',
            'substringAttributes',
            'suggestions',
            'chat',
            'vectorStore',
          ].includes(name),
      ),
    );
    const changed = { ...defaultSettings(), defaultMatchingStrategy: 'natural' as const };
    assert.ok('defaultMatchingStrategy' in renderSettings(changed, NO_FEATURES));
    assert.ok('chat' in renderSettings(defaultSettings(), ALL_FEATURES));
  });
});

describe('The setting foreignKeys', () => {
  it('is stored and shown while its feature is on', () => {
    const keys = [{ foreignIndexUid: 'authors', fieldName: 'author' }];
    const on = { ...NO_FEATURES, foreignKeys: true };
    assert.equal(refusal({ foreignKeys: keys }, on), undefined);
    const settings = merged(null, { foreignKeys: keys });
    assert.deepEqual(renderSettings(settings, on).foreignKeys, keys);
    assert.ok(!('foreignKeys' in renderSettings(settings, NO_FEATURES)));
  });
});

describe('Embedders that are sent back as they are shown', () => {
  const rest = {
    ...{ source: 'rest', url: 'https://user:password@h/x?key=0123456789', apiKey: 'a-secret-key' },
    headers: { 'X-Key': 'another-secret' },
    request: { input: '{{text}}', options: { token: 'a-third-secret' } },
    response: { data: '{{embedding}}' },
  };
  const composite = {
    source: 'composite',
    searchEmbedder: { ...rest, apiKey: 'key-of-searches' },
    indexingEmbedder: rest,
  };
  const stored = merged(null, { embedders: { one: rest, both: composite } });
  const shown = renderSettings(stored, ALL_FEATURES)['embedders'] as Record<string, any>;

  it('stay as they are', () => {
    assert.doesNotMatch(JSON.stringify(shown), /password|0123456789|a-secret|a-third|key-of/);
    assert.deepEqual(shown['both'].searchEmbedder.headers, rest.headers);
    assert.deepEqual(merged(stored, { embedders: shown }), stored);
    const reported = renderPartialSettings(
      canonical({ embedders: { one: rest, both: composite } }),
    );
    assert.doesNotMatch(JSON.stringify(reported), /password|0123456789|secret|key-of/);
    assert.deepEqual(merged(stored, { embedders: reported['embedders'] }), stored);
  });

  it('keep their secrets where something else changes, of another source too', () => {
    const changed = merged(stored, {
      embedders: { one: { ...shown['one'], url: shown['one'].url.replace('/x', '/y') } },
    });
    assert.equal(embedderIn(changed, 'one')['url'], 'https://user:password@h/y?key=0123456789');
    const openAi = { source: 'openAi', apiKey: shown['one'].apiKey };
    assert.equal(
      embedderIn(merged(stored, { embedders: { one: openAi } }), 'one')['apiKey'],
      rest.apiKey,
    );
    const far = { ...shown['one'], url: shown['one'].url.replace('@h/', '@elsewhere/') };
    const moved = embedderIn(merged(stored, { embedders: { one: far } }), 'one');
    assert.equal(moved['url'], far.url);
  });
});

describe('The setting embedders', () => {
  const rest = {
    source: 'rest',
    url: 'http://localhost/embed',
    request: { input: '{{text}}' },
    response: { data: '{{embedding}}' },
  };
  const fragments = {
    dimensions: 3,
    request: { input: '{{fragment}}' },
    indexingFragments: { a: { value: '{{ doc.a }}' } },
    searchFragments: { q: { value: '{{ q }}' } },
  };
  const withFragments = { ...rest, ...fragments };
  const composite = { source: 'composite', searchEmbedder: rest, indexingEmbedder: rest };

  const refused: [string, unknown, string][] = [
    [
      'a template with fragments',
      { ...withFragments, documentTemplate: 'x' },
      'vector_embedding_error',
    ],
    ['no url', { ...rest, url: undefined }, 'invalid_settings_embedders'],
    ['a url that is none', { ...rest, url: 'nowhere', request: 'x' }, 'invalid_settings_embedders'],
    ['no request', { ...rest, request: undefined, response: 'x' }, 'invalid_settings_embedders'],
    ['null as request', { ...rest, request: null }, 'invalid_settings_embedders'],
    [
      'a template of 0 bytes',
      { ...rest, documentTemplate: 'x', documentTemplateMaxBytes: 0 },
      'invalid_settings_embedders',
    ],
    [
      'a text where fragments are used',
      { ...withFragments, request: '{{text}}' },
      'vector_embedding_error',
    ],
    [
      'half a composite',
      { source: 'composite', searchEmbedder: rest },
      'invalid_settings_embedders',
    ],
    [
      'a part without source',
      { ...composite, searchEmbedder: { url: 'x' } },
      'invalid_settings_embedders',
    ],
    [
      'a template for searching',
      { ...composite, searchEmbedder: { ...rest, documentTemplate: 'x' } },
      'invalid_settings_embedders',
    ],
  ];
  for (const [name, embedder, code] of refused) {
    it(`refuses ${name}`, () => {
      const body = JSON.parse(JSON.stringify({ embedders: { e: embedder } })) as unknown;
      assert.equal(refusal(body, ALL_FEATURES), code);
    });
  }

  it('needs the features of its parts, too', () => {
    const on = { ...NO_FEATURES, compositeEmbedders: true };
    const part = { ...composite, searchEmbedder: withFragments };
    const cases: [unknown, typeof NO_FEATURES][] = [
      [withFragments, NO_FEATURES],
      [composite, NO_FEATURES],
      [{ searchEmbedder: rest }, NO_FEATURES],
      [part, on],
    ];
    for (const [embedder, features] of cases) {
      assert.equal(refusal({ embedders: { e: embedder } }, features), 'feature_not_enabled');
    }
    assert.equal(refusal({ embedders: { e: composite } }, on), undefined);
  });

  it('merges parts field by field, but the one for searching is replaced whole', () => {
    const before = merged(null, { embedders: { e: composite } });
    const { searchEmbedder, indexingEmbedder } = embedderIn(before, 'e');
    assert.deepEqual(Object.keys(searchEmbedder as object), [
      ...['source', 'url', 'request', 'response', 'headers'],
    ]);
    assert.equal((indexingEmbedder as Record<string, unknown>).documentTemplateMaxBytes, 400);
    const change = { embedders: { e: { indexingEmbedder: { documentTemplate: 'new' } } } };
    const after = embedderIn(merged(before, change), 'e');
    assert.deepEqual(after.indexingEmbedder, {
      ...(indexingEmbedder as object),
      documentTemplate: 'new',
    });
    assert.deepEqual(after.searchEmbedder, searchEmbedder);
    assert.equal(
      taskFailure(before, { embedders: { e: { searchEmbedder: { url: 'http://x' } } } }),
      'invalid_settings_embedders',
    );
  });

  it('takes fragments in place of the template, and the template back for them', () => {
    const plain = merged(null, { embedders: { e: { ...rest, documentTemplate: 'x' } } });
    const { e } = merged(plain, { embedders: { e: fragments } }).embedders;
    assert.ok(!('documentTemplate' in e!) && !('documentTemplateMaxBytes' in e!));
    const back = {
      request: { input: '{{text}}' },
      indexingFragments: null,
      searchFragments: null,
      documentTemplate: 'y',
    };
    const again = merged(merged(plain, { embedders: { e: fragments } }), {
      embedders: { e: back },
    });
    assert.equal(embedderIn(again, 'e').documentTemplate, 'y');
  });

  it('fails where the outcome does not fit together', () => {
    const stored = merged(null, { embedders: { e: withFragments } });
    const failing: unknown[] = [
      { searchFragments: null },
      { documentTemplate: 'x' },
      { dimensions: null },
      { indexingFragments: null, searchFragments: null },
    ];
    for (const change of failing) {
      assert.equal(
        taskFailure(stored, { embedders: { e: change } }),
        'vector_embedding_error',
        JSON.stringify(change),
      );
    }
    const fragment = { ...rest, request: { input: '{{fragment}}' } };
    assert.equal(refusal({ embedders: { e: fragment } }), undefined);
    assert.equal(taskFailure(null, { embedders: { e: fragment } }), 'vector_embedding_error');
  });
});
