/**
 * Templates that exceed limits in every way that the language offers. Each is stopped by its own
 * limits, in CPU time like that of a loop that is stopped by the clock. Legitimate templates still
 * render large documents.
 */
import assert from 'node:assert/strict';
import { parseTemplate } from '../../../src/templates/liquid.ts';
import { withTexts } from '../../../src/templates/value-text.ts';

/** Characters of a text. Templates that must render stay far below the time limit. */
const HOSTILE_SIZE = 1_000_000;
const LARGE_SIZE = 200_000;
/** CPU time of a template against that of an endless loop. Without limits they take minutes. */
const FACTOR = 10;

const scope = (N: number): object => ({
  doc: withTexts({
    a: 'a'.repeat(N),
    ba: `b${'a'.repeat(N / 10)}`,
    words: 'ab '.repeat(N / 3),
    html: '<p>some words</p> '.repeat(N / 4),
    spaces: `${' '.repeat(N)}x`,
    openers: '<script'.repeat(N / 8),
    amps: '&'.repeat(N),
    lines: '\n'.repeat(N),
    accents: 'é'.repeat(N),
    emoji: '😀'.repeat(N / 2),
    digits: '9'.repeat(N),
    percents: '%41'.repeat(N / 4),
    conversions: '%A'.repeat(N / 2),
    widths: '%999999N'.repeat(1000),
    n: 1e308,
    list: Array.from({ length: 0.3 * N }, (_, i) => i),
    objects: Array.from({ length: N / 20 }, (_, i) => ({ n: i, t: 'x'.repeat(20) })),
    texts: Array.from({ length: N / 500 }, (_, i) => 'a'.repeat(2000) + i),
    alike: ['x', 'y'].map((end) => 'a'.repeat(N) + end),
    deep: JSON.parse('['.repeat(3000) + ']'.repeat(3000)) as unknown,
    empty: [],
  }),
});

const times = (count: number, text: string, separator = ''): string =>
  Array.from({ length: count }, () => text).join(separator);
const loop = (body: string, count = 9_000_000): string =>
  `{% for i in (1..${count}) %}${body}{% endfor %}`;
const doubled = (list: string, rounds: number): string =>
  `{% assign l = ${list} %}${loop('{% assign l = l | concat: l %}', rounds)}`;

const HOSTILE: readonly string[] = [
  '{{ (1..3300000) | where: "size", 1 | size }}',
  '{{ doc.objects | where: "t", doc.a | size }}',
  '{{ doc.objects | map: doc.a | size }}',
  '{{ (1..3000000) | map: "size" | size }}',
  '{{ (1..3000000) | sort | size }}',
  '{{ (1..3000000) | sort_natural | size }}',
  '{{ (1..3000000) | uniq | size }}',
  `${doubled('doc.alike', 12)}{{ l | sort | size }}`,
  `${doubled('doc.texts', 4)}{{ l | sort_natural | size }}`,
  `${doubled('doc.objects', 8)}{{ l | join: "" | size }}`,
  `${doubled('doc.objects', 8)}{{ l }}`,
  `${doubled('doc.texts', 11)}{{ l | append: "x" | size }}`,
  `${doubled('doc.list', 60)}{{ l | size }}`,
  '{% assign p = doc.words | replace: " ", "." %}{{ doc.objects | sort: p | size }}',
  '{{ doc.list | join: doc.a | size }}',
  '{{ doc.objects | map: "t" | join: doc.words | size }}',
  '{{ doc.a | split: doc.ba | size }}',
  '{{ doc.a | replace: "a", doc.a | size }}',
  '{{ doc.a | replace: "", doc.a | size }}',
  '{{ doc.a | replace: doc.ba, "" | size }}',
  '{{ doc.a | replace_first: doc.ba, "" | size }}',
  '{{ doc.a | remove: doc.ba | size }}',
  '{{ doc.a | remove_first: doc.ba | size }}',
  `{% assign a = "xxxxxxxxxx" %}${loop('{% assign a = a | append: a %}', 60)}`,
  `{% assign a = "xxxxxxxxxx" %}${loop('{% assign a = a | prepend: a %}', 60)}`,
  `{% assign a = "xxxxxxxxxx" %}${loop('{% capture a %}{{ a }}{{ a }}{% endcapture %}', 60)}`,
  loop('{{ doc.a }}'),
  loop('x'.repeat(100_000)),
  loop('{% capture x %}{{ doc.a }}{{ doc.a }}{% endcapture %}'),
  loop('{% ifchanged %}{{ doc.a }}{% endifchanged %}'),
  '{{ (1..99999999999) | size }}',
  loop(loop('')),
  '{% tablerow i in (1..9000000) cols:1 %}{{ i }}{% endtablerow %}',
  loop('{% tablerow j in doc.list limit:1 %}{% endtablerow %}'),
  loop('{% for j in doc.list limit:1 %}{% endfor %}'),
  loop('{% for j in doc.list reversed limit:1 %}{% endfor %}'),
  loop('{% cycle "a", "b" %}'),
  loop('{% increment x %}{% decrement x %}'),
  loop('{{ doc.list | first }}{{ doc.list | last }}'),
  loop('{% assign l = doc.list | reverse %}'),
  loop('{% assign l = doc.objects | compact %}'),
  loop('{% assign l = doc.list | slice: 0, 300000 %}'),
  loop('{{ doc.emoji | slice: -1 }}'),
  '{{ doc.list | slice: 0, 99999999999 | size }}',
  '{{ 0 | date: "%999999999Y" }}',
  '{{ 0 | date: doc.conversions | size }}',
  '{{ 0 | date: doc.widths | size }}',
  loop('{{ i | date: "%c %+ %Z %A" }}'),
  '{{ doc.amps | escape | escape | escape | size }}',
  '{{ doc.amps | escape_once | escape_once | escape_once | size }}',
  '{{ doc.accents | url_encode | url_encode | url_encode | size }}',
  '{{ doc.lines | newline_to_br | newline_to_br | newline_to_br | size }}',
  `{{ doc.a ${times(700, '| upcase | downcase ')}}}`,
  '{% if doc.a contains doc.ba %}{% endif %}',
  loop('{% if doc.list contains "x" %}{% endif %}'),
  `{% if ${times(400, 'doc.list == doc.list', ' or ')} == "x" %}{% endif %}`,
  loop(`{% if ${times(300, 'doc.alike[0] > doc.alike[1]', ' or ')} %}{% endif %}`),
  loop('{% if doc.alike == doc.objects or doc.alike[0] == doc.alike[1] %}{% endif %}'),
  `{% assign l = doc.list | concat: doc.empty %}${loop(`{% case l %}{% when doc.list %}{% endcase %}`)}`,
  loop('{{ doc.digits | round: 300 }}{{ doc.digits | times: 2 }}'),
  loop('{{ doc.spaces | strip | rstrip | lstrip | size }}'),
];

