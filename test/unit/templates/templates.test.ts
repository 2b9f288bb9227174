import assert from 'node:assert/strict';
import {
  DEFAULT_DOCUMENT_TEMPLATE,
  parseDocumentTemplate,
  parseFragment,
  parseTemplateJson,
  searchableAttributes,
  TemplateDocument,
} from '../../../src/templates/document-template.ts';
import { parseTemplate, templateFault } from '../../../src/templates/liquid.ts';
import { cutText } from '../../../src/templates/value-text.ts';
import { mulberry } from '../../support/random.ts';

type Json = Record<string, unknown>;

const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);

function randomSource(name: string): { below(end: number): number } {
  console.log(`      ${name}: SEED=${SEED}`);
  const next = mulberry(SEED);
  return { below: (end) => Math.floor(next() * end) };
}

function render(
  template: string,
  document: Json,
  searchable?: string[],
  bytesMax = 10_000,
): string {
  const parsed = parseDocumentTemplate(template);
  assert.ok(parsed.ok, `${template}: ${parsed.ok ? '' : parsed.error}`);
  const seen = new TemplateDocument(structuredClone(document), searchableAttributes(searchable));
  const rendered = parsed.value.render(seen, bytesMax);
  return rendered.ok ? rendered.value : `fault: ${rendered.error.message}`;
}

const BOOK: Json = {
  ...{ id: 1, title: 'An apple', year: 2001, price: 2.5, big: 1e21, yes: true, no: false },
  ...{ nothing: null, empty: '', tags: ['red', 'round', 3], author: { name: 'Eve' } },
  ...{ origin: { born: { year: 1 } }, list: [{ a: 1 }, { b: [2, 3] }], _geo: { lat: 1, lng: 2 } },
  ...{ 'a.b': 'dotted', emptyList: [], emptyObject: {}, line: 'two\nlines', _vectors: { e: [1] } },
};

