import assert from 'node:assert/strict';
import { readContents } from '../../../src/dump/dump-contents.ts';
import { dateOf } from '../../../src/dump/dump-dates.ts';
import { dimensionsIn, statesOf } from '../../../src/dump/embedder-dimensions.ts';
import {
  firstIndexSettings,
  firstSettings,
  legacySettings,
} from '../../../src/dump/legacy-settings.ts';
import { legacyTask } from '../../../src/dump/legacy-tasks.ts';
import { readTask } from '../../../src/dump/read-task.ts';

function contents(files: Record<string, unknown>): ReturnType<typeof readContents> {
  return readContents(
    new Map(
      Object.entries(files).map(([path, content]) => [
        path,
        Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)),
      ]),
    ),
  );
}

describe('contents of a dump', () => {
  const metadata = { dumpVersion: 'V6', dbVersion: '1.0.0' };

  it('are refused with the position of the fault', () => {
    assert.throws(() => contents({}), /no metadata\.json, so it is not a dump/);
    assert.throws(() => contents({ 'metadata.json': '{' }), /metadata\.json is not JSON/);
    assert.throws(
      () => contents({ 'metadata.json': { dumpVersion: 'V7' } }),
      /the format "V7"; V1 to V6 can be read/,
    );
    assert.throws(
      () => contents({ 'metadata.json': metadata, 'keys.jsonl': '{}\n\n[]\n' }),
      /keys\.jsonl, line 3 is not a JSON object/,
    );
    assert.throws(
      () => contents({ 'metadata.json': metadata, 'indexes/a/metadata.json': { uid: '../a' } }),
      /`\.\.\/a` is not the uid of an index/,
    );
    const two = {
      'indexes/a/metadata.json': { uid: 'x' },
      'indexes/b/metadata.json': { uid: 'x' },
    };
    assert.throws(() => contents({ 'metadata.json': metadata, ...two }), /share|two indexes have/);
    assert.throws(
      () =>
        contents({
          'metadata.json': { dumpVersion: 'V3' },
          'index_uuids/data.jsonl': '{"uuid":"u","uid":"a"}',
        }),
      /indexes\/u\/meta\.json is missing/,
    );
  });

  it('are empty where files are absent', () => {
    const { indexes, keys, features, network, webhooks, chats } = contents({
      'metadata.json': metadata,
    });
    assert.deepEqual(
      [indexes, keys, features, network, webhooks, [...chats]],
      [...[[], [], {}, null, {}, []]],
    );
  });
});

describe('dates of dumps', () => {
  it('are known to the microsecond', () => {
    assert.equal(dateOf('1970-01-01T00:00:01.123456789Z'), 1123.456);
    assert.equal(dateOf('1970-01-01T00:00:01.5Z'), 1500);
    assert.equal(dateOf('1970-01-01T00:00:01Z'), 1000);
    assert.equal(dateOf('yesterday'), null);
    assert.equal(dateOf(null), null);
  });
});

describe('settings of older formats', () => {
  it('become those of the newest one', () => {
    assert.deepEqual(
      legacySettings({
        attributesForFaceting: ['a'],
        rankingRules: ['typo', 'wordsPosition', 'asc(a)', 'desc(b.c)', 'd:asc'],
        stopWords: ['the'],
      }),
      {
        filterableAttributes: ['a'],
        rankingRules: ['typo', 'a:asc', 'b.c:desc', 'd:asc'],
        stopWords: ['the'],
      },
    );
    assert.deepEqual(
      firstSettings({
        ranking_rules: { Update: ['Words', 'WordsPosition', { Desc: 'a' }] },
        attributes_for_faceting: 'Clear',
        stop_words: 'Nothing',
        primary_key: 'Nothing',
      }),
      {
        rankingRules: ['words', 'a:desc'],
        filterableAttributes: null,
        sortableAttributes: null,
      },
    );
    assert.deepEqual(firstIndexSettings({ attributesForFaceting: ['a'] }), {
      filterableAttributes: ['a'],
      sortableAttributes: ['a'],
    });
  });
});