/** Expensive templates that must render. */
const LARGE: readonly string[] = [
  '{{ doc.html | strip_html | truncatewords: 100 }}',
  '{% if doc.html contains "nothing" %}{% else %}x{% endif %}',
  '{{ doc.html | split: " " | size }}',
  '{{ doc.words | replace: "ab", "cd" | size }}',
  '{{ doc.objects | map: "t" | join: ", " | size }}',
  '{{ doc.objects | where: "n", 7 | size }}',
  '{{ doc.objects | sort: "t" | size }}',
  '{{ doc.list | sort | uniq | size }}',
  '{{ doc.texts | uniq | sort | size }}',
  '{{ doc.spaces | rstrip | strip | truncatewords: 3 | size }}',
  '{{ doc.openers | strip_html | size }}',
  '{{ doc.percents | url_decode | size }}',
  '{{ doc.digits | round: 3 }}{{ doc.n | times: doc.n }}{{ doc.n | round: 400 }}',
  '{{ doc.deep | join }}{{ doc.deep }}.',
  '{{ doc.a | truncate: 999999999, doc.a | size }}',
];

describe('A template that exceeds limits', function () {
  this.timeout(120_000);

  function outcome(text: string, size: number): { fault: string | null; text: string; ms: number } {
    const parsed = parseTemplate(text);
    assert.ok(parsed.ok, `${text.slice(0, 100)}: ${parsed.ok ? '' : parsed.error}`);
    const variables = scope(size);
    const begin = process.cpuUsage();
    const rendered = parsed.value.render(variables);
    const ms = process.cpuUsage(begin).user / 1000;
    return rendered.ok
      ? { fault: null, text: rendered.value, ms }
      : { fault: rendered.error.message, text: '', ms };
  }

  const endless = outcome(loop(loop('')), HOSTILE_SIZE).ms;

  for (const text of HOSTILE) {
    it(text.slice(0, 100), () => {
      const { fault, ...first } = outcome(text, HOSTILE_SIZE);
      assert.match(fault ?? 'none', /too much work|limit exceeded/);
      // Garbage collection counts too, on all threads that it uses, and depends on earlier tests.
      let { ms } = first;
      for (let again = 0; again < 4 && ms >= FACTOR * endless; again++)
        ms = Math.min(ms, outcome(text, HOSTILE_SIZE).ms);
      assert.ok(ms < FACTOR * endless, `${ms} ms, an endless loop ${endless} ms`);
    });
  }

  for (const text of LARGE) {
    it(`is not ${text.slice(0, 100)}`, () => {
      const { fault, text: rendered } = outcome(text, LARGE_SIZE);
      assert.equal(fault, null);
      assert.notEqual(rendered, '');
    });
  }
});