describe('A document template', () => {
  it('of the default text names every searchable field that has a value', () => {
    const expected =
      'id: 1\ntitle: An apple\nyear: 2001\nprice: 2.5\nbig: 1000000000000000000000\nyes: true\nempty: \n' +
      'tags: redround3\nauthor: nameEve\norigin: bornyear1\nlist: a1b23\na.b: dotted\nemptyList: \nemptyObject: \nline: two\nlines\n';
    assert.equal(render(DEFAULT_DOCUMENT_TEMPLATE, BOOK), expected);
    assert.equal(
      render(DEFAULT_DOCUMENT_TEMPLATE, BOOK, ['title', 'author.name', 'year']),
      'title: An apple\nyear: 2001\n',
    );
    assert.equal(render(DEFAULT_DOCUMENT_TEMPLATE, BOOK, ['*', 'x']), expected);
  });

  const CASES: readonly [template: string, expected: string][] = [
    ['{{ doc.title | upcase }}', 'AN APPLE'],
    ['{% if doc.missing %}a{% else %}b{% endif %}', 'b'],
    ['{% unless doc.missing %}none{% endunless %}', 'none'],
    ['{% if doc.missing or doc.title %}a{% endif %}', 'a'],
    ['{% if doc.title and doc.missing %}a{% else %}b{% endif %}', 'b'],
    ['{% if doc.author.missing.deeper %}a{% else %}b{% endif %}', 'b'],
    ['{% if doc.year == 2001 and doc.no == false %}a{% endif %}', 'a'],
    [
      '{% for t in doc.tags limit:2 offset:1 %}{{ forloop.index }}:{{ t }} {% endfor %}',
      '1:round 2:3 ',
    ],
    ['{% for t in doc.tags reversed %}{{ t }}{% endfor %}', '3roundred'],
    [
      '{{ doc.tags[0] }} {{ doc["title"] }} {{ doc["a.b"] }} {{ doc.tags.size }}',
      'red An apple dotted 3',
    ],
    ["{{ doc.nothing | default: 'nobody' }}{{ doc.nothing }}{{ doc.nothing | upcase }}", 'nobody'],
    ['{{ doc.price | times: 2 }} {{ doc.nothing | size }} {{ doc.title | size }}', '5 0 8'],
    ['{% case doc.year %}{% when 2001 %}y{% else %}n{% endcase %}', 'y'],
    [
      '{% assign x = doc.title | append: "!" %}{% capture y %}<{{ x }}>{% endcapture %}{{ y }}',
      '<An apple!>',
    ],
    ['{{ doc.author | append: "!" }} {{ doc.author }} {{ doc.list }}', 'nameEve! nameEve a1b23'],
    ['{% raw %}{{ x }}{% endraw %}{% comment %}c{% endcomment %}', '{{ x }}'],
    [
      '{% for f in fields %}{% if f.name == "no" %}{{ f.value }}{{ f.is_searchable }}{% endif %}{% endfor %}',
      'falsetrue',
    ],
    ['{% for t in doc.tags %}{% ifchanged %}{{ t | size }}{% endifchanged %}{% endfor %}', '350'],
    ['{{ doc.text | default: "x" }}', 'fault: undefined variable: doc.text'],
    ['{{ doc.missing }}', 'fault: undefined variable: doc.missing'],
    ['{{ foo }}', 'fault: undefined variable: foo'],
    ['{% if doc.no == nil %}a{% endif %}{% if doc.nothing == false %}b{% endif %}', 'ab'],
    ['{% if doc.yes != nil and doc.empty != nil %}a{% endif %}', 'a'],
    ['{{ doc.nothing.first }}', 'fault: undefined variable: doc.nothing.first'],
    ['{{ doc.title.first }}', 'fault: undefined variable: doc.title.first'],
    ['{{ doc.nested.x }}', 'fault: undefined variable: doc.nested'],
    ['{{ doc._geo }}', 'fault: undefined variable: doc._geo'],
    ['{{ doc._vectors }}', 'fault: undefined variable: doc._vectors'],
    ['{% if doc.missing == "x" %}{% endif %}', 'fault: undefined variable: doc.missing'],
    ['{% for t in doc.missing %}{% endfor %}', 'fault: undefined variable: doc.missing'],
  ];
  for (const [template, expected] of CASES) {
    it(`renders ${template}`, () => {
      assert.equal(render(template, BOOK).replace(/, line:.*/, ''), expected);
    });
  }

  it('is cut between characters', () => {
    const title = (text: string, bytes: number): string =>
      render('{{ doc.title }}', { title: text }, undefined, bytes);
    assert.equal(title('abcdefghij', 7), 'abcdefg');
    assert.equal(title('ééééé', 7), 'ééé');
    assert.equal(title('🎉🎉', 7), '🎉');
    assert.equal(title('🎉', 3), '');
    assert.equal(title('short', 7), 'short');
  });

  it('of the default text is rendered as the library renders it', () => {
    const random = randomSource('default document template');
    const pieces: (() => unknown)[] = [
      () => null,
      () => random.below(2) === 0,
      () => random.below(1000) / 8 - 50,
      () => 'aé🎉 \n"<'.repeat(random.below(4)),
      () => Array.from({ length: random.below(4) }, () => piece(1)),
      () =>
        Object.fromEntries(Array.from({ length: random.below(4) }, (_, i) => [`k${i}`, piece(1)])),
    ];
    const piece = (depth = 0): unknown => pieces[random.below(depth === 0 ? 6 : 4)]!();
    // With an invisible difference, so that the library renders it.
    const slow = DEFAULT_DOCUMENT_TEMPLATE.replace('{{ field.name }}', '{{field.name}}');
    for (let round = 0; round < 2_000; round++) {
      const names = Array.from({ length: random.below(7) }, (_, i) => `f${i}`);
      const document = Object.fromEntries(names.map((name) => [name, piece()]));
      const searchable =
        random.below(2) === 0 ? undefined : names.filter(() => random.below(2) === 0);
      const bytes = random.below(60) + 1;
      assert.equal(
        render(DEFAULT_DOCUMENT_TEMPLATE, document, searchable, bytes),
        render(slow, document, searchable, bytes),
        JSON.stringify({ document, searchable, bytes }),
      );
    }
  });

  it('keeps whole numbers exact and converts greater ones to strings', () => {
    const json =
      '{"a":9007199254740993,"b":"1234567890123456789\\"9007199254740993","c":1234567890123456,"d":1e16,"e":-92233720368547758089}';
    const document = parseTemplateJson(json) as Json;
    assert.equal(
      render('{{ doc.a }} {{ doc.c }} {{ doc.d }} {{ doc.e }}', document),
      '9007199254740993 1234567890123456 10000000000000000 -92233720368547758089',
    );
    assert.equal(document.b, '1234567890123456789"9007199254740993');
    assert.equal(document.c, 1_234_567_890_123_456);
  });

  it('leaves fractions and exponents of many digits alone', () => {
    const numbers =
      '[0.30000000000000004,-9.98765432109876543,1e-00000000000000000007,9007199254740993.5]';
    assert.deepEqual(parseTemplateJson(numbers), JSON.parse(numbers));
  });
});

