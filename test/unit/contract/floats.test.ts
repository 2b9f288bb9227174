import assert from 'node:assert/strict';
import { floatText, jsonString, RawJson } from '../../../src/base/json.ts';
import { jsonInSlices, jsonText } from '../../../src/base/json-slices.ts';
import { floatsOf } from '../../../src/contract/floats.ts';
import type { Schema } from '../../../src/contract/schema.ts';
import { Progress } from '../../../src/tasks/progress.ts';

const SCHEMA: Schema = {
  type: 'object',
  properties: {
    share: { type: ['number', 'null'] },
    count: { type: 'integer' },
    vector: { type: 'array', items: { type: 'number' } },
    deep: { type: 'array', items: { type: 'object', properties: { at: { type: 'number' } } } },
    any: {},
  },
  additionalProperties: { type: 'number' },
};

const VALUE = {
  share: 1,
  count: 1,
  vector: [1, -2, 0.5, 1e21],
  deep: [{ at: 0, other: 0 }],
  any: { share: 1 },
  further: 3,
};

const TEXT =
  '{"share":1.0,"count":1,"vector":[1.0,-2.0,0.5,1e+21],"deep":[{"at":0.0,"other":0}],"any":{"share":1},"further":3.0}';

describe('Fields of fractions', () => {
  it('are those that are declared as numbers', () => {
    const before = structuredClone(VALUE);
    const marked = floatsOf(SCHEMA)(VALUE);
    assert.equal(jsonString(marked), TEXT);
    assert.deepEqual(VALUE, before);
    // What is marked twice is written once.
    assert.equal(jsonString(floatsOf(SCHEMA)(marked)), TEXT);
  });

  it('are written as such in long values too', async () => {
    const marked = floatsOf({ type: 'array', items: SCHEMA })(
      Array.from({ length: 5000 }, () => VALUE),
    );
    const text = `[${Array<string>(5000).fill(TEXT).join()}]`;
    assert.equal((await jsonInSlices(marked)).toString(), text);
    assert.equal((await jsonText(marked)).toString(), text);
  });

  it('are plain numbers where they are stored', () => {
    const marked = floatsOf({ type: 'object', properties: { share: { type: 'number' } } })({
      share: 1,
    });
    assert.equal(JSON.stringify(marked), '{"share":1}');
  });

  it('take null, and texts that are JSON already', () => {
    const mark = floatsOf(SCHEMA);
    assert.equal(jsonString(mark({ share: null })), '{"share":null}');
    assert.equal(jsonString(mark({ share: new RawJson('1') })), '{"share":1}');
    assert.equal(floatText(-0), '0.0');
    assert.equal(floatText(NaN), 'null');
  });

  it('include the percentage of a batch', () => {
    const progress = new Progress();
    progress.enter(0, 'writing', 1, 2);
    assert.match(jsonString(progress.view()), /"percentage":50\.0}/);
  });
});
