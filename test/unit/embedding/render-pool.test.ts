import assert from 'node:assert/strict';
import { Canceling, NEVER_CANCELED } from '../../../src/base/cancel-signal.ts';
import { RenderPool } from '../../../src/embedding/render-pool.ts';
import {
  type RequestInput,
  type RequestTemplate,
  textsForRequest,
} from '../../../src/embedding/render-request.ts';
import type { RenderSpec } from '../../../src/embedding/render.ts';

const chunk = (...documents: unknown[]): Uint8Array => Buffer.from(JSON.stringify(documents));

describe('The thread that renders', () => {
  const spec = (template: string, more: Partial<RenderSpec> = {}): RenderSpec => ({
    searchable: null,
    ignoreFaults: false,
    embedders: [{ kind: 'template', template, bytesMax: 400 }],
    ...more,
  });
  let pool: RenderPool;

  beforeEach(() => {
    pool = new RenderPool();
  });
  afterEach(() => pool.close());

  it('returns what is to be embedded and what is kept', async () => {
    const renderer = pool.prepare(spec('{{ doc.title }}'));
    const wants = (always: 0 | 1, ...hashes: string[]): unknown => [
      [0, always, hashes.map((hash) => [0, hash])],
    ];
    const first = await renderer.render(chunk({ id: 'a', doc: { title: 'x' }, want: wants(1) }));
    assert.equal(first.kind, 'rows');
    assert.ok(first.kind === 'rows');
    const { hash, input } = first.rows[0]![0]![0]!;
    assert.match(hash, /^[0-9a-f]{16}$/);
    assert.deepEqual(input, { value: 'x' });
    const second = await renderer.render(
      chunk(
        { id: 1, doc: { title: 'x' }, want: wants(0, hash) },
        { id: 2, doc: { title: 'y' }, want: wants(0, hash) },
        { id: 3, doc: { title: 'x' }, want: wants(1, hash) },
        { id: 4, doc: { title: 'x' }, old: { title: 'x' }, want: wants(0, '0') },
        { id: 5, doc: { title: 'x' }, old: { title: 'y' }, want: wants(0, '0') },
        { id: 6, doc: { title: 'x' }, want: wants(0, '0') },
      ),
    );
    assert.ok(second.kind === 'rows');
    assert.deepEqual(
      second.rows.map(([want]) => want !== null),
      [false, true, true, false, true, true],
    );
    assert.deepEqual(second.ids, [1, 2, 3, 4, 5, 6]);
    renderer.close();
  });

  it('names the document and what is missing', async () => {
    const renderer = pool.prepare(spec('{{ doc.title }}'));
    const outcome = await renderer.render(chunk({ id: 7, doc: { name: 'x' }, want: [[0, 1, []]] }));
    assert.ok(outcome.kind === 'fault');
    assert.match(outcome.message, /document 7: undefined variable: doc\.title.*`doc\.name`/);
    const ignoring = pool.prepare(spec('{{ doc.title }}', { ignoreFaults: true }));
    const ignored = await ignoring.render(chunk({ id: 7, doc: { name: 'x' }, want: [[0, 1, []]] }));
    assert.ok(ignored.kind === 'rows');
    assert.deepEqual(ignored.rows, [[[]]]);
  });

  const slow = '{% for i in (1..100000) %}{% endfor %}';
  /** Renders until its processor time is used up, much later than the limits of the pools here. */
  const stuck =
    '{% for i in (1..400000) %}{% if ' + '1 and '.repeat(2_000) + '1 %}{% endif %}{% endfor %}';

  it('renders as many documents as a chunk has, however long they take together', async () => {
    const patient = new RenderPool({ jobMsMax: 1_000 });
    try {
      const one = { doc: {}, want: [[0, 1, []]] };
      const documents = Array.from({ length: 200 }, (_, id) => ({ id, ...one }));
      const outcome = await patient.prepare(spec(slow)).render(chunk(...documents));
      assert.ok(outcome.kind === 'rows');
      assert.equal(outcome.rows.length, 200);
    } finally {
      await patient.close();
    }
  });

  it('is ended when it is stuck; each document is tried again alone, and fails alone', async () => {
    const template = `{% if doc.slow %}${stuck}{% endif %}{{ doc.title }}`;
    const impatient = new RenderPool({ templateMsMax: 500 });
    try {
      const want = [[0, 1, []]];
      const fine = [1, 2, 3].map((id) => ({ id, doc: { title: `t${id}` }, want }));
      const hanging = { id: '12345678901234567890', doc: { slow: true, title: 'x' }, want };
      const failing = impatient.prepare(spec(template)).render(chunk(...fine, hanging));
      await assert.rejects(failing, /the document "12345678901234567890": .*took too long/);
      const embedders = [{ kind: 'template' as const, template, bytesMax: 400, waits: true }];
      const waiting = impatient.prepare(spec(template, { embedders }));
      const outcome = await waiting.render(chunk(fine[0], hanging, fine[1]));
      assert.ok(outcome.kind === 'rows');
      assert.deepEqual(outcome.ids, [1, '12345678901234567890', 2]);
      assert.deepEqual(
        outcome.rows.map(([want]) => want?.[0]?.input ?? null),
        [{ value: 't1' }, null, { value: 't2' }],
      );
      assert.deepEqual(
        outcome.faults.map(({ document }) => document),
        [1],
      );
    } finally {
      await impatient.close();
    }
  });

  const document = { kind: 'inlineDocument', document: {} } as const;
  const text = (template: string) => ({ kind: 'text', text: template, bytesMax: 100 }) as const;
  const endless = text(
    '{% for i in (1..9999999) %}{% for j in (1..9999999) %}{% endfor %}{% endfor %}',
  );

  it('interleaves requesters, and keeps a thread for the others', async () => {
    const pool = new RenderPool({ threads: 2 });
    try {
      const ended: string[] = [];
      const ask = async (requester: string, template: typeof endless): Promise<void> => {
        const { kind } = await pool.forRequest(requester, template, document);
        ended.push(`${requester} ${kind}`);
      };
      const all = Array.from({ length: 8 }, () => ask('a', endless));
      all.push(ask('b', text('x')), ask('c', text('x')), ask('b', text('x')));
      await Promise.all(all.slice(8));
      assert.deepEqual(
        ended.filter((one) => !one.startsWith('a')),
        ['b rendered', 'c rendered', 'b rendered'],
      );
      assert.ok(ended.length <= 3 + 1, `${ended.length} have ended`);
      await Promise.all(all);
      assert.equal(ended.filter((one) => one === 'a failed').length, 8);
    } finally {
      await pool.close();
    }
  });

  it('drops chunks that wait when their renderer is closed', async () => {
    const small = new RenderPool({ threads: 2 });
    try {
      const renderer = small.prepare(spec('x'));
      const documents = chunk({ id: 0, doc: {}, want: [[0, 1, []]] });
      // One requester does not get the second thread.
      const [running, waiting] = [renderer.render(documents), renderer.render(documents)];
      renderer.close();
      await assert.rejects(waiting, { name: 'RenderStopped', message: 'nobody waits for it' });
      assert.equal((await running).kind, 'rows');
    } finally {
      await small.close();
    }
  });

  it('drops what waits and stops what runs when nobody waits for it', async () => {
    const pool = new RenderPool({ threads: 2, templateMsMax: 1e9, jobMsMax: 1e9 });
    try {
      const canceling = new Canceling(NEVER_CANCELED);
      const ask = () => pool.forRequest('a', text(stuck), document, canceling);
      // One requester does not get the second thread.
      const all = [ask(), ask()];
      canceling.cancel();
      const stopped = { kind: 'failed', reason: 'nobody waits for it' };
      assert.deepEqual(await Promise.all(all), [stopped, stopped]);
      assert.equal((await pool.forRequest('a', text('x'), document)).kind, 'rendered');
    } finally {
      await pool.close();
    }
  });

  it('ends a template that runs away, and only that', async () => {
    const endless = text(stuck);
    const pool = new RenderPool({ threads: 2, templateMsMax: 500 });
    try {
      const renderer = pool.prepare(spec('{{ doc.title }}'));
      const documents = chunk({ id: 1, doc: { title: 'x' }, want: [[0, 1, []]] });
      const outcomes = await Promise.all([
        pool.forRequest('a', endless, document),
        pool.forRequest('a', text('x'), document),
        pool.forRequest('b', endless, document),
        pool.forRequest('b', text('x'), document),
        renderer.render(documents),
      ]);
      const stopped = { kind: 'failed', reason: 'rendering took too long and was stopped' };
      const rendered = { kind: 'rendered', value: 'x' };
      assert.deepEqual(outcomes.slice(0, 4), [stopped, rendered, stopped, rendered]);
      assert.equal(outcomes[4].kind, 'rows');
      assert.equal((await renderer.render(documents)).kind, 'rows', 'it is prepared again');
    } finally {
      await pool.close();
    }
  });

  it('finds the one fragment that fits a query', async () => {
    const fragments = {
      byText: { value: { text: '{{ q }}' } },
      byBreed: { value: "It's a {{ media.breed }}" },
      byName: { value: '{{ media.name }} is a dog' },
    };
    assert.deepEqual(await pool.fit('a', fragments, { q: 'x' }), {
      kind: 'one',
      value: { text: 'x' },
    });
    assert.deepEqual(await pool.fit('a', fragments, { media: { breed: 'labrador' } }), {
      kind: 'one',
      value: "It's a labrador",
    });
    assert.deepEqual(await pool.fit('a', fragments, { media: { ticker: 'z' } }), { kind: 'none' });
    assert.deepEqual(await pool.fit('a', fragments, { q: 'x', media: { name: 'y' } }), {
      kind: 'several',
      names: ['byText', 'byName'],
    });
  });

  it('counts tokens as cl100k_base has them', async () => {
    assert.equal(await pool.firstTokens('a', 'short', 5), null);
    assert.deepEqual(await pool.firstTokens('a', 'a a a a a a', 3), [64, 264, 264]);
    assert.deepEqual(await pool.firstTokens('a', '<|endoftext|>', 3), [27, 91, 8862]);
  });

  it('renders one template for a request, and reports its fault', async () => {
    const text = (template: string, bytesMax = Infinity) =>
      ({ kind: 'text', text: template, bytesMax }) as const;
    const document = { kind: 'inlineDocument', document: { a: 'née' } } as const;
    type Rendered = [RequestTemplate, RequestInput | null];
    const cases: [Rendered, object][] = [
      [[text('<{{ doc.a }}>'), document], { kind: 'rendered', value: '<née>' }],
      [[text('{{ doc.a }}', 2), document], { kind: 'rendered', value: 'n' }],
      [[text('{{ doc.a }}'), null], { kind: 'rendered', value: null }],
      [
        [
          text('{{ doc.n }}'),
          { kind: 'document', json: '{"n":12345678901234567890}', searchable: null },
        ],
        { kind: 'rendered', value: '12345678901234567890' },
      ],
      [
        [
          { kind: 'fragment', value: { t: ['{{ q }}'] } },
          { kind: 'search', q: 'x', media: null },
        ],
        { kind: 'rendered', value: { t: ['x'] } },
      ],
    ];
    for (const [given, expected] of cases) {
      assert.deepEqual(await pool.forRequest('a', ...given), expected);
    }
    const kinds = [
      await pool.forRequest('a', text('{% if %}'), null),
      await pool.forRequest('a', text('{{ doc.b }}'), document),
      await pool.forRequest('a', text('{{ doc.a }}'), { kind: 'search', q: 'x', media: null }),
    ].map(({ kind }) => kind);
    assert.deepEqual(kinds, ['unparsable', 'failed', 'failed']);
  });

  it('renders the documents of a result in the requested order, as one text of limited size', async () => {
    const result = Buffer.from(
      JSON.stringify({ results: [1, 2, 3].map((id) => ({ id, text: 'é'.repeat(id) })) }),
    );
    const request = {
      template: '{{ doc.id }}{{ doc.text }}',
      bytesMax: 4,
      searchable: null,
      result,
      member: 'results' as const,
    };
    const order = { primaryKey: 'id', ids: ['3', '9', '1'] };
    assert.deepEqual(await pool.texts('a', { ...request, order }), {
      kind: 'rendered',
      value: '3é\n1é',
    });
    const long = Buffer.from(
      JSON.stringify({ hits: Array.from({ length: 50 }, () => ({ t: 'é'.repeat(10_000) })) }),
    );
    const outcome = await pool.texts('a', {
      ...{ template: '{{ doc.t }}', bytesMax: 1e9, searchable: null },
      ...{ result: long, member: 'hits', order: null },
    });
    assert.ok(outcome.kind === 'rendered');
    assert.ok(Buffer.byteLength(outcome.value) <= 256 * 1024);
    assert.ok(outcome.value.length > 100_000 && !outcome.value.includes('\ufffd'));
  });

  it('reads the hits of a result, up to the limit', async () => {
    const result = (hits: object[]): Buffer => Buffer.from(JSON.stringify({ hits }));
    const some = await pool.hits('a', result([{ id: 7, t: 'é' }, { id: 'b' }]), 'id');
    assert.deepEqual(some, { ids: ['7', 'b'], documents: ['{"id":7,"t":"é"}', '{"id":"b"}'] });
    assert.equal((await pool.hits('a', result([{ t: 1 }]), 'id')).ids, null);
    assert.equal((await pool.hits('a', result([{ id: 1 }]), null)).ids, null);
    const long = result(Array.from({ length: 9 }, (_, id) => ({ id, t: 'x'.repeat(2 ** 17) })));
    const { ids, documents } = await pool.hits('a', long, 'id');
    assert.deepEqual([ids!.length, documents.length], [9, 7]);
  });

  it('stops rendering the documents of a request when they take too long together', () => {
    let ms = 0;
    const request = {
      ...{ template: '{{ doc.t }}', bytesMax: 10, searchable: null, member: 'hits' as const },
      ...{ result: Buffer.from('{"hits":[{"t":1},{"t":2},{"t":3}]}'), order: null },
    };
    assert.equal(textsForRequest(request, () => (ms += 1000)).kind, 'rendered');
    const outcome = textsForRequest(request, () => (ms += 2000));
    assert.deepEqual(outcome, { kind: 'failed', reason: 'it takes too long' });
  });
});