describe('tasks of dumps', () => {
  const enqueuedAt = '2024-01-01T00:00:00Z';

  it('keep nanoseconds; those of format 1 began as long before their end as they took', () => {
    const { line } = legacyTask(
      1,
      {
        status: 'processed',
        type: { name: 'DocumentsAddition', number: 2 },
        duration: 1.487793839,
        enqueuedAt: '2021-09-08T09:34:16.036101Z',
        processedAt: '2021-09-08T09:34:25.351927Z',
      },
      'books',
      0,
    )!;
    assert.equal(line.startedAt, '2021-09-08T09:34:23.864133161Z');
    const task = readTask(line, 'line 1')!;
    assert.deepEqual(task.exactDates, { startedAt: '2021-09-08T09:34:23.864133161Z' });
    const undated = legacyTask(
      1,
      { status: 'failed', type: {}, enqueuedAt, processedAt: enqueuedAt },
      null,
      0,
    );
    assert.equal(undated!.line.startedAt, enqueuedAt);
  });

  it('of the formats 4 and 5 keep the uids of their batches', () => {
    const events = [
      { Created: enqueuedAt },
      { Batched: { timestamp: enqueuedAt, batch_id: 19 } },
      { Processing: enqueuedAt },
      { Succeeded: { result: 'Other', timestamp: enqueuedAt } },
    ];
    const { line } = legacyTask(5, { id: 4, content: { IndexDeletion: {} }, events }, null, 0)!;
    assert.equal(readTask(line, 'line 1')!.batchUid, 19);
  });

  it('that are damaged are refused with the position', () => {
    const read = (line: object): unknown => readTask({ uid: 1, enqueuedAt, ...line }, 'line 3');
    assert.throws(() => read({ uid: -1 }), /line 3: `uid` is not the number/);
    assert.throws(() => read({ status: 'gone' }), /line 3: `status` is "gone"/);
    assert.throws(
      () => read({ status: 'succeeded', type: 'indexDeletion' }),
      /line 3: `finishedAt` is not a date/,
    );
    assert.equal(read({ status: 'enqueued', type: { futureKind: {} } }), null);
  });

  it('of the dump itself are finished if it had begun, and otherwise wait', () => {
    const dump = (...events: object[]): unknown =>
      legacyTask(5, { id: 1, content: { Dump: { uid: 'd' } }, events }, null, 0)!.line.status;
    const created = { Created: enqueuedAt };
    assert.equal(dump(created), 'enqueued');
    assert.equal(dump(created, { Processing: enqueuedAt }), 'succeeded');
  });
});

describe('embedders of a dump', () => {
  it('have the dimensions of the embeddings in its documents', () => {
    const lines = [
      { id: 1, _vectors: { a: [1, 2], b: null, c: { embeddings: [], regenerate: true } } },
      { id: 2, _vectors: { a: [1, 2, 3], b: { embeddings: [[1], [2]], regenerate: false } } },
      { id: 3, _vectors: { c: { embeddings: [1, 2, 3, 4], regenerate: false }, d: 'x' } },
    ];
    const text = lines.map((line) => JSON.stringify(line)).join('\n');
    assert.deepEqual(dimensionsIn(`${text}\n{"id":4,"_vectors":{"e":[`), { a: 2, b: 1, c: 4 });
    assert.deepEqual(dimensionsIn('{"_vectors":"toto"}'), {});
  });

  it('are known as a batch would store them', () => {
    const embedders = {
      a: { source: 'rest' },
      b: { source: 'userProvided', dimensions: 3 },
      c: { source: 'rest', indexingFragments: { y: { value: 1 }, x: { value: 2 } } },
      d: { source: 'rest' },
    } as never;
    assert.deepEqual(statesOf(embedders, { a: 2, c: 4 }), {
      a: { dimensions: 2 },
      b: { dimensions: 3 },
      c: { dimensions: 4, fragments: { x: 0, y: 1 } },
    });
  });
});
