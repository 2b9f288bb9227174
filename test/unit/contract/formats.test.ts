import assert from 'node:assert/strict';
import {
  canonicalKeyDate,
  FORMATS,
  isDocumentId,
  isIndexPattern,
  isIndexUid,
  normalizeUuid,
  parseKeyDate,
  parseRfc3339,
} from '../../../src/contract/formats.ts';
import { filterKindFault, isEmptyFilter } from '../../../src/contract/filters.ts';
import { LOCALES } from '../../../src/contract/locales.ts';
import { sortFault } from '../../../src/contract/sort.ts';
import { isoDuration } from '../../../src/contract/tasks.ts';
import { templateFault } from '../../../src/templates/liquid.ts';
import { DEFAULT_DOCUMENT_TEMPLATE } from '../../../src/templates/document-template.ts';

describe('Formats', () => {
  it('of index uids, index patterns and document ids', () => {
    assert.ok(isIndexUid('a-Z_9') && isIndexUid('x'.repeat(400)));
    for (const uid of ['', 'x'.repeat(401), 'a b', 'é', 'a*', 'a/b'])
      assert.ok(!isIndexUid(uid), uid);
    for (const pattern of ['*', 'a', 'a*']) assert.ok(isIndexPattern(pattern), pattern);
    for (const pattern of ['', '**', 'a**', '*a', 'a*b'])
      assert.ok(!isIndexPattern(pattern), pattern);
    assert.ok(isDocumentId('-1') && isDocumentId('x'.repeat(511)));
    for (const id of ['', 'x'.repeat(512), '1.0', 'a b']) assert.ok(!isDocumentId(id), id);
  });

  it('of UUIDs, in all their text forms', () => {
    const uuid = '4f9e3c1a-7b2d-4e60-9a51-3c8d2f1b6e07';
    for (const text of [
      uuid,
      uuid.toUpperCase(),
      uuid.replaceAll('-', ''),
      `{${uuid}}`,
      `urn:uuid:${uuid}`,
    ]) {
      assert.equal(normalizeUuid(text), uuid, text);
    }
    for (const text of ['', 'x', uuid.slice(1), `${uuid}0`, `{${uuid}`, uuid.replace('-', '')]) {
      assert.equal(normalizeUuid(text), undefined, text);
    }
  });

  it('of moments are exact to the microsecond, and between two of them', () => {
    const second = Date.UTC(2026, 10, 25, 4, 39, 42);
    for (const micros of [1, 926_000, 926_001, 999_999]) {
      const digits = String(micros).padStart(6, '0');
      const moment = (second * 1000 + micros) / 1000;
      assert.equal(parseRfc3339(`2026-11-25T04:39:42.${digits}Z`), moment);
      assert.equal(parseRfc3339(`2026-11-25T05:39:42.${digits}000+01:00`), moment);
      const later = parseRfc3339(`2026-11-25T04:39:42.${digits}001Z`)!;
      assert.ok(moment < later && later < (second * 1000 + micros + 1) / 1000, digits);
    }
    assert.equal(parseRfc3339('2026-11-25T04:39:42.5Z'), second + 500);
  });

  it('of the expiry of a key', () => {
    const noon = Date.UTC(2123, 3, 5, 6, 7, 8);
    const cases: [string, number | undefined, string?][] = [
      ['2123-04-05', Date.UTC(2123, 3, 5), '2123-04-05T00:00:00Z'],
      ['2123-04-05 06:07:08', noon, '2123-04-05T06:07:08Z'],
      ['2123-04-05T06:07:08', noon, '2123-04-05T06:07:08Z'],
      ['2123-04-05T06:07:08+00:00', noon, '2123-04-05T06:07:08Z'],
      ['2123-04-05T06:07:08.120Z', noon + 120, '2123-04-05T06:07:08.12Z'],
      ['2123-04-05T06:07:08-11:30', noon + 11.5 * 3_600_000, '2123-04-05T06:07:08-11:30'],
      ['2123-02-30', undefined],
      ['2123-4-5', undefined],
      ['2123-04-05T06:07', undefined],
      ['2123-04-05T06:07:60Z', undefined],
      ['tomorrow', undefined],
      ['', undefined],
    ];
    for (const [text, moment, shown] of cases) {
      assert.equal(parseKeyDate(text), moment, text);
      if (shown !== undefined) assert.equal(canonicalKeyDate(text), shown);
    }
  });

  it('of ranking rules', () => {
    const rule = FORMATS['ranking-rule'];
    for (const text of ['words', 'attributeRank', 'price:asc:desc', 'a b:asc', '_hidden:asc']) {
      assert.equal(rule(text), null, text);
    }
    for (const text of [
      '',
      'Typo',
      ' words',
      'rank',
      'rank:',
      ':asc',
      'rank:ASC',
      '_geo:asc',
      '_geoRadius(1, 2, 3):asc',
      '_geojson:desc',
    ]) {
      assert.notEqual(rule(text), null, text);
    }
  });

  it('of sort elements', () => {
    for (const text of ['a:asc', 'a:b:desc', '_geoPoint(48.8, -2.3):asc']) {
      assert.equal(sortFault([text], 'invalid_search_sort'), null, text);
    }
    for (const text of [
      'a',
      'a:up',
      ':asc',
      '_geo:asc',
      '_geoDistance:asc',
      '_geoPoint:asc',
      '_geoPoint(1):asc',
      '_geoPoint(91, 0):asc',
      '_geoPoint(0, 181):asc',
      '_geoPoint(a, b):asc',
    ]) {
      assert.equal(
        sortFault(['b:asc', text], 'invalid_search_sort')?.code,
        'invalid_search_sort',
        text,
      );
    }
  });

  it('of locales: two and three letters', () => {
    for (const locale of ['fr', 'fra', 'ja', 'jpn', 'zho', 'cmn', 'zh'])
      assert.ok(LOCALES.includes(locale), locale);
    for (const locale of ['FR', 'xyz', 'french', '']) assert.ok(!LOCALES.includes(locale), locale);
  });
});