describe('A template as hostile input', () => {
  it('reaches no prototype and no file', () => {
    const document = JSON.parse(
      '{"title":"x","tags":["a"],"o":{"k":1},"__proto__":{"p":1}}',
    ) as Json;
    for (const path of [
      ...['doc.constructor', 'doc.o.constructor', 'doc.o.__proto__', 'doc.title.constructor'],
      ...['doc.tags.constructor', 'doc.tags.push', 'doc.o.toString', 'constructor', '__proto__'],
      ...[
        'doc.title.length',
        'process',
        'globalThis',
        'require',
        'doc.o.hasOwnProperty',
        'fields.map',
      ],
    ]) {
      assert.match(render(`{{ ${path} }}`, document), /^fault: undefined variable/, path);
    }
    assert.equal(render('{{ doc.__proto__.p }}', document), '1');
    for (const template of [
      '{% include "x" %}',
      '{% render "x" %}',
      '{% layout "x" %}',
      '{% liquid echo 1 %}',
    ]) {
      assert.notEqual(templateFault(template), null, template);
    }
  });

  it('is stopped when it loops endlessly or exceeds limits', () => {
    const hostile = [
      '{% for i in (1..100000000) %}{% endfor %}',
      '{% for i in (1..100000) %}{% for j in (1..100000) %}{{ j }}{% endfor %}{% endfor %}',
      "{% assign x = 'aaaaaaaaaaaaaaaa' %}{% for i in (1..40) %}{% assign x = x | append: x %}{% endfor %}",
      "{{ 'now' | date: '%1000000000N' }}",
    ];
    for (const template of hostile) {
      assert.match(render(template, BOOK), /^fault: .*(limit exceeded|too much work)/, template);
    }
  });

  it('is refused when it nests too deep or is too long', () => {
    assert.equal(templateFault('{% if a %}'.repeat(100) + '{% endif %}'.repeat(100)), null);
    assert.match(
      templateFault('{% if a %}'.repeat(101) + '{% endif %}'.repeat(101))!,
      /inside each other/,
    );
    assert.match(templateFault('{% if a %}'.repeat(1000))!, /inside each other/);
    assert.match(templateFault('{% if a %}'.repeat(100_000))!, /more than 1000 tags/);
    assert.match(templateFault('{{ a }}'.repeat(1001))!, /more than 1000 tags/);
    assert.equal(templateFault('{{ a }}x'.repeat(1000)), null);
    const filters = '| upcase '.repeat(2000);
    assert.match(templateFault(`{{ a ${filters}}}`)!, /16384 characters/);
    assert.match(templateFault('x'.repeat(1_000_001))!, /more than/);
    assert.match(templateFault(`{{ ${'('.repeat(10_000)} }}`)!, /./);
  });

  it('does not let one rendering see another', () => {
    const counter = parseTemplate('{% increment n %}');
    assert.ok(counter.ok);
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(counter.value.render({}), { ok: true, value: '0' });
    }
  });
});

describe('A fragment', () => {
  it('renders each string of it and keeps the rest', () => {
    const value = {
      image: '{{ doc.poster }}',
      tags: ['{{ doc.title }}', 'x', 2, null],
      '{{k}}': true,
    };
    const fragment = parseFragment(value);
    assert.ok(fragment.ok);
    const document = new TemplateDocument({ title: 'Up', poster: 'u.png', o: { a: [1] } }, null);
    assert.deepEqual(fragment.value.render(document.documentScope()), {
      ok: true,
      value: { image: 'u.png', tags: ['Up', 'x', 2, null], '{{k}}': true },
    });
    const object = parseFragment('{{ doc.o }}');
    assert.ok(object.ok);
    assert.deepEqual(object.value.render(document.documentScope()), { ok: true, value: 'a1' });
  });

  it('does not render where a variable is missing, and sees no fields', () => {
    const document = new TemplateDocument({ title: 'Up' }, null);
    for (const text of ['{{ doc.poster }}', '{% for f in fields %}{% endfor %}']) {
      const fragment = parseFragment({ a: [text] });
      assert.ok(fragment.ok);
      const rendered = fragment.value.render(document.documentScope());
      assert.ok(!rendered.ok && rendered.error.missing);
    }
  });

  it('reports where a template in it does not parse', () => {
    const fragment = parseFragment({ a: [{ b: '{{ x' }] });
    assert.ok(!fragment.ok);
    assert.match(fragment.error, /`\.a\[0\]\.b`/);
  });
});

describe('cutText', () => {
  it('cuts as bytes are counted', () => {
    const random = randomSource('cut text');
    for (let round = 0; round < 5_000; round++) {
      const text = Array.from(
        { length: random.below(12) },
        () => ['a', 'é', '日', '🎉'][random.below(4)],
      ).join('');
      const bytesMax = random.below(30);
      let expected = '';
      for (const character of text) {
        if (Buffer.byteLength(expected + character) > bytesMax) break;
        expected += character;
      }
      assert.equal(cutText(text, bytesMax), expected);
    }
  });
});
