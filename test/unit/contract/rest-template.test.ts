import assert from 'node:assert/strict';
import {
  RequestTemplate,
  ResponseTemplate,
} from '../../../src/contract/embedders/rest-template.ts';
import { mulberry } from '../../support/random.ts';

type Json = unknown;

describe('Templates of a REST embedder', () => {
  it('put texts where the placeholder stands and keep the rest', () => {
    const single = new RequestTemplate({ a: [1, '{{text}}', null], b: 'say {{text}}' }, '{{text}}');
    assert.equal(single.repeats, false);
    assert.equal(single.body(['x']), '{"a":[1,"x",null],"b":"say {{text}}"}');
    const many = new RequestTemplate(
      { in: [{ c: '{{text}}', k: 1 }, '{{..}}', 'dropped'], y: ['kept', 7] },
      '{{text}}',
    );
    assert.equal(many.repeats, true);
    assert.equal(
      many.body(['x', '{{..}}']),
      '{"in":[{"c":"x","k":1},{"c":"{{..}}","k":1}],"y":["kept",7]}',
    );
    const fragment = new RequestTemplate(['{{fragment}}', '{{..}}'], '{{fragment}}');
    assert.equal(fragment.body([{ a: 1 }, 'x']), '[{"a":1},"x"]');
    assert.equal(new RequestTemplate('{{text}}', '{{text}}').body(['x']), '"x"');
  });

  it('say where a response does not match', () => {
    const response = new ResponseTemplate({
      out: { items: [{ deep: ['x', '{{embedding}}'] }, '{{..}}'] },
    });
    const cases: [Json, string][] = [
      [{}, '`answer` has no `out`'],
      [{ out: 1 }, '`answer.out` is not an object, so it has no `items`'],
      [{ out: { item: [] } }, '`answer.out` has no `items`; there is `item`, is that meant?'],
      [{ out: { items: {} } }, '`answer.out.items` is not a list'],
      [{ out: { items: [{ deep: ['x'] }] } }, '`answer.out.items[0].deep` has only 1 items'],
      [{ out: { items: [{ deep: 1 }] } }, '`answer.out.items[0].deep` is not a list'],
      [
        { out: { items: [{ deep: ['x', [1, 'a']] }] } },
        '`answer.out.items[0].deep[1][1]` is not a number',
      ],
    ];
    for (const [received, message] of cases) {
      assert.deepEqual(response.embeddings(received), { ok: false, error: message });
    }
  });

  it('agree with a server that follows them, whatever their form', () => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    console.log(`      REST templates: SEED=${seed}`);
    const next = mulberry(seed);
    const below = (end: number): number => Math.floor(next() * end);
    const literal = (depth: number): Json => {
      const kinds = [null, true, below(100), 'text', '{{other}}', '', 'say {{text}}'];
      if (depth > 2 || below(3) > 0) return kinds[below(kinds.length)];
      return below(2) === 0
        ? Array.from({ length: below(3) }, () => literal(depth + 1))
        : Object.fromEntries(
            Array.from({ length: below(3) }, (_, i) => [`l${i}`, literal(depth + 1)]),
          );
    };
    /** A template that holds `core` once. */
    const around = (core: Json, depth: number): Json => {
      if (depth === 0) return core;
      const inside = around(core, depth - 1);
      if (below(2) === 0) {
        const items = Array.from({ length: below(3) }, () => literal(1));
        items.splice(below(items.length + 1), 0, inside);
        return items;
      }
      const entries: [string, Json][] = Array.from({ length: below(3) }, (_, i) => [
        `k${i}`,
        literal(1),
      ]);
      entries.splice(below(entries.length + 1), 0, ['here', inside]);
      return Object.fromEntries(entries);
    };
    const template = (placeholder: string, repeats: boolean): Json => {
      if (!repeats) return around(placeholder, below(4));
      const list = [
        around(placeholder, below(3)),
        '{{..}}',
        ...(below(3) === 0 ? [literal(1)] : []),
      ];
      return around(list, below(3));
    };
    /** The reference model: reads the template itself, next to the request. */
    const read = (shape: Json, value: Json, placeholder: string): Json[] => {
      if (shape === placeholder) return [value];
      if (Array.isArray(shape)) {
        const list = value as Json[];
        if (shape[1] === '{{..}}') return list.flatMap((item) => read(shape[0], item, placeholder));
        assert.equal(list.length, shape.length);
        return shape.flatMap((item, i) => read(item, list[i], placeholder));
      }
      if (typeof shape === 'object' && shape !== null) {
        const object = value as Record<string, Json>;
        assert.deepEqual(Object.keys(object), Object.keys(shape));
        return Object.entries(shape).flatMap(([key, inner]) =>
          read(inner, object[key], placeholder),
        );
      }
      assert.equal(value, shape);
      return [];
    };
    const write = (shape: Json, list: number[][]): Json => {
      if (shape === '{{embedding}}') return list[0];
      if (Array.isArray(shape)) {
        return shape[1] === '{{..}}'
          ? list.map((one) => write(shape[0], [one]))
          : shape.map((item) => write(item, list));
      }
      if (typeof shape !== 'object' || shape === null) return literal(2);
      const object = Object.fromEntries(
        Object.entries(shape).map(([key, inner]) => [key, write(inner, list)]),
      );
      return below(3) === 0 ? { more: 1, ...object } : object;
    };
    for (let round = 0; round < 20_000; round++) {
      const repeats = below(2) === 0;
      const shape = template('{{text}}', repeats);
      const responseShape = template('{{embedding}}', repeats);
      const context = JSON.stringify({ shape, responseShape });
      const request = new RequestTemplate(shape, '{{text}}');
      assert.equal(request.repeats, repeats, context);
      const texts = Array.from(
        { length: repeats ? below(4) + 1 : 1 },
        (_, i) => `text ${i} {{text}}`,
      );
      assert.deepEqual(read(shape, JSON.parse(request.body(texts)), '{{text}}'), texts, context);
      const vectors = texts.map((_, i) => [i, below(100) / 4]);
      const found = new ResponseTemplate(responseShape).embeddings(write(responseShape, vectors));
      assert.ok(found.ok, `${context}: ${found.ok ? '' : found.error}`);
      assert.deepEqual(
        found.value,
        vectors.map((vector) => Float32Array.from(vector)),
        context,
      );
    }
  });
});