describe('The kind of a filter', () => {
  it('is a string, or an array of strings and of arrays of strings', () => {
    for (const filter of [null, undefined, 'a = 1', [], ['a', ['b', 'c']], [[]]]) {
      assert.equal(filterKindFault(filter, 'invalid_search_filter'), null, JSON.stringify(filter));
    }
    for (const filter of [1, true, {}, [1], [['a', 1]], [[['a']]]]) {
      assert.equal(filterKindFault(filter, 'invalid_search_filter')?.code, 'invalid_search_filter');
    }
    for (const filter of ['', '  ', [], [[]], ['', [' ']]]) assert.ok(isEmptyFilter(filter));
    assert.ok(!isEmptyFilter([[], 'a']));
  });
});

describe('A duration', () => {
  it('has days and seconds only, and as few groups of digits as are exact', () => {
    const cases: [number, string | null][] = [
      [0, 'PT0S'],
      [86_400_000, 'P1D'],
      [3_700_500, 'PT3700.500S'],
      [86_405_000, 'P1DT5S'],
      [0.041873, 'PT0.000041873S'],
      [41.873, 'PT0.041873S'],
      [-1, null],
    ];
    for (const [ms, text] of cases) assert.equal(isoDuration(ms), text);
  });
});

describe('A document template', () => {
  it('is distinguished from a text that does not parse', () => {
    for (const text of [
      DEFAULT_DOCUMENT_TEMPLATE,
      '{{ doc.title | downcase | truncate: 20 }}',
      '{% if doc.a %}x{% elsif doc.b %}y{% else %}z{% endif %}',
      '{% raw %}{{ {% endraw %}',
      'plain',
      '',
    ]) {
      assert.equal(templateFault(text), null, text);
    }
    for (const text of [
      '{% if %}',
      '{% for %}',
      '{{ doc.title',
      '{% nope %}',
      '{% if a %}',
      '{% endif %}',
      '{{ a | nope }}',
      '{{ "a }}',
      '{{ }}',
      '{% else %}',
    ]) {
      assert.notEqual(templateFault(text), null, text);
    }
  });
});
